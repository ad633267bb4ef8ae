# SPDX-License-Identifier: Apache-2.0
"""The active tags of a collector, and the statistics of each."""

from __future__ import annotations

import itertools
import math
import threading
from typing import Callable, Collection, Iterator, NamedTuple

NAN = float('nan')
#: Statistics of each metric.
STATISTICS = ('mean', 'min', 'max', 'last')
#: Maximum number of values of exited processes kept under a tag: those of about 100 processes.
MOST_GONE = 1000


class Values(NamedTuple):
    """The numbers of one moment by name, NaN if unknown."""

    #: When they were measured, in seconds of the collector's clock and since the epoch.
    time: float
    timestamp: float
    values: dict[str, float]
    #: Numbers that only grow: the greatest one is kept, without statistics.
    maxima: dict[str, float]


class Statistics:
    """Mean over time, minimum, maximum and last known value of one quantity.

    The mean is the integral of the straight lines between the known values, divided by the time that
    they cover. An unknown value ends a line. If no time is covered, it is the mean of the values.
    """

    __slots__ = ('_count', '_integral', '_seconds', '_sum', '_time', 'last', 'maximum', 'minimum')

    def __init__(self) -> None:
        self._integral = self._seconds = self._sum = 0.0
        self._count = 0
        #: Time of the last known value.
        self._time = NAN
        self.last = NAN
        self.minimum = math.inf
        self.maximum = -math.inf

    def add(self, value: float, time: float, previous_time: float) -> None:
        """Add the value at ``time``; the value before it was at ``previous_time``."""
        if value != value:  # NaN
            return
        if self._time == previous_time:
            seconds = time - previous_time
            self._integral += seconds * (self.last + value) / 2.0
            self._seconds += seconds
        self._time = time
        self.last = value
        self._sum += value
        self._count += 1
        if value < self.minimum:
            self.minimum = value
        if value > self.maximum:
            self.maximum = value

    @property
    def mean(self) -> float:
        """Mean over the time in which the value was known, NaN if it never was."""
        if not self._count:
            return NAN
        covered = self._seconds > 0.0
        mean = self._integral / self._seconds if covered else self._sum / self._count
        # Rounding errors must not move it outside the range of the values.
        return min(max(mean, self.minimum), self.maximum)

    def items(self) -> Iterator[tuple[str, float]]:
        """Yield ``mean``, ``min``, ``max`` and ``last``, each NaN if the value was never known."""
        is_known = self._count > 0
        yield 'mean', self.mean
        yield 'min', self.minimum if is_known else NAN
        yield 'max', self.maximum if is_known else NAN
        yield 'last', self.last


class TagBuffer:
    """Statistics of a tag since it was activated or cleared."""

    def __init__(self, tag: str, parent: TagBuffer | None, now: float) -> None:
        self.tag = tag
        #: The tags from the outermost one to this one.
        self.path: str = f'{parent.path}/{tag}' if parent else tag
        self.clear(now)

    def clear(self, now: float) -> None:
        self._since = now
        self._last_time = NAN
        self._last_timestamp = NAN
        self._statistics: dict[str, Statistics] = {}
        self._maxima: dict[str, float] = {}

    @property
    def is_empty(self) -> bool:
        return self._last_time != self._last_time

    def add(self, values: Values) -> None:
        """Add the numbers of one moment; earlier ones count for the start of the tag."""
        time = max(values.time, self._since)
        previous, self._last_time = self._last_time, time
        self._last_timestamp = values.timestamp
        statistics = self._statistics
        for key, value in values.values.items():
            known = statistics.get(key)
            if known is None:
                known = statistics[key] = Statistics()
            known.add(value, time, previous)
        for key, value in values.maxima.items():
            highest = self._maxima.get(key, NAN)
            self._maxima[key] = highest if highest >= value or value != value else value
        surplus = len(statistics) - len(values.values) - MOST_GONE
        if surplus > 0:
            self._forget_gone(surplus, values)

    def _forget_gone(self, surplus: int, values: Values) -> None:
        """Forget exited processes, the oldest first."""
        gone = (key for key in self._statistics if key not in values.values)
        scopes = {_scope(key) for key in itertools.islice(gone, surplus)}
        known: dict[str, Statistics] | dict[str, float]
        for known in (self._statistics, self._maxima):
            for key in [key for key in known if _scope(key) in scopes]:
                del known[key]

    def metrics(
        self,
        now: float,
        timestamp: float,
        wanted: Collection[str] | None = None,
        stats: Collection[str] | None = None,
    ) -> dict[str, float]:
        """Return metrics by name at ``now``, which is ``timestamp`` in seconds since the epoch.

        Args:
            now: Seconds of the collector's clock.
            timestamp: Seconds since the epoch.
            wanted: Names of metrics without scope and unit; ``None``: all.
            stats: Names of statistics; ``None``: all.
        """
        path = self.path
        metrics = {
            f'{path}/{key}/{name}': value
            for key, statistics in self._statistics.items()
            if wanted is None or _metric(key) in wanted
            for name, value in statistics.items()
            if stats is None or name in stats
        }
        single = {
            **self._maxima,
            'duration (s)': now - self._since,
            'timestamp': timestamp,
            'last_timestamp': self._last_timestamp,
        }
        metrics.update(
            (f'{path}/{key}', value)
            for key, value in single.items()
            if wanted is None or _metric(key) in wanted
        )
        return metrics


def _metric(key: str) -> str:
    """Return the name of a metric without scope and unit: ``gpu_utilization``."""
    return key.rpartition('/')[2].partition(' ')[0]


def _scope(key: str) -> str:
    """Return what a value is of: ``pid:4242``."""
    return key.partition('/')[0]


class Tags:
    """Active tags and their buffers.

    The condition :attr:`changed` guards all state. Methods take it themselves; it is reentrant, so
    callers may hold it, too. It is never held while the driver is queried.

    ``wake`` is called when a tag is activated, with whether it needs a sample.
    """

    def __init__(
        self, clock: Callable[[], float], interval: float, wake: Callable[[bool], None]
    ) -> None:
        self.interval = interval
        self.clock = clock
        self._wake = wake
        self._last: Values | None = None
        #: Nested tags, the innermost last.
        self._stack: list[TagBuffer] = []
        self.forget_threads()

    def forget_threads(self) -> None:
        """Drop the tags of threads, at first and in a forked child."""
        self.changed = threading.Condition()
        #: Tags of threads, which do not nest.
        self._background: list[TagBuffer] = []

    @property
    def is_empty(self) -> bool:
        return not (self._stack or self._background)

    @property
    def age(self) -> float:
        return math.inf if self._last is None else self.clock() - self._last.time

    @property
    def is_stale(self) -> bool:
        return self.age > self.interval / 2

    def activate(self, tag: str, *, is_background: bool = False) -> TagBuffer:
        """Activate a tag, inside the innermost one or in the background; RuntimeError if active."""
        if not isinstance(tag, str):
            raise TypeError(f'a tag is a str, not {tag!r}')
        with self.changed:
            if any(buffer.tag == tag for buffer in (*self._stack, *self._background)):
                raise RuntimeError(f'the tag {tag!r} is already active')
            others = self._background if is_background else self._stack
            parent = self._stack[-1] if self._stack and not is_background else None
            buffer = TagBuffer(tag, parent, self.clock())
            others.append(buffer)
            self._seed(buffer)
            self._wake(buffer.is_empty)
            return buffer

    def end(self, buffer: TagBuffer) -> None:
        """Deactivate a tag and all tags inside it, if it is active."""
        with self.changed:
            for ended in self._with_inner(buffer):
                (self._stack if ended in self._stack else self._background).remove(ended)
            self.changed.notify_all()

    def clear(self, buffer: TagBuffer) -> None:
        """Forget what was collected under a tag and all tags inside it."""
        with self.changed:
            now = self.clock()
            for cleared in self._with_inner(buffer):
                cleared.clear(now)
                self._seed(cleared)

    def find(self, tag: str | None) -> TagBuffer:
        """Return an active tag, ``None``: the innermost one; RuntimeError if it is not active."""
        with self.changed:
            for buffer in (*reversed(self._stack), *reversed(self._background)):
                if tag is None or buffer.tag == tag:
                    return buffer
        if tag is None:
            raise RuntimeError('no tag is active: activate one first')
        raise RuntimeError(f'the tag {tag!r} is not active')

    def add(self, values: Values) -> None:
        """Add the numbers of one moment to all active tags."""
        with self.changed:
            self._last = values
            for buffer in (*self._stack, *self._background):
                buffer.add(values)

    def ends_within(self, buffer: TagBuffer, seconds: float) -> bool:
        """Wait at most ``seconds`` for the tag of a thread to end; return whether it ended."""
        with self.changed:
            return self.changed.wait_for(lambda: buffer not in self._background, max(0.0, seconds))

    def _with_inner(self, buffer: TagBuffer) -> list[TagBuffer]:
        if buffer in self._stack:
            return self._stack[self._stack.index(buffer) :]
        return [buffer] if buffer in self._background else []

    def _seed(self, buffer: TagBuffer) -> None:
        """Begin with the last values if they still count as current."""
        if self._last is not None and not self.is_stale:
            buffer.add(self._last)
