# SPDX-License-Identifier: GPL-3.0-only
"""Screens as rows of spans of text, which are ten times cheaper to draw than a grid of cells; rectangles; parts of lines.

``x`` grows to the right and ``y`` downwards, both from 0.
"""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, Sequence, Tuple

from nvitop.gui.render.theme import PLAIN, Style
from nvitop.gui.render.width import cell_width, cut, safe

if TYPE_CHECKING:
    from collections.abc import Callable

    #: First column, text, style. A plain tuple because a frame has hundreds of them.
    Span = Tuple[int, str, Style]


class Rect(NamedTuple):
    """A rectangle of cells. A width or height of 0 makes it empty; neither is ever negative."""

    x: int
    y: int
    width: int
    height: int

    @property
    def right(self) -> int:
        return self.x + self.width

    @property
    def bottom(self) -> int:
        return self.y + self.height

    @property
    def is_empty(self) -> bool:
        return self.width <= 0 or self.height <= 0

    def contains(self, x: int, y: int) -> bool:
        return self.x <= x < self.right and self.y <= y < self.bottom

    def inset(
        self, left: int, top: int, right: int | None = None, bottom: int | None = None
    ) -> Rect:
        """Return the rectangle without this many cells at each side.

        ``right`` defaults to ``left``, ``bottom`` to ``top``.
        """
        right = left if right is None else right
        bottom = top if bottom is None else bottom
        return Rect(
            self.x + min(left, self.width),
            self.y + min(top, self.height),
            max(0, self.width - left - right),
            max(0, self.height - top - bottom),
        )

    def split_top(self, height: int) -> tuple[Rect, Rect]:
        height = max(0, min(height, self.height))
        return (
            Rect(self.x, self.y, self.width, height),
            Rect(self.x, self.y + height, self.width, self.height - height),
        )


class Cells(NamedTuple):
    """A run of ``width`` columns that begins at ``x``."""

    x: int
    width: int

    @property
    def right(self) -> int:
        return self.x + self.width


class Item(NamedTuple):
    """A part of a line, from its longest to its shortest form."""

    forms: tuple[str, ...]
    style: Style = PLAIN
    #: Parts of a lower rank have room first.
    rank: int = 1
    #: The default key that a click on it presses; ``''``: none.
    key: str = ''
    #: Whether its longest form that fits has room before parts of a higher rank.
    is_whole: bool = False


def fit(items: Sequence[Item], room: int, gap: int) -> list[str]:
    """Return the form of each item that fits, ``''`` for those left out.

    All get room in their shortest form by rank; what is left lengthens them by rank.
    """
    shown = [''] * len(items)
    by_rank = sorted(range(len(items)), key=lambda number: items[number].rank)
    room += gap
    for number in by_rank:
        item = items[number]
        for form in item.forms if item.is_whole else item.forms[-1:]:
            cells = gap + cell_width(form)
            if cells <= room:
                shown[number] = form
                room -= cells
                break
    for number in by_rank:
        if shown[number]:
            room += cell_width(shown[number])
            shown[number] = next(f for f in items[number].forms if cell_width(f) <= room)
            room -= cell_width(shown[number])
    return shown


#: What a click means: a kind and a value that depends on it.
Hit = Tuple[str, Any]
NO_HIT: Hit = ('', None)


class Buffer:
    """A screen of ``width`` × ``height`` cells. Later writes cover earlier ones."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        # In the order of writing until they are read.
        self._rows: list[list[Span]] = [[] for _ in range(height)]
        #: What clicks on parts of the screen mean; later ones cover earlier ones.
        self.hits: list[tuple[Rect, Hit]] = []
        #: For the frame around it: the parts of its title, and the rows that are lines across it.
        self.title: Sequence[Item] = ()
        self.rules: set[int] = set()

    @property
    def area(self) -> Rect:
        return Rect(0, 0, self.width, self.height)

    def write(
        self, x: int, y: int, text: str, style: Style = PLAIN, *, width: int | None = None
    ) -> int:
        """Write safe text; return the number of cells it takes, at most ``width``.

        Text outside the buffer or beyond ``width`` cells is cut off. Cells outside the buffer
        count, so that the next piece can be written at ``x`` plus the result. Text with control
        characters goes through :func:`~nvitop.gui.render.width.safe`, in case the caller forgot
        it: no control character gets into a buffer.
        """
        if not text.isprintable():
            text = safe(text)
        cells = len(text) if text.isascii() else cell_width(text)
        if width is not None and cells > width:
            text = cut(text, 0, width)
            cells = max(0, width)
        if cells == 0 or not 0 <= y < self.height:
            return cells
        end = x + cells
        if x < 0 or end > self.width:
            text = cut(text, max(0, -x), self.width - max(0, x))
            x, end = max(0, x), min(self.width, end)
            if x >= end:
                return cells
        self._rows[y].append((x, text, style))
        return cells

    def add_row(self) -> None:
        self.height += 1
        self._rows.append([])

    def hit(self, rect: Rect, kind: str, value: Any) -> None:
        """Say what a click on a rectangle means: ``('keys', 'o g')``, ``('device', key)``."""
        self.hits.append((rect, (kind, value)))

    def hit_at(self, x: int, y: int) -> Hit:
        """Return what a click on a cell means; :data:`NO_HIT` if it means nothing."""
        return next((hit for rect, hit in reversed(self.hits) if rect.contains(x, y)), NO_HIT)

    def clear(self, y: int, count: int = 1) -> None:
        """Remove the text of rows."""
        self._rows[y : y + count] = [[] for _ in self._rows[y : y + count]]

    def restyle(self, rect: Rect, **changes: Any) -> None:
        """Change the given fields of the style of all text in a rectangle.

        Empty cells change too if there is another role behind the text; a bar keeps its own.
        """
        back = changes.get('back')
        left, right = max(0, rect.x), min(rect.right, self.width)

        def changed(style: Style) -> Style:
            new = style._replace(**changes)
            return new if back is None else new._replace(back=style.back or back)

        for y in range(max(0, rect.y), min(rect.bottom, self.height)) if left < right else ():
            spans: list[Span] = []
            end = left
            for span in (*self.row(y), (self.width, '', PLAIN)):
                gap = min(span[0], right) - end
                if back is not None and gap > 0:
                    spans.append((end, ' ' * gap, changed(PLAIN)))
                end = max(end, span[0] + cell_width(span[1]))
                inside = _part(span, left, right)
                spans += _part(span, 0, left)
                spans += [(x, text, changed(style)) for x, text, style in inside]
                spans += _part(span, right, self.width)
            self._rows[y] = spans

    def change(self, changed: Callable[[str, Style], tuple[str, Style]]) -> None:
        """Replace each piece of text by another one of the same width, and its style."""
        for spans in self._rows:
            spans[:] = [(x, *changed(text, style)) for x, text, style in spans]

    def row(self, y: int) -> tuple[Span, ...]:
        """Return the spans of a row from left to right. They do not overlap; gaps are empty."""
        spans = self._rows[y] = _in_order(self._rows[y])
        return tuple(spans)

    def lines(self) -> list[str]:
        """Return the text of each row without trailing spaces."""
        lines = []
        for y in range(self.height):
            parts = []
            column = 0
            for x, text, _ in self.row(y):
                if x > column:
                    parts.append(' ' * (x - column))
                parts.append(text)
                column = x + cell_width(text)
            lines.append(''.join(parts).rstrip(' '))
        return lines


def _in_order(spans: list[Span]) -> list[Span]:
    """Sort spans given in the order of writing, and cut the parts that later ones cover."""
    in_order = sorted(spans, key=operator.itemgetter(0))
    end = 0
    for x, text, _ in in_order:
        if x < end:
            break
        end = x + cell_width(text)
    else:  # most rows were only written in another order, such as frames before contents
        return in_order
    pieces: list[Span] = []
    for x, text, style in spans:
        end = x + cell_width(text)
        pieces = [
            part
            for piece in pieces
            for part in (*_part(piece, 0, x), *_part(piece, end, sys.maxsize))
        ]
        pieces.append((x, text, style))
    return sorted(pieces, key=operator.itemgetter(0))


def _part(span: Span, left: int, right: int) -> list[Span]:
    """Return the part of a span from column ``left`` to ``right``, if it has one."""
    x, text, style = span
    end = x + cell_width(text)
    if x >= left and end <= right:
        return [span] if text else []
    start, stop = max(x, left), min(end, right)
    return [(start, cut(text, start - x, stop - start), style)] if start < stop else []
