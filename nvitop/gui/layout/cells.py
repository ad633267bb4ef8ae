# SPDX-License-Identifier: GPL-3.0-only
"""Runs of cells in a row, and the widths of the screen at which its parts change."""

from __future__ import annotations

from nvitop.namedtuple import NamedTuple

#: Minimum widths of the screen: for anything but a message (one short row per GPU and process), for
#: columns with wide gaps and the three cells of the full form, for one bar to the right of these
#: cells, and for two bars.
NARROWEST, CLASSIC, ONE_BAR, TWO_BARS = 40, 79, 100, 123


class Cells(NamedTuple):
    """A run of ``width`` columns that begins at ``x``."""

    x: int
    width: int

    @property
    def right(self) -> int:
        """The first column to the right of the run."""
        return self.x + self.width


def inside(width: int) -> Cells:
    """Return the cells for the contents of a panel of this width: without borders and padding."""
    return Cells(2, width - 4) if width >= CLASSIC else Cells(1, width - 2)
