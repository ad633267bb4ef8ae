# SPDX-License-Identifier: GPL-3.0-only
"""The part of the curses terminal that all platforms share."""

from __future__ import annotations

import abc
import contextlib
import curses
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Protocol

from nvitop.gui.render.theme import DEFAULT, Look, Style

if TYPE_CHECKING:
    from typing import ContextManager

    from nvitop.gui.render.buffer import Buffer, Span
    from nvitop.gui.render.theme import Theme
    from nvitop.gui.state.events import Event

#: Switch interval of Python threads in seconds: how long a key waits for a busy thread, each time
#: that the thread of the screen comes back from a system call. The default of 5 ms is too long.
SWITCH_SECONDS = 0.001


class TerminalError(Exception):
    """The terminal cannot run the monitor; the text says why."""


class Input(Protocol):
    """A source of events, which depends on the platform."""

    def wait(self, timeout: float | None) -> list[Event]:
        """Block until events, a wake-up, or a timeout in seconds; return the events."""

    def wake(self) -> None:
        """Make :meth:`wait` return. Any thread may call this."""

    def signals_caught(self) -> ContextManager[None]:
        """Turn signals into events for the block."""

    def close(self) -> None:
        """Release all resources."""


@contextlib.contextmanager
def handling(signals: Iterable[int], handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Handle signals during the block, and restore their handlers."""
    previous = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, earlier in previous.items():
            signal.signal(number, earlier if earlier is not None else signal.SIG_DFL)


class CursesTerminal(abc.ABC):
    """A :class:`~nvitop.gui.term.Terminal` on standard input and output, drawn by curses.

    Subclasses for each platform read the keys and do what curses cannot do.
    """

    def __init__(self, *, max_colors: int = 256, asks_background: bool = False) -> None:
        self._max_colors = max_colors
        self._asks_background = asks_background
        #: Number of colors of the terminal, once it is open.
        self.colors = 0
        self._screen: curses.window | None = None
        self._input: Input | None = None
        self._rows: list[tuple[Span, ...]] = []
        self._theme: Theme | None = None
        self._attributes: dict[Style, int] = {}
        self._pairs: dict[tuple[int, int], int] = {}
        self._captures_mouse = False

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Take over the terminal for the block; raise TerminalError if curses cannot."""
        previous = sys.getswitchinterval()
        self._start()
        try:
            self._input = source = self._open_input()
            sys.setswitchinterval(SWITCH_SECONDS)
            with source.signals_caught():
                self._enter()
                yield
        finally:
            self._leave()
            if self._input is not None:
                self._input.close()
            self._input = None
            sys.setswitchinterval(previous)

    def _start(self) -> None:
        try:
            self._check_type()
            self._screen = curses.initscr()
        except curses.error as error:
            raise TerminalError(
                f'unknown terminal type {terminal_type()} in TERM: {error}'
            ) from None

    @abc.abstractmethod
    def _check_type(self) -> None:
        """Raise TerminalError or curses.error for a terminal on which initscr would exit."""

    @abc.abstractmethod
    def _open_input(self) -> Input:
        """Open the source of events."""

    @abc.abstractmethod
    def _set_modes(self, *, mouse: bool) -> None:
        """Have the terminal report pastes, and mouse actions if ``mouse``."""

    @abc.abstractmethod
    def _unset_modes(self) -> None:
        """Have the terminal report nothing."""

    @abc.abstractmethod
    def suspend(self) -> None:
        """Restore the terminal and stop; return when the shell continues the program."""

    def _enter(self) -> None:
        assert self._screen is not None
        curses.noecho()
        # In raw mode, Ctrl-C, Ctrl-Z and Ctrl-\ are keys, and Ctrl-S does not stop the screen.
        curses.raw()
        with contextlib.suppress(curses.error):  # a terminal that cannot hide its cursor
            curses.curs_set(0)
            self._screen.leaveok(True)
        self._start_colors()
        self._set_modes(mouse=self._captures_mouse)

    def _leave(self) -> None:
        """Restore the terminal, from any state, including after an error in the middle of it."""
        self._unset_modes()
        with contextlib.suppress(curses.error):
            curses.curs_set(1)
        with contextlib.suppress(curses.error):
            curses.noraw()
            curses.echo()
            curses.endwin()

    def _start_colors(self) -> None:
        self.colors = 0
        with contextlib.suppress(curses.error):
            curses.start_color()
            curses.use_default_colors()
            for depth in (8, 16, 256):
                if curses.COLORS >= depth <= self._max_colors:
                    self.colors = depth
        if self.colors and self._screen is not None:
            # Text and blanks have a color pair, even in the default colors: without one, curses would
            # also reset all attributes after each color, which is an eighth of all bytes.
            self._screen.bkgdset(' ', curses.color_pair(self._pair(DEFAULT, DEFAULT)))

    def size(self) -> tuple[int, int]:
        try:
            columns, rows = os.get_terminal_size(sys.stdout.fileno())
        except OSError:
            rows, columns = self._screen.getmaxyx() if self._screen is not None else (24, 80)
        return columns, rows

    def wait(self, timeout: float | None) -> list[Event]:
        assert self._input is not None
        return self._input.wait(timeout)

    def wake(self) -> None:
        source = self._input
        if source is not None:
            source.wake()

    def draw(self, buffer: Buffer, theme: Theme) -> None:
        """Pass on the rows that differ from the last frame; curses writes the cells that differ."""
        assert self._screen is not None
        if theme is not self._theme:
            self._theme = theme
            self._attributes.clear()
            self._rows = []
        if self._screen.getmaxyx() != (buffer.height, buffer.width):
            with contextlib.suppress(curses.error):
                curses.resize_term(buffer.height, buffer.width)
            self._rows = []
        if len(self._rows) != buffer.height:
            self._screen.clear()
            self._rows = [()] * buffer.height
        for y in range(buffer.height):
            row = buffer.row(y)
            if row != self._rows[y]:
                self._rows[y] = row
                self._draw_row(y, row)
        with contextlib.suppress(curses.error):
            self._screen.move(buffer.height - 1, buffer.width - 1)
        self._screen.refresh()

    def _draw_row(self, y: int, row: tuple[Span, ...]) -> None:
        screen = self._screen
        assert screen is not None
        # The terminal may have shrunk since the frame was drawn; curses rejects what is outside.
        # It also reports an error after writing the last cell of the last row, because the cursor
        # cannot move past it.
        with contextlib.suppress(curses.error):
            screen.move(y, 0)
            screen.clrtoeol()
            for x, text, style in row:
                screen.addstr(y, x, text, self._attribute(style))

    def forget(self) -> None:
        """Write every cell at the next :meth:`draw`, and set the modes of the terminal again.

        Another program may have changed both: a shell does while a program is stopped.
        """
        self._rows = []
        if self._input is not None:
            with contextlib.suppress(curses.error):
                curses.reset_prog_mode()
            self._set_modes(mouse=self._captures_mouse)

    def _attribute(self, style: Style) -> int:
        attribute = self._attributes.get(style)
        if attribute is None:
            assert self._theme is not None
            attribute = self._attributes[style] = self._make(self._theme.look(style, self.colors))
        return attribute

    def _make(self, look: Look) -> int:
        attribute = curses.A_NORMAL
        for wanted, flag in (
            (look.bold, curses.A_BOLD),
            (look.dim, curses.A_DIM),
            (look.underline, curses.A_UNDERLINE),
            (look.reverse, curses.A_REVERSE),
            (look.italic, getattr(curses, 'A_ITALIC', 0)),
            (look.blink, curses.A_BLINK),
        ):
            if wanted:
                attribute |= flag
        if self.colors:
            attribute |= curses.color_pair(self._pair(look.foreground, look.background))
        return attribute

    def _pair(self, foreground: int, background: int) -> int:
        """Return the number of a color pair; 0, the terminal's default, if none is left."""
        key = (foreground, background)
        if key not in self._pairs:
            number = len(self._pairs) + 1
            # Numbers above 255 do not fit into an attribute.
            if number >= min(curses.COLOR_PAIRS, 256):
                return 0
            curses.init_pair(number, foreground, background)
            self._pairs[key] = number
        return self._pairs[key]

    def capture_mouse(self, captured: bool) -> None:
        self._captures_mouse = captured
        self._set_modes(mouse=captured)

    def ring(self) -> None:
        with contextlib.suppress(curses.error):
            curses.beep()


def terminal_type() -> str:
    return repr(os.environ.get('TERM', ''))
