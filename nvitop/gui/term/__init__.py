# SPDX-License-Identifier: GPL-3.0-only
"""The interface between the monitor and a terminal, and the terminal of this platform."""

from __future__ import annotations

import locale
import sys
from typing import TYPE_CHECKING, ContextManager, Mapping, Protocol

if TYPE_CHECKING:
    from nvitop.gui.render.buffer import Buffer
    from nvitop.gui.render.theme import Theme
    from nvitop.gui.state.events import Event
    from nvitop.gui.term.curses_terminal import CursesTerminal


class Terminal(Protocol):
    """A screen and a source of events. Only :meth:`wake` may be called from any thread."""

    @property
    def colors(self) -> int:
        """Number of colors it shows, once it is open: 0, 8, 16 or 256."""

    def opened(self) -> ContextManager[None]:
        """Take over the terminal for the block, and restore it afterwards in any case."""

    def size(self) -> tuple[int, int]:
        """Return the current number of columns and rows."""

    def wait(self, timeout: float | None) -> list[Event]:
        """Block until an event, a call of :meth:`wake`, or a timeout in seconds; return events."""

    def wake(self) -> None:
        """Make :meth:`wait` return."""

    def draw(self, buffer: Buffer, theme: Theme) -> None:
        """Show a frame; only the differences from the previous frame are written."""

    def forget(self) -> None:
        """Write every cell at the next :meth:`draw`, in case another program drew on the screen."""

    def capture_mouse(self, captured: bool) -> None:
        """Set whether mouse actions are events; otherwise the terminal uses them to select text."""

    def ring(self) -> None:
        """Ring the bell."""

    def suspend(self) -> None:
        """Restore the terminal and stop the program; return when it is continued."""


def terminal_here(max_colors: int, *, asks_background: bool = False) -> CursesTerminal:
    """Return the terminal on standard input and output."""
    if sys.platform == 'win32':
        from nvitop.gui.term.windows import WindowsTerminal as TerminalHere
    else:
        from nvitop.gui.term.posix import PosixTerminal as TerminalHere
    return TerminalHere(max_colors=max_colors, asks_background=asks_background)


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
