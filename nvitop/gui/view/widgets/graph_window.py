# SPDX-License-Identifier: GPL-3.0-only
"""The time that graphs plot: its values, its axis and its length."""

from __future__ import annotations

from typing import Hashable

from nvitop.gui.view.widgets.graph import BRAILLE, Marks, samples_shown, time_axis
from nvitop.sampling.history import History

_TICKS = (30, 60, 120, 180, 240, 300)
_SECONDS, _MINUTES = (10, 30), (60, 120, 300, 600, 900, 1800)
#: Minimum length (minutes) from which all marks are whole minutes.
_IN_MINUTES = 5
#: Minimum number of cells between two marks.
_TICK_CELLS = 12
#: Minimum time (seconds) between two moves of a graph: the time in a cell. Most of its cells change
#: when it moves, which costs most of the bytes of a monitor at rest.
_MOVE_SECONDS = 2.0


class GraphWindow:
    """The last ``minutes`` before the newest sample; with 0, one second for each column of dots."""

    def __init__(self, history: History, minutes: int = 0, marks: Marks = BRAILLE) -> None:
        if history.device_slot < _MOVE_SECONDS:
            history = history.until(history.now // _MOVE_SECONDS * _MOVE_SECONDS)
        self.history = history
        self.minutes = minutes
        self.marks = marks

    def _seconds_per_cell(self, width: int) -> float:
        return 60.0 * self.minutes / width if self.minutes else self.marks.samples_per_cell

    def seconds(self, width: int) -> float:
        """Return the length in seconds for a graph of this width."""
        return width * self._seconds_per_cell(width)

    def span(self, width: int) -> str:
        """Return the length in words for a graph of this width."""
        return f'last {self.minutes} min' if self.minutes else f'last {self.seconds(width):.0f} s'

    def values(self, key: Hashable, metric: str, width: int) -> tuple[float | None, ...]:
        """Return the values in a graph of this width, oldest first."""
        columns = samples_shown(width, self.marks)
        return tuple(self.history.values(key, metric, self.seconds(width), columns))

    def maximum(self, key: Hashable, metric: str, width: int) -> float | None:
        """Return the highest value in a graph of this width, before values are averaged to dots."""
        return self.history.maximum(key, metric, self.seconds(width))

    def axis(self, width: int) -> str:
        """Return a line with marks of past times, the oldest at its left end."""
        per_cell = self._seconds_per_cell(width)
        if not self.minutes:
            return time_axis(width, per_cell, _TICKS, end=f'{self.seconds(width):.0f}s ago')
        in_minutes = self.minutes >= _IN_MINUTES
        steps = _MINUTES if in_minutes else _SECONDS
        step = next((step for step in steps if step >= _TICK_CELLS * per_cell), steps[-1])
        ticks = range(step, 60 * self.minutes, step)
        end = f'{self.minutes} min ago'
        return time_axis(width, per_cell, ticks, end=end, in_minutes=in_minutes)
