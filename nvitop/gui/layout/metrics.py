# SPDX-License-Identifier: GPL-3.0-only
"""Layout of the metrics screen."""

from __future__ import annotations

from typing import Mapping

from nvitop.gui.layout.process import PlacedColumn, place_columns
from nvitop.gui.render.geometry import Rect
from nvitop.namedtuple import NamedTuple

#: Columns shown of the process, if there is room.
COLUMNS: tuple[str, ...] = (
    'gpu',
    'pid',
    'type',
    'user',
    'gpu_memory',
    'sm',
    'gmbw',
    'encoder',
    'decoder',
    'cpu',
    'memory',
    'time',
    'command',
)
#: Rows of title, headings and process.
_TOP_ROWS = 3
#: Minimum height of a box with two graphs above two: three lines and a row for each graph.
_MIN_BOX = 5
#: Columns to the left of a graph for percentages, and the width of both from which there is one more.
_GUTTER, _WIDE = 5, 30


class GraphArea(NamedTuple):
    """Places of a graph, of the percentages to its left, and of its title."""

    area: Rect
    gutter: Rect
    label: Rect


class MetricsLayout(NamedTuple):
    """Places on the screen. ``box`` is empty if there is no room for graphs."""

    columns: tuple[PlacedColumn, ...]
    heading_y: int
    row_y: int
    #: Box around the graphs, the row of its middle line, the columns of its vertical lines.
    box: Rect
    middle_y: int
    uprights: tuple[int, int, int]
    #: Upper left, lower left, upper right, lower right; one line each if there is no box.
    graphs: tuple[GraphArea, GraphArea, GraphArea, GraphArea]


def lay_out_metrics(width: int, height: int, widths: Mapping[str, int]) -> MetricsLayout:
    """Lay out a screen of this size; ``widths`` are those of columns wider than usual."""
    columns = place_columns(COLUMNS, width, widths)
    area = Rect(0, 0, width, height).split_top(_TOP_ROWS)[1]
    if area.height < _MIN_BOX:
        lines = [Rect(1, area.y + i, width - 2, int(i < area.height)) for i in range(4)]
        nowhere = Rect(0, area.y, 0, 0)
        first, second, third, fourth = (GraphArea(line, nowhere, line) for line in lines)
        graphs = (first, second, third, fourth)
        return MetricsLayout(columns, 1, 2, nowhere, area.y, (0, 0, 0), graphs)
    upper_rows = (area.height - 3 + 1) // 2
    middle_y = area.y + 1 + upper_rows
    middle_x = width // 2
    left, right = Rect(1, 0, middle_x - 1, 0), Rect(middle_x + 1, 0, width - middle_x - 2, 0)
    upper = (area.y + 1, upper_rows)
    lower = (middle_y + 1, area.bottom - 2 - middle_y)
    first, second, third, fourth = (
        _with_gutter(Rect(cells.x, y, cells.width, rows))
        for cells in (left, right)
        for y, rows in (upper, lower)
    )
    uprights = (0, middle_x, width - 1)
    return MetricsLayout(columns, 1, 2, area, middle_y, uprights, (first, second, third, fourth))


def _with_gutter(cells: Rect) -> GraphArea:
    is_wide = cells.width >= _WIDE
    gutter, area = cells.split_left(_GUTTER + is_wide)
    return GraphArea(area, gutter, area if is_wide else cells)
