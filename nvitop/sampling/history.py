# SPDX-License-Identifier: Apache-2.0
"""Values of the last hour, for graphs: rings of a fixed size by key and metric.

A ring has one slot per second, or per interval if that is longer, and holds the mean of the values
of each slot. Used by one thread.
"""

from __future__ import annotations

import copy
import itertools
import math
from array import array
from collections import OrderedDict
from typing import Any, Container, Hashable, Iterable, Iterator, Mapping, Sequence, TypeVar

from nvitop.api.system import Past, system
from nvitop.basics.metrics import METRICS, PROCESS_METRICS
from nvitop.sampling.types import DeviceSample, HostSample, ProcessSample, Sample

_T = TypeVar('_T', HostSample, DeviceSample, ProcessSample)

#: Key of the host's rings.
HOST = 'host'
#: Time (seconds) that a ring covers.
CAPACITY_SECONDS = 3600.0
#: Interval (seconds) of the samples, which decides what they cost; history interpolates longer gaps.
INTERVAL_SECONDS = 10
#: Interval (seconds) within the last ``RECENT_SECONDS``, which fill a graph of usual width.
RECENT_INTERVAL_SECONDS = 2
RECENT_SECONDS = 240
#: Interval (seconds) of past processes.
PROCESS_INTERVAL_SECONDS = 60
#: Maximum number of processes with rings; the one not measured for the longest time is dropped.
MAX_PROCESSES = 48

#: Metric → field of ``DeviceSample``; recorded from its first value on.
DEVICE_FIELDS = {metric.name: metric.field for metric in METRICS if metric.history}
#: Metric → field of ``ProcessSample``.
PROCESS_FIELDS = {metric.name: metric.field for metric in PROCESS_METRICS if metric.history}
#: Metric → field of ``ProcessSample``, of the process shown in detail; recorded only while it is.
DETAIL_FIELDS = {'tree_cpu': 'tree_cpu_percent', 'disk_read': 'disk_read_kib_per_s'}
#: Fields of ``HostSample``.
HOST_FIELDS = {field: field for field in ('cpu_percent', 'memory_percent', 'swap_percent')}

#: Statuses of processes that never have a CPU %.
_WITHOUT_CPU = frozenset({'gone', 'foreign', 'no permission'})

#: Number of slots without a new value in which the newest one holds; then a graph has ended.
_CURRENT_SLOTS = 2
#: A slot without a measurement; interpolated in a short gap.
_NOT_SAMPLED = math.nan
#: A slot whose measurement had no value; stays a hole.
_NOT_AVAILABLE = -math.inf


class Ring:
    """Values of one metric by time slot, in constant memory."""

    def __init__(self, slot_seconds: float = 1.0, capacity_seconds: float = CAPACITY_SECONDS):
        self.slot_seconds = slot_seconds
        self._slots = max(2, round(capacity_seconds / slot_seconds))
        self._values = array('f', [_NOT_SAMPLED]) * self._slots
        #: Number of the newest slot, -1 while empty.
        self.last_slot = -1
        self._first_slot = -1
        self._count = 0

    def append(self, time: float, value: float | None) -> None:
        """Add a value, ``None`` or NaN if it is not available.

        ``time`` is in seconds of a clock that never goes back. A value older than the newest slot
        counts for that slot.
        """
        slot = int(time / self.slot_seconds)
        known = value is not None and not math.isnan(value)
        new = value if known and value is not None else _NOT_AVAILABLE
        if slot > self.last_slot:
            self._advance(slot)
            self._values[slot % self._slots] = new
            self._count = 1 if known else 0
        elif known:
            index = self.last_slot % self._slots
            count = self._count
            mean = (self._values[index] * count + new) / (count + 1) if count else new
            self._values[index] = mean
            self._count = count + 1

    def _advance(self, slot: int) -> None:
        """Make ``slot`` the newest one and mark skipped ones as not sampled."""
        skipped = slot - self.last_slot - 1
        if self.last_slot < 0:
            self._first_slot = slot
        elif skipped > 0:
            values, slots = self._values, self._slots
            for number in range(max(self.last_slot + 1, slot - slots + 1), slot):
                values[number % slots] = _NOT_SAMPLED
        self.last_slot = slot

    def _window(self, first: int, last: int) -> array[float]:
        """Return the values of the slots ``first`` … ``last`` (inclusive)."""
        oldest = self.last_slot - self._slots + 1
        start, stop = max(first, oldest), min(last, self.last_slot)
        if stop < start:
            return array('f', [_NOT_SAMPLED]) * (last - first + 1)
        a, b = start % self._slots, stop % self._slots
        inner = self._values[a : b + 1] if a <= b else self._values[a:] + self._values[: b + 1]
        before = array('f', [_NOT_SAMPLED]) * (start - first)
        return before + inner + array('f', [_NOT_SAMPLED]) * (last - stop)

    def values(
        self, now: float, seconds: float, columns: int, *, max_gap_seconds: float = 10.0
    ) -> list[float | None]:
        """Return ``columns`` means over the last ``seconds`` before ``now``, oldest first.

        Column borders are multiples of ``seconds / columns`` and do not move with time, so a graph
        slides without flicker. Gaps of at most ``max_gap_seconds`` are interpolated; ``None`` means
        that nothing is known.
        """
        if self.last_slot < 0 or columns <= 0 or seconds <= 0:
            return [None] * max(0, columns)
        end = int(now / self.slot_seconds)
        # A few more columns on the left, so that the left edge is interpolated as well.
        max_gap = max_gap_seconds * columns / seconds
        margin = math.ceil(max_gap) + 1
        width = seconds / columns / self.slot_seconds
        # The part before the first value, most of a graph at first, is not computed.
        begun = max(1, min(columns, math.ceil((end - self._first_slot + 1) / width) + 1))
        means = self._resample(end, width, begun + margin)
        if 0 < end - self.last_slot <= _CURRENT_SLOTS:
            # Not moved: rings of longer slots would show the same moment in another column.
            late = int(end / width + 1e-9) - int(self.last_slot / width + 1e-9)
            newest = len(means) - late
            means[newest:] = means[newest - 1 : newest] * late
        _interpolate(means, max_gap)
        nothing: list[float | None] = [None] * (columns - begun)
        return nothing + _or_none(means[margin:])

    def _resample(self, end: int, width: float, columns: int) -> list[float]:
        if width == 1.0:  # the default of graphs
            return self._window(end - columns + 1, end).tolist()
        last_column = int(end / width + 1e-9)
        first_column = last_column - columns + 1
        first = max(0, math.ceil(first_column * width - 1e-9))
        window = self._window(first, end)
        result = []
        start = 0
        for column in range(first_column + 1, last_column + 2):
            stop = max(start, min(len(window), math.ceil(column * width - 1e-9) - first))
            result.append(_mean(window, start, stop))
            start = stop
        return result


def _mean(window: array[float], start: int, stop: int) -> float:
    if stop - start == 1:
        return window[start]
    if stop <= start:
        return _NOT_SAMPLED
    total = sum(window[start:stop])
    if -math.inf < total < math.inf:
        return total / (stop - start)
    known = [v for v in window[start:stop] if v > _NOT_AVAILABLE]
    if known:
        return sum(known) / len(known)
    return _NOT_AVAILABLE if _NOT_AVAILABLE in window[start:stop] else _NOT_SAMPLED


def _or_none(values: list[float]) -> list[float | None]:
    if math.isfinite(sum(values)):  # all of them are; sum() is fast
        return [*values]
    return [v if math.isfinite(v) else None for v in values]


def _interpolate(values: list[float], max_gap: float) -> None:
    """Fill gaps of at most ``max_gap`` columns linearly."""
    if not math.isnan(sum(values)):  # there are no gaps
        return
    known = [i for i, value in enumerate(values) if value == value]
    for left, right in zip(known, known[1:]):
        if 1 < right - left <= max(max_gap, 1.0) + 1.0:
            start, end = values[left], values[right]
            if start > _NOT_AVAILABLE and end > _NOT_AVAILABLE:
                step = (end - start) / (right - left)
                for i in range(left + 1, right):
                    values[i] = start + step * (i - left)


class History:
    """The rings of a machine: its GPUs, its host, and the processes measured most recently.

    Memory is bounded: rings do not grow, vanished keys are forgotten, and at most ``MAX_PROCESSES``
    processes have rings.
    """

    def __init__(self, device_interval: float = 1.0, process_interval: float = 2.0) -> None:
        #: Seconds of a slot of devices and host.
        self.device_slot = max(1.0, device_interval)
        self._process_slot = max(1.0, process_interval)
        #: By key and metric.
        self._rings: dict[Hashable, dict[str, Ring]] = {}
        self._devices: dict[Hashable, float] = {}
        self._processes: OrderedDict[Hashable, float] = OrderedDict()
        self._processes_time = 0.0
        #: Monotonic time of the newest value.
        self.now = 0.0

    def append(
        self, key: Hashable, metric: str, time: float, value: float | None, *, slot: float = 1.0
    ) -> None:
        """Add one value; see :meth:`Ring.append`."""
        rings = self._rings.setdefault(key, {})
        ring = rings.get(metric)
        if ring is None:
            ring = rings[metric] = Ring(slot)
        ring.append(time, value)
        self.now = max(self.now, time)

    def record(self, sample: Sample, *, watched: Container[Hashable] = ()) -> None:
        """Append all values of ``sample`` that graphs can show, and forget what vanished.

        Processes are recorded once per measurement: those in ``watched`` always, then as many as
        there is room for, first those with a CPU % (see ``Demand.visible_processes``), then those
        that never have one.
        """
        time = sample.monotonic
        self._append_fields(HOST, HOST_FIELDS, time, sample.host, self.device_slot)
        for device in sample.devices:
            self._append_fields(device.key, DEVICE_FIELDS, time, device, self.device_slot)
            self._devices[device.key] = time
        if sample.processes_monotonic > self._processes_time:
            self._processes_time = sample.processes_monotonic
            self._record_processes(sample.processes_monotonic, sample.processes, watched)
        for key in [k for k, seen in self._devices.items() if time - seen > CAPACITY_SECONDS]:
            self.forget(key)

    def _append_fields(
        self,
        key: Hashable,
        fields: Mapping[str, str],
        time: float,
        values: HostSample | DeviceSample | ProcessSample,
        slot: float,
    ) -> None:
        """Append the values of metrics, each from its first value on."""
        rings = self._rings.setdefault(key, {})
        for metric, field in fields.items():
            value = getattr(values, field)
            ring = rings.get(metric)
            if ring is None:
                if value is None:
                    continue
                ring = rings[metric] = Ring(slot)
            ring.append(time, value)
        self.now = max(self.now, time)

    def _record_processes(
        self, time: float, processes: Sequence[ProcessSample], watched: Container[Hashable]
    ) -> None:
        first = [process for process in processes if process.key in watched]
        others = [process for process in processes if process.key not in watched]
        measured = (process for process in others if process.cpu_percent is not None)
        unknown = (
            process
            for process in others
            if process.cpu_percent is None and process.status in _WITHOUT_CPU
        )
        for process in itertools.islice(itertools.chain(first, measured, unknown), MAX_PROCESSES):
            key, slot = process.key, self._process_slot
            self._append_fields(key, PROCESS_FIELDS, time, process, slot)
            for metric, field in DETAIL_FIELDS.items():
                value = getattr(process, field)
                if value is not None:
                    self.append(key, metric, time, value, slot=slot)
            self._processes[key] = time
            self._processes.move_to_end(key)
        while len(self._processes) > MAX_PROCESSES:
            self.forget(next(iter(self._processes)))

    def forget(self, key: Hashable) -> None:
        """Drop all rings of a key."""
        for remembered in (self._devices, self._processes, self._rings):
            remembered.pop(key, None)

    def until(self, now: float) -> History:
        """Return the rings as of ``now``, for a frozen display; nothing is copied."""
        frozen = copy.copy(self)
        frozen.now = now
        return frozen

    def values(
        self, key: Hashable, metric: str, seconds: float, columns: int
    ) -> list[float | None]:
        """Return ``columns`` values over the last ``seconds``, oldest first, ``None`` if unknown.

        See :meth:`Ring.values`. All graphs end at the newest value of the whole history, so the end
        of a metric that is no longer measured moves to the left.
        """
        ring = self._rings.get(key, {}).get(metric)
        if ring is None:
            return [None] * max(0, columns)
        gap = max(10.0, 3 * ring.slot_seconds)
        return ring.values(self.now, seconds, columns, max_gap_seconds=gap)

    def last(self, key: Hashable, metric: str) -> float | None:
        """Return the newest value (mean of its slot), ``None`` if unknown."""
        ring = self._rings.get(key, {}).get(metric)
        if ring is None:
            return None
        return ring.values(ring.last_slot * ring.slot_seconds, ring.slot_seconds, 1)[0]

    def maximum(self, key: Hashable, metric: str, seconds: float) -> float | None:
        """Return the highest mean of a slot within the last ``seconds``, ``None`` if none is known."""
        ring = self._rings.get(key, {}).get(metric)
        if ring is None:
            return None
        columns = max(1, round(seconds / ring.slot_seconds))
        known = [v for v in self.values(key, metric, seconds, columns) if v is not None]
        return max(known) if known else None


# The time before the first sample, which only a simulated machine knows


def past_samples(sample: Sample) -> Iterator[Sample]:
    """Yield samples of the hour before the first sample, oldest first; none of a real machine.

    They have the values that graphs show; the others are those of the first sample.
    """
    for seconds in (
        *range(int(CAPACITY_SECONDS), RECENT_SECONDS, -INTERVAL_SECONDS),
        *range(RECENT_SECONDS, 0, -RECENT_INTERVAL_SECONDS),
    ):
        past = system().past(seconds)
        if past is None:
            return
        yield _earlier(sample, seconds, past)


def past_processes(
    processes: Iterable[ProcessSample],
) -> Iterator[tuple[int, tuple[ProcessSample, ...]]]:
    """Yield how many seconds ago, and the processes of that time, as :func:`past_samples`."""
    for seconds in range(int(CAPACITY_SECONDS), 0, -PROCESS_INTERVAL_SECONDS):
        past = system().past(seconds)
        if past is None:
            return
        yield seconds, _earlier_processes(processes, past)


def _earlier(sample: Sample, seconds: float, past: Past) -> Sample:
    return sample._replace(
        timestamp=sample.timestamp - seconds,
        monotonic=sample.monotonic - seconds,
        processes_monotonic=sample.monotonic - seconds,
        host=_replaced(sample.host, past.host),
        devices=tuple(
            _replaced(device, past.devices.get(device.key.physical_index, {}))
            for device in sample.devices
            if not device.key.is_mig
        ),
        processes=_earlier_processes(sample.processes, past),
    )


def _earlier_processes(processes: Iterable[ProcessSample], past: Past) -> tuple[ProcessSample, ...]:
    return tuple(
        _replaced(process, past.processes[process.key.pid])
        for process in processes
        if process.key.pid in past.processes
    )


def _replaced(values: _T, past: Mapping[str, Any]) -> _T:
    return values._replace(**{name: value for name, value in past.items() if value is not None})
