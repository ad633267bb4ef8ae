# SPDX-License-Identifier: Apache-2.0
"""The devices that are visible to CUDA programs (``CUDA_VISIBLE_DEVICES``).

The rules are in :mod:`~nvitop.api.device.visible_rules`. If only the CUDA driver can decide,
:mod:`~nvitop.api.device.visible_by_cuda` asks it.
"""

from __future__ import annotations

import os

from nvitop.api import libnvml
from nvitop.api.device import visible_rules
from nvitop.api.device.base import DeviceBase
from nvitop.api.device.handles import mig_handles
from nvitop.api.device.visible_rules import VisibleGpu, VisibleMig, digits
from nvitop.api.utils import NA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, ClassVar

    from nvitop.api.device.visible_rules import CudaVisible


class _FromEnvironment(str):
    """The default argument: the environment variable of this process."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "os.environ.get('CUDA_VISIBLE_DEVICES')"


FROM_ENVIRONMENT = _FromEnvironment()

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


def parse_cuda_visible_devices(
    cuda_visible_devices: str | None = FROM_ENVIRONMENT,
) -> list[int] | list[tuple[int, int]]:
    """Return the NVML indices of the devices that are visible to CUDA, in the order of CUDA indices.

    A GPU is represented by its index, a MIG device by (GPU index, MIG index). The rules are CUDA's:

    - not set: all GPUs; ``''``: none;
    - a comma-separated list of indices (``'1,0'``), of UUIDs of GPUs (``'GPU-18ef14e9,…'``) or of
      MIG devices (``'MIG-…'`` or ``'MIG-GPU-<uuid>/<gpu instance>/<compute instance>'``). UUIDs
      can be abbreviated if only one device matches;
    - the list ends at the first invalid item: out of range, negative, unknown, ambiguous, or of
      another kind than the first;
    - if a device is listed twice, none is visible;
    - a GPU in MIG mode means its first MIG device; a list with a MIG device makes only that one
      visible.

    Indices count the GPUs in the order of ``CUDA_DEVICE_ORDER``: with ``PCI_BUS_ID`` by bus ID,
    otherwise with the fastest first, as decided by the CUDA driver. GPUs that are equal in NVML
    (name, PCI device, memory, cores, clocks, modes) are taken as equally fast and ordered by bus ID.
    The CUDA driver is queried, once, in a helper process, if the GPUs differ, if a GPU is lost, and
    for lists that NVIDIA's documentation does not cover (``'gpu-18EF14E9'``, a MIG device after a
    GPU). If the CUDA driver does not respond, GPUs are counted by bus ID.

    >>> parse_cuda_visible_devices('2,0')
    [2, 0]

    Args:
        cuda_visible_devices: The value; ``None`` means not set. By default the current value of the
            environment variable.

    Returns:
        The indices; ``[]`` if NVML cannot be initialized.
    """
    indices: list[Any] = [device.nvml_index for device in visible_devices(cuda_visible_devices)]
    return indices


def normalize_cuda_visible_devices(cuda_visible_devices: str | None = FROM_ENVIRONMENT) -> str:
    """Return the full UUIDs of the devices that are visible to CUDA, separated by commas.

    The selection is the same, but without abbreviations and independent of ``CUDA_DEVICE_ORDER``.
    The rules and the argument are those of :func:`parse_cuda_visible_devices`.

    >>> normalize_cuda_visible_devices('0')
    'GPU-18ef14e9-dec6-1d3e-1284-3010c6ce98b1'
    """
    return ','.join(device.uuid for device in visible_devices(cuda_visible_devices))


class VisibilityMixin(DeviceBase):
    """Devices as CUDA programs number them."""

    #: The class :class:`CudaDevice`: ``Device.cuda(0)`` is ``CudaDevice(0)``.
    cuda: ClassVar[Any]

    parse_cuda_visible_devices = staticmethod(parse_cuda_visible_devices)
    normalize_cuda_visible_devices = staticmethod(normalize_cuda_visible_devices)

    @property
    def cuda_index(self) -> int:
        """Index in CUDA programs started now, see :func:`parse_cuda_visible_devices`.

        Raises:
            RuntimeError: The device is not visible to CUDA: it is not in ``CUDA_VISIBLE_DEVICES``,
                or not the MIG device that CUDA chooses.
        """
        indices = parse_cuda_visible_devices()
        for cuda_index, nvml_index in enumerate(indices):
            if nvml_index == self._index:
                return cuda_index
        raise RuntimeError(
            f'CUDA error: device {self._index} is not visible, {describe_visible(len(indices))}'
        )

    @classmethod
    def from_cuda_visible_devices(cls) -> list[Any]:
        """All :class:`CudaDevice` objects, in the order of CUDA indices.

        They are those of :func:`parse_cuda_visible_devices`. The list is empty if NVML cannot be
        initialized.
        """
        devices: list[Any] = cls.cuda.all()
        return devices

    @classmethod
    def from_cuda_indices(cls, cuda_indices: int | Iterable[int] | None = None) -> list[Any]:
        """:class:`CudaDevice` objects of the given CUDA indices, in their order; by default all.

        Raises:
            RuntimeError: Fewer devices are visible to CUDA.
        """
        devices: list[Any] = cls.cuda.from_indices(cuda_indices)
        return devices


def describe_visible(count: int) -> str:
    """Return how many devices are visible to CUDA, and why, for error messages."""
    try:
        libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False)
    except libnvml.NVMLError as error:
        reason = f'NVML: {error}'
    else:
        value = os.environ.get('CUDA_VISIBLE_DEVICES')
        is_set = value is not None
        reason = f'CUDA_VISIBLE_DEVICES={value!r}' if is_set else 'CUDA_VISIBLE_DEVICES is not set'
    return f'CUDA sees {count} {"device" if count == 1 else "devices"} ({reason})'


def visible_devices(value: str | None = FROM_ENVIRONMENT) -> list[CudaVisible]:
    """Return the devices that are visible to CUDA, in CUDA's order; none without NVML."""
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
