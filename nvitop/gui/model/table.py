# SPDX-License-Identifier: GPL-3.0-only
"""Minimum widths of the screen; columns of any list and their places."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence, Union

from nvitop.gui.render.buffer import Cells
from nvitop.gui.render.theme import Pieces
from nvitop.gui.render.width import cell_width

#: Minimum widths of the screen: for anything but a message (one short row per GPU and process), for
#: columns with wide gaps and the three cells of the full form, for bars to the right of these.
NARROWEST, CLASSIC, WITH_BAR = 40, 79, 100


def inside(width: int) -> Cells:
    """Return the cells for the contents of a panel: below its title, and without borders and padding."""
    return Cells(3, width - 5) if width >= CLASSIC else Cells(2, width - 4)


#: What is in a cell: a text, or pieces with styles of their own.
Content = Union[str, Pieces]


def content_width(content: Content) -> int:
    if isinstance(content, str):
        return cell_width(content)
    return sum(cell_width(text) for text, _ in content)


class Column(NamedTuple):
    """A column of a list."""

    #: Name in the configuration file.
    name: str
    title: str
    #: Widths without the gap, from narrow to wide. 0 takes the rest, at least the width before it.
    sizes: tuple[int, ...]
    #: One line of help: meaning and unit.
    help: str
    #: Makes the content of a cell, safe to draw, of a row and the width. The table documents its rows.
    text: Callable[[Any, int], Content]
    #: ``'>'``, or ``'<'`` for text.
    align: str = '>'
    #: Empty cells before the column.
    gap: int = 1
    #: Name of the order that sorts by it, and its key after ``o``; ``''`` if there is none.
    order: str = ''
    letter: str = ''
    #: On a narrow screen the columns of the highest rank are left out first; rank 0 never.
    rank: int = 0
    #: Unit and source of the values for the documentation; names of metrics if it shows any.
    unit: str = ''
    source: str = ''
    metrics: tuple[str, ...] = ()


class Sorted(NamedTuple):
    """The order of a list, the heading that it belongs to, and the sign of its direction."""

    order: str = ''
    title: str = ''
    arrow: str = ''


UNSORTED = Sorted()


class Placed(NamedTuple):
    """A column and its place."""

    column: Column
    x: int
    width: int

    @property
    def right(self) -> int:
        return self.x + self.width


def width_of(name: str, placed: Sequence[Placed]) -> int:
    """Return the width of a column; 0 if it is not shown."""
    return next((cell.width for cell in placed if cell.column.name == name), 0)


#: By how many ranks the next size of a column is less important than the one before.
_LATER = 8


def place(
    columns: Sequence[Column], cells: Cells, wanted: Mapping[str, int] | None = None
) -> tuple[Placed, ...]:
    """Place the columns that fit within ``cells``.

    Columns appear by rank in their narrowest size, those of rank 0 even if they do not fit, and are
    widened in turn. Each step waits for those before it, so that no column is narrower on a wider
    screen but the one that takes the rest. ``wanted`` are the widths of the widest values: a column
    with a single size has at least this width, others have at most this one.
    """
    wanted = wanted or {}
    sizes = {column.name: _sizes(column, wanted.get(column.name)) for column in columns}
    steps = [(column, step) for column in columns for step in range(len(sizes[column.name]))]
    widths: dict[str, int] = {}
    free = cells.width
    for column, step in sorted(steps, key=lambda pair: _turn(*pair)):
        size = sizes[column.name][step]
        more = size - widths[column.name] if step else size + _gap(column, columns.index(column))
        if more > free and (step or column.rank):
            if step and column.align == '<':  # a part of a text is better than none of it
                more = max(0, free)
                widths[column.name] += more
                free -= more
            break
        widths[column.name] = size
        free -= more
    shown = [column for column in columns if column.name in widths]
    for column in sorted(shown, key=lambda column: column.rank):
        if not column.sizes[-1]:
            widths[column.name] += max(0, free)
            break
    placed: list[Placed] = []
    x = cells.x
    for number, column in enumerate(shown):
        x += _gap(column, number)
        width = min(widths[column.name], cells.right - x)
        if width > 0:
            placed.append(Placed(column, x, width))
        x += widths[column.name]
    return tuple(placed)


def _sizes(column: Column, wanted: int | None) -> list[int]:
    """Return the widths of a column from narrow to wide, without that of the rest."""
    sizes = [size for size in column.sizes if size] or [0]
    if wanted is None or not column.sizes[-1]:
        return sizes
    if len(sizes) == 1:
        return [max(sizes[0], wanted)]
    least = min(sizes[0], max(wanted, len(column.title)))
    return [least, *(max(least, min(size, wanted)) for size in sizes[1:])]


def _turn(column: Column, step: int) -> tuple[int, int]:
    """Return when a column gets a size: the narrowest by its rank, wider ones later."""
    takes_rest = step and not column.sizes[-1]
    return (_LATER * step + (_LATER + 1 if takes_rest else column.rank), -step)


def _gap(column: Column, number: int) -> int:
    """Return the empty cells before a column. Only text needs one after the border."""
    return column.gap if number else int(column.align == '<')
