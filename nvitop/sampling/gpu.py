# SPDX-License-Identifier: Apache-2.0
"""Asking one GPU and its MIG devices: live objects in, plain values out.

A reader lives in one thread at a time; after a call that did not return it is given up for a
:meth:`GpuReader.renewed` one, so what the lost thread may still do to it harms nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from nvitop.api import libnvml
from nvitop.api.device import Device, ImpossibleAnswer, MigDevice
from nvitop.api.libnvml._errors import is_denied, is_harmless, is_lasting, is_lost
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.plan import REPORT_METRICS, STATIC, metrics_due
from nvitop.sampling.selection import DeviceSelection
from nvitop.sampling.types import DeviceInfo, DeviceKey, DeviceSample, Problem
from nvitop.sampling.value import known_value, value_of

if TYPE_CHECKING:
    from nvitop.api.device.process import ProcessUsage
    from nvitop.api.metrics import Metric
    from nvitop.sampling.plan import Due
    from nvitop.sampling.types import Value

_PROCESS_LISTS = (
    'nvmlDeviceGetComputeRunningProcesses',
    'nvmlDeviceGetGraphicsRunningProcesses',
    'nvmlDeviceGetMPSComputeRunningProcesses',
)
_PROCESS_LOADS = 'nvmlDeviceGetProcessUtilization'
#: What NVML does not tell of a GPU while that is partitioned, nor of its MIG devices.
_NOT_WITH_MIG = {_PROCESS_LOADS, 'gpu_utilization', 'memory_utilization'} | {
    f'{engine}_utilization' for engine in ('encoder', 'decoder', 'jpeg', 'ofa')
}


class ProcessRecord(NamedTuple):
    """What a device says of a process."""

    device: DeviceKey
    pid: int
    type: str | None
    gpu_memory_bytes: int | None
    gpu_memory_percent: float | None
    gpu_sm_utilization_percent: int | None
    gpu_memory_utilization_percent: int | None
    gpu_encoder_utilization_percent: int | None
    gpu_decoder_utilization_percent: int | None
    gpu_instance_id: int | None
    compute_instance_id: int | None


#: What is not known of a process while the list that it was on fails.
_UNKNOWN: dict[str, Any] = dict.fromkeys(ProcessRecord._fields[3:9])


class GpuReading(NamedTuple):
    """What is known of a GPU and its MIG devices."""

    devices: tuple[DeviceSample, ...] = ()
    processes: tuple[ProcessRecord, ...] = ()
    problems: tuple[Problem, ...] = ()
    #: Metrics that are measured between two readings, of which the first was taken just now.
    begun: frozenset[str] = frozenset()


#: Facts by which a person knows a GPU.
_IDENTITY = frozenset({'name', 'bus_id'})
#: The name of a device before it is told.
_NAMELESS = 'N/A'


class DeviceLostError(Exception):
    """A device answers nothing any more; the text is the driver's."""

    def __init__(self, error: libnvml.NVMLError) -> None:
        super().__init__(str(error))
        #: Status of the device from now on.
        self.status = 'lost' if is_lost(error) else 'error'
        #: Whether a MIG device that was destroyed may have failed this way.
        self.is_destroyed = is_harmless(error) and not is_lasting(error)


class DeviceReader:
    """One device: facts once, measurements when they are due, and every reason for a gap."""

    def __init__(self, device: Device, key: DeviceKey, info: DeviceInfo | None = None) -> None:
        self.device = device
        self.key = key
        is_mig = key.is_mig
        self._facts_to_ask = [m for m in STATIC if m.name != 'index' and (m.mig or not is_mig)]
        #: Facts that could not be told for now.
        self._facts_to_repeat: list[Metric] = []
        self.sample = DeviceSample(key, info or DeviceInfo(key, key.physical_index, _NAMELESS))
        #: Its processes, as they were listed the last time.
        self.rows: tuple[ProcessRecord, ...] = ()
        #: Metrics of which the first of two readings was taken the last time.
        self.begun: frozenset[str] = frozenset()
        self._is_new = True
        self._problems: dict[str, Problem] = {}
        #: Metrics that the driver does not support here: asked seldom.
        self._unsupported: set[str] = set()
        #: Metrics that had a value at some time.
        self._told: set[str] = set()
        #: Metrics that are measured only while shown, and are.
        self._shown: frozenset[Metric] = frozenset()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why something is missing."""
        return tuple(self._problems.values())

    def read(self, due: Due) -> None:
        """Ask what is due.

        Raises:
            DeviceLostError: The device does not answer any more.
        """
        with self.device.oneshot():
            if due.slow or self._is_new:
                self._read_instance()
            self._read_facts(self._facts_due(due))
            metrics = self._begin(self._metrics(due))
            values = self._ask_all(metrics)
            if due.processes:
                self._read_processes(loads=not due.skips_process_utilization)
        extended = [metric.field for metric in metrics if metric.tier == 'extended']
        if extended:
            values['extended'] = tuple((field, values.pop(field)) for field in extended)
        shown = frozenset(metric for metric in metrics_due(due) if metric.tier == 'shown')
        if due.fast:
            for metric in self._shown - shown:
                values[metric.field] = None
                self._problems.pop(metric.name, None)
            if any(map(_is_gpm, self._shown)) and not any(map(_is_gpm, shown)):
                self.device.release_gpm()
            self._shown = shown
        else:
            self._shown |= shown
        self.sample = self.sample._replace(status='ok', reason='', **values)

    def lose(self, status: str, reason: str) -> None:
        """Keep what never changes, and say why there is nothing else."""
        reading = lost_reading(GpuReading((self.sample,)), status, reason)
        self.sample = reading.devices[0]
        self.rows = ()
        self._problems = {problem.what: problem for problem in reading.problems}
        self._shown = frozenset()

    def _metrics(self, due: Due) -> list[Metric]:
        return [
            metric
            for metric in metrics_due(due)
            if (metric.mig or not self.key.is_mig)
            and (due.slow or metric.name not in self._unsupported)
        ]

    def _begin(self, metrics: list[Metric]) -> list[Metric]:
        """Begin what is measured between two readings, and leave it out this time.

        Otherwise each GPU would wait for its own, one after another.
        """
        running = {metric.begin for metric in self._shown}
        missing = {metric.begin for metric in metrics} - running - {''}
        for method in missing:
            getattr(self.device, method)()
        begun = [metric for metric in metrics if metric.begin in missing]
        self.begun = frozenset(metric.name for metric in begun)
        return [metric for metric in metrics if metric not in begun] if begun else metrics

    def _facts_due(self, due: Due) -> list[Metric]:
        if due.metrics is not None:
            return [fact for fact in self._facts_to_ask if fact.name in due.metrics]
        if self._is_new and due.devices:
            return [fact for fact in self._facts_to_ask if fact.name in REPORT_METRICS]
        if due.slow:
            self._facts_to_ask += self._facts_to_repeat
            self._facts_to_repeat = []
        return self._facts_to_ask if due.devices else []

    def _read_instance(self) -> None:
        """Which part of its GPU a MIG device is, until all of it is known."""
        device, info = self.device, self.sample.info
        if not isinstance(device, MigDevice):
            return
        known: dict[str, Any] = {}
        for fact in ('gpu_instance_id', 'compute_instance_id', 'mig_profile'):
            if getattr(info, fact) is None:
                known[fact] = known_value(getattr(device, fact)())
        self.sample = self.sample._replace(info=info._replace(**known))

    def _read_facts(self, facts: list[Metric]) -> None:
        if not facts:
            return
        self._is_new = False
        self._facts_to_ask = [fact for fact in self._facts_to_ask if fact not in facts]
        # What the device is called is known even where it hangs at the next question.
        values = self._learn([fact for fact in facts if fact.name in _IDENTITY])
        values.update(self._learn([fact for fact in facts if fact.name not in _IDENTITY]))
        self._facts_to_repeat += [
            fact
            for fact in facts
            if values[fact.field] is None and fact.name not in self._unsupported
        ]
        if any(fact.name == 'memory_total' for fact in facts):
            is_unified = self.device.is_unified_memory()
            info = self.sample.info._replace(is_unified_memory=is_unified)
            self.sample = self.sample._replace(info=info)

    def _learn(self, facts: Sequence[Metric]) -> dict[str, Any]:
        values = self._ask_all(facts)
        known = {field: value for field, value in values.items() if value is not None}
        self.sample = self.sample._replace(info=self.sample.info._replace(**known))
        return values

    def _ask_all(self, metrics: Sequence[Metric]) -> dict[str, Any]:
        errors: list[libnvml.NVMLError] = []
        # That what always fails has failed once more says nothing of the device.
        is_telling = any(metric.name not in self._problems for metric in metrics)
        values = {metric.field: self._ask(metric, errors) for metric in metrics}
        if is_telling and errors and all(value is None for value in values.values()):
            serious = [error for error in errors if not is_lasting(error)]
            if serious and len(metrics) > 2:
                raise DeviceLostError(serious[0]) from serious[0]
        return values

    def _ask(self, metric: Metric, errors: list[libnvml.NVMLError]) -> Value:
        raw = getattr(self.device, metric.method)()
        try:
            value = value_of(metric, raw)
        except ImpossibleAnswer as error:
            self._note(metric.name, str(error), 'impossible')
            return None
        if value is not None:
            self._problems.pop(metric.name, None)
            self._unsupported.discard(metric.name)
            self._told.add(metric.name)
            return value
        reason = self.device.unavailable_reason(metric.method)
        if reason is None:
            again = ' any more' if self._had_value(metric) else ''
            self._note(metric.name, f'the driver gives no value{again}', 'error' if again else 'na')
            return None
        if isinstance(reason, ImpossibleAnswer):
            self._note(metric.name, str(reason), 'impossible')
            return None
        if is_lost(reason):
            raise DeviceLostError(reason) from reason
        errors.append(reason)
        if is_lasting(reason):
            self._unsupported.add(metric.name)
        self._note_error(metric.name, reason)
        return None

    def _had_value(self, metric: Metric) -> bool:
        """Whether there was a value before this gap: what had one is not merely lacking."""
        # Without the reading before there is none of what is measured between two.
        return metric.name in self._told and not metric.begin

    def _read_processes(self, *, loads: bool) -> None:
        usages = self.device.process_usage(loads=loads)
        failed = False
        for function in _PROCESS_LISTS:
            error = libnvml.last_error(function, self.device.handle)
            impossible = libnvml.impossible_answer(function, self.device.handle)
            if error is not None:
                if is_lost(error):
                    raise DeviceLostError(error)
                self._note_error(function, error)
                failed |= not is_lasting(error)
            elif impossible:
                self._note(function, impossible, 'impossible')
            else:
                self._problems.pop(function, None)
        total = known_value(self.device.memory_total()) if usages else None
        rows = [self._row(usage, total) for usage in usages.values()]
        if failed:  # what is unknown is not empty, but what was measured then is not true now
            rows += [row._replace(**_UNKNOWN) for row in self.rows if row.pid not in usages]
        self.rows = tuple(rows)
        self._note_loads(
            is_missing=loads and any(row.gpu_sm_utilization_percent is None for row in rows)
        )

    def forget_processes(self) -> None:
        """Its processes are those of its MIG devices now."""
        self.rows = ()
        for function in (*_PROCESS_LISTS, _PROCESS_LOADS):
            self._problems.pop(function, None)

    def _note_loads(self, *, is_missing: bool) -> None:
        """Say why no loads of processes are known."""
        error = libnvml.last_error(_PROCESS_LOADS, self.device.handle) if is_missing else None
        if error is None:
            self._problems.pop(_PROCESS_LOADS, None)
        else:
            self._note_error(_PROCESS_LOADS, error)

    def _row(self, usage: ProcessUsage, total: int | None) -> ProcessRecord:
        """A process on a device with so much memory."""
        memory = known_value(usage.gpu_memory)
        return ProcessRecord(
            self.key,
            usage.pid,
            known_value(usage.type),
            memory,
            round(100.0 * memory / total, 1) if memory is not None and total else None,
            known_value(usage.gpu_sm_utilization),
            known_value(usage.gpu_memory_utilization),
            known_value(usage.gpu_encoder_utilization),
            known_value(usage.gpu_decoder_utilization),
            known_value(usage.gpu_instance_id),
            known_value(usage.compute_instance_id),
        )

    def _note_error(self, what: str, error: libnvml.NVMLError) -> None:
        is_mig = self.key.is_mig
        is_na = is_harmless(error) if is_mig else is_lasting(error)
        kind = 'denied' if is_denied(error) else 'na' if is_na else 'error'
        reason = str(error)
        if kind == 'na' and what in _NOT_WITH_MIG:
            reason += ' (MIG)' if is_mig or self.device.is_mig_mode_enabled() else ''
        self._note(what, reason, kind)

    def _note(self, what: str, reason: str, kind: str) -> None:
        subject = f'device {self.key.label}'
        self._problems[what] = Problem(subject, what, reason, kind, self.key)


def _is_gpm(metric: Metric) -> bool:
    return metric.begin == 'begin_gpm'


class GpuReader:
    """One GPU and the MIG devices it is split into, found anew when they change."""

    def __init__(
        self, index: int, selection: DeviceSelection | None = None, info: DeviceInfo | None = None
    ) -> None:
        self.index = index
        self._selection = selection or DeviceSelection()
        #: What was known of the GPU at this index before, to show while it does not answer.
        self._info = info
        self._gpu: DeviceReader | None = None
        self._migs: tuple[DeviceReader, ...] = ()
        self._is_leaf = True
        self._is_open = False
        #: Whether the next reading has to ask what is asked seldom.
        self._is_fresh = True
        self._is_layout_known = False
        #: What to say while the GPU does not answer, and whether to look for it at once.
        self._lost: GpuReading | None = None
        self._is_due = False

    @property
    def info(self) -> DeviceInfo | None:
        """What is known of the GPU; ``None``: not even its name."""
        info = self._gpu.sample.info if self._gpu is not None else self._info
        return None if info is None or info.name == _NAMELESS else info

    def renewed(self) -> GpuReader:
        """A reader that shares nothing with this one and knows the GPU's name."""
        return GpuReader(self.index, self._selection, self.info)

    def close(self) -> None:
        """Find the GPU anew at the next reading: handles do not outlive the driver."""
        self._is_open = False
        self._is_due = True

    def read(self, due: Due) -> GpuReading:
        """Ask what is due. A GPU that does not answer has a status that says so; it is looked for
        again whenever slow facts are due.
        """
        if self._lost is not None and not (due.slow or self._is_due):
            return self._lost
        self._is_due = False
        try:
            if not self._is_open or (due.slow and self._has_uuid_now()):
                self._open()
            if due.fast and self._is_fresh:
                due = due._replace(slow=True)
                self._is_fresh = False
            reading = self._read(due)
        except DeviceLostError as loss:
            return self._lose(loss.status, str(loss))
        except libnvml.NVMLError as error:
            return self._lose('lost' if is_lost(error) else 'error', str(error))
        self._lost = None
        return reading

    def _open(self) -> None:
        device = Device(self.index)
        uuid = known_value(device.uuid()) or ''
        error = device.unavailable_reason('uuid')
        if isinstance(error, libnvml.NVMLError) and (device.handle is None or is_lost(error)):
            raise DeviceLostError(error)
        key = DeviceKey(self.index, -1, uuid)
        before = self._info if self._gpu is None else self._gpu.sample.info
        known = before if before is not None and before.key == key else None
        self._gpu = DeviceReader(device, key, known)
        self._migs = ()
        self._is_open = self._is_fresh = True
        self._is_layout_known = False

    def _has_uuid_now(self) -> bool:
        """Whether a GPU that did not tell who it is does now."""
        gpu = self._gpu
        return gpu is not None and not gpu.key.uuid and known_value(gpu.device.uuid()) is not None

    def _lose(self, status: str, reason: str) -> GpuReading:
        self._is_open = False
        rows = tuple(reader.sample for reader in self._all() if self._is_wanted(reader))
        if self._lost is not None and self._lost.devices:
            if self._gpu is None or self._gpu.key == self._lost.devices[0].key:
                rows = self._lost.devices
        elif self._gpu is None and self._selection.wants_gpu(self.index, ''):
            info = self._info or DeviceInfo(DeviceKey(self.index), self.index, f'ERROR: {reason}')
            rows = (DeviceSample(info.key, info),)
        self._lost = lost_reading(GpuReading(rows), status, reason)
        return self._lost

    def _all(self) -> tuple[DeviceReader, ...]:
        return () if self._gpu is None else (self._gpu, *self._migs)

    def _is_wanted(self, reader: DeviceReader) -> bool:
        key = reader.key
        if key.is_mig and self._selection.wants_mig((self.index, key.mig_index), key.uuid):
            return True
        if key.is_mig and not self._selection.mig_devices:
            return False
        gpu = self._gpu.key.uuid if self._gpu is not None else ''
        return self._selection.wants_gpu(self.index, gpu)

    def _read(self, due: Due) -> GpuReading:
        gpu = self._gpu
        assert gpu is not None
        with gpu.device.oneshot():
            if due.slow or not self._is_layout_known:
                self._find_mig_devices(gpu)
            if self._is_wanted(gpu):
                gpu.read(due if self._is_leaf else due._replace(processes=False))
        for mig in self._migs:
            try:
                mig.read(due)
            except DeviceLostError as loss:
                if loss.status == 'lost':
                    raise
                # Its instance has been destroyed, or made anew under the same index.
                hint = ': was it destroyed?' if loss.is_destroyed else ''
                mig.lose(loss.status, f'{loss}{hint}')
                self._is_layout_known = False
        readers = [reader for reader in self._all() if self._is_wanted(reader)]
        return GpuReading(
            tuple(reader.sample for reader in readers),
            tuple(row for reader in readers for row in reader.rows),
            tuple(problem for reader in readers for problem in reader.problems),
            frozenset(name for reader in readers for name in reader.begun),
        )

    def _find_mig_devices(self, gpu: DeviceReader) -> None:
        self._is_layout_known = True
        if self._selection.wants_no_mig:
            return
        self._is_leaf = not gpu.device.is_mig_mode_enabled()
        if not self._is_leaf:
            gpu.forget_processes()
        known = {reader.key: reader for reader in self._migs if reader.sample.status == 'ok'}
        found = []
        for device in gpu.device.mig_devices():
            key = DeviceKey(self.index, device.mig_index, known_value(device.uuid()) or '')
            found.append(known.get(key) or DeviceReader(device, key))
        self._migs = tuple(reader for reader in found if self._is_wanted(reader))


def lost_reading(reading: GpuReading, status: str, reason: str) -> GpuReading:
    """The rows of a reading without their values, saying why there are none."""
    kind = status if status in ('lost', 'timed out') else 'error'
    keys = [sample.key for sample in reading.devices]
    return GpuReading(
        tuple(DeviceSample(s.key, s.info, status, reason) for s in reading.devices),
        (),
        tuple(Problem(f'device {key.label}', 'status', reason, kind, key) for key in keys),
    )
