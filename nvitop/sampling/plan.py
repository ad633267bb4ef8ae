# SPDX-License-Identifier: Apache-2.0
"""Which question is asked how often: once, slow, fast, only while shown.

Pure bookkeeping over an injected clock; :mod:`nvitop.sampling.source` asks the questions.
"""

from __future__ import annotations

import functools
import math
import time
from typing import TYPE_CHECKING, Callable

from nvitop.api.metrics import METRICS_BY_NAME, Metric, metrics_named, metrics_of_tier
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import Demand

if TYPE_CHECKING:
    from nvitop.sampling.types import ProcessKey

DEFAULT_DEVICE_INTERVAL = 1.0
DEFAULT_PROCESS_INTERVAL = 2.0
#: Slow facts are never asked more often than this.
MIN_SLOW_INTERVAL = 5.0
#: CPU % of a process that came into view is measured over this time, not a whole interval.
FIRST_CPU_INTERVAL = 0.25

#: What a report shows of a device. The monitor asks these facts first, the others a tick later.
REPORT_METRICS: frozenset[str] = frozenset(
    {
        'name',
        'uuid',
        'bus_id',
        'memory_total',
        'memory_used',
        'memory_free',
        'memory_percent',
        'bar1_memory_total',
        'bar1_memory_used',
        'bar1_memory_percent',
        'gpu_utilization',
        'memory_utilization',
        'sm_clock',
        'memory_clock',
        'temperature',
        'fan_speed',
        'power_usage',
        'power_limit',
        'display_active',
        'persistence_mode',
        'current_driver_model',
        'performance_state',
        'compute_mode',
        'mig_mode',
        'total_volatile_uncorrected_ecc_errors',
    }
)
#: What is measured between two readings → the method of a device that begins it.
MEASURED_BETWEEN_READINGS = {
    'pcie_tx_throughput': 'begin_pcie_throughput',
    'pcie_rx_throughput': 'begin_pcie_throughput',
    'nvlink_tx_throughput': 'begin_nvlink_throughput',
    'nvlink_rx_throughput': 'begin_nvlink_throughput',
    'gpm_sm_active': 'begin_gpm',
    'gpm_sm_occupancy': 'begin_gpm',
    'gpm_tensor_active': 'begin_gpm',
    'gpm_dram_active': 'begin_gpm',
}

STATIC: tuple[Metric, ...] = metrics_of_tier('static')
SLOW: tuple[Metric, ...] = metrics_of_tier('slow')
FAST: tuple[Metric, ...] = metrics_of_tier('fast')


#: A first interval becomes shorter by no more than this so that it ends on a whole second.
LATEST_SECONDS = 0.6


class Intervals(NamedTuple):
    """How often things are measured, in seconds."""

    devices: float = DEFAULT_DEVICE_INTERVAL
    processes: float = DEFAULT_PROCESS_INTERVAL
    host: float = DEFAULT_DEVICE_INTERVAL
    slow: float = MIN_SLOW_INTERVAL


def intervals(interval: float | None = None) -> Intervals:
    """The intervals for ``--interval``: it sets all of them, ``None`` gives the defaults.

    Raises:
        ValueError: If the interval is not a positive finite number.
    """
    if interval is None:
        return Intervals()
    if not (interval > 0 and math.isfinite(interval)):
        raise ValueError(f'interval must be a positive number of seconds, not {interval!r}')
    return Intervals(interval, interval, interval, max(MIN_SLOW_INTERVAL, interval))


class Due(NamedTuple):
    """What is asked now."""

    fast: bool = False
    slow: bool = False
    #: Metrics of tier *shown*, by name.
    shown: tuple[str, ...] = ()
    #: The lists of processes, and CPU % and the like of those in view.
    processes: bool = False
    #: The lists of processes, but not their loads on the engines.
    without_loads: bool = False
    #: CPU % and the like of these only, because they have just come into view.
    new_processes: frozenset[ProcessKey] = frozenset()
    host: bool = False
    host_processes: bool = False
    #: Instead of fast, slow and shown: these metrics, of any tier, and no others.
    metrics: frozenset[str] | None = None

    @property
    def devices(self) -> bool:
        """Whether anything is asked of the devices but their processes."""
        return self.fast or self.slow or bool(self.shown) or bool(self.metrics)

    @property
    def anything(self) -> bool:
        """Whether there is anything to ask."""
        return any(self)


def metrics_due(due: Due) -> tuple[Metric, ...]:
    """The metrics to ask of a GPU, in the order fast, slow, shown; tier *static* is not in it."""
    return _metrics_due(due.fast, due.slow, due.shown, due.metrics)


@functools.lru_cache(maxsize=64)
def _metrics_due(
    fast: bool, slow: bool, shown: tuple[str, ...], metrics: frozenset[str] | None
) -> tuple[Metric, ...]:
    if metrics is not None:
        return tuple(m for m in metrics_named(metrics) if m.tier != 'static')
    # Names of other tiers among those shown are asked anyway.
    known = (METRICS_BY_NAME[name] for name in shown if name in METRICS_BY_NAME)
    return (
        *(FAST if fast else ()),
        *(SLOW if slow else ()),
        *(metric for metric in known if metric.tier == 'shown'),
    )


class _Timer:
    """Falls due every ``interval`` seconds without drifting; what was missed is skipped."""

    __slots__ = ('at', 'interval', 'phase')

    def __init__(self, interval: float, phase: float | None = None) -> None:
        self.interval = interval
        self.at = -math.inf
        #: Where on the clock whole seconds are; ``None``: it makes no difference.
        self.phase = phase if interval >= 1 and interval % 1 == 0 else None

    def take(self, now: float, slack: float) -> bool:
        """Whether it is due; then the next time is set."""
        if now + slack < self.at:
            return False
        if now - self.at <= self.interval:
            self.at += self.interval
            return True
        self.at = now + self.interval
        if self.phase is not None:
            late = (now - self.phase) % 1.0
            self.at += (1.0 - late) if late > LATEST_SECONDS else -late
        return True


class Plan:
    """When which group of questions falls due.

    All groups are due at the start, so they share their ticks and an idle machine wakes as seldom
    as can be. ``clock`` gives seconds and never goes back. Where ``phase`` says where on it the
    whole seconds of another clock are, what is asked every whole number of seconds is asked then,
    so that a display with a clock in it has nothing else to wake for.
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
        #: Groups this near to being due are taken along.
        self._slack = min(0.05, min(self.intervals) / 10)
        self._devices = _Timer(self.intervals.devices, phase)
        self._slow = _Timer(self.intervals.slow, phase)
        self._processes = _Timer(self.intervals.processes, phase)
        self._host = _Timer(self.intervals.host, phase)
        self._shown: frozenset[str] = frozenset()
        self._demand = Demand()
        self._in_view: frozenset[ProcessKey] | None = frozenset()
        #: What is to be asked once more soon, and when.
        self._again = Due()
        self._again_at = math.inf

    def due(self, demand: Demand) -> Due:
        """What is to be asked now for this demand; it counts as asked from here on."""
        now = self._clock()
        fast = self._devices.take(now, self._slack)
        processes = demand.processes and self._processes_due(now, demand)
        new = self._new_in_view(demand)
        again = self._take_again(now)
        shown = demand.shown_metrics
        if not fast and shown:
            now_due = {*shown} - self._shown | {*again.shown}
            shown = tuple(name for name in shown if name in now_due)
        self._shown = frozenset(demand.shown_metrics)
        tree = processes or again.host_processes or not self._demand.host_processes
        due = Due(
            fast=fast,
            slow=fast and self._slow.take(now, self.intervals.devices / 2),
            shown=shown,
            processes=processes,
            new_processes=(
                new | again.new_processes if demand.processes and not processes else frozenset()
            ),
            host=self._host.take(now, self._slack) or again.host,
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

    def _take_again(self, now: float) -> Due:
        if now + self._slack < self._again_at:
            return Due()
        again, self._again, self._again_at = self._again, Due(), math.inf
        if self._in_view is None:
            return again
        return again._replace(new_processes=again.new_processes & self._in_view)

    def ask_again(
        self,
        keys: frozenset[ProcessKey] = frozenset(),
        *,
        tree: bool = False,
        shown: frozenset[str] = frozenset(),
    ) -> None:
        """Ask once more soon, because what is measured between two readings was read first now.

        The CPU % of these processes (with ``tree``, of all in the tree) and of the host, and
        metrics of tier *shown*.
        """
        self._again = Due(
            shown=tuple(sorted({*self._again.shown, *shown})),
            new_processes=self._again.new_processes | keys,
            host=True,
            host_processes=self._again.host_processes or tree,
        )
        self._again_at = min(self._again_at, self._clock() + FIRST_CPU_INTERVAL)

    def next_due(self) -> float:
        """When something falls due next without a change of demand, on the plan's clock."""
        times = [self._devices.at, self._host.at, self._again_at]
        if self._demand.processes:
            times.append(self._processes.at)
        return min(times)

    def refresh(self) -> None:
        """Make everything due at once, as when the user asks for it."""
        for timer in (self._devices, self._slow, self._processes, self._host):
            timer.at = -math.inf
