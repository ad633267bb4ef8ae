# SPDX-License-Identifier: GPL-3.0-only
"""Columns of any list and their places; parts of a line that fit into its width."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

from nvitop.gui.render.buffer import Cells
from nvitop.gui.render.theme import PLAIN, Style
from nvitop.gui.render.width import cell_width


class Column(NamedTuple):
    """A column of a list."""

    #: Name in the configuration file.
    name: str
    title: str
    #: Widths without the gap, from narrow to wide. 0 takes the rest, at least the width before it.
    sizes: tuple[int, ...]
    #: One line of help: meaning and unit.
    help: str
    #: Makes the text of a cell, safe to draw: a string, or pieces with their styles. The table
    #: documents the arguments.
    text: Callable[..., Any]
    #: ``'>'``, or ``'<'`` for text.
    align: str = '>'
    #: Empty cells before the column.
    gap: int = 1
    #: Name of the order that sorts by it; ``''`` if there is none.
    order: str = ''
    #: On a narrow screen the columns of the highest rank are left out first; rank 0 never.
    rank: int = 0
    #: Unit and source of the values for the documentation; names of metrics if it shows any.
    unit: str = ''
    source: str = ''
    metrics: tuple[str, ...] = ()
    #: Text of a job, from its processes and their sums (``Group``), in the process panel. ``None``:
    #: the text that all its processes share, if they do.
    job_text: Callable[..., Any] | None = None


class Placed(NamedTuple):
    """A column and its place."""

    column: Column
    x: int
    width: int

    @property
    def right(self) -> int:
        return self.x + self.width


def place(
    columns: Sequence[Column], cells: Cells, wanted: Mapping[str, int] | None = None
) -> tuple[Placed, ...]:
    """Place the columns that fit within ``cells``.

    Columns are left out by rank until the narrowest sizes fit. Then they are widened size by size,
    those of the lowest rank first, and the one that takes the rest last. ``wanted`` are the widths of the widest values: a column with a
    single size has at least this width, others have at most this one. Wanted width 0 omits a column.
    """
    wanted = wanted or {}
    shown = [column for column in columns if wanted.get(column.name) != 0]
    sizes = {column.name: _sizes(column, wanted.get(column.name)) for column in shown}
    widths = {name: each[0] for name, each in sizes.items()}
    free = cells.width - _cells_of(shown, widths)
    while free < 0 and shown:
        last = max(reversed(shown), key=lambda column: column.rank)
        if not last.rank:
            break
        shown.remove(last)
        free = cells.width - _cells_of(shown, widths)
    by_rank = sorted(shown, key=lambda column: (not column.sizes[-1], column.rank))
    for step in range(1, max((len(each) for each in sizes.values()), default=0)):
        for column in by_rank:
            if step >= len(sizes[column.name]):
                continue
            more = sizes[column.name][step] - widths[column.name]
            if column.align == '<':  # a part of a text is better than none of it
                more = min(more, free)
            if 0 < more <= free:
                widths[column.name] += more
                free -= more
    for column in by_rank:
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


def _cells_of(columns: Sequence[Column], widths: Mapping[str, int]) -> int:
    return sum(widths[each.name] + _gap(each, number) for number, each in enumerate(columns))


def _gap(column: Column, number: int) -> int:
    """Return the empty cells before a column. Only text needs one after the border."""
    return column.gap if number else int(column.align == '<')


class Item(NamedTuple):
    """A part of a line, from its longest to its shortest form."""

    forms: tuple[str, ...]
    style: Style = PLAIN
    #: Parts of a lower rank have room first.
    rank: int = 1
    #: The default key that a click on it presses; ``''``: none.
    key: str = ''
    #: Whether its longest form that fits has room before parts of a higher rank.
    is_whole: bool = False


def fit(items: Sequence[Item], room: int, gap: int) -> list[str]:
    """Return the form of each item that fits, ``''`` for those left out.

    All get room in their shortest form by rank; what is left lengthens them by rank.
    """
    shown = [''] * len(items)
    by_rank = sorted(range(len(items)), key=lambda number: items[number].rank)
    room += gap
    for number in by_rank:
        item = items[number]
        for form in item.forms if item.is_whole else item.forms[-1:]:
            cells = gap + cell_width(form)
            if cells <= room:
                shown[number] = form
                room -= cells
                break
    for number in by_rank:
        if shown[number]:
            room += cell_width(shown[number])
            shown[number] = next(f for f in items[number].forms if cell_width(f) <= room)
            room -= cell_width(shown[number])
    return shown
