# SPDX-License-Identifier: Apache-2.0
"""Command lines as text."""

from __future__ import annotations

import functools
import os
import re
from typing import Iterable

from nvitop.platforms import WINDOWS


def command_join(cmdline: Iterable[str]) -> str:
    """Join the arguments of a program to one line of text, quoted for the system's shell.

    Control characters and other characters that are not printable are escaped like in Python
    (``\\n``, ``\\x1b``). All other arguments can be read back with :func:`shlex.split`.

    A single argument that is not the path of an existing file is not quoted: it is a title that the
    process gave itself (``sshd: alice [priv]``), not a program name with spaces.

    >>> command_join(['python3', '-c', 'print(1)', 'x y'])
    'python3 -c "print(1)" "x y"'
    >>> command_join(['ray::IDLE worker'])
    'ray::IDLE worker'
    """
    return _join(tuple(cmdline))


# The same few processes are listed every second.
@functools.lru_cache(maxsize=1024)
def _join(cmdline: tuple[str, ...]) -> str:
    if len(cmdline) == 1 and not (os.path.isabs(cmdline[0]) and os.path.isfile(cmdline[0])):
        return _escape(cmdline[0])
    return ' '.join(map(quote, cmdline))


#: Characters and starts of arguments that must be quoted for :func:`shlex.split` or a shell.
_SPECIAL_POSIX = r'[\s\'"\\$`();<>|&]|\A#|\A\Z'
_PLAIN_WINDOWS = r'[\w@+=:,./\\-]+'


def quote_posix(argument: str) -> str:
    """Quote one argument for a POSIX shell, in double quotes if it reads the same in them."""
    if not argument.isprintable():
        return '"' + _escape(re.sub(r'[\\"$`]', r'\\\g<0>', argument)) + '"'
    if not re.search(_SPECIAL_POSIX, argument):
        return argument
    needs_single = '$' in argument or '`' in argument
    if "'" in argument and not needs_single:
        return '"' + argument.replace('\\', '\\\\').replace('"', '\\"') + '"'
    if needs_single or '"' in argument or '\\' in argument:
        return "'" + argument.replace("'", "'\"'\"'") + "'"
    return f'"{argument}"'


def quote_windows(argument: str) -> str:
    """Quote one argument as Windows programs parse their command line."""
    argument = _escape(argument)
    if re.fullmatch(_PLAIN_WINDOWS, argument, re.ASCII):
        return argument
    # Backslashes are literal unless a double quote follows them.
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', argument)
    return '"' + re.sub(r'(\\+)\Z', r'\1\1', escaped) + '"'


quote = quote_windows if WINDOWS else quote_posix


def _escape(text: str) -> str:
    """Replace characters that are not printable by escape sequences."""
    if text.isprintable():
        return text
    return ''.join(char if char.isprintable() else _escape_sequence(char) for char in text)


def _escape_sequence(char: str) -> str:
    if '\udc80' <= char <= '\udcff':  # a byte that is not UTF-8
        return f'\\x{ord(char) - 0xDC00:02x}'
    return char.encode('unicode_escape').decode()
