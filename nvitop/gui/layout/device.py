# SPDX-License-Identifier: GPL-3.0-only
"""Layout of the device panel."""

from __future__ import annotations

import functools
from typing import NamedTuple, Sequence

from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.basics.units import GiB
from nvitop.gui.model import format as fmt
from nvitop.gui.model.device_columns import (
    ALWAYS,
    BOTH_MEMORIES,
    BOTH_POWERS,
    DETAIL_COLUMNS,
    DEVICE_COLUMNS,
    FACTS,
    MEMORY_WIDTH,
    POWER_WIDTH,
    USER_WITH_JOB,
    WIDE_JOB,
    DeviceColumn,
)
from nvitop.gui.model.table import Placed, place
from nvitop.gui.render.geometry import CLASSIC, ONE_BAR, TWO_BARS, Cells, Rect, inside
from nvitop.gui.render.width import cell_width
from nvitop.sampling.types import DeviceKey, DeviceSample

#: Forms of the panel: two rows per GPU in three cells, or one row per GPU.
FULL, ROWS = 'full', 'rows'

#: Inner widths of the three cells of the full form, and most columns by which the third one grows.
CELL_WIDTHS, _MORE_USER = (31, 22, 22), 25
#: Widths of the state in the full form, if users have no room for jobs and if they have.
_FULL_STATE, _WIDE_STATE = len('GPU-Util'), len('busy REMAP')
#: Columns of the first cell that the name of a GPU cannot use.
AROUND_NAME = 12
#: Minimum columns to the right of these cells for one bar, and for two.
_BAR_ROOM, _BARS_ROOM = 17, 35
#: Minimum width of a column of facts.
_FACT = 54
#: Rows above the details: a line with their title, and their headings.
_DETAILS_TOP = 2
#: Minimum width of the reasons for low clocks, and width of a link that is slower than possible.
_REASONS, _BOTH_LINKS = 19, 17
#: Maximum width of a bar next to other columns: more cells carry no more information.
_WIDEST_BAR = 24
_BARS = tuple(column.name for column in DEVICE_COLUMNS if column.bar)
#: Columns that are left out while the table of details shows them.
IN_DETAILS = frozenset(column.name for column in DEVICE_COLUMNS if column.is_detail)
#: Turn → widths of the columns that get room in it, together or not at all.
_TURNS: dict[int, dict[str, int]] = {
    turn: {
        column.name: width
        for column in DEVICE_COLUMNS
        for other, width in column.steps
        if other == turn
    }
    for turn in sorted({turn for column in DEVICE_COLUMNS for turn, _ in column.steps})
}


class DevicePlace(NamedTuple):
    """A column of the form with one row per GPU, and its place."""

    column: DeviceColumn
    x: int
    width: int

    @property
    def right(self) -> int:
        """The first column of the screen to the right of it."""
        return self.x + self.width


class DeviceTraits(NamedTuple):
    """Properties of all devices together, on which columns and their widths depend."""

    #: Columns that have a value, or may have one, on any device.
    columns: frozenset[str] = frozenset()
    #: Width of the longest name of a GPU; 0 if all that responded have the same one.
    name_width: int = 0
    #: Width of the highest power limit in watts, and of the largest memory in GiB.
    power_width: int = POWER_WIDTH
    memory_width: int = MEMORY_WIDTH
    #: Whether any GPU has NVLinks.
    has_nvlink: bool = False
    #: Whether any GPU has a slower PCIe link than possible.
    has_slow_links: bool = False
    #: Whether any GPU can be divided into MIG devices, and whether any has a driver model (Windows).
    has_mig: bool = False
    has_driver_model: bool = False


def traits_of(devices: Sequence[DeviceSample]) -> DeviceTraits:
    """Return the properties of these devices."""
    gpus = [device for device in devices if not device.key.is_mig]
    names = {device.info.name for device in gpus if device.info.name is not None}
    limits = [device.power_limit_mw or device.power_usage_mw or 0 for device in gpus]
    sizes = [device.info.memory_total_bytes or 0 for device in devices]
    return DeviceTraits(
        frozenset(column.name for column in DEVICE_COLUMNS if _has_values(column, gpus)),
        max(map(cell_width, map(fmt.product_name, names))) if len(names) > 1 else 0,
        max(POWER_WIDTH, len(f'{max(limits, default=0) / 1000:.0f}')),
        max(MEMORY_WIDTH, len(f'{max(sizes, default=0) / GiB:.1f}')),
        any(device.info.nvlink_link_count for device in gpus),
        any(device.pcie_link_down_trained for device in gpus),
        any(device.mig_mode is not None for device in devices),
        any(device.current_driver_model is not None for device in devices),
    )


def _has_values(column: DeviceColumn, gpus: Sequence[DeviceSample]) -> bool:
    """Return whether a column has values on any GPU, or may have them once one responds."""
    if not column.metrics:
        return True
    if column.if_different:
        alive = gpus if 'name' in column.metrics else [g for g in gpus if g.status == 'ok']
        values = {_value(gpu, column.metrics[0]) for gpu in alive} - {None}
        return len(values) > 1
    is_silent = not any(gpu.status == 'ok' for gpu in gpus)
    return is_silent or any(
        _value(gpu, metric) is not None for gpu in gpus for metric in column.metrics
    )


def _value(device: DeviceSample, metric: str) -> object:
    field = METRICS_BY_NAME[metric].field
    return getattr(device, field) if hasattr(device, field) else getattr(device.info, field)


class DeviceLine(NamedTuple):
    """The rows of a device."""

    #: Index of the device.
    device: int
    y: int
    height: int
    #: Whether there is a line above.
    separated: bool
    #: Index of its frame.
    frame: int = 0


class DetailsLayout(NamedTuple):
    """The table of details below the devices."""

    #: Row of the line with the title if it does not stay on the screen.
    y: int
    #: Row of the line with the title; the headings are below it, and both stay while rows scroll.
    top_y: int
    columns: tuple[Placed, ...]
    #: Indices of the devices, from top to bottom.
    devices: tuple[int, ...]

    @property
    def first_y(self) -> int:
        """The row of the first device."""
        return self.y + _DETAILS_TOP


class FactsLayout(NamedTuple):
    """Places of the problem of the only device, and of facts about it, below a line with their title."""

    problem: Rect
    #: The facts on the screen: the index of each in :data:`FACTS`, and its place.
    facts: tuple[tuple[int, Rect], ...]
    #: Whether others are above or below them.
    more_above: bool = False
    more_below: bool = False


class DeviceLayout(NamedTuple):
    """Places in the device panel. ``area.y`` is negative while the page is scrolled.

    The first row is the top border; the bottom border is the top border of the next panel.
    """

    area: Rect
    form: str
    traits: DeviceTraits
    #: Row of the top border, which stays with the headings while the devices scroll.
    top_y: int
    #: Number of rows of headings, below the border.
    heading_height: int = 0
    rows: tuple[DeviceLine, ...] = ()
    #: The frames side by side around the rows, which share their border.
    frames: tuple[Cells, ...] = ()
    #: The columns of the form with one row per GPU, in a frame that begins at 0; in the full form
    #: those in its third cell.
    columns: tuple[DevicePlace, ...] = ()
    #: The three cells of the full form with their padding, and the bars to their right without
    #: padding: none, one or two.
    cells: tuple[Cells, ...] = ()
    bars: tuple[Cells, ...] = ()
    details: DetailsLayout | None = None
    facts: FactsLayout | None = None

    @property
    def has_jobs(self) -> bool:
        """Whether there is room for the jobs of users."""
        return any(
            place.column.name == 'user' and place.width >= USER_WITH_JOB for place in self.columns
        )

    @property
    def heading_y(self) -> int:
        """The first row of the headings."""
        return self.top_y + 1

    @property
    def rows_y(self) -> int:
        """The first row below the headings; in the full form, a line is between them."""
        return self.heading_y + self.heading_height + (self.form == FULL)

    def at(self, x: int, y: int) -> int | None:
        """Return the index of the device in this cell of the screen."""
        if not 0 < x < self.area.width - 1 or y < self.rows_y:
            return None
        for row in self.rows:
            frame = self.frames[row.frame]
            if row.y <= y < row.y + row.height and frame.x <= x < frame.right:
                return row.device
        if self.details is None or y < self.details.top_y + _DETAILS_TOP:
            return None
        if 0 <= y - self.details.first_y < len(self.details.devices):
            return self.details.devices[y - self.details.first_y]
        return None


def is_separated(above: DeviceKey, key: DeviceKey) -> bool:
    """Whether there is a line between two devices, as between any but MIG devices of one GPU."""
    return not (above.is_mig and key.is_mig and above.physical_index == key.physical_index)


def _detailed(keys: Sequence[DeviceKey]) -> tuple[int, ...]:
    """Return the indices of the devices that have details."""
    return tuple(i for i, key in enumerate(keys) if not key.is_mig)


def device_height(
    keys: Sequence[DeviceKey],
    form: str,
    *,
    details: bool = False,
    fact_rows: int = 0,
    frames: int = 1,
) -> int:
    """Return the rows of the panel without its bottom border."""
    if not keys:
        return 2
    count = 2 + -(-len(keys) // frames) + (1 + fact_rows if fact_rows else 0)
    if form == FULL:
        # A second row of headings, a line below them, and a second row for each GPU.
        count += 2 + sum(not key.is_mig for key in keys) + sum(map(is_separated, keys, keys[1:]))
    if details and _detailed(keys):
        count += _DETAILS_TOP + len(_detailed(keys))
    return count


def lay_out_devices(
    y: int,
    width: int,
    keys: Sequence[DeviceKey],
    form: str,
    traits: DeviceTraits,
    *,
    details: bool = False,
    fact_rows: int = 0,
    name_width: int = 0,
    frames: int = 1,
    scrolled: int = 0,
    scrolled_facts: int = 0,
) -> DeviceLayout:
    """Lay out the devices in a panel of this width that begins at row ``y``, scrolled by some rows.

    The facts scroll in their place. In the full form, the first cell is wide enough for names of
    ``name_width`` columns, if that leaves enough room for the bars. In the other form, the rows can
    be in two ``frames``.
    """
    height = device_height(keys, form, details=details, fact_rows=fact_rows, frames=frames)
    area = Rect(0, y - scrolled, width, height)
    if not keys:
        return DeviceLayout(area, form, traits, area.y)
    is_full = form == FULL
    rows = []
    heads = 4 if is_full else 2
    first_y = row_y = area.y + heads
    above = None
    in_frame = -(-len(keys) // frames)
    for index, key in enumerate(keys):
        if index % in_frame == 0:
            row_y = first_y
        separated = above is not None and is_full and is_separated(above, key)
        row_y += separated
        height = 2 if is_full and not key.is_mig else 1
        rows.append(DeviceLine(index, row_y, height, separated, index // in_frame))
        row_y += height
        above = key
    bottom = max(row.y + row.height for row in rows)
    detailed = _detailed(keys) if details else ()
    # They leave the screen with the last device of the table.
    details_y = max(bottom, min(y, bottom + len(detailed) - 1))
    middle = width // frames - 1
    cells = _cells(width, name_width) if is_full else ()
    return DeviceLayout(
        area,
        form,
        traits,
        # They leave the screen with the last device.
        max(area.y, min(y, bottom - 1 - heads)),
        2 if is_full else 1,
        tuple(rows),
        (Cells(0, width),)
        if frames == 1
        else (Cells(0, middle + 1), Cells(middle, width - middle)),
        _place_full_columns(cells[-1])
        if is_full
        else place_device_columns(width if frames == 1 else middle + 1, traits),
        cells,
        _bars(width, cells[-1].right + 1) if is_full else (),
        DetailsLayout(bottom, details_y, _place_details(width, traits), detailed)
        if detailed
        else None,
        _place_facts(width, area.bottom - fact_rows, fact_rows, scrolled_facts),
    )


def fact_columns(width: int) -> int:
    """Return the number of columns of facts."""
    return max(1, inside(width).width // _FACT)


def all_fact_rows(width: int) -> int:
    """Return the rows of the problem and of all facts."""
    return 1 + -(-len(FACTS) // fact_columns(width))


def _place_facts(width: int, y: int, rows: int, scrolled: int) -> FactsLayout | None:
    """Return the place of the problem, which takes the first row, and those of facts, column by column."""
    if not rows:
        return None
    cells, count = inside(width), fact_columns(width)
    each, most = cells.width // count, all_fact_rows(width) - 1
    places = [
        (fact, Rect(cells.x + column * each, y + 1 + row - scrolled, each - (count > 1), 1))
        for fact, (column, row) in enumerate(divmod(i, most) for i in range(len(FACTS)))
        if 0 <= row - scrolled < rows - 1
    ]
    problem = Rect(cells.x, y, cells.width, 1)
    return FactsLayout(problem, tuple(places), scrolled > 0, scrolled + rows - 1 < most)


def _place_details(width: int, traits: DeviceTraits) -> tuple[Placed, ...]:
    columns = [c for c in DETAIL_COLUMNS if not c.name.startswith('nvlink') or traits.has_nvlink]
    widths = {'link': _BOTH_LINKS} if traits.has_slow_links else {}
    # The index is above those of devices and processes.
    cells = Cells(1, inside(width).right - 1)
    return place(columns, cells, widths)


def _cells(width: int, name_width: int) -> tuple[Cells, ...]:
    """Return the cells of the full form.

    Names and users widen their cells as far as bars have enough room, and users take a third of it.
    """
    first, second, third = CELL_WIDTHS
    if width < ONE_BAR:
        first += width - CLASSIC
    else:
        room = width - CLASSIC - (_BAR_ROOM if width < TWO_BARS else _BARS_ROOM)
        more = min(max(0, name_width + AROUND_NAME - first), room)
        first += more
        third += min(_MORE_USER, (room - more) // 3)
    return (
        Cells(1, first),
        Cells(first + 2, second),
        Cells(first + second + 3, third),
    )


def _place_full_columns(cells: Cells) -> tuple[DevicePlace, ...]:
    """Return the places of state and user in the third cell, which has a column of padding at each side."""
    state, user = (column for column in DEVICE_COLUMNS if column.name in ('state', 'user'))
    room = cells.width - 2 - user.gap
    width = _WIDE_STATE if room >= _WIDE_STATE + USER_WITH_JOB else _FULL_STATE
    x = cells.x + 1
    return (
        DevicePlace(state, x, width),
        DevicePlace(user, x + width + user.gap, room - width),
    )


def _bars(width: int, box: int) -> tuple[Cells, ...]:
    if width < ONE_BAR:
        return ()
    right = width - box
    if width < TWO_BARS:
        return (Cells(box + 1, right - 3),)
    first = (right - 5) // 2 - 1
    return (Cells(box + 1, first), Cells(box + first + 4, (right - 6) // 2 + 1))


@functools.lru_cache(maxsize=8)  # each frame needs it, and the devices hardly change
def place_device_columns(width: int, traits: DeviceTraits) -> tuple[DevicePlace, ...]:
    """Lay out the columns in a panel of this width, from left to right."""
    # The index is above that of the processes.
    cells = Cells(1, inside(width).right - 1)
    gap = 2 if width >= CLASSIC else 1
    widths = _choose(cells.width, gap, traits)
    # The job gets what is left before bars, which share it up to a limit; the user takes the rest.
    rest = cells.width - _total(widths, gap)
    if 'user' in widths:
        more = max(0, min(rest, WIDE_JOB - widths['user']))
        widths['user'] += more
        rest -= more
    for number, name in enumerate(_BARS):
        wanted = (rest + number) // 2
        more = max(0, min(wanted, _WIDEST_BAR - widths[name])) if 'user' in widths else wanted
        widths[name] += more
    widths['user' if 'user' in widths else _BARS[-1]] += cells.width - _total(widths, gap)
    places: list[DevicePlace] = []
    x = cells.x
    for column in DEVICE_COLUMNS:
        if column.name in widths:
            x += min(column.gap, gap) if places else 0
            places.append(DevicePlace(column, x, widths[column.name]))
            x += widths[column.name]
    return tuple(places)


def _choose(room: int, gap: int, traits: DeviceTraits) -> dict[str, int]:
    """Return the widths of the columns that fit, by name."""
    widths: dict[str, int] = {}
    for turn, wanted in _TURNS.items():
        given = {
            name: _adapted(name, width, traits)
            for name, width in wanted.items()
            if name in traits.columns
        }
        longer = {**widths, **given}
        if turn < ALWAYS or _total(longer, gap) <= room:
            widths = longer
    return widths


def _adapted(name: str, width: int, traits: DeviceTraits) -> int:
    """Return the width of a column for these devices; each step is made for usual numbers."""
    if name == 'name':
        return traits.name_width
    numbers = 2 if width in (BOTH_POWERS, BOTH_MEMORIES) else 1
    if name == 'power':
        return width + numbers * (traits.power_width - POWER_WIDTH)
    if name == 'memory':
        return width + numbers * (traits.memory_width - MEMORY_WIDTH)
    return width


def _total(widths: dict[str, int], gap: int) -> int:
    """Return the cells that these columns need, with the gaps between them."""
    columns = [column for column in DEVICE_COLUMNS if column.name in widths]
    return sum(widths.values()) + sum(min(column.gap, gap) for column in columns[1:])
