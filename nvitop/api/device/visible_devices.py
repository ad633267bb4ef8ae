# SPDX-License-Identifier: Apache-2.0
"""Finds the GPUs and MIG devices that are visible to CUDA.

The rules are in :mod:`~nvitop.api.device.visible_rules`. If only the CUDA driver can decide,
:mod:`~nvitop.api.device.visible_by_cuda` asks it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from nvitop.api import libnvml
from nvitop.api.device import visible_rules
from nvitop.api.device.handles import mig_handles
from nvitop.api.device.visible_rules import VisibleGpu, VisibleMig, digits
from nvitop.api.utils import NA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nvitop.api.device.visible_rules import CudaVisible

#: Queries that may show that CUDA considers one GPU faster than another. The cheapest and most
#: decisive ones come first.
_SPEED_QUERIES: tuple[tuple[Any, ...], ...] = (
    ('nvmlDeviceGetName',),
    ('nvmlDeviceGetCudaComputeCapability',),
    ('nvmlDeviceGetPciInfo',),
    ('nvmlDeviceGetMigMode',),
    ('nvmlDeviceGetMemoryInfo',),
    ('nvmlDeviceGetNumGpuCores',),
    ('nvmlDeviceGetMaxClockInfo', 0),  # graphics
    ('nvmlDeviceGetMaxClockInfo', 1),  # SM
    ('nvmlDeviceGetMaxClockInfo', 2),  # memory
    ('nvmlDeviceGetComputeMode',),
    ('nvmlDeviceGetDisplayActive',),
    ('nvmlDeviceGetDriverModel',),
)


def visible_devices(value: str | None) -> list[CudaVisible]:
    """Return the devices that are visible to CUDA, in CUDA's order; none without NVML."""
    if value is not None and not value.strip():
        return []
    order = os.environ.get('CUDA_DEVICE_ORDER')
    try:
        machine = _Machine()
    except libnvml.NVMLError:
        return []

    def is_in_cuda_order() -> bool:
        return machine.is_complete and (order == 'PCI_BUS_ID' or machine.is_uniform())

    try:
        return visible_rules.select(value, machine.gpus, is_in_cuda_order=is_in_cuda_order)
    except visible_rules.OnlyCudaKnowsError:
        from nvitop.api.device import visible_by_cuda

        uuids = visible_by_cuda.enumerated_uuids(value, order, machine.gpus)
    if uuids is not None:
        found = [machine.find(uuid) for uuid in uuids]
        known = [device for device in found if device is not None]
        if len(known) == len(found):
            return known
    return visible_rules.select(value, machine.gpus, is_in_cuda_order=is_in_cuda_order, guess=True)


class _Machine:
    """The current GPUs of this host, in PCI order."""

    def __init__(self) -> None:
        self._handles: dict[int, Any] = {}
        gpus = []
        count = libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False)
        for index in range(count):
            gpu = self._read(index)
            if gpu is not None:
                gpus.append(gpu)
        self.gpus = tuple(sorted(gpus, key=lambda gpu: gpu.bus_id))
        #: Whether NVML identified all of them.
        self.is_complete = len(gpus) == count

    def _read(self, index: int) -> VisibleGpu | None:
        handle = libnvml.nvmlQuery('nvmlDeviceGetHandleByIndex', index, default=None)
        if handle is None:
            return None
        uuid = libnvml.nvmlQuery('nvmlDeviceGetUUID', handle)
        pci = libnvml.nvmlQuery('nvmlDeviceGetPciInfo', handle)
        if uuid is NA or pci is NA:
            return None
        self._handles[index] = handle
        mode = _query('nvmlDeviceGetMigMode', handle)
        enabled = mode is not NA and bool(mode[0])
        migs = tuple(_migs(handle, index, uuid)) if enabled else ()
        return VisibleGpu(index, uuid, (pci.domain, pci.bus, pci.device), enabled, migs)

    def is_uniform(self) -> bool:
        """Return whether NVML reports no difference that could make one GPU faster."""
        first, *others = self._handles.values() or (None,)
        for question, *args in _SPEED_QUERIES if others else ():
            answer = _comparable(_query(question, first, *args))
            if any(_comparable(_query(question, other, *args)) != answer for other in others):
                return False
        return True

    def find(self, uuid: str) -> CudaVisible | None:
        """Return the device with this UUID of CUDA."""
        for gpu in self.gpus:
            for mig in gpu.migs:
                if digits(mig.uuid) == uuid:
                    return mig
            if digits(gpu.uuid) == uuid:
                # Drivers before R470 return the UUID of the GPU for a MIG device.
                return gpu.migs[0] if gpu.migs else gpu
        return None


def _query(function: str, *args: Any) -> Any:
    return libnvml.nvmlQuery(function, *args, ignore_function_not_found=True)


def _comparable(answer: Any) -> Any:
    """Return the part of an answer that is equal for GPUs of the same model."""
    if hasattr(answer, 'pciDeviceId'):
        return answer.pciDeviceId, answer.pciSubSystemId
    return getattr(answer, 'total', answer)


def _migs(handle: Any, gpu_index: int, gpu_uuid: str) -> Iterator[VisibleMig]:
    """Yield the MIG devices of a GPU."""
    count = _query('nvmlDeviceGetMaxMigDeviceCount', handle)
    for index, mig in mig_handles(handle, count or 0):
        uuid = _query('nvmlDeviceGetUUID', mig)
        instances = [
            _query(function, mig)
            for function in ('nvmlDeviceGetGpuInstanceId', 'nvmlDeviceGetComputeInstanceId')
        ]
        if uuid is not NA and NA not in instances:
            yield VisibleMig((gpu_index, index), uuid, gpu_uuid, *instances)
