# SPDX-License-Identifier: GPL-3.0-only
"""Chooses the terminal for the platform, and checks its locale."""

from __future__ import annotations

import locale
import sys
from typing import TYPE_CHECKING, Mapping

if TYPE_CHECKING:
    from nvitop.gui.term.curses import CursesTerminal


def terminal_here(
    max_colors: int, *, captures_mouse: bool = True, asks_background: bool = False
) -> CursesTerminal:
    """Return the terminal on standard input and output."""
    if sys.platform == 'win32':
        from nvitop.gui.term.windows import WindowsTerminal as TerminalHere
    else:
        from nvitop.gui.term.posix import PosixTerminal as TerminalHere
    return TerminalHere(
        max_colors=max_colors, captures_mouse=captures_mouse, asks_background=asks_background
    )


def holds_escape_back(environ: Mapping[str, str]) -> bool:
    """Return whether Esc arrives only with the next key while a program captures the mouse.

    GNU screen does so: it waits for the rest of a mouse report, without a time limit.
    """
    is_screen = environ.get('TERM', '').startswith('screen') and bool(environ.get('STY'))
    return is_screen and not environ.get('TMUX')


def has_utf8_locale() -> bool:
    """Set a locale in which curses can draw all characters; return whether there is one."""
    if sys.platform == 'win32':
        return True
    for name in ('', 'C.UTF-8', 'en_US.UTF-8'):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        # Not getpreferredencoding(): in UTF-8 mode, also with LC_ALL=C, it returns the encoding of
        # Python. curses and the C library use that of the locale.
        if 'utf' in locale.nl_langinfo(locale.CODESET).lower():
            return True
    return False
