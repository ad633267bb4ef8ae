# SPDX-License-Identifier: Apache-2.0
"""Reads one device: live object in, plain values out, with the reason for every gap.

``NA`` becomes ``None``, and implausible values are refused.
"""

from __future__ import annotations

import math
from typing import Any, Iterable, NamedTuple, Sequence, TypeVar

from nvitop.api import libnvml
from nvitop.api.device import Device, MigDevice
from nvitop.api.device.base import ImpossibleAnswer, NotReported, Reason, implausible
from nvitop.api.device.processes import ProcessUsage
from nvitop.api.libnvml import _errors
from nvitop.basics.metrics import Metric, scaled
from nvitop.basics.units import NA, NaType
from nvitop.sampling.plan import REPORT_METRICS, STATIC, Due, metrics_due
from nvitop.sampling.types import (
    GRAPHICS_PROCESSES,
    MPS_PROCESSES,
    PROCESS_UTILIZATION,
    PROCESSES,
    STATUS,
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    DeviceStatus,
    Problem,
    ProblemKind,
    Value,
)

T = TypeVar('T')

_PROCESS_LISTS = {
    PROCESSES: 'nvmlDeviceGetComputeRunningProcesses',
    GRAPHICS_PROCESSES: 'nvmlDeviceGetGraphicsRunningProcesses',
    MPS_PROCESSES: 'nvmlDeviceGetMPSComputeRunningProcesses',
}
#: Values that NVML reports neither for a partitioned GPU nor for its MIG devices.
_NOT_WITH_MIG = {PROCESS_UTILIZATION, 'gpu_utilization', 'memory_utilization'} | {
    f'{engine}_utilization' for engine in ('encoder', 'decoder', 'jpeg', 'ofa')
}
#: Metrics by which people identify a GPU.
_IDENTITY = frozenset({'name', 'bus_id'})
#: Values of a device that responds, from different functions.
_VITAL = ('gpu_utilization', 'temperature', 'power_usage', 'performance_state')


class ListedProcess(NamedTuple):
    """A process as its device lists it."""

    device: DeviceKey
    usage: ProcessUsage
    #: Memory of the device.
    memory_total_bytes: int | None = None
    #: Whether the device has not listed it again since.
    is_outdated: bool = False


class DeviceLostError(Exception):
    """A device no longer responds; the text is the driver's."""

    def __init__(self, error: libnvml.NVMLError) -> None:
        super().__init__(str(error))
        self.error = error
        #: Status of the device from now on.
        self.status: DeviceStatus = 'lost' if _errors.is_lost(error) else 'error'
        if _errors.is_denied(error):
            self.status = 'not permitted'


class DeviceReader:
    """Reads the metrics of one device when they are due.

    Static metrics are read once. Unsupported metrics are skipped except when slow metrics are due.
    """

    def __init__(self, device: Device, key: DeviceKey, info: DeviceInfo | None = None) -> None:
        self.device = device
        self.key = key
        self.sample = DeviceSample(key, info or DeviceInfo(key, key.physical_index))
        #: Its processes, as last listed.
        self.processes: tuple[ListedProcess, ...] = ()
        #: Metrics measured between two readings that have had their first one.
        self.begun: frozenset[str] = frozenset()
        self._is_new = True
        #: Static metrics that have not been read yet, and those that failed for now.
        self._unread = [m for m in STATIC if m.name != 'index' and (m.mig or not key.is_mig)]
        self._failed: list[Metric] = []
        self._problems: dict[str, Problem] = {}
        self._unsupported: set[str] = set()
        #: Metrics that had a value at some time.
        self._measured: set[str] = set()
        #: Metrics of tier *shown* or *extended* that are shown now.
        self._shown: frozenset[Metric] = frozenset()

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(self._problems.values())

    def read(self, due: Due) -> None:
        """Measure what is due; DeviceLostError if the device no longer responds."""
        metrics = metrics_due(due)
        shown = frozenset(metric for metric in metrics if metric.tier in ('shown', 'extended'))
        with self.device.oneshot():
            if due.slow or self._is_new:
                self._read_instance()
            self._read_static(self._static_due(due))
            values = self._query_all(self._begin(self._supported(metrics, due), shown))
            if due.processes:
                self._read_processes(utilization=not due.skips_process_utilization)
        if shown or self._shown:
            self._keep_shown(shown, values, keeps_others=not due.fast)
            self._move_extended(metrics, values, keeps_others=not due.fast)
        self._problems.pop(STATUS, None)
        self.sample = self.sample._replace(status='ok', reason='', **values)

    def _keep_shown(
        self, shown: frozenset[Metric], values: dict[str, Any], *, keeps_others: bool
    ) -> None:
        """Note what is shown; unless others are kept, drop the values of what no longer is."""
        if keeps_others:
            self._shown |= shown
            return
        for metric in self._shown - shown:
            self._problems.pop(metric.name, None)
            if metric.tier == 'shown':
                values[metric.field] = None
        if any(map(_is_gpm, self._shown)) and not any(map(_is_gpm, shown)):
            self.device.release_gpm()
        self._shown = shown

    def _move_extended(
        self, metrics: Sequence[Metric], values: dict[str, Any], *, keeps_others: bool
    ) -> None:
        """Move the values of extended metrics from ``values`` to their place in a sample."""
        before = dict(self.sample.extended) if keeps_others else {}
        fields = [m.field for m in metrics if m.tier == 'extended' and m.field in values]
        extended = {**before, **{field: values.pop(field) for field in fields}}
        if extended or self.sample.extended:
            values['extended'] = tuple(extended.items())

    def lose(self, status: DeviceStatus, reason: str) -> None:
        """Drop all measured values; the reason replaces the other problems."""
        self.sample = lost_sample(self.sample, status, reason)
        self.processes = ()
        self._problems = {STATUS: lost_problem(self.sample)}
        self._shown = frozenset()

    def _supported(self, metrics: Sequence[Metric], due: Due) -> list[Metric]:
        if self.key.is_mig:
            metrics = [metric for metric in metrics if metric.mig]
        skipped = () if due.slow else self._unsupported
        return [metric for metric in metrics if metric.name not in skipped]

    def _begin(self, metrics: list[Metric], shown: frozenset[Metric]) -> list[Metric]:
        """Begin measurements between two readings; return the metrics that can be read now.

        Without this, each GPU would wait for its own second reading, one after another.
        """
        self.begun = frozenset()
        if not shown:  # all others are measured at one time
            return metrics
        running = {metric.begin for metric in self._shown}
        missing = {metric.begin for metric in metrics} - running - {''}
        for method in missing:
            getattr(self.device, method)()
        self.begun = frozenset(metric.name for metric in metrics if metric.begin in missing)
        return [metric for metric in metrics if metric.begin not in missing]

    # static metrics

    def _static_due(self, due: Due) -> list[Metric]:
        if due.slow:
            self._unread += self._failed
            self._failed = []
        if due.metrics is not None:
            return [metric for metric in self._unread if metric.name in due.metrics]
        if self._is_new and due.devices:
            return [metric for metric in self._unread if metric.name in REPORT_METRICS]
        return self._unread if due.devices else []

    def _read_instance(self) -> None:
        """Read which part of its GPU a MIG device is, until all of it is known."""
        device, info = self.device, self.sample.info
        if not isinstance(device, MigDevice):
            return
        known: dict[str, Any] = {}
        for name in ('gpu_instance_id', 'compute_instance_id', 'mig_profile'):
            if getattr(info, name) is None:
                known[name] = known_value(getattr(device, name)())
        self.sample = self.sample._replace(info=info._replace(**known))

    def _read_static(self, metrics: list[Metric]) -> None:
        if not metrics:
            return
        self._is_new = False
        self._unread = [metric for metric in self._unread if metric not in metrics]
        # The identity first: then it is known even if the device hangs at the next query.
        values = self._learn([metric for metric in metrics if metric.name in _IDENTITY])
        values.update(self._learn([metric for metric in metrics if metric.name not in _IDENTITY]))
        self._failed += [
            metric
            for metric in metrics
            if values[metric.field] is None and metric.name not in self._unsupported
        ]
        if any(metric.name == 'memory_total' for metric in metrics):
            is_unified = self.device.is_unified_memory()
            info = self.sample.info._replace(is_unified_memory=is_unified)
            self.sample = self.sample._replace(info=info)

    def _learn(self, metrics: list[Metric]) -> dict[str, Any]:
        values = self._query_all(metrics)
        known = {field: value for field, value in values.items() if value is not None}
        self.sample = self.sample._replace(info=self.sample.info._replace(**known))
        return values

    # queries

    def _query_all(self, metrics: list[Metric]) -> dict[str, Any]:
        errors: list[libnvml.NVMLError] = []
        # If these metrics have always failed, another failure says nothing about the device.
        is_meaningful = any(metric.name not in self._problems for metric in metrics)
        values: dict[str, Any] = {}
        known = []
        for metric in metrics:
            raw, reason = self.device.reading(metric.method)
            try:
                value = value_of(metric, raw)
            except ImpossibleAnswer as error:
                value, reason = None, error
            if value is None:
                self._note_gap(metric, reason, errors)
            else:
                known.append(metric.name)
            values[metric.field] = value
        self._measured.update(known)
        self._unsupported.difference_update(known)
        for name in self._problems.keys() & known:
            del self._problems[name]
        if is_meaningful and errors and all(value is None for value in values.values()):
            serious = [error for error in errors if not _errors.is_lasting(error)]
            # Several metrics may come from one call that fails.
            if (
                serious
                and len(metrics) > 2
                and all(self.device.reading(v).value is NA for v in _VITAL)
            ):
                raise DeviceLostError(serious[0]) from serious[0]
        return values

    def _note_gap(
        self, metric: Metric, reason: Reason | None, errors: list[libnvml.NVMLError]
    ) -> None:
        if isinstance(reason, ImpossibleAnswer):
            self._note(metric.name, str(reason), 'impossible')
        elif reason is None or isinstance(reason, NotReported):
            # Without a first reading, what is measured between two readings has no value.
            had_value = metric.name in self._measured and not metric.begin
            kind: ProblemKind = 'error' if had_value else 'na'
            text = 'no longer reported by the driver' if had_value else 'not reported by the driver'
            self._note(metric.name, text, kind)
        elif _errors.is_lost(reason):
            raise DeviceLostError(reason) from reason
        else:
            errors.append(reason)
            if _errors.is_lasting(reason):
                self._unsupported.add(metric.name)
            self._note_error(metric.name, reason)

    # processes

    def _read_processes(self, *, utilization: bool) -> None:
        usages = self.device.process_usage(utilization=utilization)
        failed = False
        for what, function in _PROCESS_LISTS.items():
            error = libnvml.last_error(function, self.device.handle)
            impossible = libnvml.impossible_answer(function, self.device.handle)
            if error is not None:
                if _errors.is_lost(error):
                    raise DeviceLostError(error)
                self._note_error(what, error)
                failed |= not _errors.is_lasting(error)
            elif impossible:
                self._note(what, impossible, 'impossible')
            else:
                self._problems.pop(what, None)
        total = known_value(self.device.memory_total()) if usages else None
        records = [ListedProcess(self.key, usage, total) for usage in usages.values()]
        if failed:  # an unknown list is not empty, but its old numbers are not true now
            records += outdated(r for r in self.processes if r.usage.pid not in usages)
        self.processes = tuple(records)
        self._note_utilization(
            is_missing=utilization and any(r.usage.gpu_sm_utilization is None for r in records)
        )

    def forget_processes(self) -> None:
        """Forget its processes: they are listed for its MIG devices now."""
        self.processes = ()
        for what in (*_PROCESS_LISTS, PROCESS_UTILIZATION):
            self._problems.pop(what, None)

    def _note_utilization(self, *, is_missing: bool) -> None:
        gap = self.device.utilization_gap if is_missing else None
        if gap is None:
            self._problems.pop(PROCESS_UTILIZATION, None)
        elif isinstance(gap, libnvml.NVMLError) and not isinstance(gap, libnvml.NVMLError_NotFound):
            self._note_error(PROCESS_UTILIZATION, gap)
        else:
            self._note(PROCESS_UTILIZATION, str(gap), 'na')

    # problems

    def _note_error(self, what: str, error: libnvml.NVMLError) -> None:
        is_mig = self.key.is_mig
        is_lasting = _errors.is_harmless(error) if is_mig else _errors.is_lasting(error)
        kind: ProblemKind = 'na' if is_lasting else 'error'
        if _errors.is_denied(error):
            kind = 'denied'
        elif _errors.is_reset_required(error):
            kind = 'reset needed'
        reason = str(error)
        if kind == 'na' and what in _NOT_WITH_MIG:
            reason += ' (MIG)' if is_mig or self.device.is_mig_mode_enabled() else ''
        self._note(what, reason, kind)

    def _note(self, what: str, reason: str, kind: ProblemKind) -> None:
        self._problems[what] = Problem(self.key, what, reason, kind)


def lost_sample(sample: DeviceSample, status: DeviceStatus, reason: str) -> DeviceSample:
    """Return the sample of a device that does not respond: identity and reason, no measured values."""
    return DeviceSample(sample.key, sample.info, status, reason)


def outdated(records: Iterable[ListedProcess]) -> tuple[ListedProcess, ...]:
    return tuple(record._replace(is_outdated=True) for record in records)


def lost_problem(sample: DeviceSample) -> Problem:
    """Return the problem of a device whose status is not ``'ok'``."""
    kind: ProblemKind = 'error'
    if sample.status == 'lost' or sample.status == 'timed out':
        kind = sample.status
    elif sample.status == 'not permitted':
        kind = 'denied'
    return Problem(sample.key, STATUS, sample.reason, kind)


def _is_gpm(metric: Metric) -> bool:
    return metric.begin == 'begin_gpm'


def known_value(value: T | NaType) -> T | None:
    return None if isinstance(value, NaType) else value


def value_of(metric: Metric, raw: object) -> Value:
    """Return a raw value as samples hold it, ``None`` for none; ImpossibleAnswer if implausible."""
    if raw is None or raw is NA:
        return None
    if metric.kind in ('int', 'float'):
        if isinstance(raw, (int, float)) and metric.lowest <= raw <= metric.highest:
            return raw
        if not isinstance(raw, (int, float)) or not math.isfinite(raw):
            raise ImpossibleAnswer(f'{raw!r} is not a number')
        raise implausible(scaled(raw, metric.unit))
    if metric.kind == 'list':
        return tuple(str(name) for name in getattr(raw, 'names', ()))
    if metric.kind == 'rows' and isinstance(raw, list):
        return tuple(tuple(map(known_value, row)) for row in raw)
    if metric.kind == 'str':
        return '.'.join(map(str, raw)) if isinstance(raw, tuple) else str(raw)
    if metric.kind == 'bool':
        return bool(raw)
    raise ImpossibleAnswer(f'{raw!r} is not of kind {metric.kind}')
