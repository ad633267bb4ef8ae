# SPDX-License-Identifier: GPL-3.0-only
"""Which terminal a platform has, and whether its locale can show all characters."""

from __future__ import annotations

import locale
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nvitop.gui.term.curses import CursesTerminal


def terminal_here(max_colors: int) -> CursesTerminal:
    """The terminal on standard input and output."""
    if sys.platform == 'win32':
        from nvitop.gui.term.windows import WindowsTerminal as TerminalHere
    else:
        from nvitop.gui.term.posix import PosixTerminal as TerminalHere
    return TerminalHere(max_colors=max_colors)


def has_utf8_locale() -> bool:
    """Set a locale in which curses can draw all characters; whether there is one."""
    if sys.platform == 'win32':
        return True
    for name in ('', 'C.UTF-8', 'en_US.UTF-8'):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        # Not getpreferredencoding(): in Python's UTF-8 mode, as with LC_ALL=C, it tells of Python.
        # What curses and the C library write goes by the locale alone.
        if 'utf' in locale.nl_langinfo(locale.CODESET).lower():
            return True
    return False
