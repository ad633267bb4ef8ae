# SPDX-License-Identifier: GPL-3.0-only
"""Layout of the device panel."""

from __future__ import annotations

from typing import Sequence, Tuple

from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.width import safe
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import DeviceKey

#: Minimum widths of the screen: for anything but a message (one short row per GPU and process), for
#: the classic box, for one bar to its right, and for two bars.
NARROWEST, CLASSIC, ONE_BAR, TWO_BARS = 40, 79, 100, 123

#: Forms of the panel: two rows per GPU; one row, with lines between GPUs; one row; one short row.
FULL, COMPACT, DENSE, NARROW = 'full', 'compact', 'dense', 'narrow'

#: Inner widths of the three cells of the classic box.
CELL_WIDTHS = (31, 22, 22)
#: Columns of the first cell that the name of a GPU cannot use.
AROUND_NAME = 12
#: Minimum columns to the right of this box for one bar, and for two.
_BAR_ROOM, _BARS_ROOM = 17, 35
_MAKER = 'NVIDIA '
#: Rows above the headings: clock, border, versions, line. The last two are optional.
_TOP_ROWS = 4
VERSION_ROWS = 2

#: Columns between the border and the details of a device, and between two details.
_INDENT, _GAP = 2, 2
#: Detail → its width. The last one takes the rest of its line.
_DETAIL_WIDTHS = {
    'link': 22,
    'pcie': 32,
    'codec': 17,
    'nvlink': 34,
    'memory_temperature': 8,
    'energy': 10,
    'reasons': 17,
}


class Cells(NamedTuple):
    """A run of ``width`` columns that begins at ``x``."""

    x: int
    width: int

    @property
    def right(self) -> int:
        """The first column to the right of the run."""
        return self.x + self.width


class DetailSlot(NamedTuple):
    """A detail of a device and its columns."""

    name: str
    x: int
    width: int


#: Details of a GPU, by line.
Details = Tuple[Tuple[DetailSlot, ...], ...]


class DeviceLine(NamedTuple):
    """The rows of a device."""

    #: Index of the device.
    device: int
    y: int
    #: Number of rows; the last ``details`` rows are for details.
    height: int
    #: Whether there is a line above.
    separated: bool
    details: int = 0


class DeviceLayout(NamedTuple):
    """Places in the device panel. ``area.y`` is negative while the page is scrolled."""

    area: Rect
    form: str
    #: First row of the headings.
    heading_y: int
    heading_height: int
    #: The three cells of the classic box with their padding, or the only cell of a narrow one.
    cells: tuple[Cells, ...]
    #: The bars to the right of the cells, without padding: none, one or two.
    bars: tuple[Cells, ...]
    rows: tuple[DeviceLine, ...]
    details: Details = ()
    #: Whether there is a row for the versions above the headings.
    has_versions: bool = True

    @property
    def bottom_y(self) -> int:
        """Row of the line below the last device."""
        return self.area.bottom - 1

    def at(self, x: int, y: int) -> int | None:
        """Return the index of the device in this cell of the screen."""
        if 0 < x < self.area.width - 1:
            for row in self.rows:
                if row.y <= y < row.y + row.height:
                    return row.device
        return None


def is_separated(above: DeviceKey, key: DeviceKey) -> bool:
    """Whether there is a line between two devices, as between any but MIG devices of one GPU."""
    return not (above.is_mig and key.is_mig and above.physical_index == key.physical_index)


def device_height(
    keys: Sequence[DeviceKey], form: str, details: int = 0, *, versions: bool = True
) -> int:
    """Return the rows of the panel, with ``details`` lines of details for each GPU."""
    if not keys:
        return _TOP_ROWS + 2
    count = len(keys) + details * sum(not key.is_mig for key in keys)
    if form in (FULL, COMPACT):
        count += sum(map(is_separated, keys, keys[1:]))
    if form == FULL:
        # Headings and GPUs have a second row.
        count += 1 + sum(not key.is_mig for key in keys)
    return _TOP_ROWS + 3 + count - (0 if versions else VERSION_ROWS)


def lay_out_devices(
    y: int,
    width: int,
    keys: Sequence[DeviceKey],
    form: str,
    details: Details = (),
    *,
    versions: bool = True,
    name_width: int = 0,
) -> DeviceLayout:
    """Lay out the devices in a panel of this width that begins at row ``y``.

    In the full form, the first cell is wide enough for names of ``name_width`` columns, if that leaves
    enough room for the bars.
    """
    versions = versions or not keys
    area = Rect(0, y, width, device_height(keys, form, len(details), versions=versions))
    heading_height = (2 if form == FULL else 1) if keys else 0
    heading_y = y + _TOP_ROWS - (0 if versions else VERSION_ROWS)
    rows = []
    row_y = heading_y + heading_height + 1
    above = None
    for index, key in enumerate(keys):
        separated = above is not None and form in (FULL, COMPACT) and is_separated(above, key)
        row_y += separated
        below = 0 if key.is_mig else len(details)
        height = below + (2 if form == FULL and not key.is_mig else 1)
        rows.append(DeviceLine(index, row_y, height, separated, below))
        row_y += height
        above = key
    box = _box_width(width, name_width if form == FULL else 0)
    cells = _cells(box) if keys else (Cells(1, width - 2),)
    bars = _bars(width, box) if keys else ()
    return DeviceLayout(
        area, form, heading_y, heading_height, cells, bars, tuple(rows), details, versions
    )


def product_name(name: str) -> str:
    """Return the name of a GPU as it is drawn: safe, and without ``NVIDIA``."""
    text = safe(name)
    return text[len(_MAKER) :] if text.startswith(_MAKER) else text


def place_details(width: int, *, with_nvlink: bool) -> Details:
    """Return the details by line, in a box of this width: each in the first line that has room."""
    right = width - 2
    lines: list[list[DetailSlot]] = []
    for name, cells in _DETAIL_WIDTHS.items():
        if name == 'nvlink' and not with_nvlink:
            continue
        for line in lines:
            x = line[-1].x + line[-1].width + _GAP
            if x + cells <= right:
                break
        else:
            x = _INDENT
            line = []
            lines.append(line)
        line.append(DetailSlot(name, x, min(cells, right - x)))
        if name == 'reasons':
            line[-1] = line[-1]._replace(width=right - x)
    return tuple(map(tuple, lines))


def _box_width(width: int, name_width: int) -> int:
    """Return the columns of a box: what names need, or all if there is no room for a bar."""
    if width < ONE_BAR:
        return width
    room = _BAR_ROOM if width < TWO_BARS else _BARS_ROOM
    return min(CLASSIC + max(0, name_width + AROUND_NAME - CELL_WIDTHS[0]), width - room)


def _cells(width: int) -> tuple[Cells, ...]:
    """Return the cells of a box of this width. The first cell takes the columns left over."""
    if width < CLASSIC:
        return (Cells(1, width - 2),)
    first, second, third = CELL_WIDTHS
    first += width - CLASSIC
    return (
        Cells(1, first),
        Cells(first + 2, second),
        Cells(first + second + 3, third),
    )


def _bars(width: int, box: int) -> tuple[Cells, ...]:
    if width < ONE_BAR:
        return ()
    right = width - box
    if width < TWO_BARS:
        return (Cells(box + 1, right - 3),)
    first = (right - 5) // 2 - 1
    return (Cells(box + 1, first), Cells(box + first + 4, (right - 6) // 2 + 1))
