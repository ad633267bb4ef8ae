# SPDX-License-Identifier: Apache-2.0
"""A MIG device: a slice of a GPU with memory and engines of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Sequence

from nvitop.api import libnvml
from nvitop.api.device.base import DeviceBase
from nvitop.api.device.device import Device, find, only_one, uuid_pattern
from nvitop.api.device.physical import PhysicalDevice
from nvitop.api.libnvml._errors import is_unreachable
from nvitop.api.utils import NA, NaType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeGuard, TypeVar

    M = TypeVar('M', bound='MigDevice')


class MigDevice(Device):
    """A MIG device. See :class:`Device`.

    The driver tells less of it than of a GPU: memory, processes and, from Hopper on, performance
    counters. The rest is ``NA``; what belongs to the whole GPU can be asked of :attr:`parent`.

    Args:
        index: (GPU index, MIG index), or UUID.
        uuid: ``'MIG-…'``, or ``'MIG-GPU-…/3/0'`` with the ids of GPU and compute instance.

    Raises:
        TypeError: Not just one argument, or one of the wrong type.
        NVMLError: There is no such device, or NVML cannot be initialised.
    """

    SNAPSHOT_KEYS: ClassVar[Sequence[str]] = [
        *Device.SNAPSHOT_KEYS,
        'gpu_instance_id',
        'compute_instance_id',
    ]

    def __init__(
        self,
        index: int | tuple[int, int] | str | None = None,
        *,
        uuid: str | None = None,
        bus_id: str | None = None,
    ) -> None:
        """Find the MIG device: by its index on a GPU, or by UUID."""
        index, uuid = only_one(index, uuid, bus_id)
        if uuid is not None:
            self._begin(*_find_by_uuid(uuid))
        elif _is_pair(index):
            self._begin(*_find_by_index(*index))
        else:
            raise TypeError(f'a MIG device is made of a pair of numbers or a UUID, not {index!r}')

    def _begin(self, parent: PhysicalDevice, mig_index: int, handle: Any, loss: Any = None) -> None:
        self._parent = parent
        DeviceBase.__init__(self, (parent.physical_index, mig_index), handle, loss)
        # Some questions are put to the GPU: their errors are reasons here as well.
        self._failure = parent._failure

    if TYPE_CHECKING:

        @property
        def index(self) -> tuple[int, int]:
            """(GPU index, MIG index)."""

    @property
    def mig_index(self) -> int:
        """Index on the GPU."""
        return self.index[1]

    @property
    def parent(self) -> PhysicalDevice:
        """The GPU."""
        return self._parent

    def is_mig_device(self) -> bool:
        """Whether this is a MIG device: yes."""
        return True

    def bus_id(self) -> str:
        """PCI bus id of the GPU, see :meth:`PhysicalDevice.bus_id`."""
        return self.parent.bus_id()

    def cuda_compute_capability(self) -> tuple[int, int] | NaType:
        """CUDA compute capability of the GPU, see :meth:`PhysicalDevice.cuda_compute_capability`."""
        return self.parent.cuda_compute_capability()

    def max_mig_device_count(self) -> int:
        """How many MIG devices a MIG device can have: 0."""
        return 0

    def gpu_instance_id(self) -> int | NaType:
        """Id of the GPU instance: the slice of memory and engines.

        NVML: ``nvmlDeviceGetGpuInstanceId`` · nvidia-smi: GI ID
        """
        return self._int_fact('nvmlDeviceGetGpuInstanceId')

    def compute_instance_id(self) -> int | NaType:
        """Id of the compute instance: the part of the GPU instance's engines.

        NVML: ``nvmlDeviceGetComputeInstanceId`` · nvidia-smi: CI ID
        """
        return self._int_fact('nvmlDeviceGetComputeInstanceId')

    def mig_profile(self) -> str:
        """Profile, the last word of the name: ``'3g.40gb'``, ``'1c.3g.40gb'``.

        NVML: ``nvmlDeviceGetName`` · nvidia-smi -L
        """
        _, is_there, profile = self.name().rpartition('MIG ')
        return profile if is_there and profile else NA

    def is_gpm_supported(self) -> bool:
        """Whether the GPU has performance counters, see :meth:`PhysicalDevice.is_gpm_supported`."""
        return self._handle is not None and self.parent.is_gpm_supported()

    def _fill_gpm_sample(self, pointer: Any) -> None:
        libnvml.nvmlQuery(
            'nvmlGpmMigSampleGet',
            self.parent.handle,
            self.gpu_instance_id(),
            pointer,
            ignore_errors=False,
        )

    @classmethod
    def of_parent(cls: type[M], parent: PhysicalDevice) -> list[M]:
        """The MIG devices of a GPU, in the order of their indices, which may have gaps."""
        devices: list[M] = []
        for mig_index, handle in _handles(parent):
            device: M = object.__new__(cls)
            device._begin(parent, mig_index, handle)
            devices.append(device)
        return devices

    @classmethod
    def count(cls) -> int:
        """Number of MIG devices of all GPUs.

        Raises:
            NVMLError: NVML cannot be initialised.
        """
        PhysicalDevice.count()  # raises; a list of devices is just empty
        return sum(len(parent.mig_devices()) for parent in PhysicalDevice.all())

    @classmethod
    def from_indices(
        cls: type[M], indices: int | Iterable[int | tuple[int, int]] | None = None
    ) -> list[M]:
        """MIG devices of the given pairs (GPU index, MIG index), in their order; one pair will do.

        Without indices those of all GPUs; none where NVML cannot be initialised.

        Raises:
            NVMLError: One of the indices given does not exist.
        """
        if indices is None:
            parents = PhysicalDevice.all()
            return [d for p in parents if p.is_mig_mode_enabled() for d in cls.of_parent(p)]
        pairs = [indices] if isinstance(indices, int) or _is_pair(indices) else indices
        return [cls(pair) for pair in pairs]


def _is_pair(value: object) -> TypeGuard[tuple[int, int]]:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(i, int) for i in value)


def _handles(parent: PhysicalDevice) -> Iterator[tuple[int, Any]]:
    """Index and handle of each MIG device of a GPU."""
    for mig_index in range(parent.max_mig_device_count()):
        function = 'nvmlDeviceGetMigDeviceHandleByIndex'
        handle = libnvml.nvmlQuery(function, parent.handle, mig_index, default=None)
        if handle is not None:
            yield mig_index, handle


def _find_by_index(physical_index: int, mig_index: int) -> tuple[PhysicalDevice, int, Any, Any]:
    parent = PhysicalDevice(physical_index)
    if parent._loss is not None:
        return parent, mig_index, None, parent._loss
    try:
        handle = find('nvmlDeviceGetMigDeviceHandleByIndex', parent.handle, mig_index)
    except libnvml.NVMLError as error:
        if not is_unreachable(error):
            raise
        return parent, mig_index, None, error.with_traceback(None)
    return parent, mig_index, handle, None


def _find_by_uuid(uuid: str) -> tuple[PhysicalDevice, int, Any, Any]:
    match = uuid_pattern().match(uuid)
    if match is not None and match['parent']:
        # Drivers since R470 do not know this form any more.
        parent = PhysicalDevice(uuid=match['parent'])
        ids = int(match['gpu_instance']), int(match['compute_instance'])
        for device in MigDevice.of_parent(parent):
            if (device.gpu_instance_id(), device.compute_instance_id()) == ids:
                return parent, device.mig_index, device.handle, None
        raise libnvml.NVMLError(libnvml.NVML_ERROR_NOT_FOUND)
    handle = find('nvmlDeviceGetHandleByUUID', uuid.encode())
    parent_handle = find('nvmlDeviceGetDeviceHandleFromMigDeviceHandle', handle)
    parent = PhysicalDevice(int(find('nvmlDeviceGetIndex', parent_handle)))
    for device in MigDevice.of_parent(parent):
        if device.uuid() == uuid:
            return parent, device.mig_index, handle, None
    raise libnvml.NVMLError(libnvml.NVML_ERROR_NOT_FOUND)
