# SPDX-License-Identifier: Apache-2.0
"""Reads one GPU with its MIG devices.

A reader is used by one thread at a time. If a call does not return, the reader is abandoned with its
thread and replaced by a :meth:`GpuReader.renewed` one that shares no state with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nvitop.api import libnvml
from nvitop.api.device import Device
from nvitop.api.libnvml import _errors
from nvitop.platforms.pci import why_denied
from nvitop.sampling.device_reader import (
    DeviceLostError,
    DeviceReader,
    ListedProcess,
    known_value,
    lost_problem,
    lost_sample,
)
from nvitop.sampling.plan import DeviceSelection
from nvitop.sampling.types import DeviceInfo, DeviceKey, DeviceSample, Problem

if TYPE_CHECKING:
    from nvitop.sampling.plan import Due
    from nvitop.sampling.types import DeviceStatus


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
        found = []
        for device in gpu.device.mig_devices():
            key = DeviceKey(self.index, device.mig_index, known_value(device.uuid()) or '')
            found.append(known.get(key) or DeviceReader(device, key))
        self._migs = tuple(reader for reader in found if self._is_wanted(reader))


def unread_sample(index: int, info: DeviceInfo | None) -> DeviceSample:
    """Return the sample of a GPU that has not responded yet."""
    info = info or DeviceInfo(DeviceKey(index), index)
    return DeviceSample(info.key, info)


def lost_reading(reading: GpuReading, status: DeviceStatus, reason: str) -> GpuReading:
    """Return the devices of a reading without their values, with the reason."""
    devices = tuple(lost_sample(sample, status, reason) for sample in reading.devices)
    return GpuReading(devices, (), tuple(map(lost_problem, devices)))
