# SPDX-License-Identifier: Apache-2.0
"""Values that are measured between two readings, such as rates."""

from __future__ import annotations

import time
from typing import Callable, Generic, TypeVar

T = TypeVar('T')
R = TypeVar('R')
V = TypeVar('V')

#: Shortest useful time (seconds) between two readings of a driver; its own measurement of PCIe
#: traffic takes as long.
SHORTEST_SECONDS = 0.02
#: Shortest time (seconds) over which CPU usage is measured: the kernel counts in ticks of 10 ms.
SHORTEST_CPU_SECONDS = 0.1
#: Longest time, in seconds, between a counter and the clock that does not distort a rate.
_LONGEST_SECONDS = 0.1


def timed(read: Callable[[], T], clock: Callable[[], float] | None = None) -> tuple[T, float]:
    """Return what ``read`` returns, and the time just after.

    A slow reading is repeated once: the program may have been stopped (``Ctrl-Z``, a suspended
    machine) between the counter and the clock, so that the rate would be wrong.
    """
    clock = clock or time.monotonic
    began = clock()
    value, taken = read(), clock()
    if taken - began > _LONGEST_SECONDS:
        value, taken = read(), clock()
    return value, taken


class Window(Generic[R, V]):
    """A value that is measured between two readings. The later one serves the next value too.

    Threads may share a window: its state is replaced as a whole, and no thread waits for the pause
    of another.
    """

    #: Time in seconds, and how to wait.
    clock: Callable[[], float] = staticmethod(time.monotonic)
    sleep: Callable[[float], None] = staticmethod(time.sleep)

    def __init__(
        self, compare: Callable[[R, R, float], V], missing: V, *, shortest: float = SHORTEST_SECONDS
    ) -> None:
        """Initialize with the function that compares two readings.

        Args:
            compare: Takes the earlier and the later reading and the seconds between them, and
                returns the value.
            missing: The value if a reading fails.
            shortest: Shortest time in seconds between two readings.
        """
        self._compare = compare
        self._missing = missing
        self._shortest = shortest
        #: Time of the last reading, the reading, and its value (``None`` for the first reading).
        self._last: tuple[float, R, V | None] | None = None

    def since_last(self, read: Callable[[], R | None], now: float) -> V:
        """Return the value since the last reading, without waiting.

        The first time, and if a reading fails, return the missing value. Within the shortest time
        after a reading, return the last value again without reading.

        Args:
            read: Returns the counters, ``None`` on failure.
            now: The time of the reading, in seconds of any clock.
        """
        last = self._last
        if last is not None and now - last[0] < self._shortest:
            return self._missing if last[2] is None else last[2]
        reading = read()
        if reading is None:
            self._last = None
            return self._missing
        value = None if last is None else self._compare(last[1], reading, now - last[0])
        self._last = now, reading, value
        return self._missing if value is None else value

    @property
    def has_begun(self) -> bool:
        """Whether there is a reading, so that the next measurement does not wait."""
        return self._last is not None

    def begin(self, read: Callable[[], R | None]) -> None:
        """Take a first reading: the next measurement covers the time since."""
        reading, taken = timed(read, self.clock)
        self._last = None if reading is None else (taken, reading, None)

    def begin_with(self, reading: R, taken: float, value: V) -> None:
        """Take a first reading whose value is known."""
        self._last = taken, reading, value

    def measure(self, read: Callable[[], R | None], interval: float | None = None) -> V:
        """Return the value since the last reading, or over the next ``interval`` seconds.

        If there is no last reading, measure over the shortest time. Within the shortest time after
        a reading, return the last value again. If a reading fails, return the missing value and
        start over the next time.
        """
        last = self._last
        if interval or last is None:
            earlier, began = timed(read, self.clock)
            if earlier is not None:
                self.sleep(interval or self._shortest)
        else:
            began, earlier, value = last
            age = self.clock() - began
            if age < self._shortest:
                if value is not None:
                    return value
                self.sleep(self._shortest - age)
        later, taken = (None, began) if earlier is None else timed(read, self.clock)
        if earlier is None or later is None:
            self._last = None
            return self._missing
        value = self._compare(earlier, later, taken - began)
        self._last = taken, later, value
        return value


def check_interval(interval: float | None) -> None:
    """Raise ValueError if a time to wait is negative."""
    if interval is not None and interval < 0:
        raise ValueError(f'interval must not be negative: {interval!r}')
