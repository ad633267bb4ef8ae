# SPDX-License-Identifier: GPL-3.0-only
"""Layout of the other screens: lists, the tree, the page of a process, the help."""

from __future__ import annotations

from typing import Iterable, NamedTuple

from nvitop.gui.model.table import Placed
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.width import cell_width, safe


class ListLayout(NamedTuple):
    """Places of the lines of a list."""

    #: The rows available for lines.
    area: Rect
    #: Number of lines, and index of the first one on the screen.
    length: int
    scroll_y: int
    #: Rows of a line.
    line_height: int = 1

    @property
    def visible(self) -> int:
        """Number of lines for which there is room."""
        return self.area.height // self.line_height

    @property
    def shown(self) -> range:
        """Indices of the lines on the screen."""
        return range(self.scroll_y, min(self.length, self.scroll_y + self.visible))

    def row_of(self, line: int) -> int:
        """Return the row of a line."""
        return self.area.y + (line - self.scroll_y) * self.line_height

    def at(self, y: int) -> int | None:
        """Return the index of the line in a row."""
        line = (y - self.area.y) // self.line_height + self.scroll_y
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
    line_height: int = 1,
) -> ListLayout:
    """Lay out ``count`` lines on a screen with ``top`` rows above them and ``bottom`` rows below.

    The first line on the screen is as near to ``scroll_y`` as possible with the cursor in view.
    """
    area = Rect(0, top, width, max(0, height - top - bottom))
    visible = area.height // line_height
    if cursor is not None:
        scroll_y = max(cursor + 1 - visible, min(scroll_y, cursor))
    scroll_y = max(0, min(scroll_y, count - visible))
    return ListLayout(area, count, scroll_y, line_height)


class TreeLayout(NamedTuple):
    """Places of the lines and columns. The last column is the command with its branches."""

    lines: ListLayout
    columns: tuple[Placed, ...]


def longest_line(texts: Iterable[str], *, limit: int) -> int:
    """Return the columns of the longest text, which need not be safe, up to ``limit``."""
    return max(
        (len(text) if text.isascii() else cell_width(safe(text, limit=limit)) for text in texts),
        default=0,
    )
