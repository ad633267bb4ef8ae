# SPDX-License-Identifier: GPL-3.0-only
"""Sparklines: the last minutes of a percentage in one row."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Optional, Tuple

if TYPE_CHECKING:
    #: Pieces of a sparkline, each with the percentage that chooses its color; ``None``: unknown.
    Sparkline = Tuple[Tuple[str, Optional[float]], ...]

#: Seconds of a cell, if measurements are not further apart, and between two changes of the newest one.
#: Each change is written to the terminal, so short times cost most of the bytes of a monitor at rest.
CELL_SECONDS = 20.0
CHANGE_SECONDS = 10.0
#: Unknown, and levels up to 7/8 of the cell, so that rows do not touch each other.
_BLOCKS = ' ▁▂▃▄▅▆▇'
_ASCII = ' _.-=+*#'
_LEVELS = len(_BLOCKS) - 1
#: Number of colors: fewer than levels, because each change of the color costs bytes.
_COLORS = 4


# Cached because complete cells do not change.
@functools.lru_cache(maxsize=128)
def make_sparkline(percentages: tuple[float | None, ...], *, ascii_only: bool = False) -> Sparkline:
    """Return the pieces of a sparkline of these percentages, oldest first, one in each cell.

    A known value is at least the lowest block, so that an idle time differs from an unknown one.
    """
    marks = _ASCII if ascii_only else _BLOCKS
    levels = [
        0 if value is None else min(_LEVELS, 1 + int(value * _LEVELS / 100.001))
        for value in percentages
    ]
    return tuple(
        (''.join([marks[level] for level in group]), percent)
        for percent, group in itertools.groupby(levels, key=_COLOR_OF.__getitem__)
    )


#: Level → percentage in the middle of its color.
_COLOR_OF = [
    None,
    *((level * _COLORS // _LEVELS + 0.5) * 100 / _COLORS for level in range(_LEVELS)),
]


def span_text(seconds: float, width: int) -> str:
    """Return a heading with the time that a sparkline shows: ``UTIL 2 MIN``, ``UTIL 32 S``."""
    minutes = round(seconds / 60)
    is_minutes = seconds >= 59 and abs(seconds - 60 * minutes) < 10
    amount = f'{minutes} MIN' if is_minutes else f'{seconds:.0f} S'
    forms = (f'UTIL {amount}', f'UTIL {amount.replace(" ", "")}', amount)
    return next((text for text in forms if len(text) <= width), '')
