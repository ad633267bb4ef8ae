# SPDX-License-Identifier: Apache-2.0
"""The terminal that a command writes to, or its stand-in."""

from __future__ import annotations

import contextlib
import os
import sys

from nvitop.api.process.observed import names_above


def stdout_width() -> int:
    """Number of columns of stdout: ``COLUMNS`` if it is set, else that of the terminal, else 79."""
    with contextlib.suppress(ValueError):
        columns = int(os.environ.get('COLUMNS', ''))
        if columns > 0:
            return columns
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(sys.stdout.fileno()).columns or 79
    return 79


def is_watched() -> bool:
    """Whether ``watch`` runs this process, directly (-x) or through a shell."""
    if sys.stdout.isatty():
        return False
    parent, above = (*names_above(2), '', '')[:2]
    return 'watch' in (parent, above if parent in ('sh', 'bash', 'dash', 'zsh') else '')


def read_keys_from_terminal() -> None:
    """Make the terminal standard input, after a pipe there has been read to its end."""
    with contextlib.suppress(OSError):  # no terminal, or Windows
        terminal = os.open('/dev/tty', os.O_RDWR)
        os.dup2(terminal, 0)
        os.close(terminal)
