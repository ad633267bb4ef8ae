# SPDX-License-Identifier: GPL-3.0-only
"""Where the parts of the device panel are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence, Tuple

from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.width import safe
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import DeviceKey

if TYPE_CHECKING:
    from nvitop.gui.layout.details import DetailSlot

    #: Details of a GPU, by line.
    Details = Tuple[Tuple[DetailSlot, ...], ...]

#: Widths of the screen at which it changes: below the least nothing but a message is drawn; from
#: there up one short row per GPU and process; then the classic box; bars beside it; two of them.
NARROWEST, CLASSIC, ONE_BAR, TWO_BARS = 40, 79, 100, 123

#: Forms of the panel: two rows per GPU, one row and a line between, one row, one short row.
FULL, COMPACT, DENSE, NARROW = 'full', 'compact', 'dense', 'narrow'

#: Inner widths of the three cells of the classic box.
CELL_WIDTHS = (31, 22, 22)
#: What the first of them has beside the name of a GPU.
BESIDE_NAME = 12
#: Columns right of the box for one bar, and for two, that still say something.
_BAR_ROOM, _BARS_ROOM = 17, 35
_MAKER = 'NVIDIA '
#: Line of the clock, border, versions, line between: above the headings. The last two can be spared.
_TOP_ROWS = 4
VERSION_ROWS = 2


class Cells(NamedTuple):
    """Columns from ``x`` on."""

    x: int
    width: int

    @property
    def right(self) -> int:
        """The first column right of them."""
        return self.x + self.width


class DeviceLine(NamedTuple):
    """The row of a device (its index), and whether a line stands above it."""

    device: int
    y: int
    #: With the lines of its details, which are its last ones.
    height: int
    separated: bool
    details: int = 0


class DeviceLayout(NamedTuple):
    """Places of the device panel. ``area.y`` is above the screen while the page is scrolled."""

    area: Rect
    form: str
    #: First row of the headings.
    heading_y: int
    heading_height: int
    #: The three cells of the box with their padding, or the one of the narrow form.
    cells: tuple[Cells, ...]
    #: The bars right of the cells, without padding: none, one or two.
    bars: tuple[Cells, ...]
    rows: tuple[DeviceLine, ...]
    #: The details of each GPU, by line.
    details: Details = ()
    #: Whether the versions have their row above the headings.
    has_versions: bool = True

    @property
    def bottom_y(self) -> int:
        """The row of the line below the last device."""
        return self.area.bottom - 1

    def at(self, x: int, y: int) -> int | None:
        """Index of the device whose row holds the cell."""
        if 0 < x < self.area.width - 1:
            for row in self.rows:
                if row.y <= y < row.y + row.height:
                    return row.device
        return None


def is_separated(above: DeviceKey, key: DeviceKey) -> bool:
    """Whether a line is drawn between two rows: not between the MIG devices of a GPU."""
    return not (above.is_mig and key.is_mig and above.physical_index == key.physical_index)


def device_height(
    keys: Sequence[DeviceKey], form: str, details: int = 0, *, versions: bool = True
) -> int:
    """Rows of the panel, with so many lines of details for each GPU."""
    if not keys:
        return _TOP_ROWS + 2
    count = len(keys) + details * sum(not key.is_mig for key in keys)
    if form in (FULL, COMPACT):
        count += sum(map(is_separated, keys, keys[1:]))
    if form == FULL:
        # A second row for the headings and for each GPU.
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
    """Places for the devices in a panel of this width that begins at row ``y``.

    Where names are drawn, bars give way to those of ``name_width`` cells.
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
    """The name of a GPU as it is drawn: safe, and without the maker's."""
    text = safe(name)
    return text[len(_MAKER) :] if text.startswith(_MAKER) else text


def _box_width(width: int, name_width: int) -> int:
    """Columns of the box: all of them where there are too few for a bar, else what names need."""
    if width < ONE_BAR:
        return width
    room = _BAR_ROOM if width < TWO_BARS else _BARS_ROOM
    return min(CLASSIC + max(0, name_width + BESIDE_NAME - CELL_WIDTHS[0]), width - room)


def _cells(width: int) -> tuple[Cells, ...]:
    """The cells of a box of this width; what the others do not need is the first one's."""
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
