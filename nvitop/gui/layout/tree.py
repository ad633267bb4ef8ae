# SPDX-License-Identifier: GPL-3.0-only
"""Where everything on the tree screen is."""

from __future__ import annotations

from typing import Mapping

from nvitop.gui.layout.device import CLASSIC, Cells
from nvitop.gui.layout.list import ListLayout, lay_out_list
from nvitop.gui.layout.process import PlacedColumn, place
from nvitop.gui.model.columns import TREE_COLUMNS
from nvitop.namedtuple import NamedTuple

#: Rows above the first process: title and headings.
TREE_TOP_ROWS = 2
#: Cells the command keeps before other columns are left out, on a narrow screen and on another.
_NARROW_REST, _REST = 18, 30


class TreeLayout(NamedTuple):
    """Places of the lines and columns; the last column is the command with the lines of the tree."""

    lines: ListLayout
    columns: tuple[PlacedColumn, ...]


def lay_out_tree(
    width: int,
    height: int,
    count: int,
    widths: Mapping[str, int],
    *,
    scroll_y: int = 0,
    cursor: int | None = None,
) -> TreeLayout:
    """Places for ``count`` processes; ``widths`` are those of columns wider than usual."""
    rest = _NARROW_REST if width < CLASSIC else _REST
    lines = lay_out_list(width, height, count, top=TREE_TOP_ROWS, scroll_y=scroll_y, cursor=cursor)
    return TreeLayout(lines, place(TREE_COLUMNS, Cells(0, width), widths, rest=rest))
