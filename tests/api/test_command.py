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
        # Plain, as in nvitop 1.7.2
        ('--lr=1e-3', '--lr=1e-3'),
        ('model.layers=[1,2]', 'model.layers=[1,2]'),
        ('*.py', '*.py'),
        ('日本', '日本'),
        # Quoted, as in nvitop 1.7.2
        ('', '""'),
        ('x y', '"x y"'),
        ("it's fine", '"it\'s fine"'),
        ('say "x"', '\'say "x"\''),
        ('say "x", it\'s fine', '"say \\"x\\", it\'s fine"'),
        ('$HOME', "'$HOME'"),
        ('back\\slash', "'back\\slash'"),
        # nvitop 1.7.2 does not quote these, or another way than a shell reads
        ('"x"', '\'"x"\''),
        ("it's", '"it\'s"'),
        ("it's $HOME", "'it'\"'\"'s $HOME'"),
        ('a;b', '"a;b"'),
        ('print(1)', '"print(1)"'),
        ('>x', '">x"'),
        ('#x', '"#x"'),
        ('`x`', "'`x`'"),
    ],
)
def test_arguments_are_quoted_as_in_1_7_where_a_shell_reads_them_back(
    argument: str, quoted: str
) -> None:
    assert quote_posix(argument) == quoted
    assert command_join(['a', argument]) == f'a {quoted}'
    assert shlex.split(quoted) == [argument]


@posix_only
@pytest.mark.parametrize(
    ('argument', 'quoted'),
    [
        ('a\nb', '"a\\nb"'),
        ('a\tb\r', '"a\\tb\\r"'),
        ('\x1b[31mred', '"\\x1b[31mred"'),
        ('\x9b31m', '"\\x9b31m"'),
        ('abc\u202edef', '"abc\\u202edef"'),
        ('a\u2028b', '"a\\u2028b"'),
        ('a\xa0b', '"a\\xa0b"'),
        ('\udcff', '"\\xff"'),
        ('\ud800', '"\\ud800"'),
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


@pytest.mark.parametrize(
    ('title', 'text'),
    [
        ('sshd: alice [priv]', 'sshd: alice [priv]'),
        ('ray::IDLE', 'ray::IDLE'),
        ('', ''),
        ('/no/such file', '/no/such file'),
        ('two\nlines\x1b[0m', 'two\\nlines\\x1b[0m'),
    ],
)
def test_title_is_not_quoted(title: str, text: str) -> None:
    assert command_join([title]) == text


def test_command_of_any_iterable() -> None:
    assert command_join(iter(['a', 'b'])) == 'a b'
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
