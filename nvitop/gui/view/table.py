# SPDX-License-Identifier: GPL-3.0-only
"""Tables: the headings and the cells of placed columns."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from nvitop.gui.model.table import UNSORTED, Column, Content, Placed, Sorted, content_width, place
from nvitop.gui.render.buffer import Buffer, Cells, Rect
from nvitop.gui.render.theme import HEADING, PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, clip, cut
from nvitop.gui.view.text import draw_text

SORTED = HEADING._replace(bold=True, underline=True)


def plain_text(content: Content) -> str:
    return content if isinstance(content, str) else ''.join(text for text, _ in content)


def draw_cell(buf: Buffer, y: int, placed: Placed, content: Content, style: Style) -> None:
    """Write the content of a cell of a column, cut to its width.

    Pieces keep their own styles only in a row of plain style.
    """
    column, x, width = placed.column, placed.x, placed.width
    pieces = ((clip(content, width), style),) if isinstance(content, str) else content
    end = x + width
    if column.align == '>':
        x = max(x, end - sum([cell_width(text) for text, _ in pieces]))
    for text, piece in pieces:
        shown = cut(text, 0, max(0, end - x))
        x += draw_text(buf, x, y, shown, piece if style == PLAIN else style)


def draw_headings(buf: Buffer, y: int, columns: Sequence[Placed], by: Sorted = UNSORTED) -> None:
    """Write the headings of columns. A click on one sorts by it."""
    for cell in columns:
        column = cell.column
        title, style = column.title, HEADING
        if column.order and column.order == by.order:
            title = f'{by.arrow}{title}' if column.align == '>' else f'{title}{by.arrow}'
            style = SORTED
        x = cell.right - cell_width(title) if column.align == '>' else cell.x
        buf.write(x, y, title, style, width=max(0, cell.right - x))
        if column.order:
            buf.hit(Rect(cell.x, y, cell.width, 1), 'column', column.order)


def place_for(rows: Sequence[Any], columns: Sequence[Column], area: Rect) -> tuple[Placed, ...]:
    """Place columns. Those that grow are as wide as their widest text, at most their widest size."""
    widths = {
        column.name: max(cell_width(column.title), widest(column, rows))
        for column in columns
        if len(column.sizes) > 1 and column.sizes[-1]
    }
    return place(columns, Cells(area.x, area.width), widths)


def draw_table(
    buf: Buffer,
    area: Rect,
    placed: Sequence[Placed],
    rows: Sequence[Any],
    *,
    style_of: Callable[[Any], Style] = lambda _: PLAIN,
    cursor: int | None = None,
    by: Sorted = UNSORTED,
) -> None:
    """Draw headings in the first row of ``area``, and all rows below.

    ``text`` of a column gets the row and the width of the column. The row of the ``cursor`` is a bar.
    """
    draw_headings(buf, area.y, placed, by)
    for number, row in enumerate(rows):
        y = area.y + 1 + number
        style = style_of(row)
        for cell in placed:
            draw_cell(buf, y, cell, cell.column.text(row, cell.width), style)
        if number == cursor:
            buf.restyle(Rect(area.x, y, area.width, 1), back=Role.SELECTED)


def widest(column: Column, rows: Sequence[Any]) -> int:
    """Return the width of the widest text of a column."""
    return max([content_width(column.text(row, column.sizes[-1])) for row in rows], default=0)
