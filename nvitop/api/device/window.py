# SPDX-License-Identifier: Apache-2.0
"""Rates from counters: two readings some time apart, the later one kept for the next rate."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar('R')
V = TypeVar('V')

#: The shortest time that gives a useful rate; the driver's own PCIe measurement takes as long.
SHORTEST_SECONDS = 0.02


class Window(Generic[R, V]):
    """A value that is measured between two readings.

    Threads may share it: the state is replaced as a whole, and nobody waits for another's pause.
    """

    #: What tells the time, in seconds, and what waits.
    clock: Callable[[], float] = staticmethod(time.monotonic)
    sleep: Callable[[float], None] = staticmethod(time.sleep)

    def __init__(
        self, compare: Callable[[R, R], V], missing: V, *, shortest: float = SHORTEST_SECONDS
    ) -> None:
        self._compare = compare
        self._missing = missing
        self._shortest = shortest
        #: When the last reading was taken, the reading, and the value it gave: none when it was the
        #: first one.
        self._last: tuple[float, R, V | None] | None = None

    @property
    def has_begun(self) -> bool:
        """Whether there is a reading, so that the next measurement need not wait."""
        return self._last is not None

    def begin(self, read: Callable[[], R | None]) -> None:
        """Take the first reading, and forget others: the next measurement covers the time since."""
        reading = read()
        self._last = None if reading is None else (self.clock(), reading, None)

    def measure(self, read: Callable[[], R | None], interval: float | None = None) -> V:
        """The value since the last reading, or over the next ``interval`` seconds.

        The first time there is no last reading: then it is measured over the shortest time. Within
        the shortest time after a reading its value is given again. Where nothing can be read the
        value is the missing one, and the next measurement begins anew.
        """
        last = self._last
        if interval or last is None:
            earlier = read()
            if earlier is not None:
                self.sleep(interval or self._shortest)
        else:
            taken, earlier, value = last
            age = self.clock() - taken
            if age < self._shortest:
                if value is not None:
                    return value
                self.sleep(self._shortest - age)
        later = read() if earlier is not None else None
        if earlier is None or later is None:
            self._last = None
            return self._missing
        value = self._compare(earlier, later)
        self._last = self.clock(), later, value
        return value


def check_interval(interval: float | None) -> None:
    """Refuse what cannot be waited for: ``ValueError`` for a negative number of seconds."""
    if interval is not None and interval < 0:
        raise ValueError(f'interval must not be negative: {interval!r}')
