# SPDX-License-Identifier: GPL-3.0-only
"""Where everything on the screen of a process's metrics is."""

from __future__ import annotations

from typing import Mapping

from nvitop.gui.layout.process import PlacedColumn, place_columns
from nvitop.gui.render.geometry import Rect
from nvitop.namedtuple import NamedTuple

#: What is told of the process, where there is room.
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
#: The fewest rows of a box with two graphs above two: three lines and a row for each graph.
_LEAST_BOX = 5
#: Cells left of a graph for percentages: one more where both have this width.
_GUTTER, _WIDE = 5, 30


class GraphArea(NamedTuple):
    """A graph, the cells left of it for percentages, and those in which its title has to fit."""

    area: Rect
    gutter: Rect
    label: Rect


class MetricsLayout(NamedTuple):
    """Places of the screen. Where it is too low for graphs, ``box`` is empty."""

    columns: tuple[PlacedColumn, ...]
    heading_y: int
    row_y: int
    #: The box, the row of its line in the middle, and the columns of its upright lines.
    box: Rect
    middle_y: int
    uprights: tuple[int, int, int]
    #: Upper left, lower left, upper right, lower right; or one line each.
    graphs: tuple[GraphArea, GraphArea, GraphArea, GraphArea]


def lay_out_metrics(width: int, height: int, widths: Mapping[str, int]) -> MetricsLayout:
    """Places on a screen of this size; ``widths`` are those of columns wider than usual."""
    columns = place_columns(COLUMNS, width, widths)
    area = Rect(0, 0, width, height).split_top(_TOP_ROWS)[1]
    if area.height < _LEAST_BOX:
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
