# SPDX-License-Identifier: GPL-3.0-only
"""Frames as ANSI escape sequences that change only the cells that differ from the last frame.

curses writes twice as many bytes while all values change, which matters over slow connections: it moves the
cursor along rows, with longer sequences, and knows 256 colors at most.
"""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Iterable, NamedTuple, Sequence, Tuple

from nvitop.gui.render.ansi import RESET, change_of_look, shows_on_spaces
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Style
from nvitop.gui.render.theme import Look, Theme
from nvitop.gui.render.width import cell_width, cells_of

if TYPE_CHECKING:
    from nvitop.gui.render.buffer import Span

_CLEAR_TO_RIGHT = '\x1b[K'
#: Moves the cursor down in its column: curses disables the translation of newlines.
_DOWN = '\n'
_LEFT = '\b'
#: Number of unchanged cells that are written again because that is not longer than moving the cursor.
_SHORT = 3

#: Number of cells that are compared at once.
_PART = 30

#: A position of the cursor that has to be set.
_UNKNOWN = (-1, -9)

#: Maximum number of rows that the cursor moves down a column, and cells to its left or right, the nearest first.
_ROWS, _NEAR = 3, sorted(range(-9, 10), key=abs)


class _Run(NamedTuple):
    """Cells of a row to write."""

    y: int
    start: int
    stop: int


#: The characters of a row, ``''`` after a wide one, and the letters of their looks.
_Cells = Tuple[Sequence[str], str]

#: The letter of the look in which an empty screen is.
_NO_LOOK = chr(0)


class ChangeWriter:
    """Writes frames to a terminal with this many colors, which lacks some attributes.

    ``clear`` empties the screen.
    """

    def __init__(
        self, colors: int, lacking: Iterable[str] = (), *, clear: str = '\x1b[H\x1b[2J'
    ) -> None:
        self._clear = f'{RESET}{clear}'
        self._colors = colors
        self._lacking = dict.fromkeys(lacking, False)
        self._theme: Theme | None = None
        #: Letter of the look of each style. A row of letters is compared faster than one of looks.
        self._letters: dict[Style, str] = {}
        self._looks: dict[str, Look] = {}
        #: Whether each look is visible on spaces.
        self._is_visible: dict[str, bool] = {}
        #: (look, next look) → sequence.
        self._switches: dict[tuple[str, str], str] = {}
        self._size = (0, 0)
        self._rows: list[tuple[Span, ...]] = []
        self._cells: list[_Cells] = []
        #: Letter of the look in which the terminal writes.
        self._look = _NO_LOOK
        self._forget_looks()

    def _forget_looks(self) -> None:
        self._letters = {}
        self._looks = {_NO_LOOK: Look()}
        self._is_visible = {_NO_LOOK: False}
        self._switches = {}

    def forget(self) -> None:
        """Write every cell of the next frame, and clear the screen before."""
        self._size = (0, 0)

    def changes(self, buffer: Buffer, theme: Theme) -> str:
        """Return what to write to a terminal that shows the last frame."""
        if theme is not self._theme:
            self._theme = theme
            self._forget_looks()
            self.forget()
        parts: list[str] = []
        if self._size != (buffer.width, buffer.height):
            self._size = (buffer.width, buffer.height)
            parts.append(self._clear)
            self._look = _NO_LOOK
            self._rows = [()] * buffer.height
            self._cells = [(' ' * buffer.width, _NO_LOOK * buffer.width)] * buffer.height
        runs: list[_Run] = []
        ends: list[_Run] = []
        for y in range(buffer.height):
            row = buffer.row(y)
            if row != self._rows[y]:
                self._rows[y] = row
                old, new = self._cells[y], self._cells_of(row, buffer.width)
                self._cells[y] = new
                self._compare(y, old, new, runs, ends)
        position = _UNKNOWN
        for run in _in_columns(runs):
            parts.append(_move(position, run.start, run.y))
            chars, looks = self._cells[run.y]
            cells = slice(run.start, run.stop)
            self._write_cells(parts, chars[cells], looks[cells])
            # Terminals disagree about the width of some characters, and about the column after the last.
            is_known = run.stop < buffer.width and all(chars[cells])
            position = (run.stop, run.y) if is_known else _UNKNOWN
        for end in ends:
            if self._is_visible[self._look]:
                self._switch(parts, _NO_LOOK)
            parts.append(_move(position, end.start, end.y) + _CLEAR_TO_RIGHT)
            position = (end.start, end.y)
        return ''.join(parts)

    def _cells_of(self, row: tuple[Span, ...], width: int) -> _Cells:
        chars: list[str] = []
        looks: list[str] = []
        end = 0
        for x, text, style in row:
            if x > end:
                chars.append(' ' * (x - end))
                looks.append(_NO_LOOK * (x - end))
            cells = len(text) if text.isascii() else cell_width(text)
            chars.append(text)
            looks.append((self._letters.get(style) or self._letter_of(style)) * cells)
            end = x + cells
        rest = width - end
        return cells_of(''.join(chars) + ' ' * rest), ''.join(looks) + _NO_LOOK * rest

    def _letter_of(self, style: Style) -> str:
        assert self._theme is not None
        look = self._theme.look(style, self._colors)._replace(**self._lacking)
        letter = next((letter for letter, known in self._looks.items() if known == look), '')
        if not letter:
            letter = chr(len(self._looks))
            self._looks[letter] = look
            self._is_visible[letter] = shows_on_spaces(look)
        self._letters[style] = letter
        return letter

    def _compare(
        self, y: int, old: _Cells, new: _Cells, runs: list[_Run], ends: list[_Run]
    ) -> None:
        """Add the cells of a row that have changed, and its end if that has to be cleared."""
        chars, looks = new
        changed = _different(chars, old[0])
        if looks != old[1]:
            changed = sorted({*changed, *_different(looks, old[1])})
        end = len(chars)
        while end and chars[end - 1] == ' ' and not self._is_visible[looks[end - 1]]:
            end -= 1
        if end < len(chars) and sum(x >= end for x in changed) > _SHORT:
            changed = [x for x in changed if x < end]
            ends.append(_Run(y, end, end))
        runs.extend(_runs(y, changed, chars, looks))

    def _write_cells(self, parts: list[str], chars: Sequence[str], looks: str) -> None:
        start = 0
        while start < len(chars):
            look, stop = looks[start], start + 1
            while stop < len(chars) and looks[stop] == look:
                stop += 1
            text = ''.join(chars[start:stop])
            if look != self._look and (
                self._is_visible[look] or self._is_visible[self._look] or not text.isspace()
            ):
                self._switch(parts, look)
            parts.append(text)
            start = stop

    def _switch(self, parts: list[str], look: str) -> None:
        change = self._switches.get((self._look, look))
        if change is None:
            change = change_of_look(self._looks[self._look], self._looks[look])
            self._switches[self._look, look] = change
        parts.append(change)
        self._look = look


def _different(values: Sequence[object], others: Sequence[object]) -> list[int]:
    """Return the indices of the values that differ; most parts of a row do not."""
    found: list[int] = []
    for start in range(0, len(values), _PART):
        part, other = values[start : start + _PART], others[start : start + _PART]
        if part != other:
            differ = map(operator.ne, part, other)  # loops in C, as a row has hundreds of cells
            found += itertools.compress(range(start, start + len(part)), differ)
    return found


def _runs(y: int, changed: Sequence[int], chars: Sequence[str], looks: str) -> list[_Run]:
    """Return what to write in a row: whole characters, with short gaps between them."""
    runs: list[_Run] = []
    start = stop = -1
    for x in changed:
        first = x if chars[x] else x - 1
        gap = first - stop
        if gap > 0 and (
            stop < 0
            or gap > _SHORT
            or not ''.join(chars[stop:first]).isascii()
            or set(looks[stop:first]) != {looks[stop - 1]}
        ):
            if stop >= 0:
                runs.append(_Run(y, start, stop))
            start = first
        stop = x + 1
        if stop < len(chars) and not chars[stop]:
            stop += 1
    if stop >= 0:
        runs.append(_Run(y, start, stop))
    return runs


def _in_columns(runs: Sequence[_Run]) -> list[_Run]:
    """Return the runs, given by rows, so that those below each other follow each other.

    The cursor moves down a column of numbers with fewer bytes than along rows, and they often share a color.
    """
    columns: list[list[_Run]] = []
    #: Column in which the cursor is after the last run → runs below each other.
    by_end: dict[int, list[_Run]] = {}
    for run in runs:
        column: list[_Run] = []
        for cells in _NEAR:
            above = by_end.get(run.start + cells)
            if above is not None and 0 < run.y - above[-1].y <= _ROWS:
                column = by_end.pop(run.start + cells)
                break
        if not column:
            columns.append(column)
        column.append(run)
        by_end[run.stop] = column
    return [run for column in columns for run in column]


def _move(position: tuple[int, int], x: int, y: int) -> str:
    """Return the shortest sequence that moves the cursor; its position may be unknown."""
    if position == (x, y):
        return ''
    old_x, old_y = position
    to_place = f'\x1b[{y + 1};{x + 1}H'
    if position == _UNKNOWN or not 0 <= y - old_y <= _ROWS:
        return to_place
    cells = x - old_x
    along = f'\x1b[{cells}C' if cells > 0 else min(_LEFT * -cells, f'\x1b[{-cells}D', key=len)
    return min(to_place, _DOWN * (y - old_y) + (along if cells else ''), key=len)
