"""A terminal emulator: pyte, extended by what curses uses of xterm."""

from __future__ import annotations

import codecs
import copy
from typing import Any

import pyte
from pyte.screens import Char

#: Private modes that a program may set.
WRAPS, SHOWS_CURSOR, ALTERNATE_SCREEN, PASTE_MARKS = 7, 25, 1049, 2004
MOUSE_BUTTONS, MOUSE_SGR = 1000, 1006
#: Private modes that are on before any program sets one.
FRESH_MODES = {WRAPS, SHOWS_CURSOR}
#: Parameters of SGR.
DIM, STRUCK, NOT_DIM, NOT_STRUCK, FOREGROUND, BACKGROUND = 2, 9, 22, 29, 38, 48


class Screen(pyte.Screen):
    """The screen of xterm, with an alternate screen, REP, and a record of modes."""

    def __init__(self, columns: int, rows: int) -> None:
        self.private_modes: set[int] = set(FRESH_MODES)
        self._last = ' '
        self._main: tuple[Any, Any] | None = None
        super().__init__(columns, rows)

    def draw(self, data: str) -> None:
        self._last = data[-1:] or self._last
        super().draw(data)

    def repeat(self, count: int = 1) -> None:
        """REP: repeat the last character."""
        super().draw(self._last * max(1, count))

    def back_tab(self, count: int = 1) -> None:
        """CBT: move to a previous tab stop."""
        for _ in range(max(1, count)):
            stops = [stop for stop in self.tabstops if stop < self.cursor.x]
            self.cursor.x = max(stops, default=0)

    def scroll_up(self, count: int = 1) -> None:
        """SU: scroll the lines up."""
        x, y = self.cursor.x, self.cursor.y
        self.cursor.y = self.margins.top if self.margins else 0
        self.delete_lines(max(1, count))
        self.cursor.x, self.cursor.y = x, y

    def scroll_down(self, count: int = 1) -> None:
        """SD: scroll the lines down."""
        x, y = self.cursor.x, self.cursor.y
        self.cursor.y = self.margins.top if self.margins else 0
        self.insert_lines(max(1, count))
        self.cursor.x, self.cursor.y = x, y

    def delete_lines(self, count: int | None = None) -> None:
        """DL: delete lines. pyte does not replace a line by one that was never written."""
        for y in range(self.lines):
            self.buffer[y]
        super().delete_lines(count)

    def select_graphic_rendition(self, *attributes: int, **kwargs: bool) -> None:
        """Set colors and attributes. Dim is recorded as strikethrough, because pyte lacks dim."""
        changed: list[int] = []
        rest = iter(attributes)
        for attribute in rest:
            changed += {DIM: (STRUCK,), NOT_DIM: (NOT_DIM, NOT_STRUCK)}.get(attribute, (attribute,))
            if attribute in (FOREGROUND, BACKGROUND):  # numbers of a color follow
                changed += rest
        super().select_graphic_rendition(*changed, **kwargs)

    def is_dim(self, x: int, y: int) -> bool:
        return bool(self.cell(x, y).strikethrough)

    def set_mode(self, *modes: int, **kwargs: bool) -> None:
        if kwargs.get('private'):
            if ALTERNATE_SCREEN in modes and ALTERNATE_SCREEN not in self.private_modes:
                self._main = (copy.deepcopy(self.buffer), copy.copy(self.cursor))
                self.erase_in_display(2)
            self.private_modes.update(modes)
        super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes: int, **kwargs: bool) -> None:
        super().reset_mode(*modes, **kwargs)
        if kwargs.get('private'):
            if ALTERNATE_SCREEN in modes and self._main is not None:
                self.buffer, self.cursor = self._main
                self._main = None
                self.dirty.update(range(self.lines))
            self.private_modes.difference_update(modes)

    def cell(self, x: int, y: int) -> Char:
        return self.buffer[y][x]


class _Stream(pyte.Stream):
    def __init__(self, screen: Screen) -> None:
        more = {'b': 'repeat', 'Z': 'back_tab', 'S': 'scroll_up', 'T': 'scroll_down'}
        self.csi = {**pyte.Stream.csi, **more}
        self.events = pyte.Stream.events.union(more.values())
        super().__init__(screen)


class Emulator:
    def __init__(self, columns: int, rows: int) -> None:
        self.screen = Screen(columns, rows)
        self._stream = _Stream(self.screen)
        self._utf8 = codecs.getincrementaldecoder('utf-8')('replace')
        self._lines: list[str] = []

    def feed(self, data: bytes) -> None:
        self._stream.feed(self._utf8.decode(data))

    def resize(self, columns: int, rows: int) -> None:
        self.screen.resize(rows, columns)

    @property
    def lines(self) -> list[str]:
        """All rows. (``display`` of pyte is slow: it looks up the width of every cell.)"""
        screen = self.screen
        if len(self._lines) != screen.lines:
            self._lines = [''] * screen.lines
            screen.dirty.update(range(screen.lines))
        for y in screen.dirty:
            if y < screen.lines:
                row = screen.buffer[y]
                # The second half of a wide character is an empty text.
                self._lines[y] = ''.join(row[x].data for x in range(screen.columns))
        screen.dirty.clear()
        return self._lines

    @property
    def text(self) -> str:
        return '\n'.join(row.rstrip() for row in self.lines)
