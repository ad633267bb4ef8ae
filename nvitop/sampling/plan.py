# SPDX-License-Identifier: Apache-2.0
"""When each group of metrics is due (once, slow, fast, or only while shown), and on which devices.

Pure bookkeeping over an injected clock; :mod:`nvitop.sampling.source` runs the queries.
"""

from __future__ import annotations

import functools
import math
import time
from typing import Callable, Collection, Iterable, NamedTuple, Tuple, Union

from nvitop.basics.metrics import EXTENDED_METRICS, LISTS, METRICS, Metric, metrics_of_tier
from nvitop.sampling.types import Demand, ProcessKey

#: A device: the index of a GPU, (GPU, MIG device), or a UUID.
DeviceSelector = Union[int, Tuple[int, int], str]
DEFAULT_DEVICE_INTERVAL = 1.0
DEFAULT_PROCESS_INTERVAL = 2.0
#: Shortest interval (seconds) between two queries of the slow tier.
MIN_SLOW_INTERVAL = 5.0
#: Interval (seconds) over which CPU % is first measured for a process that came into view.
FIRST_CPU_INTERVAL = 0.25
#: Maximum time (seconds) by which a first interval is shortened to end on a whole second.
LATEST_SECONDS = 0.6

#: Metrics of a report. The monitor queries these first and the other static ones a tick later.
REPORT_METRICS = frozenset(metric.name for metric in METRICS if metric.report)

STATIC: tuple[Metric, ...] = metrics_of_tier('static')
SLOW: tuple[Metric, ...] = metrics_of_tier('slow')
FAST: tuple[Metric, ...] = metrics_of_tier('fast')


class Intervals(NamedTuple):
    """How often things are measured, in seconds."""

    devices: float = DEFAULT_DEVICE_INTERVAL
    processes: float = DEFAULT_PROCESS_INTERVAL
    host: float = DEFAULT_DEVICE_INTERVAL
    slow: float = MIN_SLOW_INTERVAL


def intervals(interval: float | None = None) -> Intervals:
    """Return the intervals for ``--interval``, which sets all of them; ``None`` for the defaults.

    Raises:
        ValueError: The interval is not a positive finite number.
    """
    if interval is None:
        return Intervals()
    if not (interval > 0 and math.isfinite(interval)):
        raise ValueError(f'interval must be a positive number of seconds, not {interval!r}')
    return Intervals(interval, interval, interval, max(MIN_SLOW_INTERVAL, interval))


class Due(NamedTuple):
    """Groups that are to be measured now."""

    fast: bool = False
    slow: bool = False
    #: Metrics of tier *shown* or *extended*, by name.
    shown: tuple[str, ...] = ()
    #: The process lists, and CPU % and memory of the processes in view.
    processes: bool = False
    #: Leave out the engine utilization of processes.
    skips_process_utilization: bool = False
    #: CPU % and memory of these processes only, because they have just come into view.
    new_processes: frozenset[ProcessKey] = frozenset()
    host: bool = False
    host_processes: bool = False
    #: These metrics, of any tier, instead of fast, slow and shown.
    metrics: frozenset[str] | None = None

    @property
    def devices(self) -> bool:
        return self.fast or self.slow or bool(self.shown) or bool(self.metrics)


def metrics_named(names: Collection[str]) -> tuple[Metric, ...]:
    """Return the metrics of these names, including extended ones, in the order of the table."""
    if not names:
        return ()
    table = (*METRICS, *EXTENDED_METRICS, *LISTS)
    return tuple(metric for metric in table if metric.name in names)


@functools.lru_cache(maxsize=32)
def metrics_due(due: Due) -> tuple[Metric, ...]:
    """Return the metrics to query now: fast, slow, shown, extended; static ones are left out."""
    if due.metrics is not None:
        return tuple(metric for metric in metrics_named(due.metrics) if metric.tier != 'static')
    return (
        *(FAST if due.fast else ()),
        *(SLOW if due.slow else ()),
        # A shown metric of another tier is queried anyway.
        *(m for m in metrics_named(due.shown) if m.tier in ('shown', 'extended')),
    )


class _Timer:
    """Falls due every ``interval`` seconds without drift; missed intervals are skipped."""

    __slots__ = ('at', 'interval', 'phase')

    def __init__(self, interval: float, phase: float | None = None) -> None:
        self.interval = interval
        self.at = -math.inf
        #: Offset of whole seconds on the clock; ``None`` if the interval is not a whole number.
        self.phase = phase if interval >= 1 and interval % 1 == 0 else None

    def take(self, now: float, slack: float) -> bool:
        """Return whether the timer is due, and if so, set its next time."""
        if now + slack < self.at:
            return False
        if now - self.at < self.interval:
            self.at += self.interval
            return True
        self.at = now + self.interval
        if self.phase is not None:
            late = (now - self.phase) % 1.0
            self.at += (1.0 - late) if late > LATEST_SECONDS else -late
        return True


class Plan:
    """Decides which groups are due.

    All groups are due at the start, so they share their ticks and an idle machine wakes up as
    rarely as possible. ``clock`` returns seconds and never goes back. ``phase`` is the offset of the
    whole seconds of the wall clock on ``clock``: intervals of whole seconds then end on them, so that
    a display with a clock needs no further wake-ups.
    """

    def __init__(
        self,
        intervals: Intervals | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        phase: float | None = None,
    ) -> None:
        self.intervals = intervals or Intervals()
        self._clock = clock
        #: Groups that are due within this time (seconds) are measured now.
        self._slack = min(0.05, min(self.intervals) / 10)
        self._devices = _Timer(self.intervals.devices, phase)
        self._slow = _Timer(self.intervals.slow, phase)
        self._processes = _Timer(self.intervals.processes, phase)
        self._host = _Timer(self.intervals.host, phase)
        self._shown: frozenset[str] = frozenset()
        self._demand = Demand()
        self._in_view: frozenset[ProcessKey] | None = frozenset()
        #: Second readings that are due soon, and when.
        self._second = Due()
        self._second_at = math.inf

    def due(self, demand: Demand) -> Due:
        """Return what is due for this demand; it counts as measured from now on."""
        now = self._clock()
        fast = self._devices.take(now, self._slack)
        processes = demand.processes and self._processes_due(now, demand)
        new = self._new_in_view(demand)
        second = self._take_second(now)
        shown = demand.shown_metrics
        if not fast and shown:
            now_due = {*shown} - self._shown | {*second.shown}
            shown = tuple(name for name in shown if name in now_due)
        self._shown = frozenset(demand.shown_metrics)
        tree = processes or second.host_processes or not self._demand.host_processes
        due = Due(
            fast=fast,
            slow=fast and self._slow.take(now, self.intervals.devices / 2),
            shown=shown,
            processes=processes,
            new_processes=(
                new | second.new_processes if demand.processes and not processes else frozenset()
            ),
            host=self._host.take(now, self._slack) or second.host,
            host_processes=demand.host_processes and tree,
        )
        self._demand = demand
        return due

    def _processes_due(self, now: float, demand: Demand) -> bool:
        before = self._demand
        if not before.processes or (demand.process_codec and not before.process_codec):
            self._processes.at = self._devices.at  # the next time together with the devices
            return True
        return self._processes.take(now, self._slack)

    def _new_in_view(self, demand: Demand) -> frozenset[ProcessKey]:
        before = self._in_view
        visible = demand.visible_processes
        self._in_view = None if visible is None else frozenset(visible)
        if before is None or self._in_view is None:
            return frozenset()
        return self._in_view - before

    def _take_second(self, now: float) -> Due:
        if now + self._slack < self._second_at:
            return Due()
        second, self._second, self._second_at = self._second, Due(), math.inf
        if self._in_view is None:
            return second
        return second._replace(new_processes=second.new_processes & self._in_view)

    def add_second_reading(
        self,
        keys: frozenset[ProcessKey] = frozenset(),
        *,
        tree: bool = False,
        shown: frozenset[str] = frozenset(),
    ) -> None:
        """Plan a second reading soon, for values measured between two readings.

        It covers CPU % of these processes (with ``tree``, of all in the tree) and of the host, and
        these metrics of tier *shown*.
        """
        self._second = Due(
            shown=tuple(sorted({*self._second.shown, *shown})),
            new_processes=self._second.new_processes | keys,
            host=True,
            host_processes=self._second.host_processes or tree,
        )
        self._second_at = min(self._second_at, self._clock() + FIRST_CPU_INTERVAL)

    def next_due(self) -> float:
        """Return when something falls due if the demand stays the same, on the plan's clock."""
        times = [self._devices.at, self._host.at, self._second_at]
        if self._demand.processes:
            times.append(self._processes.at)
        return min(times)

    def refresh(self) -> None:
        """Make everything due now, as when the user asks for it."""
        for timer in (self._devices, self._slow, self._processes, self._host):
            timer.at = -math.inf


class DeviceSelection:
    """The devices to measure; without selectors all of them.

    Without ``mig_devices``, only MIG devices that are selected themselves are included, not those of
    selected GPUs.
    """

    def __init__(
        self, selectors: Iterable[DeviceSelector] | None = None, *, mig_devices: bool = True
    ) -> None:
        self._selectors = None if selectors is None else frozenset(selectors)
        self.mig_devices = mig_devices

    @property
    def wants_all(self) -> bool:
        """Whether all GPUs are selected, whenever they appear."""
        return self._selectors is None

    @property
    def wants_no_mig(self) -> bool:
        """Whether MIG devices need not be looked for."""
        return not self.mig_devices and all(isinstance(s, int) for s in self._selectors or ())

    def wants_gpu(self, index: int, uuid: str) -> bool:
        return self._selectors is None or index in self._selectors or uuid in self._selectors

    def wants_mig(self, pair: tuple[int, int], uuid: str) -> bool:
        """Return whether a MIG device is selected itself."""
        return self._selectors is not None and (pair in self._selectors or uuid in self._selectors)

    def may_want(self, index: int) -> bool:
        """Return whether the GPU, or a MIG device of it, may be selected, going by its index."""
        if self._selectors is None:
            return True
        return any(
            isinstance(s, str) or s == index or (isinstance(s, tuple) and s[0] == index)
            for s in self._selectors
        )
