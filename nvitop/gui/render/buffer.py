# SPDX-License-Identifier: GPL-3.0-only
"""Screens as rows of spans of text, which are ten times cheaper to draw than a grid of cells; rectangles of cells.

``x`` grows to the right and ``y`` downwards, both from 0.
"""

from __future__ import annotations

import bisect
import operator
from typing import TYPE_CHECKING, Any, NamedTuple, Tuple

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

    def intersect(self, other: Rect) -> Rect:
        """Return the cells inside both rectangles, which may be none."""
        x, y = max(self.x, other.x), max(self.y, other.y)
        return Rect(
            x,
            y,
            max(0, min(self.right, other.right) - x),
            max(0, min(self.bottom, other.bottom) - y),
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


#: What a click means: a kind and a value that depends on it.
Hit = Tuple[str, Any]
NO_HIT: Hit = ('', None)


class Buffer:
    """A screen of ``width`` × ``height`` cells. Later writes cover earlier ones."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._rows: list[list[Span]] = [[] for _ in range(height)]
        # The column after the last span of each row.
        self._ends = [0] * height
        # Rows with a span that begins before the last one ends. They are put in order when they are read.
        self._overlapping: set[int] = set()
        #: What clicks on parts of the screen mean; later ones cover earlier ones.
        self.hits: list[tuple[Rect, Hit]] = []

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
        if x < self._ends[y]:
            self._overlapping.add(y)
        self._rows[y].append((x, text, style))
        self._ends[y] = end
        return cells

    def add_row(self) -> None:
        self.height += 1
        self._rows.append([])
        self._ends.append(0)

    def hit(self, rect: Rect, kind: str, value: Any) -> None:
        """Say what a click on a rectangle means: ``('keys', 'o g')``, ``('device', key)``."""
        self.hits.append((rect, (kind, value)))

    def hit_at(self, x: int, y: int) -> Hit:
        """Return what a click on a cell means; :data:`NO_HIT` if it means nothing."""
        return next((hit for rect, hit in reversed(self.hits) if rect.contains(x, y)), NO_HIT)

    def clear(self, rect: Rect) -> None:
        """Fill a rectangle with spaces."""
        area = rect.intersect(self.area)
        for y in range(area.y, area.bottom):
            self.write(area.x, y, ' ' * area.width)

    def restyle(self, rect: Rect, **changes: Any) -> None:
        """Change the given fields of the style of all text in a rectangle.

        Empty cells change too if there is another role behind the text; a bar keeps its own.
        """
        back = changes.get('back')
        changed: dict[Style, Style] = {}
        area = rect.intersect(self.area)
        for y in range(area.y, area.bottom) if area.width else ():
            pieces = list(self.row(y))
            if back is not None:
                pieces = _without_overlaps([(area.x, ' ' * area.width, PLAIN), *pieces])
            spans: list[Span] = []
            for x, text, style in pieces:
                new = changed.get(style)
                if new is None:
                    new = style._replace(**changes)
                    if back is not None and style.back is not None:
                        new = new._replace(back=style.back)
                    changed[style] = new
                spans.extend(_split(x, text, style, area.x, area.right, new))
            self._replace(y, spans)

    def change(self, changed: Callable[[str, Style], tuple[str, Style]]) -> None:
        """Replace each piece of text by another one of the same width, and its style."""
        for spans in self._rows:
            spans[:] = [(x, *changed(text, style)) for x, text, style in spans]

    def row(self, y: int) -> tuple[Span, ...]:
        """Return the spans of a row from left to right. They do not overlap; gaps are empty."""
        if y in self._overlapping:
            self._replace(y, _without_overlaps(self._rows[y]))
            self._overlapping.discard(y)
        return tuple(self._rows[y])

    def _replace(self, y: int, spans: list[Span]) -> None:
        self._rows[y] = spans
        if spans:
            x, text, _ = spans[-1]
            self._ends[y] = x + cell_width(text)

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


def _without_overlaps(spans: list[Span]) -> list[Span]:
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
    starts: list[int] = []
    ends: list[int] = []
    for x, text, style in reversed(spans):
        start, end = x, x + cell_width(text)
        # The piece that ends after the start, and so may cover it.
        number = bisect.bisect_right(ends, start)
        while start < end:
            stop = min(end, starts[number]) if number < len(starts) else end
            if start < stop:
                is_whole = start == x and stop == end
                visible = text if is_whole else cut(text, start - x, stop - start)
                pieces.insert(number, (start, visible, style))
                starts.insert(number, start)
                ends.insert(number, stop)
                number += 1
            if stop == end:
                break
            start = ends[number]
            number += 1
    return pieces


def _split(x: int, text: str, style: Style, left: int, right: int, inside: Style) -> list[Span]:
    """Split a span so that its part from column ``left`` to ``right`` has another style."""
    end = x + cell_width(text)
    if x >= left and end <= right:
        return [(x, text, inside)]
    if end <= left or x >= right:
        return [(x, text, style)]
    parts = []
    for start, stop, new in ((x, left, style), (left, right, inside), (right, end, style)):
        start, stop = max(start, x), min(stop, end)
        if start < stop:
            parts.append((start, cut(text, start - x, stop - start), new))
    return parts
