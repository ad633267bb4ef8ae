# SPDX-License-Identifier: Apache-2.0
"""Reads the metrics of a collector: of the host, of devices, and of processes on them."""

from __future__ import annotations

import functools
import logging
import time
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Collection,
    Hashable,
    Iterable,
    Mapping,
    Sequence,
    TypeVar,
)

from nvitop.api import host, libnvml
from nvitop.api.device import CudaDevice, Device
from nvitop.api.process import GpuProcess, HostProcess
from nvitop.api.process.observed import ancestry
from nvitop.api.snapshots import SnapshotResult
from nvitop.api.utils import Snapshot
from nvitop.basics.metrics import METRICS, Metric
from nvitop.basics.units import NA, GiB
from nvitop.collector.tags import NAN, Values
from nvitop.sampling.device_reader import DeviceLostError, DeviceReader
from nvitop.sampling.host_reader import HostReader
from nvitop.sampling.plan import MIN_SLOW_INTERVAL, Due
from nvitop.sampling.threads import StepOutcome, Watchdog, silence, time_limit
from nvitop.sampling.types import PROCESSES, STATUS, DeviceKey, DeviceSample, Problem

if TYPE_CHECKING:
    #: What was read from one device: raw values by attribute, processes, problems.
    _Read = tuple[dict[str, Any], tuple[GpuProcess, ...], tuple[Problem, ...]]

S = TypeVar('S', bound='Hashable')
T = TypeVar('T')

LOGGER = logging.getLogger('nvitop.api.collector')

#: Metrics that :class:`DeviceReader` can read, by method. A rate is read directly: its getter
#: returns a value at the first call.
_METRICS = {m.method: m for m in METRICS if m.is_number and not m.begin}
#: The ancestor of all processes.
INIT_PID = 1
#: Process metrics that only grow: the greatest value is logged.
_GROWING = frozenset({'running_time_in_seconds', 'elapsed_time_in_seconds'})


class _Target:
    def __init__(self, device: Device, slow_interval: float, *, has_processes: bool) -> None:
        self.device = device
        self.scope = scope_of(device)
        self._slow_interval = slow_interval
        self._has_processes = has_processes
        self.renew()

    def renew(self) -> None:
        """Share no state with a thread that still reads the device."""
        index = self.device.index
        physical, mig = index if isinstance(index, tuple) else (index, -1)
        self.key = DeviceKey(physical, mig)
        self._reader = DeviceReader(self.device, self.key)
        self._slow_at = 0.0

    def read(self, attributes: Sequence[str], now: float, guarded: Callable[..., Any]) -> _Read:
        device, raw = self.device, dict.fromkeys(attributes, NA)
        # Methods of a subclass may raise, and return anything.
        known = _METRICS if type(device).__module__.startswith('nvitop.') else {}
        metrics = {attribute: known[attribute] for attribute in attributes if attribute in known}
        with device.oneshot():
            sample = self._read_metrics(metrics.values(), now)
            for attribute in attributes:
                metric = metrics.get(attribute)
                if metric is None:
                    read = functools.partial(_read, device, attribute)
                    raw[attribute] = guarded(f'{self.scope}/{attribute}', read, NA)
                elif sample.status == 'ok':
                    value = sample.value_of(metric)
                    raw[attribute] = NA if value is None else value
        processes: dict[int, GpuProcess] = {}
        if self._has_processes:
            subject = f'processes of {self.scope}'
            processes = guarded(subject, lambda: device.processes(), processes)
        return raw, (*processes.values(),), self._reader.problems

    def _read_metrics(self, metrics: Collection[Metric], now: float) -> DeviceSample:
        """Read metrics of the table; slow ones at intervals, and after the device was lost."""
        reader, is_slow = self._reader, now >= self._slow_at
        names = frozenset(metric.name for metric in metrics if is_slow or metric.tier != 'slow')
        if names:
            try:
                reader.read(Due(metrics=names, slow=is_slow))
                self._slow_at = now + self._slow_interval if is_slow else self._slow_at
            except (DeviceLostError, libnvml.NVMLError) as error:
                reader.lose(getattr(error, 'status', 'error'), str(error))
                self._slow_at = now
        return reader.sample


def scope_of(device: Device) -> str:
    """Return the name of a device in names of metrics: ``'gpu:0'``, ``'cuda:1 (gpu:0)'``."""
    scope = f'gpu:{device.index}'
    if isinstance(device, CudaDevice):
        try:
            return f'cuda:{device.cuda_index} ({scope})'
        except RuntimeError:  # not visible to CUDA programs
            return scope
    return scope


class CollectionReader:
    """Reads everything at once. What fails is logged once and leaves the rest unaffected.

    Calls that may hang run under a :class:`Watchdog`; one step for each GPU and one for the processes.
    """

    def __init__(
        self,
        devices: Sequence[Device],
        leaf_devices: Sequence[Device],
        root_pids: Collection[int],
        interval: float,
        clock: Callable[[], float],
    ) -> None:
        slow_interval = max(MIN_SLOW_INTERVAL, interval)
        self._targets = [
            _Target(device, slow_interval, has_processes=bool(root_pids) and device in leaf_devices)
            for device in devices
        ]
        self._root_pids = frozenset(root_pids)
        self._tree = ProcessTreeFilter(self._root_pids)
        self._limit = time_limit(interval)
        self._clock = clock
        self._host = HostReader(clock=clock)
        self._reported: set[Hashable] = set()
        #: The processes of the last reading.
        self._processes: frozenset[GpuProcess] = frozenset()
        self.forget_threads()

    def forget_threads(self) -> None:
        """Use no thread started before, in a forked child."""
        self._watchdog = Watchdog('nvitop-collector-driver')

    def read(
        self,
        device_metrics: Sequence[tuple[str, str, float]],
        process_metrics: Sequence[tuple[str, str | None, str, float]],
    ) -> tuple[SnapshotResult, Values]:
        values = Values(self._clock(), time.time(), self._read_host(), {})
        readings = self._read_devices(
            [attribute for attribute, _, _ in device_metrics], values.time
        )
        devices, scoped_processes = [], []
        for target in self._targets:
            raw, processes, problems = readings[target]
            self._report_problems(target.scope, problems)
            for attribute, name, divisor in device_metrics:
                key = f'{target.scope}/{name}'
                values.values[key] = self._number(key, raw[attribute], divisor)
            device = target.device
            places = {'index': device.index, 'physical_index': device.physical_index}
            devices.append(Snapshot(device, timestamp=values.timestamp, **places, **raw))
            scoped_processes += [(process, target.scope) for process in processes]
        snapshots = self._read_processes(scoped_processes, process_metrics, values)
        return SnapshotResult(devices, snapshots), values

    def _read_host(self) -> dict[str, float]:
        sample = self._host.read()
        self._report_problems('host', self._host.problems)
        used = sample.memory_used_bytes
        loads = sample.load_average or (NAN, NAN, NAN)
        known = {
            'host/cpu_percent (%)': sample.cpu_percent,
            'host/memory_percent (%)': sample.memory_percent,
            'host/swap_percent (%)': sample.swap_percent,
            'host/memory_used (GiB)': None if used is None else used / GiB,
        }
        for minutes, load in zip((1, 5, 15), loads):
            percent = 100.0 * load / (sample.cpu_count or 1)
            known[f'host/load_average (%) ({minutes} min)'] = percent
        return {key: NAN if value is None else float(value) for key, value in known.items()}

    # devices

    def _read_devices(self, attributes: Sequence[str], now: float) -> dict[_Target, _Read]:
        """Read all devices; those of one GPU in one step, which can time out."""
        by_gpu: dict[int, list[_Target]] = {}
        for target in self._targets:
            by_gpu.setdefault(target.key.physical_index, []).append(target)

        def read(targets: list[_Target]) -> dict[_Target, _Read]:
            return {target: target.read(attributes, now, self._guarded) for target in targets}

        steps = {index: functools.partial(read, targets) for index, targets in by_gpu.items()}
        readings: dict[_Target, _Read] = {}
        for index, outcome in self._run(steps).items():
            readings.update(outcome.value or {})
            for target in by_gpu[index] if outcome.timed_out else ():
                target.renew()
                problem = Problem(target.key, STATUS, silence(outcome.silent_seconds), 'timed out')
                readings[target] = dict.fromkeys(attributes, NA), (), (problem,)
        return readings

    def _run(self, steps: Mapping[S, Callable[[], T]]) -> dict[S, StepOutcome]:
        """Run steps that may hang, and raise their errors."""
        outcomes = self._watchdog.run(steps, limit=self._limit)
        for outcome in outcomes.values():
            if outcome.error is not None:
                raise outcome.error
        return outcomes

    # processes

    def _read_processes(
        self,
        scoped_processes: list[tuple[GpuProcess, str]],
        metrics: Sequence[tuple[str, str | None, str, float]],
        values: Values,
    ) -> list[Snapshot]:
        if self._tree.is_empty:
            return []
        step = functools.partial(self._select_and_read, self._tree, scoped_processes, metrics)
        outcome = self._run({PROCESSES: step})[PROCESSES]
        if outcome.value is None:  # the kernel holds one of them
            self._tree = ProcessTreeFilter(self._root_pids)
            reason = silence(outcome.silent_seconds)
            self._report_problems('host', [Problem('host', PROCESSES, reason, 'timed out')])
            return []
        snapshots = []
        for process, scope, raw in outcome.value:
            for attribute, of, name, divisor in metrics:
                numbers = values.maxima if attribute in _GROWING else values.values
                key = f'pid:{process.pid}/{of or scope}/{name}'
                numbers[key] = self._number(key, raw[attribute], divisor)
            places = {'pid': process.pid, 'device': process.device}
            snapshots.append(Snapshot(process, timestamp=values.timestamp, **places, **raw))
        processes = frozenset(process for process, _, _ in outcome.value)
        for process in self._processes - processes:
            LOGGER.info('process %d has left %s', process.pid, scope_of(process.device))
        self._processes = processes
        return snapshots

    def _select_and_read(
        self,
        tree: ProcessTreeFilter,
        scoped_processes: list[tuple[GpuProcess, str]],
        metrics: Sequence[tuple[str, str | None, str, float]],
    ) -> list[tuple[GpuProcess, str, dict[str, Any]]]:
        hosts = tree.select(process.host for process, _ in scoped_processes)
        #: Values of the host, for processes on several devices.
        known: dict[tuple[int, str], Any] = {}
        readings = []
        for process, scope in scoped_processes:
            if process.host not in hosts:
                continue
            raw: dict[str, Any] = {}
            with GpuProcess.failsafe(), process.host.oneshot():
                for attribute, of, _, _ in metrics:
                    place = (process.pid, attribute)
                    if of != 'host' or place not in known:
                        read = functools.partial(_read, process, attribute)
                        known[place] = self._guarded(f'processes/{attribute}', read, NA)
                    raw[attribute] = known[place]
            readings.append((process, scope, raw))
        return readings

    # failures

    def _number(self, key: str, value: Any, divisor: float) -> float:
        """Return the value in the unit that is logged, NaN if it is ``NA`` or not a number."""
        return self._guarded(key, lambda: float(value) / divisor, NAN)

    def _guarded(self, subject: str, function: Callable[[], T], default: T) -> T:
        try:
            return function()
        except Exception as error:
            kind = type(error).__name__
            self._report((subject, kind), 'cannot read %s: %s: %s', subject, kind, error)
            return default

    def _report_problems(self, scope: str, problems: Iterable[Problem]) -> None:
        for problem in problems:
            if problem.is_failure or problem.device is None:
                # The time without a response varies.
                cause = problem.kind if problem.kind == 'timed out' else problem.reason
                subject = scope if problem.what == STATUS else f'{scope}: {problem.what}'
                text = '%s: %s; the means leave out missing values'
                self._report((scope, cause), text, subject, problem.reason)

    def _report(self, subject: Hashable, message: str, *arguments: object) -> None:
        if subject not in self._reported:
            self._reported.add(subject)
            LOGGER.warning(message, *arguments)


def _read(owner: object, attribute: str) -> Any:
    return getattr(owner, attribute)()


class ProcessTreeFilter:
    """Root processes and their descendants.

    Roots are processes, not PIDs: a PID that is reused later does not count.
    """

    def __init__(self, root_pids: Iterable[int]) -> None:
        pids = set(root_pids)
        self.is_empty = not pids
        self._is_everything = INIT_PID in pids
        # Keeps the objects alive: a process is identified by its object only while that exists.
        self._roots = {HostProcess(pid) for pid in pids}
        #: Whether the processes of the last selection descend from a root.
        self._verdicts: dict[HostProcess, bool] = {}

    def select(self, processes: Iterable[HostProcess]) -> set[HostProcess]:
        """Return the processes that are roots or descend from one.

        A descendant stays one after the processes between it and the root exit.
        """
        candidates = set(processes)
        if self._is_everything:
            return candidates
        self._roots = {p if p.is_identified else HostProcess(p.pid) for p in self._roots}
        # Known processes first: unknown ones may descend from them.
        verdicts = {p: self._verdicts[p] for p in candidates if p in self._verdicts}
        for process in candidates:
            if process not in verdicts:
                verdicts[process] = self._descends(process)
        self._verdicts = verdicts
        return {process for process, verdict in verdicts.items() if verdict}

    def _descends(self, process: HostProcess) -> bool:
        try:
            for ancestor in ancestry(process, HostProcess.parent):
                if ancestor in self._roots:
                    return True
                known = self._verdicts.get(ancestor)
                if known is not None:
                    return known
        except (host.PsutilError, OSError):  # OSError: no file descriptor may be left
            return False
        return False
