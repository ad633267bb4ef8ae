"""Command lines as text: quoting, escaping, titles."""

from __future__ import annotations

import random
import shlex
import string
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
    assert command_join(['a', 'a\nb\x9b\u202e\udcff']) == 'a "a\\nb\\x9b\\u202e\\xff"'
    for title in ('sshd: alice [priv]', 'ray::IDLE', '', '/no/such file', '/bin/sh'):
        assert command_join(iter([title])) == title  # a title is not quoted
    assert command_join([]) == ''
