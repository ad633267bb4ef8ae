# SPDX-License-Identifier: Apache-2.0
"""Which devices CUDA programs see: ``CUDA_VISIBLE_DEVICES``, read from what NVML says.

The rules themselves are in :mod:`~nvitop.api.device.visible_rules`. What only the CUDA driver can
decide is left to it, in :mod:`~nvitop.api.device.visible_by_cuda`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar, cast

from nvitop.api import libnvml
from nvitop.api.device import visible_rules
from nvitop.api.device.base import DeviceBase
from nvitop.api.device.visible_rules import VisibleGpu, VisibleMig, digits
from nvitop.api.utils import NA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nvitop.api.device.cuda import CudaDevice
    from nvitop.api.device.visible_rules import CudaVisible


class _FromEnvironment(str):
    """Stands for the variable of this process: the argument was omitted."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "os.environ.get('CUDA_VISIBLE_DEVICES')"


FROM_ENVIRONMENT = _FromEnvironment()

#: What makes a GPU faster than another in CUDA's eyes, or might. Cheap and telling ones first.
_LIKENESS: tuple[tuple[Any, ...], ...] = (
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


def parse_cuda_visible_devices(
    cuda_visible_devices: str | None = FROM_ENVIRONMENT,
) -> list[int] | list[tuple[int, int]]:
    """The NVML indices of the devices that CUDA programs see, in the order of their CUDA indices.

    A GPU is its index, a MIG device the pair (index of its GPU, index on it). The rules are CUDA's:

    - not set: all GPUs; ``''``: none;
    - a comma-separated list of indices (``'1,0'``), of UUIDs of GPUs (``'GPU-18ef14e9,…'``) or of
      MIG devices (``'MIG-…'`` or ``'MIG-GPU-<uuid>/<gpu instance>/<compute instance>'``), all
      three short, if only one device begins like that;
    - the list ends at the first that is not valid: out of range, negative, unknown, ambiguous, or
      not of the same kind as the first;
    - with one device named twice there are none;
    - a GPU in MIG mode stands for its first MIG device; with a MIG device in the list, that is the
      only device.

    Indices count the GPUs in the order of ``CUDA_DEVICE_ORDER``: with ``PCI_BUS_ID`` by bus id.
    Otherwise CUDA puts the fastest first, and only says which that is: GPUs that NVML cannot tell
    apart (name, PCI device, memory, cores, clocks, modes) are taken as equally fast and in the order
    of their bus ids. The CUDA driver is asked in a helper process, once, where they are not alike,
    where a GPU is lost, and for lists of which nothing is said (``'gpu-18EF14E9'``, a MIG device
    behind a GPU). Where it gives no answer either, GPUs are counted by bus id.

    >>> parse_cuda_visible_devices('2,0')
    [2, 0]

    Args:
        cuda_visible_devices: The value; ``None``: as if not set. Omitted: the environment variable
            as it is now.

    Returns:
        The indices; ``[]`` where NVML cannot be used.
    """
    indices = [device.nvml_index for device in visible_devices(cuda_visible_devices)]
    return cast('list[int] | list[tuple[int, int]]', indices)


def normalize_cuda_visible_devices(cuda_visible_devices: str | None = FROM_ENVIRONMENT) -> str:
    """The full UUIDs of the devices that CUDA programs see, joined with commas.

    That is the same selection without short forms and independent of ``CUDA_DEVICE_ORDER``. The
    rules and the argument are those of :func:`parse_cuda_visible_devices`.

    >>> normalize_cuda_visible_devices('0')
    'GPU-18ef14e9-dec6-1d3e-1284-3010c6ce98b1'
    """
    return ','.join(device.uuid for device in visible_devices(cuda_visible_devices))


class VisibilityMixin(DeviceBase):
    """How CUDA programs see a device, and all devices."""

    #: The class of devices by CUDA index: ``Device.cuda(0)`` is ``CudaDevice(0)``.
    cuda: ClassVar[type[CudaDevice]]

    parse_cuda_visible_devices = staticmethod(parse_cuda_visible_devices)
    normalize_cuda_visible_devices = staticmethod(normalize_cuda_visible_devices)

    @property
    def cuda_index(self) -> int:
        """Index in CUDA programs that are started now, see :func:`parse_cuda_visible_devices`.

        Raises:
            RuntimeError: CUDA programs do not see the device: it is not in
                ``CUDA_VISIBLE_DEVICES``, or not the MIG device that CUDA chooses.
        """
        indices = parse_cuda_visible_devices()
        for cuda_index, nvml_index in enumerate(indices):
            if nvml_index == self._index:
                return cuda_index
        raise RuntimeError(
            f'CUDA error: device {self._index} is not visible, {what_is_visible(len(indices))}'
        )

    @staticmethod
    def from_cuda_visible_devices() -> list[CudaDevice]:
        """All devices that CUDA programs see, in their order.

        These are those of :func:`parse_cuda_visible_devices`; none where NVML cannot be used.
        """
        from nvitop.api.device.cuda import CudaDevice

        return CudaDevice.all()

    @staticmethod
    def from_cuda_indices(cuda_indices: int | Iterable[int] | None = None) -> list[CudaDevice]:
        """Devices of the given CUDA indices, in their order; without indices all that CUDA sees.

        Raises:
            RuntimeError: CUDA does not see that many devices.
        """
        from nvitop.api.device.cuda import CudaDevice

        return CudaDevice.from_indices(cuda_indices)

    @staticmethod
    def cuda_runtime_version() -> str:
        """Version of the CUDA runtime that programs find here: ``'12.9'``; ``NA`` where there is none.

        CUDA: ``cudaRuntimeGetVersion``
        """
        from nvitop.api import libcudart

        try:
            return libcudart.cudaRuntimeGetVersion()
        except libcudart.cudaError:
            return NA

    cudart_version = cuda_runtime_version


def what_is_visible(count: int) -> str:
    """How many devices CUDA sees and why, in words, for errors."""
    value = os.environ.get('CUDA_VISIBLE_DEVICES')
    reason = (
        'CUDA_VISIBLE_DEVICES is not set' if value is None else f'CUDA_VISIBLE_DEVICES={value!r}'
    )
    return f'CUDA sees {count} {"device" if count == 1 else "devices"} ({reason})'


def visible_devices(value: str | None = FROM_ENVIRONMENT) -> list[CudaVisible]:
    """The devices that CUDA programs see, in CUDA's order; none where NVML cannot be used."""
    if isinstance(value, _FromEnvironment):
        value = os.environ.get('CUDA_VISIBLE_DEVICES')
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
    """The GPUs of this machine now, in PCI order."""

    def __init__(self) -> None:
        self._handles: dict[int, Any] = {}
        gpus = []
        count = libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False)
        for index in range(count):
            gpu = self._read(index)
            if gpu is not None:
                gpus.append(gpu)
        self.gpus = tuple(sorted(gpus, key=lambda gpu: gpu.bus_id))
        #: Whether NVML could identify all of them.
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
        """Whether NVML knows no difference between the GPUs that could make one faster."""
        first, *others = self._handles.values() or (None,)
        for question, *args in _LIKENESS if others else ():
            answer = _comparable(_query(question, first, *args))
            if any(_comparable(_query(question, other, *args)) != answer for other in others):
                return False
        return True

    def find(self, uuid: str) -> CudaVisible | None:
        """The device with the UUID that CUDA calls ``uuid``."""
        for gpu in self.gpus:
            for mig in gpu.migs:
                if digits(mig.uuid) == uuid:
                    return mig
            if digits(gpu.uuid) == uuid:
                # Drivers before R470 give the UUID of the GPU for a MIG device.
                return gpu.migs[0] if gpu.migs else gpu
        return None


def _query(function: str, *args: Any) -> Any:
    return libnvml.nvmlQuery(function, *args, ignore_function_not_found=True)


def _comparable(answer: Any) -> Any:
    """What two GPUs of a kind have in common in an answer."""
    if hasattr(answer, 'pciDeviceId'):
        return answer.pciDeviceId, answer.pciSubSystemId
    return getattr(answer, 'total', answer)


def _migs(handle: Any, gpu_index: int, gpu_uuid: str) -> Iterator[VisibleMig]:
    """The MIG devices of a GPU; their indices may have gaps."""
    count = _query('nvmlDeviceGetMaxMigDeviceCount', handle)
    for index in range(count or 0):
        mig = _query('nvmlDeviceGetMigDeviceHandleByIndex', handle, index)
        if mig is NA:
            continue
        uuid = _query('nvmlDeviceGetUUID', mig)
        instances = [
            _query(function, mig)
            for function in ('nvmlDeviceGetGpuInstanceId', 'nvmlDeviceGetComputeInstanceId')
        ]
        if uuid is not NA and NA not in instances:
            yield VisibleMig((gpu_index, index), uuid, gpu_uuid, *instances)
