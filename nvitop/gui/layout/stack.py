# SPDX-License-Identifier: GPL-3.0-only
"""How panels share the rows of a screen."""

from __future__ import annotations

from typing import NamedTuple, Sequence


class Panel(NamedTuple):
    """A part of a screen: the numbers of rows that make sense, from low to high, each with a rank.

    The first size is what the panel needs to be shown at all.
    """

    sizes: tuple[tuple[int, int], ...]

    @property
    def rank(self) -> int:
        """The rank of the panel: that of its lowest size."""
        return self.sizes[0][0]


def stack(panels: Sequence[Panel], height: int) -> tuple[int, ...]:
    """Return the rows of each panel, at most ``height`` together; 0 for a panel without room.

    Panels get their lowest size in the order of rank. Then sizes of the lowest rank are given first, of
    whatever panel, as long as they fit.
    """
    rows = [0] * len(panels)
    left = height
    for number in sorted(range(len(panels)), key=lambda each: panels[each].rank):
        least = panels[number].sizes[0][1]
        if least <= left:
            rows[number] = least
            left -= least
    others = [
        (rank, number, size)
        for number, panel in enumerate(panels)
        if rows[number]
        for rank, size in panel.sizes[1:]
    ]
    for _, number, size in sorted(others):
        more = size - rows[number]
        if 0 < more <= left:
            rows[number] = size
            left -= more
    return tuple(rows)
