# SPDX-License-Identifier: Apache-2.0
"""Reading what a collector logs, and nothing else: the host, devices, and processes on them."""

from __future__ import annotations

import contextlib
import functools
import logging
import time
from typing import TYPE_CHECKING, Any, TypeVar

from nvitop.api import host
from nvitop.api.collector.lineage import ProcessTreeFilter
from nvitop.api.collector.snapshots import SnapshotResult
from nvitop.api.collector.statistics import NAN, Sample
from nvitop.api.device import CudaDevice
from nvitop.api.libnvml._errors import is_harmless
from nvitop.api.metrics import METRICS
from nvitop.api.process import GpuProcess
from nvitop.api.utils import NA, GiB, Snapshot
from nvitop.namedtuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from nvitop.api.device import Device

T = TypeVar('T')

LOGGER = logging.getLogger('nvitop.api.collector')

#: What changes seldom is asked no more often than this many seconds.
SLOW_SECONDS = 5.0
_SLOW = frozenset(metric.method for metric in METRICS if metric.tier == 'slow')
#: Of what only grows, the greatest value is logged.
_GROWING = frozenset({'running_time_in_seconds', 'elapsed_time_in_seconds'})
#: CPU time is counted in steps of 10 ms: below this many seconds its share says nothing.
_SHORTEST_CPU_SECONDS = 0.05


class Reading(NamedTuple):
    """What was read at one moment: live objects with their values, and the numbers to log."""

    snapshots: SnapshotResult
    sample: Sample


class _Target:
    """A device, and what is remembered of it."""

    def __init__(self, device: Device, is_leaf: bool) -> None:
        self.device = device
        self.is_leaf = is_leaf
        self.scope = scope_of(device)
        #: Attribute → value and time of what changes seldom.
        self.slow: dict[str, tuple[Any, float]] = {}
        #: Attributes that this device does not have.
        self.unsupported: set[str] = set()


def scope_of(device: Device) -> str:
    """What a device is called in names of metrics: ``'gpu:0'``, ``'cuda:1 (gpu:0)'``."""
    scope = f'gpu:{device.index}'
    if isinstance(device, CudaDevice):
        try:
            return f'cuda:{device.cuda_index} ({scope})'
        except RuntimeError:  # CUDA programs do not see it
            return scope
    return scope


class Reader:
    """Reads everything at once; what fails leaves a gap of its own, and is reported once."""

    def __init__(
        self,
        devices: Sequence[Device],
        leaf_devices: Sequence[Device],
        root_pids: Iterable[int],
        interval: float,
        clock: Callable[[], float],
    ) -> None:
        self._targets = [_Target(device, device in leaf_devices) for device in devices]
        self._lineage = ProcessTreeFilter(root_pids)
        self._slow_seconds = max(SLOW_SECONDS, interval)
        self._clock = clock
        self._cpu = _CpuTimes(clock)
        self._reported: set[Hashable] = set()
        #: The processes of the last reading.
        self._processes: set[GpuProcess] = set()

    def read(
        self,
        device_metrics: Sequence[tuple[str, str, float]],
        process_metrics: Sequence[tuple[str, str | None, str, float]],
    ) -> Reading:
        """Ask what the tables of a collector name."""
        sample = Sample(self._clock(), time.time(), {}, {})
        self._read_host(sample.values)
        devices = [self._read_device(target, device_metrics, sample) for target in self._targets]
        hosts: dict[tuple[int, str], Any] = {}
        processes = [
            self._read_process(process, target, process_metrics, sample, hosts)
            for process, target in self._find_processes()
        ]
        return Reading(SnapshotResult(devices, processes), sample)

    # host

    def _read_host(self, values: dict[str, float]) -> None:
        values['host/cpu_percent (%)'] = self._guarded('host CPU', self._cpu.percent, NAN)
        memory = self._guarded('host memory', host.virtual_memory, None)
        values['host/memory_percent (%)'] = NAN if memory is None else memory.percent
        values['host/swap_percent (%)'] = float(
            self._guarded('host swap', lambda: float(host.swap_percent()), NAN)
        )
        values['host/memory_used (GiB)'] = NAN if memory is None else memory.used / GiB
        load = self._guarded('host load', host.load_average, None) or (NAN, NAN, NAN)
        cpus = host.cpu_count() or 1
        for minutes, value in zip((1, 5, 15), load):
            values[f'host/load_average (%) ({minutes} min)'] = 100.0 * value / cpus

    # devices

    def _read_device(
        self, target: _Target, metrics: Sequence[tuple[str, str, float]], sample: Sample
    ) -> Snapshot:
        device = target.device
        attributes = [attribute for attribute, _, _ in metrics]
        raw = dict.fromkeys(attributes, NA)
        self._guarded(target.scope, lambda: self._ask_device(target, raw, sample.time), None)
        for attribute, name, divisor in metrics:
            key = f'{target.scope}/{name}'
            sample.values[key] = self._number(key, raw[attribute], divisor)
        return Snapshot(
            device,
            timestamp=sample.timestamp,
            index=device.index,
            physical_index=device.physical_index,
            **raw,
        )

    def _ask_device(self, target: _Target, raw: dict[str, Any], now: float) -> None:
        asked = [attribute for attribute in raw if not self._is_fresh(target, attribute, now)]
        kept = [attribute for attribute in raw if attribute not in asked]
        with target.device.oneshot():
            self._ask_attributes(target, asked, raw, now)
            if self._is_troubled(target, asked, raw):
                # What is remembered may be as wrong as the rest is missing.
                self._ask_attributes(target, kept, raw, now)
            else:
                raw.update((attribute, target.slow[attribute][0]) for attribute in kept)

    def _is_fresh(self, target: _Target, attribute: str, now: float) -> bool:
        """Whether what is remembered is true enough; trouble is not remembered."""
        if attribute not in target.slow:
            return False
        value, asked = target.slow[attribute]
        is_known = value is not NA or attribute in target.unsupported
        return is_known and now - asked < self._slow_seconds

    def _ask_attributes(
        self, target: _Target, attributes: Iterable[str], raw: dict[str, Any], now: float
    ) -> None:
        for attribute in attributes:
            ask = getattr(target.device, attribute, None)
            if ask is None:
                self._report((target.scope, attribute), '%s has no %s', target.scope, attribute)
                continue
            raw[attribute] = self._guarded(f'{target.scope}/{attribute}', ask, NA)
            if attribute in _SLOW:
                target.slow[attribute] = raw[attribute], now

    def _is_troubled(self, target: _Target, attributes: Iterable[str], raw: dict[str, Any]) -> bool:
        """Whether the device failed to tell something it could tell, which is reported."""
        for attribute in attributes:
            if raw[attribute] is not NA or attribute in target.unsupported:
                continue
            what = f'{target.scope}/{attribute}'
            ask = functools.partial(target.device.unavailable_reason, attribute)
            reason = self._guarded(what, ask, None)
            if reason is None or is_harmless(reason):
                target.unsupported.add(attribute)
                continue
            self._report(
                (target.scope, str(reason)),
                '%s does not tell its %s: %s. What is missing is left out of the means.',
                target.scope,
                attribute,
                reason,
            )
            return True
        return False

    # processes

    def _find_processes(self) -> list[tuple[GpuProcess, _Target]]:
        if self._lineage.is_empty:
            return []
        found: list[tuple[GpuProcess, _Target]] = []
        for target in self._targets:
            if target.is_leaf:
                none: dict[int, GpuProcess] = {}
                what = f'processes of {target.scope}'
                listed = self._guarded(what, target.device.processes, none)
                found.extend((process, target) for process in listed.values())
        hosts = self._lineage.select(process.host for process, _ in found)
        chosen = [(process, target) for process, target in found if process.host in hosts]
        processes = {process for process, _ in chosen}
        for process in self._processes - processes:
            LOGGER.info('Process %d has left %s.', process.pid, scope_of(process.device))
        self._processes = processes
        return chosen

    def _read_process(
        self,
        process: GpuProcess,
        target: _Target,
        metrics: Sequence[tuple[str, str | None, str, float]],
        sample: Sample,
        hosts: dict[tuple[int, str], Any],
    ) -> Snapshot:
        pid = process.pid
        raw: dict[str, Any] = {}
        with GpuProcess.failsafe(), process.host.oneshot():
            for attribute, scope, name, divisor in metrics:
                if scope == 'host' and (pid, attribute) in hosts:  # it is on several devices
                    raw[attribute] = hosts[pid, attribute]
                    continue
                ask = getattr(process, attribute)
                raw[attribute] = value = self._guarded(f'processes/{attribute}', ask, NA)
                if scope == 'host':
                    hosts[pid, attribute] = value
                numbers = sample.maxima if attribute in _GROWING else sample.values
                key = f'pid:{pid}/{scope or target.scope}/{name}'
                numbers[key] = self._number(key, value, divisor)
        return Snapshot(process, timestamp=sample.timestamp, pid=pid, device=process.device, **raw)

    # what goes wrong

    def _number(self, key: str, value: Any, divisor: float) -> float:
        """The value in the unit that is logged, NaN for ``NA`` and for what is no number."""
        return self._guarded(key, lambda: float(value) / divisor, NAN)

    def _guarded(self, what: str, ask: Callable[[], T], otherwise: T) -> T:
        try:
            return ask()
        except Exception as error:
            kind = type(error).__name__
            self._report((what, kind), 'Cannot read %s: %s: %s', what, kind, error)
            return otherwise

    def _report(self, subject: Hashable, message: str, *arguments: object) -> None:
        if subject not in self._reported:
            self._reported.add(subject)
            LOGGER.warning(message, *arguments)


class _CpuTimes:
    """Load of all CPUs together between two readings."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._percent = NAN
        self._last: tuple[float, float, float] | None = None
        with contextlib.suppress(OSError):  # no file descriptor is left
            self.percent()

    def percent(self) -> float:
        """Share of time in percent in which they were busy, NaN until it can be told."""
        now = self._clock()
        last = self._last
        if last is None or now - last[0] >= _SHORTEST_CPU_SECONDS:
            busy, whole = host.cpu_seconds()
            if last is not None and whole > last[2]:
                share = (busy - last[1]) / (whole - last[2])
                self._percent = min(max(100.0 * share, 0.0), 100.0)
            self._last = now, busy, whole
        return self._percent
