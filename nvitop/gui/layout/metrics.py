# SPDX-License-Identifier: GPL-3.0-only
"""Layout of the metrics screen."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from nvitop.gui.layout.process import PlacedColumn, place_columns
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.render.geometry import Rect

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

    columns: tuple[PlacedColumn, ...]
    #: Box around the graphs.
    box: Rect
    #: The graphs in reading order; the title of each is in the row above it.
    graphs: tuple[Rect, ...] = ()

    def uprights(self, y: int) -> tuple[int, ...]:
        """Return the columns of the vertical lines between graphs in this row; ``()`` if none."""
        lefts = [graph.x - 1 for graph in self.graphs if graph.y <= y < graph.bottom]
        return (*lefts, self.box.width - 1) if lefts else ()


def lay_out_metrics(
    width: int, height: int, widths: Mapping[str, int], count: int = 0
) -> MetricsLayout:
    """Lay out a screen of this size with up to ``count`` graphs, two in a row.

    ``widths`` are those of columns wider than usual.
    """
    columns = place_columns(_COLUMNS, width, widths)
    box = Rect(0, 0, width, height).split_top(_TOP_ROWS)[1]
    room = box.height - 1
    rows = min((count + 1) // 2, max(2, room // _USUAL), room // _LEAST)
    if rows < 1:
        return MetricsLayout(columns, Rect(0, box.y, 0, 0))
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
    return MetricsLayout(columns, box, tuple(graphs))
