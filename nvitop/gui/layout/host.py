# SPDX-License-Identifier: GPL-3.0-only
"""Layout of the host panel."""

from __future__ import annotations

from nvitop.gui.layout.device import CLASSIC
from nvitop.gui.render.geometry import Rect
from nvitop.namedtuple import NamedTuple

#: Heights of its two forms. The last line of the device panel is the top of the full one.
FULL_HEIGHT, COMPACT_HEIGHT = 12, 2

_UPPER_ROWS, _MEMORY_ROWS, _LOWER_ROWS = 5, 4, 5
_LOAD_AVERAGE = len('( Load Average: 12.34 12.34 12.34 )')
_SHORT_LOAD_AVERAGE = len('( LOAD: 12.34 )')


class HostGraphs(NamedTuple):
    """The full form: graphs that grow up and down from the line between them."""

    cpu: Rect
    memory: Rect
    swap: Rect
    #: Row of the line with the times.
    time_y: int
    #: The two graphs of the devices, if there is room for them.
    upper: Rect | None = None
    lower: Rect | None = None


class HostBoxes(NamedTuple):
    """The compact form: two lines of boxes."""

    cpu: Rect
    load: Rect
    memory: Rect
    swap: Rect


class HostLayout(NamedTuple):
    """Places in the host panel. Both forms are ``None`` while it is hidden."""

    area: Rect
    graphs: HostGraphs | None = None
    boxes: HostBoxes | None = None


def lay_out_host(y: int, width: int, *, height: int, box: int) -> HostLayout:
    """Lay out a panel of this size that begins at row ``y``. The height determines the form.

    ``box`` is the width of the device panel without bars: ``width`` if there is nothing to its right.
    """
    area = Rect(0, y, width, height)
    if height == FULL_HEIGHT:
        return HostLayout(area, graphs=_graphs(y, width, box))
    if height == COMPACT_HEIGHT:
        return HostLayout(area, boxes=_boxes(y, width))
    return HostLayout(area)


def _graphs(y: int, width: int, box: int) -> HostGraphs:
    left = box - 2
    time_y = y + _UPPER_ROWS
    graphs = HostGraphs(
        cpu=Rect(1, y, left, _UPPER_ROWS),
        memory=Rect(1, time_y + 1, left, _MEMORY_ROWS),
        swap=Rect(1, time_y + 1 + _MEMORY_ROWS, left, 1),
        time_y=time_y,
    )
    if box == width:
        return graphs
    right = width - box - 1
    return graphs._replace(
        upper=Rect(box, y, right, _UPPER_ROWS),
        lower=Rect(box, time_y + 1, right, _LOWER_ROWS),
    )


def _boxes(y: int, width: int) -> HostBoxes:
    right = _LOAD_AVERAGE if width >= CLASSIC - 19 else _SHORT_LOAD_AVERAGE
    left = width - 2 - right
    return HostBoxes(
        cpu=Rect(0, y, left, 1),
        load=Rect(left + 2, y, right, 1),
        memory=Rect(0, y + 1, left, 1),
        swap=Rect(left + 2, y + 1, right, 1),
    )
