# SPDX-License-Identifier: GPL-3.0-only
"""Rectangles and runs of character cells. ``x`` grows to the right and ``y`` downwards, both from 0."""

from __future__ import annotations

from typing import NamedTuple

#: Minimum widths of the screen: for anything but a message (one short row per GPU and process), for
#: columns with wide gaps and the three cells of the full form, for bars to the right of these.
NARROWEST, CLASSIC, WITH_BAR = 40, 79, 100


class Rect(NamedTuple):
    """A rectangle of cells. A width or height of 0 makes it empty; neither is ever negative."""

    x: int
    y: int
    width: int
    height: int

    @property
    def right(self) -> int:
        return self.x + self.width

    @property
    def bottom(self) -> int:
        return self.y + self.height

    @property
    def is_empty(self) -> bool:
        return self.width <= 0 or self.height <= 0

    def contains(self, x: int, y: int) -> bool:
        return self.x <= x < self.right and self.y <= y < self.bottom

    def inset(
        self, left: int, top: int, right: int | None = None, bottom: int | None = None
    ) -> Rect:
        """Return the rectangle without this many cells at each side.

        ``right`` defaults to ``left``, ``bottom`` to ``top``.
        """
        right = left if right is None else right
        bottom = top if bottom is None else bottom
        return Rect(
            self.x + min(left, self.width),
            self.y + min(top, self.height),
            max(0, self.width - left - right),
            max(0, self.height - top - bottom),
        )

    def intersect(self, other: Rect) -> Rect:
        """Return the cells inside both rectangles, which may be none."""
        x, y = max(self.x, other.x), max(self.y, other.y)
        return Rect(
            x,
            y,
            max(0, min(self.right, other.right) - x),
            max(0, min(self.bottom, other.bottom) - y),
        )

    def split_top(self, height: int) -> tuple[Rect, Rect]:
        height = max(0, min(height, self.height))
        return (
            Rect(self.x, self.y, self.width, height),
            Rect(self.x, self.y + height, self.width, self.height - height),
        )


class Cells(NamedTuple):
    """A run of ``width`` columns that begins at ``x``."""

    x: int
    width: int

    @property
    def right(self) -> int:
        return self.x + self.width


def inside(width: int) -> Cells:
    """Return the cells for the contents of a panel of this width: without borders and padding."""
    return Cells(2, width - 4) if width >= CLASSIC else Cells(1, width - 2)
