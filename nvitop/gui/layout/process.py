# SPDX-License-Identifier: GPL-3.0-only
"""Layout of the process panel: rows and columns."""

from __future__ import annotations

import functools
import itertools
from typing import Iterable, Mapping, NamedTuple, Sequence

from nvitop.gui.model.columns import COLUMNS_BY_NAME, DEFAULT_COLUMNS, OPTIONAL_COLUMNS
from nvitop.gui.model.table import Column, Placed, place
from nvitop.gui.render.geometry import CLASSIC, ONE_BAR, Cells, Rect
from nvitop.sampling.types import DeviceKey, ProcessSample

#: Rows above the processes: border with title, headings.
TOP_ROWS = 2
#: Minimum width of the last column on narrow screens, from 79 columns and from 100.
_NARROW_REST, _MIDDLE_REST, _REST = 14, 23, 7
#: Minimum width of the command for an owner that the user did not choose, of the command next to a long
#: one, and of this owner if it has to be cut.
_REST_AFTER_OWNER, _REST_AFTER_LONG, _CUT_OWNER = 28, 24, 12


class ProcessLine(NamedTuple):
    """A row on the screen."""

    #: Index of the process.
    process: int
    y: int


class ProcessLayout(NamedTuple):
    """Places in the process panel. Its borders and headings stay while the list scrolls.

    The panel may be below the screen in part while the page is not scrolled.
    """

    area: Rect
    columns: tuple[Placed, ...]
    #: Only the rows on the screen.
    rows: tuple[ProcessLine, ...] = ()
    #: Rows on the screen of the lines between GPUs.
    separators: tuple[int, ...] = ()
    #: Number of lines (processes, and lines between GPUs) above the first one on the screen.
    offset: int = 0
    #: Index of each process before which there is a line.
    groups: tuple[int, ...] = ()

    @property
    def heading_y(self) -> int:
        """The row of the headings."""
        return self.area.y + 1

    @property
    def lines(self) -> Rect:
        """The rows for processes."""
        return self.area.inset(0, TOP_ROWS, 0, 1)

    @property
    def fixed(self) -> tuple[Placed, ...]:
        """The columns before the first one that scrolls sideways."""
        return tuple(itertools.takewhile(lambda place: not place.column.scrolls, self.columns))

    @property
    def moving(self) -> tuple[Placed, ...]:
        """The columns that scroll sideways as one text."""
        return self.columns[len(self.fixed) :]

    def line_of(self, process: int) -> int:
        """Return the number of lines above a process in the whole list."""
        return process + sum(first <= process for first in self.groups)

    def at(self, x: int, y: int) -> int | None:
        """Return the index of the process in this cell of the screen."""
        if 0 < x < self.area.width - 1:
            for row in self.rows:
                if row.y == y:
                    return row.process
        return None

    def column_at(self, x: int, y: int) -> Column | None:
        """Return the column whose heading is in this cell of the screen."""
        if y == self.heading_y:
            for place in self.columns:
                if place.x <= x < place.right:
                    return place.column
        return None


def group_sizes(processes: Iterable[ProcessSample]) -> tuple[int, ...]:
    """Return the sizes of the groups of successive processes on the same GPU or its MIG devices."""
    sizes: list[int] = []
    last = -1
    for process in processes:
        device: DeviceKey = process.key.device
        if device.physical_index == last:
            sizes[-1] += 1
        else:
            sizes.append(1)
            last = device.physical_index
    return tuple(sizes)


def process_height(groups: Sequence[int], *, separated: bool) -> int:
    """Return the height of the panel for groups of these sizes."""
    lines = sum(groups) + (max(0, len(groups) - 1) if separated else 0)
    return TOP_ROWS + max(1, lines) + 1


def lay_out_processes(
    area: Rect,
    groups: Sequence[int],
    columns: Sequence[Placed],
    *,
    separated: bool,
    offset: int = 0,
) -> ProcessLayout:
    """Lay out the processes in a panel with this area, without the first ``offset`` lines."""
    layout = ProcessLayout(area, tuple(columns), offset=offset)
    places = layout.lines
    rows: list[ProcessLine] = []
    separators: list[int] = []
    firsts: list[int] = []
    y = places.y - offset
    first = 0
    for size in groups if separated else (sum(groups),):
        if first:
            firsts.append(first)
            if places.y <= y < places.bottom - 1:
                separators.append(y)
            y += 1
        visible = range(max(0, places.y - y), min(size, places.bottom - y))
        rows.extend(ProcessLine(first + i, y + i) for i in visible)
        first += size
        y += size
    return layout._replace(rows=tuple(rows), separators=tuple(separators), groups=tuple(firsts))


def place_columns(
    names: Sequence[str], width: int, widths: Mapping[str, int]
) -> tuple[Placed, ...]:
    """Lay out columns in a box of this width.

    ``widths`` are those of columns whose values are wider than usual. Columns are dropped by rank
    until there is room for the command, which takes the rest. Among the default columns, owner and
    idle time are shown only if ``widths`` has them and the command is wide.
    """
    rest = _NARROW_REST if width < CLASSIC else _MIDDLE_REST if width < ONE_BAR else _REST
    cells = Cells(1, width - 2 - (width >= CLASSIC))
    columns = [COLUMNS_BY_NAME[name] for name in names]
    if names and names[-1] == 'command':
        columns[-1] = columns[-1]._replace(sizes=(rest, 0))
    if tuple(names) != DEFAULT_COLUMNS:
        return place(columns, cells, widths)
    others = [each for each in columns if each.name not in OPTIONAL_COLUMNS]
    placed = place(others, cells, widths)
    spare = placed[-1].width - _REST_AFTER_OWNER if len(placed) == len(others) else 0
    owner, idle = (_needed(name, widths) for name in ('owner', 'idle'))
    least = min(owner, _needed('owner', {'owner': _CUT_OWNER}))
    hidden = set(OPTIONAL_COLUMNS)
    if owner and spare >= least:
        hidden.remove('owner')
        spare -= least
    if idle and spare >= idle:
        hidden.remove('idle')
        spare -= idle
    spare += _REST_AFTER_OWNER - _REST_AFTER_LONG
    widths = {**widths, 'owner': min(owner, least + spare) - COLUMNS_BY_NAME['owner'].gap}
    columns = [each for each in columns if each.name not in hidden]
    return place(columns, cells, widths)


def _needed(name: str, widths: Mapping[str, int]) -> int:
    """Return the width of an optional column and its gap; 0 if it is not wanted."""
    return COLUMNS_BY_NAME[name].gap + widths[name] if widths.get(name) else 0


@functools.lru_cache(maxsize=8)  # each frame needs it, and the columns hardly change
def has_room_for_owner(names: tuple[str, ...], width: int) -> bool:
    """Whether the owner is among these columns, and some owners would be shown."""
    placed = place_columns(names, width, {'owner': _CUT_OWNER})
    return any(place.column.name == 'owner' for place in placed)
