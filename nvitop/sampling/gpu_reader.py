# SPDX-License-Identifier: Apache-2.0
"""Reads one GPU with its MIG devices, and leaves sleeping GPUs alone.

A reader is used by one thread at a time. If a call does not return, the reader is abandoned with its
thread and replaced by a :meth:`GpuReader.renewed` one that shares no state with it.
"""

from __future__ import annotations

import time
from typing import Callable, Literal, NamedTuple

from nvitop.api import libnvml
from nvitop.api.device import Device
from nvitop.api.libnvml import _errors
from nvitop.api.system import system
from nvitop.basics.units import format_duration
from nvitop.platforms.nvidia import GpuPower, is_asleep, why_denied
from nvitop.sampling.device_reader import (
    DeviceLostError,
    DeviceReader,
    ListedProcess,
    known_value,
    lost_problem,
    lost_sample,
)
from nvitop.sampling.plan import DeviceSelection, Due
from nvitop.sampling.types import (
    PROCESSES,
    STATUS,
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    DeviceStatus,
    Problem,
    Sleep,
)


class GpuReading(NamedTuple):
    """The last known state of a GPU and its MIG devices."""

    devices: tuple[DeviceSample, ...] = ()
    processes: tuple[ListedProcess, ...] = ()
    problems: tuple[Problem, ...] = ()
    #: Metrics measured between two readings that have had their first one.
    begun: frozenset[str] = frozenset()
    #: Whether all fast metrics were read, so that the time it took is comparable.
    is_regular: bool = False


class GpuReader:
    """Reads one GPU and its MIG devices, and finds them again when they change."""

    def __init__(
        self, index: int, selection: DeviceSelection | None = None, info: DeviceInfo | None = None
    ) -> None:
        self.index = index
        #: PCI bus ID to open the GPU by, ``''``: its index.
        self.bus_id = ''
        self._selection = selection or DeviceSelection()
        #: Known properties of the GPU at this index, shown while it does not respond.
        self._info = info
        self._gpu: DeviceReader | None = None
        self._migs: tuple[DeviceReader, ...] = ()
        self._is_leaf = True
        self._is_open = False
        #: Whether the next regular reading includes slow metrics.
        self._is_fresh = True
        self._is_layout_known = False
        #: The reading while the GPU does not respond, and whether to retry it at once.
        self._lost: GpuReading | None = None
        self._is_retry_due = False

    @property
    def info(self) -> DeviceInfo | None:
        """Known properties of the GPU, ``None`` if not even its name is known."""
        info = self._gpu.sample.info if self._gpu is not None else self._info
        return None if info is None or info.name is None else info

    def renewed(self) -> GpuReader:
        """Return a reader that knows the GPU's properties and shares no state with this one."""
        reader = GpuReader(self.index, self._selection, self.info)
        reader.bus_id = self.bus_id
        return reader

    def close(self) -> None:
        """Find the GPU again at the next reading, because handles do not outlive the driver."""
        self._is_open = False
        self._is_retry_due = True

    def read(self, due: Due) -> GpuReading:
        """Measure what is due.

        If the GPU does not respond, the reading has its status and reason. It is retried when slow
        metrics are due.
        """
        return self._read_or_lose(due)._replace(is_regular=due.fast)

    def _read_or_lose(self, due: Due) -> GpuReading:
        if self._lost is not None and not (due.slow or self._is_retry_due):
            return self._lost
        self._is_retry_due = False
        try:
            if not self._is_open or (due.slow and self._has_uuid_now()):
                self._open()
            if due.fast and self._is_fresh:
                due = due._replace(slow=True)
                self._is_fresh = False
            reading = self._read(due)
        except (DeviceLostError, libnvml.NVMLError) as failure:
            loss = failure if isinstance(failure, DeviceLostError) else DeviceLostError(failure)
            reason = why_denied() if loss.status == 'not permitted' else str(loss)
            return self._lose(loss.status, reason)
        self._lost = None
        return reading

    def _open(self) -> None:
        # Some drivers attach all GPUs up to an index.
        device = Device(bus_id=self.bus_id) if self.bus_id else Device(self.index)
        value, error = device.reading('uuid')
        uuid = known_value(value) or ''
        if isinstance(error, libnvml.NVMLError) and (
            device.handle is None or _errors.is_lost(error)
        ):
            raise DeviceLostError(error)
        key = DeviceKey(self.index, -1, uuid)
        before = self._info if self._gpu is None else self._gpu.sample.info
        known = before if before is not None and before.key == key else None
        self._gpu = DeviceReader(device, key, known)
        self._migs = ()
        self._is_open = self._is_fresh = True
        self._is_layout_known = False

    def _has_uuid_now(self) -> bool:
        """Return whether a GPU without a UUID has one by now."""
        gpu = self._gpu
        return gpu is not None and not gpu.key.uuid and known_value(gpu.device.uuid()) is not None

    def _lose(self, status: DeviceStatus, reason: str) -> GpuReading:
        self._is_open = False
        devices = tuple(reader.sample for reader in self._all() if self._is_wanted(reader))
        if self._lost is not None and self._lost.devices:
            if self._gpu is None or self._gpu.key == self._lost.devices[0].key:
                devices = self._lost.devices
        elif self._gpu is None and self._selection.wants_gpu(self.index, ''):
            devices = (unread_sample(self.index, self._info),)
        self._lost = lost_reading(GpuReading(devices), status, reason)
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
                # Its instance was destroyed, or created again under the same index.
                is_destroyed = _errors.is_harmless(loss.error)
                mig.lose(loss.status, f'{loss}: was it destroyed?' if is_destroyed else str(loss))
                self._is_layout_known = False
        readers = [reader for reader in self._all() if self._is_wanted(reader)]
        return GpuReading(
            tuple([reader.sample for reader in readers]),
            tuple([record for reader in readers for record in reader.processes]),
            tuple([problem for reader in readers for problem in reader.problems]),
            frozenset().union(*[reader.begun for reader in readers]),
        )

    def _find_mig_devices(self, gpu: DeviceReader) -> None:
        self._is_layout_known = True
        if self._selection.wants_no_mig:
            return
        self._is_leaf = not gpu.device.is_mig_mode_enabled()
        if not self._is_leaf:
            gpu.forget_processes()
        known = {reader.key: reader for reader in self._migs if reader.sample.status == 'ok'}
        readers = []
        for device in gpu.device.mig_devices():
            key = DeviceKey(self.index, device.mig_index, known_value(device.uuid()) or '')
            readers.append(known.get(key) or DeviceReader(device, key))
        self._migs = tuple(reader for reader in readers if self._is_wanted(reader))


def unread_sample(index: int, info: DeviceInfo | None) -> DeviceSample:
    """Return the sample of a GPU that has not responded yet."""
    info = info or DeviceInfo(DeviceKey(index), index)
    return DeviceSample(info.key, info)


def lost_reading(reading: GpuReading, status: DeviceStatus, reason: str) -> GpuReading:
    """Return the devices of a reading without their values, with the reason."""
    devices = tuple(lost_sample(sample, status, reason) for sample in reading.devices)
    return GpuReading(devices, (), tuple(map(lost_problem, devices)))


#: Number of regular readings without processes and utilization after which a GPU is left alone.
IDLE_READINGS = 5
#: Time (seconds) that a GPU has to fall asleep. Afterwards it is queried again.
REST_SECONDS = 10.0

ASLEEP = 'asleep; reading its values would wake it'
RESTING = 'idle; not queried, so that it can fall asleep'
HELD_AWAKE = 'only nvitop seems to keep this GPU awake; quit it to let the GPU sleep'


class _SleepyGpu:
    """A GPU that sleeps or may sleep, or is next to one."""

    def __init__(self, index: int, power: GpuPower) -> None:
        self.bus_id, self.may_sleep = power.bus_id, power.may_sleep
        domain, _, rest = power.bus_id.upper().partition(':')
        key = DeviceKey(index)
        self.info = DeviceInfo(key, index, bus_id=f'{domain:0>8}:{rest}')
        #: ``'resting'``: left alone, but still awake.
        self.state: Literal['queried', 'resting', 'asleep'] = 'queried'
        #: When the state began, on the monotonic clock.
        self.since = 0.0
        self.power_state = ''
        #: Whether it was seen awake, so that it is known since when it sleeps.
        self.was_awake = False
        #: Number of idle readings in a row.
        self.idle_readings = 0
        #: Whether its processes were listed since it is queried.
        self.has_list = False
        #: Whether it did not fall asleep although it was left alone, and whether because of nvitop.
        self.stays_awake = self.is_held = False

    def begin(self, state: Literal['queried', 'resting', 'asleep'], now: float) -> None:
        self.state, self.since = state, now
        self.idle_readings, self.has_list = 0, False

    def fall_asleep(self, now: float) -> None:
        sleep_info = system().sleep_info(self.bus_id)
        self.power_state = sleep_info.power_state
        if self.info.name is None:
            key = self.info.key._replace(uuid=sleep_info.uuid)
            self.info = self.info._replace(
                key=key, name=sleep_info.name or None, uuid=sleep_info.uuid or None
            )
        self.stays_awake = self.is_held = False
        self.begin('asleep', now)

    def row(self, now: float, *, asks: bool) -> GpuReading:
        """Return the row of the GPU while it is not queried; ``asks``: a refresh wakes it."""
        reason, why, sleep = RESTING, RESTING, None
        if self.state == 'asleep':
            state = self.power_state if self.power_state.startswith('D3') else ''
            seconds = now - self.since if self.was_awake and now - self.since >= 1 else None
            sleep = Sleep(state, seconds, wakes_on_refresh=asks)
            reason = f'asleep ({state})' if state else 'asleep'
            reason += '' if seconds is None else f' for {format_duration(seconds)}'
            why = ASLEEP
        sample = DeviceSample(self.info.key, self.info, 'asleep', reason, sleep)
        return GpuReading((sample,), problems=(Problem(self.info.key, STATUS, why),))


class SleepWatch:
    """Decides which GPUs are not queried now.

    Args:
        selection: GPUs that are selected are queried, asleep or not.
        wake: ``'never'``: wake no other GPU; ``'ask'``: only on :meth:`refresh`; ``'always'``: query
            all GPUs.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        selection: DeviceSelection,
        wake: str = 'never',
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._selection = selection
        self._wake = wake
        self._clock = clock
        self._gpus: tuple[_SleepyGpu, ...] = ()
        self._is_refreshed = False
        #: Whether a GPU has been queried since NVML was last restarted.
        self._is_attached = False

    @property
    def is_on(self) -> bool:
        return bool(self._gpus)

    @property
    def is_quiet(self) -> bool:
        """Whether no GPU is queried."""
        return self.is_on and all(gpu.state != 'queried' for gpu in self._gpus)

    @property
    def must_release(self) -> bool:
        """Whether NVML must be restarted: it cannot let go of a GPU, only of all of them."""
        return self._is_attached and self.is_quiet

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The GPUs that nvitop alone keeps awake."""
        held = [gpu for gpu in self._gpus if gpu.is_held and gpu.state == 'queried']
        return tuple(Problem(gpu.info.key, STATUS, HELD_AWAKE) for gpu in held)

    def bus_id(self, index: int) -> str:
        """Return the bus ID of a GPU to open it by, ``''`` if its index does not wake others."""
        return self._gpus[index].bus_id if index < len(self._gpus) else ''

    def find(self, count: int) -> None:
        """Look for GPUs that sleep or may sleep, at the start and when NVML lists another number."""
        powers = system().gpu_powers() if self._wake != 'always' else ()
        if len(powers) != count:
            powers = ()  # it is not known which GPU has which index
        known = {(index, gpu.bus_id): gpu for index, gpu in enumerate(self._gpus)}
        self._gpus = tuple(
            known.get((index, power.bus_id)) or _SleepyGpu(index, power)
            for index, power in enumerate(powers)
        )

    def released(self) -> None:
        """Take notice that NVML was restarted and holds no GPU."""
        self._is_attached = False

    def refresh(self) -> None:
        """Query GPUs that are only left alone, and with ``'ask'`` also those that sleep."""
        self._is_refreshed = True

    def rows(self) -> dict[int, GpuReading]:
        """Look at the GPUs, and return the rows of those that are not to be queried, by index."""
        refreshed, self._is_refreshed = self._is_refreshed, False
        now = self._clock()
        for index, gpu in enumerate(self._gpus):
            if self._may_wake(index, gpu, refreshed=refreshed):
                if gpu.state != 'queried':
                    gpu.begin('queried', now)
            else:
                self._look(gpu, now)
        left_alone = {i: gpu for i, gpu in enumerate(self._gpus) if gpu.state != 'queried'}
        rows = {i: gpu.row(now, asks=self._wake == 'ask') for i, gpu in left_alone.items()}
        self._is_attached = self._is_attached or len(rows) < len(self._gpus)
        return rows

    def _may_wake(self, index: int, gpu: _SleepyGpu, *, refreshed: bool) -> bool:
        if not self._selection.wants_all:
            return self._selection.wants_gpu(index, gpu.info.key.uuid)
        return refreshed and (self._wake == 'ask' or gpu.state == 'resting')

    def _look(self, gpu: _SleepyGpu, now: float) -> None:
        """Read whether a GPU sleeps now, which is all that happens to a sleeping one each second."""
        if is_asleep(system().runtime_status(gpu.bus_id)):
            if gpu.state != 'asleep':
                gpu.fall_asleep(now)
        elif gpu.state == 'asleep':
            gpu.begin('queried', now)
        elif gpu.state == 'resting' and now - gpu.since >= REST_SECONDS:
            gpu.stays_awake, gpu.is_held = True, self._is_attached
            gpu.begin('queried', now)
        gpu.was_awake = gpu.was_awake or gpu.state != 'asleep'

    def observe(self, index: int, reading: GpuReading, due: Due) -> None:
        """Take notice of a reading; leave the GPU alone after several idle ones."""
        gpu = self._gpus[index] if index < len(self._gpus) else None
        if gpu is None or not reading.devices or reading.devices[0].status != 'ok':
            return
        sample = reading.devices[0]
        gpu.info = sample.info
        if not (due.fast and gpu.may_sleep and self._selection.wants_all):
            return
        gpu.has_list = gpu.has_list or due.processes
        unknown = any(problem.what == PROCESSES for problem in reading.problems)
        if reading.processes or unknown or sample.gpu_utilization_percent != 0:
            gpu.idle_readings = 0
            gpu.stays_awake = gpu.is_held = False
        elif gpu.has_list and not gpu.stays_awake:
            gpu.idle_readings += 1
            if gpu.idle_readings >= IDLE_READINGS:
                gpu.begin('resting', self._clock())
