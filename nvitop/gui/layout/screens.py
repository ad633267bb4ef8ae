# SPDX-License-Identifier: GPL-3.0-only
"""Layout of the other screens: lists, the tree, the page of a process, the help."""

from __future__ import annotations

from typing import Iterable, Mapping, NamedTuple

from nvitop.gui.layout.process import place_columns
from nvitop.gui.model.columns import COLUMNS
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

    @property
    def shown(self) -> range:
        """Indices of the lines on the screen."""
        return range(self.scroll_y, min(self.length, self.scroll_y + self.area.height))

    def row_of(self, line: int) -> int:
        """Return the row of a line."""
        return self.area.y + line - self.scroll_y

    def at(self, y: int) -> int | None:
        """Return the index of the line in a row."""
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
    """Lay out ``count`` lines on a screen with ``top`` rows above them and ``bottom`` rows below.

    The first line on the screen is as near to ``scroll_y`` as possible with the cursor in view.
    """
    area = Rect(0, top, width, max(0, height - top - bottom))
    if cursor is not None:
        scroll_y = max(cursor + 1 - area.height, min(scroll_y, cursor))
    scroll_y = max(0, min(scroll_y, count - area.height))
    return ListLayout(area, count, scroll_y)


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


#: Columns shown of the process, if there is room.
_COLUMNS: tuple[str, ...] = tuple(
    column.name
    for column in COLUMNS
    if column.name not in ('owner', 'gpu_memory_percent', 'idle', 'host_memory', 'start')
)
#: Rows of title, headings and process.
_TOP_ROWS = 3
#: Minimum height of a graph with its title, and the one from which there is another row of graphs.
_LEAST, _USUAL = 2, 5


class MetricsLayout(NamedTuple):
    """Places on the screen. ``box`` is empty if there is no room for graphs."""

    columns: tuple[Placed, ...]
    #: Box around the graphs.
    box: Rect
    #: The graphs in reading order; the title of each is in the row above it.
    graphs: tuple[Rect, ...] = ()
    #: Rows for the whole command and other facts, above the box.
    facts: Rect = Rect(0, 0, 0, 0)

    def uprights(self, y: int) -> tuple[int, ...]:
        """Return the columns of the vertical lines between graphs in this row; ``()`` if none."""
        lefts = [graph.x - 1 for graph in self.graphs if graph.y <= y < graph.bottom]
        return (*lefts, self.box.width - 1) if lefts else ()


def lay_out_metrics(
    width: int, height: int, widths: Mapping[str, int], count: int = 0, *, facts: int = 0
) -> MetricsLayout:
    """Lay out a screen of this size with up to ``count`` graphs, two in a row.

    ``widths`` are those of columns wider than usual. Above the graphs are up to ``facts`` rows of text,
    as long as there is room for two rows of graphs.
    """
    columns = place_columns(_COLUMNS, width, widths)
    below = Rect(0, 0, width, height).split_top(_TOP_ROWS)[1]
    texts, box = below.split_top(max(0, min(facts, below.height - 1 - 2 * _USUAL)))
    room = box.height - 1
    rows = min((count + 1) // 2, max(2, room // _USUAL), room // _LEAST)
    if rows < 1:
        return MetricsLayout(columns, Rect(0, box.y, 0, 0), facts=texts)
    middle = width // 2
    graphs = []
    for row in range(rows):
        top = box.y + room * row // rows + 1
        rows_high = box.y + room * (row + 1) // rows - top
        if 2 * row + 1 == count:
            graphs.append(Rect(1, top, width - 2, rows_high))
        else:
            graphs.append(Rect(1, top, middle - 1, rows_high))
            graphs.append(Rect(middle + 1, top, width - middle - 2, rows_high))
    return MetricsLayout(columns, box, tuple(graphs), texts)
