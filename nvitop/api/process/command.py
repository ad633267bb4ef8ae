# SPDX-License-Identifier: Apache-2.0
"""Command lines as text."""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING

from nvitop.platforms import WINDOWS

if TYPE_CHECKING:
    from collections.abc import Iterable


def command_join(cmdline: Iterable[str]) -> str:
    """Join the arguments of a program to one text, quoted for the system's shell.

    A single argument that is not an existing absolute path is returned as it is: it is a title that
    the process gave itself (``sshd: alice [priv]``), not a program name with spaces.

    >>> command_join(['python3', '-c', 'print(1)', ''])
    "python3 -c 'print(1)' ''"
    >>> command_join(['ray::IDLE worker'])
    'ray::IDLE worker'
    """
    return _join(tuple(cmdline))


# The same few processes are listed every second.
@functools.lru_cache(maxsize=1024)
def _join(cmdline: tuple[str, ...]) -> str:
    if len(cmdline) == 1 and not (os.path.isabs(cmdline[0]) and os.path.exists(cmdline[0])):
        return cmdline[0]
    return ' '.join(map(quote, cmdline))


_NOT_PLAIN_POSIX = re.compile(r'[^\w@%+=:,./-]', re.ASCII)
_NOT_PLAIN_WINDOWS = r'[^\w@+=:,./\\-]'


def quote_posix(argument: str) -> str:
    """Quote one argument for a POSIX shell."""
    if argument and not _NOT_PLAIN_POSIX.search(argument):
        return argument
    return "'" + argument.replace("'", "'\"'\"'") + "'"


def quote_windows(argument: str) -> str:
    """Quote one argument as Windows programs parse their command line."""
    if argument and not re.search(_NOT_PLAIN_WINDOWS, argument, re.ASCII):
        return argument
    # Backslashes are literal unless a double quote follows them.
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', argument)
    return '"' + re.sub(r'(\\+)\Z', r'\1\1', escaped) + '"'


quote = quote_windows if WINDOWS else quote_posix


# The public path, as shown in reprs, pickles and the documentation.
command_join.__module__ = 'nvitop.api.process'
