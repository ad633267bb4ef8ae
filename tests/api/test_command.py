"""Command lines as text: quoting, escaping, titles."""

from __future__ import annotations

import pathlib
import random
import shlex
import string
import subprocess
import sys

import pytest

from nvitop.api.process import command_join
from nvitop.api.process.facts import quote_posix, quote_windows

posix_only = pytest.mark.skipif(sys.platform == 'win32', reason='POSIX quoting')


@posix_only
@pytest.mark.parametrize(
    ('argument', 'quoted'),
    [
        *((plain, plain) for plain in ('--lr=1e-3', 'model.layers=[1,2]', '*.py', '日本')),
        *((special, f'"{special}"') for special in ('', 'x y', "it's fine", 'a;b', '>x', '#x')),
        *((special, f"'{special}'") for special in ('say "x"', '$HOME', 'back\\slash', '`x`')),
        ('say "x", it\'s fine', '"say \\"x\\", it\'s fine"'),
        ("it's $HOME", "'it'\"'\"'s $HOME'"),
    ],
)
def test_arguments_are_quoted_as_in_1_7_where_a_shell_reads_them_back(
    argument: str, quoted: str
) -> None:
    assert command_join(['a', argument]) == f'a {quoted}'
    assert shlex.split(quoted) == [argument]


@posix_only
@pytest.mark.parametrize(
    ('argument', 'quoted'),
    [
        ('a\nb\tc\r', '"a\\nb\\tc\\r"'),
        ('\x1b[31m\x9b', '"\\x1b[31m\\x9b"'),
        ('abc\u202edef\u2028\xa0', '"abc\\u202edef\\u2028\\xa0"'),
        ('\udcff\ud800', '"\\xff\\ud800"'),
        ('say "$x" `y` \\\n', '"say \\"\\$x\\" \\`y\\` \\\\\\n"'),
    ],
)
def test_control_characters_are_escaped(argument: str, quoted: str) -> None:
    assert command_join(['a', argument]) == f'a {quoted}'


def test_command_is_one_line_and_reads_back() -> None:
    generator = random.Random(1)
    printable = string.ascii_letters + string.punctuation + ' äß日本'
    for _ in range(500):
        arguments = [
            ''.join(generator.choices(printable, k=generator.randrange(8))) for _ in range(4)
        ]
        text = ' '.join(map(quote_posix, arguments))
        assert shlex.split(text) == arguments
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, ''
        assert list(lexer) == arguments, 'shell operators must be quoted'
        hostile = [''.join(chr(generator.randrange(0x3000)) for _ in range(6)) for _ in range(3)]
        assert command_join(hostile).isprintable()
        assert all(quote_windows(argument).isprintable() for argument in hostile)


def test_title_is_not_quoted() -> None:
    for title in ('sshd: alice [priv]', 'ray::IDLE', '', '/no/such file'):
        assert command_join(iter([title])) == title
    assert command_join(['two\nlines\x1b[0m']) == 'two\\nlines\\x1b[0m'
    assert command_join([]) == ''


@posix_only
def test_single_existing_program_is_quoted(tmp_path: pathlib.Path) -> None:
    program = tmp_path / 'my program'
    program.touch()
    assert command_join([str(program)]) == f'"{program}"'
    assert command_join(['/bin/sh']) == '/bin/sh'


@pytest.mark.parametrize(
    ('argument', 'quoted'),
    [
        ('plain', 'plain'),
        ('C:\\dir\\x.exe', 'C:\\dir\\x.exe'),
        ('', '""'),
        ('a b', '"a b"'),
        ('say "hi"', '"say \\"hi\\""'),
        ('back\\ slash\\', '"back\\ slash\\\\"'),
        ('a\\"b', '"a\\\\\\"b"'),
    ],
)
def test_windows_quoting_follows_the_c_runtime(argument: str, quoted: str) -> None:
    assert quote_windows(argument) == quoted
    if quoted.startswith('"'):
        assert subprocess.list2cmdline([argument]) in (quoted, quoted.strip('"'))
