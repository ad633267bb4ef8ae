# SPDX-License-Identifier: GPL-3.0-only
"""Frames as ANSI escape sequences that change only what differs from the last frame.

If most rows are other rows, as after a switch to another screen, whole rows are written, which is fast;
otherwise only the cells that changed, which takes fewer bytes. curses writes more bytes while all values change, and knows 256 colors at most.
"""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Iterable, Sequence, Tuple

from nvitop.gui.render.ansi import RESET, change_of_look, shows_on_spaces
from nvitop.gui.render.theme import Look
from nvitop.gui.render.width import cell_width, cells_of

if TYPE_CHECKING:
    from nvitop.gui.render.buffer import Buffer, Span
    from nvitop.gui.render.style import Style
    from nvitop.gui.render.theme import Theme

_CLEAR_TO_RIGHT = '\x1b[K'
#: Gaps of up to this many cells are rewritten instead of skipped.
_SHORT = 3

#: Number of cells that are compared at once.
_PART = 30

#: Column and row of a cursor that has to be placed.
_UNKNOWN = (-1, -1)

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
        #: Letter of the look in which the terminal writes.
        self._look = _NO_LOOK
        self._position = _UNKNOWN
        self._parts: list[str] = []
        self._forget_looks()

    def _forget_looks(self) -> None:
        self._letters = {}
        self._looks = {_NO_LOOK: Look()}
        self._is_visible = {_NO_LOOK: False}
        self._switches = {}

    def forget(self) -> None:
        """Clear the screen and write all of the next frame."""
        self._size = (0, 0)

    def changes(self, buffer: Buffer, theme: Theme) -> str:
        """Return what to write to a terminal that shows the last frame."""
        if theme is not self._theme:
            self._theme = theme
            self._forget_looks()
            self.forget()
        self._parts = []
        self._position = _UNKNOWN
        if self._size != (buffer.width, buffer.height):
            self._size = (buffer.width, buffer.height)
            self._parts.append(self._clear)
            self._look = _NO_LOOK
            self._rows = [()] * buffer.height
        rows = [buffer.row(y) for y in range(buffer.height)]
        changed = [y for y, old in enumerate(self._rows) if rows[y] != old]
        others = sum(_is_another(self._rows[y], rows[y]) for y in changed)
        if others > buffer.height // 2:
            for y in changed:
                self._write_row(y, rows[y])
        else:
            for y in changed:
                self._write_changes(y, self._cells_of(self._rows[y]), self._cells_of(rows[y]))
        self._rows = rows
        return ''.join(self._parts)

    def _write_row(self, y: int, row: tuple[Span, ...]) -> None:
        """Write all of a row."""
        end = 0
        for x, text, style in row:
            if x > end:
                self._write(end, y, ' ' * (x - end), x - end, _NO_LOOK)
            look = self._letters.get(style) or self._letter_of(style)
            if x == row[-1][0] and not self._is_visible[look]:
                text = text.rstrip(' ')
            cells = len(text) if text.isascii() else cell_width(text)
            end = x + cells
            self._write(x, y, text, cells, look)
        if end < self._size[0]:
            self._clear_from(end, y)

    def _cells_of(self, row: tuple[Span, ...]) -> _Cells:
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
        rest = self._size[0] - end
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

    def _write_changes(self, y: int, old: _Cells, new: _Cells) -> None:
        """Write the cells of a row that have changed, and clear its end if that is shorter."""
        chars, looks = new
        changed = _different(chars, old[0])
        if looks != old[1]:
            changed = sorted({*changed, *_different(looks, old[1])})
        end = len(chars)
        while end and chars[end - 1] == ' ' and not self._is_visible[looks[end - 1]]:
            end -= 1
        clears = end < len(chars) and sum(x >= end for x in changed) > _SHORT
        if clears:
            changed = [x for x in changed if x < end]
        for start, stop in _runs(changed, chars, looks):
            while start < stop:
                look, x = looks[start], start
                while start < stop and looks[start] == look:
                    start += 1
                self._write(x, y, ''.join(chars[x:start]), start - x, look)
        if clears:
            self._clear_from(end, y)

    def _write(self, x: int, y: int, text: str, cells: int, look: str) -> None:
        """Write text of one look at a place."""
        self._move(x, y)
        if look != self._look and (
            self._is_visible[look] or self._is_visible[self._look] or not text.isspace()
        ):
            self._switch(look)
        self._parts.append(text)
        # Terminals disagree about the width of some characters.
        self._position = (x + cells, y) if cells == len(text) else _UNKNOWN

    def _clear_from(self, x: int, y: int) -> None:
        """Clear the end of a row."""
        self._move(x, y)
        if self._is_visible[self._look]:
            self._switch(_NO_LOOK)
        self._parts.append(_CLEAR_TO_RIGHT)

    def _move(self, x: int, y: int) -> None:
        """Place the cursor, with the shortest sequence. In a row it only moves to the right."""
        if self._position != (x, y):
            old_x, old_y = self._position
            to_place = f'\x1b[{y + 1};{x + 1}H'
            to_right = f'\x1b[{x - old_x}C'
            self._parts.append(min(to_right, to_place, key=len) if y == old_y else to_place)
            self._position = (x, y)

    def _switch(self, look: str) -> None:
        change = self._switches.get((self._look, look))
        if change is None:
            change = change_of_look(self._looks[self._look], self._looks[look])
            self._switches[self._look, look] = change
        self._parts.append(change)
        self._look = look


def _is_another(old: tuple[Span, ...], new: tuple[Span, ...]) -> bool:
    """Return whether at most half of the spans begin in a column and style that the old row had."""
    kept = {(x, style) for x, _, style in old}
    return 2 * sum((x, style) in kept for x, _, style in new) <= len(new)


def _different(values: Sequence[object], others: Sequence[object]) -> list[int]:
    """Return the indices of the values that differ; most parts of a row do not."""
    found: list[int] = []
    for start in range(0, len(values), _PART):
        part, other = values[start : start + _PART], others[start : start + _PART]
        if part != other:
            differ = map(operator.ne, part, other)  # loops in C, as a row has hundreds of cells
            found += itertools.compress(range(start, start + len(part)), differ)
    return found


def _runs(changed: Sequence[int], chars: Sequence[str], looks: str) -> list[tuple[int, int]]:
    """Return what to write in a row: whole characters, with short gaps between them."""
    runs: list[tuple[int, int]] = []
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
                runs.append((start, stop))
            start = first
        stop = x + 1
        if stop < len(chars) and not chars[stop]:
            stop += 1
    if stop >= 0:
        runs.append((start, stop))
    return runs
