# SPDX-License-Identifier: GPL-3.0-only
"""The terminal through curses, as far as it is the same on all platforms."""

from __future__ import annotations

import abc
import contextlib
import curses
import os
import sys
from typing import TYPE_CHECKING, Iterator, Protocol

from nvitop.gui.render.style import Style
from nvitop.gui.render.theme import DEFAULT, Look

if TYPE_CHECKING:
    from typing import ContextManager

    from nvitop.gui.render.buffer import Buffer, Span
    from nvitop.gui.render.theme import Theme
    from nvitop.gui.state.events import Event


#: How long, in seconds, a thread that is busy with Python keeps others waiting: measuring gives way
#: at once when a key or a wake-up comes, and what answers it is then not interrupted until it is
#: on the screen. The usual 5 ms would be waited for each time, now by the one and now by the other.
WAITING_SWITCH, ANSWERING_SWITCH = 0.0001, 0.05


class TerminalError(Exception):
    """The terminal cannot be used for the monitor; the text says why."""


class Input(Protocol):
    """Where events come from; which one depends on the platform."""

    def wait(self, timeout: float | None) -> list[Event]:
        """Block until there are events, a wake-up, or the seconds are over."""

    def wake(self) -> None:
        """Make :meth:`wait` return. Any thread may call it."""

    def signals_caught(self) -> ContextManager[None]:
        """For the block, signals are events."""

    def close(self) -> None:
        """Give up what it holds."""


class CursesTerminal(abc.ABC):
    """A :class:`~nvitop.gui.term.terminal.Terminal` on standard input and output.

    curses is asked to draw. What it cannot do, and where keys come from, depends on the platform.
    """

    def __init__(self, *, max_colors: int = 256, captures_mouse: bool = True) -> None:
        self._max_colors = max_colors
        self._colors = 0
        self._screen: curses.window | None = None
        self._input: Input | None = None
        self._rows: list[tuple[Span, ...]] = []
        self._theme: Theme | None = None
        self._attributes: dict[Style, int] = {}
        self._pairs: dict[tuple[int, int], int] = {}
        self._captures_mouse = captures_mouse

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Take the terminal over. Raises TerminalError where curses cannot."""
        former = sys.getswitchinterval()
        self._start()
        try:
            self._input = source = self._open_input()
            with source.signals_caught():
                self._enter()
                yield
        finally:
            self._leave()
            if self._input is not None:
                self._input.close()
            self._input = None
            sys.setswitchinterval(former)

    def _start(self) -> None:
        try:
            self._check_type()
            self._screen = curses.initscr()
        except curses.error as error:
            raise TerminalError(
                f'curses cannot use a terminal of type {terminal_type()}: {error}'
            ) from None

    @abc.abstractmethod
    def _check_type(self) -> None:
        """Raise TerminalError or curses.error for a terminal that initscr would not survive."""

    @abc.abstractmethod
    def _open_input(self) -> Input:
        """Where events come from."""

    @abc.abstractmethod
    def _set_modes(self, *, mouse: bool) -> None:
        """Have actions of the mouse, or not, and pastes reported, as far as that is known here."""

    @abc.abstractmethod
    def _unset_modes(self) -> None:
        """Have nothing reported any more."""

    @abc.abstractmethod
    def _let_all_lines_scroll(self, height: int) -> None:
        """Set the margins that curses takes for granted."""

    @abc.abstractmethod
    def suspend(self) -> None:
        """Give the terminal back and stop; returns when the shell has continued us."""

    def _enter(self) -> None:
        assert self._screen is not None
        curses.noecho()
        # Raw: Ctrl-C, Ctrl-Z and Ctrl-\ are keys, and Ctrl-S does not stop the screen.
        curses.raw()
        self._screen.leaveok(True)
        with contextlib.suppress(curses.error):  # a terminal that cannot hide its cursor
            curses.curs_set(0)
        self._start_colors()
        self._set_modes(mouse=self._captures_mouse)

    def _leave(self) -> None:
        """Give the terminal back; must work from any state, also after an error half way."""
        self._unset_modes()
        with contextlib.suppress(curses.error):
            curses.curs_set(1)
        with contextlib.suppress(curses.error):
            curses.noraw()
            curses.echo()
            curses.endwin()

    def _start_colors(self) -> None:
        self._colors = 0
        with contextlib.suppress(curses.error):
            curses.start_color()
            curses.use_default_colors()
            for depth in (8, 16, 256):
                if curses.COLORS >= depth <= self._max_colors:
                    self._colors = depth

    def size(self) -> tuple[int, int]:
        """Columns and rows, asked of the terminal: what curses knows is stale after a resize."""
        try:
            columns, rows = os.get_terminal_size(sys.stdout.fileno())
        except OSError:
            rows, columns = self._screen.getmaxyx() if self._screen is not None else (24, 80)
        return columns, rows

    def colors(self) -> int:
        """How many colours are used: 0, 8, 16 or 256."""
        return self._colors

    def wait(self, timeout: float | None) -> list[Event]:
        """Block until something happens."""
        assert self._input is not None
        sys.setswitchinterval(WAITING_SWITCH)
        events = self._input.wait(timeout)
        sys.setswitchinterval(ANSWERING_SWITCH)
        return events

    def wake(self) -> None:
        """Make :meth:`wait` return. Any thread may call it."""
        source = self._input
        if source is not None:
            source.wake()

    def draw(self, buffer: Buffer, theme: Theme) -> None:
        """Write the rows that differ from the last frame; curses writes the cells that differ."""
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
            self._let_all_lines_scroll(buffer.height)
            self._screen.clear()
            self._rows = [()] * buffer.height
        for y in range(buffer.height):
            row = buffer.row(y)
            if row != self._rows[y]:
                self._rows[y] = row
                self._draw_row(y, row)
        # Others go on while it is written.
        sys.setswitchinterval(WAITING_SWITCH)
        self._screen.refresh()

    def _draw_row(self, y: int, row: tuple[Span, ...]) -> None:
        screen = self._screen
        assert screen is not None
        # The size may have changed since the frame was made: what is outside is not drawn. Writing
        # the last cell of the last row moves the cursor off the screen, which curses calls an error
        # after having written it.
        with contextlib.suppress(curses.error):
            screen.move(y, 0)
            screen.clrtoeol()
            for x, text, style in row:
                screen.addstr(y, x, text, self._attribute(style))

    def forget(self) -> None:
        """Write every cell at the next :meth:`draw`: something else may have drawn on the screen.

        It may have changed modes as well: a shell does, while a program is stopped from outside.
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
            attribute = self._attributes[style] = self._make(self._theme.look(style, self._colors))
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
        if self._colors and (look.foreground, look.background) != (DEFAULT, DEFAULT):
            attribute |= curses.color_pair(self._pair(look.foreground, look.background))
        return attribute

    def _pair(self, foreground: int, background: int) -> int:
        """The number of a pair of colours; 0, the terminal's own, when there are no more."""
        key = (foreground, background)
        if key not in self._pairs:
            number = len(self._pairs) + 1
            # Above 255 a pair does not fit into an attribute.
            if number >= min(curses.COLOR_PAIRS, 256):
                return 0
            curses.init_pair(number, foreground, background)
            self._pairs[key] = number
        return self._pairs[key]

    def capture_mouse(self, captured: bool) -> None:
        """Whether mouse actions are events, or the terminal's own."""
        self._captures_mouse = captured
        self._set_modes(mouse=captured)

    def ring(self) -> None:
        """Sound the bell."""
        with contextlib.suppress(curses.error):
            curses.beep()


def terminal_type() -> str:
    """What the environment calls the terminal, in quotes."""
    return repr(os.environ.get('TERM', ''))
