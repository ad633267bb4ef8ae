# SPDX-License-Identifier: GPL-3.0-only
"""A row of a table as one piece of text: one write for many columns."""

from __future__ import annotations

from typing import Iterable, NamedTuple

from nvitop.gui.render.width import fit


class TableCell(NamedTuple):
    """A text and its place in the row."""

    x: int
    width: int
    text: str
    #: ``<``, ``>`` or ``^``.
    align: str = '>'
    #: What says that the text was cut.
    ellipsis: str = '..'


def row_text(cells: Iterable[TableCell], x: int = 0) -> str:
    """The row from column ``x`` on. Cells are given from left to right and do not overlap."""
    parts = []
    for cell_x, width, text, align, ellipsis in cells:
        if cell_x > x:
            parts.append(' ' * (cell_x - x))
        parts.append(fit(text, width, align, ellipsis))
        x = cell_x + width
    return ''.join(parts)
