# SPDX-License-Identifier: GPL-3.0-only
"""Where the lines of a screen are that is a list: title, headings, lines, foot."""

from __future__ import annotations

from typing import Iterable

from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.width import cell_width, safe
from nvitop.namedtuple import NamedTuple


class ListLayout(NamedTuple):
    """Places of the lines of a list."""

    #: The rows of the lines, as many as there is room for.
    area: Rect
    #: How many lines the list has, and index of the first one that is seen.
    length: int
    scroll_y: int

    @property
    def shown(self) -> range:
        """Indices of the lines that are seen."""
        return range(self.scroll_y, min(self.length, self.scroll_y + self.area.height))

    def row_of(self, line: int) -> int:
        """The row of a line."""
        return self.area.y + line - self.scroll_y

    def at(self, y: int) -> int | None:
        """Index of the line in this row."""
        line = y - self.area.y + self.scroll_y
        return line if self.area.y <= y < self.area.bottom and line < self.length else None


def lay_out_list(
    width: int,
    height: int,
    count: int,
    *,
    top: int,
    bottom: int = 0,
    scroll_y: int = 0,
    cursor: int | None = None,
) -> ListLayout:
    """Places on a screen of this size with ``top`` rows above the lines and ``bottom`` below.

    The list is scrolled as near to ``scroll_y`` as can be, with the line of the cursor in view.
    """
    area = Rect(0, top, width, max(0, height - top - bottom))
    if cursor is not None:
        scroll_y = max(cursor + 1 - area.height, min(scroll_y, cursor))
    scroll_y = max(0, min(scroll_y, count - area.height))
    return ListLayout(area, count, scroll_y)


def longest_line(texts: Iterable[str], *, limit: int) -> int:
    """Cells of the longest of these texts, which need not be safe, as drawn up to ``limit``."""
    return max(
        (len(text) if text.isascii() else cell_width(safe(text, limit=limit)) for text in texts),
        default=0,
    )
