# SPDX-License-Identifier: GPL-3.0-only
"""Where the details of a device are: in as few lines as the width allows, below its row."""

from __future__ import annotations

from nvitop.namedtuple import NamedTuple

#: Cells between the border and the details, and between two of them.
_INDENT, _GAP = 2, 2
#: Name → cells it needs. The last one gets what is left of its line.
_WIDTHS = {
    'link': 22,
    'pcie': 32,
    'codec': 17,
    'nvlink': 34,
    'memory_temperature': 8,
    'energy': 10,
    'reasons': 17,
}


class DetailSlot(NamedTuple):
    """A detail and its cells."""

    name: str
    x: int
    width: int


def place_details(width: int, *, with_nvlink: bool) -> tuple[tuple[DetailSlot, ...], ...]:
    """The details by line, in a box of this width: each in the first line with room for it."""
    right = width - 2
    lines: list[list[DetailSlot]] = []
    for name, cells in _WIDTHS.items():
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
