# SPDX-License-Identifier: Apache-2.0
"""Devices: all mixins together, how devices are found, compared and shown, and their snapshots."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, ClassVar, Iterable, Sequence, TypeVar

from nvitop.api import libnvml
from nvitop.api.device.base import DeviceBase
from nvitop.api.device.handles import (
    UUID_PATTERN,
    UnknownDeviceError,
    find_gpu,
    find_handle,
    find_mig_by_uuid,
    index_or_uuid,
    is_mig_device_uuid,
    is_mig_index,
    is_pair,
    mig_handles,
    naming,
)
from nvitop.api.device.health import HealthMixin
from nvitop.api.device.identity import DriverMixin, IdentityMixin, ModeMixin
from nvitop.api.device.interconnect import FabricMixin, InterconnectMixin
from nvitop.api.device.memory import MemoryMixin
from nvitop.api.device.processes import ProcessMixin
from nvitop.api.device.sensors import ClockMixin, PowerMixin
from nvitop.api.device.utilization import GpmMixin, UtilizationMixin
from nvitop.api.device.visible import VisibilityMixin, describe_visible, parse_cuda_visible_devices
from nvitop.api.utils import Snapshot, snapshot_of
from nvitop.basics.metrics import METRICS
from nvitop.basics.units import NA, NaType

D = TypeVar('D', bound='Device')
M = TypeVar('M', bound='MigDevice')
C = TypeVar('C', bound='CudaDevice')


class Device(
    IdentityMixin,
    DriverMixin,
    ProcessMixin,
    MemoryMixin,
    UtilizationMixin,
    ClockMixin,
    PowerMixin,
    HealthMixin,
    InterconnectMixin,
    ModeMixin,
    GpmMixin,
    VisibilityMixin,
    FabricMixin,
):
    """A GPU, or a MIG device: a slice of a GPU that is a device of its own.

    ``Device(…)`` creates a :class:`PhysicalDevice` or a :class:`MigDevice`, depending on its
    argument:

    >>> Device(0)                       # the first GPU, in the order of PCI bus IDs
    >>> Device((1, 0))                  # the first MIG device of the second GPU, also '1:0'
    >>> Device(Device(0).uuid())        # by UUID, of a GPU or of a MIG device
    >>> Device(bus_id='00000000:1B:00.0')

    Getters query the driver when they are called. They return ``NA`` for values that the driver does
    not report, and never raise because of the driver; :meth:`reading` has the reason. Within
    :meth:`oneshot` each driver call is made once. Units: memory in bytes, utilization in percent (0
    to 100), clocks in MHz, power in mW, temperature in °C, throughput in KiB/s; getters ending in
    ``_human`` return text with a unit.

    Every other device function of NVML is a method as well: ``device.board_id()`` calls
    ``nvmlDeviceGetBoardId(handle)``. The name is that in snake_case, with the version as a suffix
    (``pci_info_v3``).

    Devices are equal if index and UUID (if known) are equal, are hashable, and are pickled by index; a
    :class:`CudaDevice` equals CUDA devices only. A GPU that is lost when its device object is created
    has no handle and the name ``'ERROR: GPU is Lost'``.

    Args:
        index: NVML index, (GPU index, MIG index), or UUID.
        uuid: UUID of a GPU or of a MIG device.
        bus_id: PCI bus ID of a GPU.

    Raises:
        TypeError: Not exactly one argument, or an argument of the wrong type.
        NVMLError: There is no such device, or NVML cannot be initialized.
    """

    #: Numbering of :attr:`index`. A CUDA device does not equal the NVML device of the same GPU.
    _numbering: ClassVar[str] = 'NVML'
    #: Remembered: a device stays equal to others when its GPU is lost.
    _known_uuid: str | None = None

    UUID_PATTERN: ClassVar[re.Pattern[str]] = UUID_PATTERN

    #: The class of CUDA devices: ``Device.cuda(0)`` is ``CudaDevice(0)``.
    cuda: ClassVar[type[CudaDevice]]

    #: Getters of :meth:`as_snapshot`, in addition to ``index`` and ``physical_index``.
    SNAPSHOT_KEYS: ClassVar[Sequence[str]] = [
        *(metric.method for metric in METRICS if metric.snapshot),
        'memory_info',
        'memory_used_human',
        'memory_free_human',
        'memory_total_human',
        'memory_usage',
        'utilization_rates',
        'clock_infos',
        'max_clock_infos',
        'clock_speed_infos',
        'power_status',
        'pcie_throughput',
        'pcie_tx_throughput_human',
        'pcie_rx_throughput_human',
    ]

    def __new__(
        cls,
        index: int | tuple[int, int] | str | None = None,
        *,
        uuid: str | None = None,
        bus_id: str | None = None,
    ) -> Device:
        """Choose the class by the argument."""
        if cls is not Device:
            return super().__new__(cls)
        name = index if isinstance(index, str) else uuid
        is_mig = isinstance(index, tuple) or is_mig_index(index) or is_mig_device_uuid(name)
        return super().__new__(MigDevice if is_mig else PhysicalDevice)

    def __init__(
        self,
        index: int | tuple[int, int] | str | None = None,
        *,
        uuid: str | None = None,
        bus_id: str | None = None,
    ) -> None:
        """Find the GPU by index, UUID or PCI bus ID."""
        index, uuid = index_or_uuid(index, uuid, bus_id)
        if index is not None and (isinstance(index, bool) or not isinstance(index, int)):
            raise TypeError(f'the index of a GPU must be an int, not {index!r}')
        if index is not None:
            handle, loss = find_gpu(index)
        elif uuid is not None:
            with naming(uuid):
                handle, loss = find_handle('nvmlDeviceGetHandleByUUID', uuid.encode())
        else:
            with naming(bus_id):
                handle, loss = find_handle('nvmlDeviceGetHandleByPciBusId', str(bus_id).encode())
        known: Any = NA if index is None else index
        if index is None and loss is None:
            known, loss = find_handle('nvmlDeviceGetIndex', handle)
        super().__init__(NA if known is None else known, None if loss else handle, loss)
        if loss and uuid is not None and UUID_PATTERN.match(uuid):
            self._known_uuid = uuid

    # Identity

    @property
    def index(self) -> int | tuple[int, int]:
        """NVML index, in the order of PCI bus IDs; (GPU index, MIG index) of MIG devices.

        ``NA`` for a GPU that was already lost when its device was created by UUID or bus ID.
        """
        index: int | tuple[int, int] = self._index
        return index

    @property
    def nvml_index(self) -> int | tuple[int, int]:
        """NVML index, equal to :attr:`index`, in contrast to :attr:`cuda_index`."""
        return self.index

    @property
    def physical_index(self) -> int:
        """NVML index of the GPU; for a MIG device that of its parent."""
        index: int = self._index[0] if isinstance(self._index, tuple) else self._index
        return index

    @property
    def handle(self) -> Any:
        """Driver handle for functions of :mod:`nvitop.libnvml`; ``None`` for a lost GPU."""
        return self._handle

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}(index={self.index}, name={self.name()!r}, '
            f'total_memory={self.memory_total_human()})'
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return NotImplemented
        if (self._numbering, self._index) != (other._numbering, other._index):
            return False
        uuid, other_uuid = self._remembered_uuid(), other._remembered_uuid()
        if uuid is NA or other_uuid is NA:  # a lost GPU has only its index
            return self is other or self._index is not NA
        return uuid == other_uuid

    def __hash__(self) -> int:
        # Without the UUID, which needs the driver and may become known later.
        return hash((self._numbering, self._index))

    def _remembered_uuid(self) -> str:
        uuid = self._known_uuid or self.uuid()
        if uuid is not NA:
            self._known_uuid = uuid
        return uuid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._index if self._index is not NA else self.uuid(),)

    # MIG devices

    def mig_device(self, mig_index: int) -> MigDevice:
        """MIG device of the GPU with this index.

        Raises:
            NVMLError: There is no such device: MIG devices and CUDA devices have none.
        """
        raise UnknownDeviceError(f'{self!r} has no MIG devices, so none with index {mig_index}')

    def mig_devices(self) -> list[MigDevice]:
        """MIG devices of the GPU; an empty list for a MIG device."""
        return []

    def is_leaf_device(self) -> bool:
        """Whether processes run on this device: a GPU outside of MIG mode, or a MIG device."""
        return True

    def to_leaf_devices(self) -> list[Device]:
        """MIG devices of a GPU in MIG mode; otherwise the device itself."""
        return [self]

    # Snapshots

    def as_snapshot(self) -> Snapshot:
        """Values of all :attr:`SNAPSHOT_KEYS` at one moment, as attributes and items.

        Each driver call is made once. Other attributes are read from the device on use.
        """
        with self.oneshot():
            values = {key: getattr(self, key)() for key in self.SNAPSHOT_KEYS}
        return snapshot_of(
            self, {'index': self.index, 'physical_index': self.physical_index, **values}
        )

    # All devices

    @classmethod
    def is_available(cls) -> bool:
        """Whether there is a device of this class. Never raises."""
        try:
            return cls.count() > 0
        except (libnvml.NVMLError, AttributeError):
            return False

    @classmethod
    def count(cls) -> int:
        """Number of GPUs that NVML reports.

        NVML: ``nvmlDeviceGetCount`` · nvidia-smi: ``count``

        Raises:
            NVMLError: NVML cannot be initialized.
        """
        return int(libnvml.nvmlQuery('nvmlDeviceGetCount', default=0))

    @classmethod
    def all(cls: type[D]) -> list[D]:
        """All devices of this class, as returned by :meth:`from_indices`.

        This wakes GPUs that sleep (runtime D3 on laptops), which takes a second or more each;
        :func:`nvitop.sampling.take_sample` does not. See :meth:`power_management_state`.
        """
        return cls.from_indices()

    @classmethod
    def from_indices(
        cls: type[D], indices: int | Iterable[int | tuple[int, int]] | None = None
    ) -> list[D]:
        """Devices with the given NVML indices, in their order.

        Without indices, all GPUs except for those that cannot be used (no permission, no power). The
        list is empty if NVML cannot be initialized.

        Raises:
            NVMLError: A given index does not exist, or the GPU cannot be used.
        """
        if indices is None:
            devices = []
            with contextlib.suppress(libnvml.NVMLError):
                for index in range(cls.count()):
                    with contextlib.suppress(libnvml.NVMLError):
                        devices.append(cls(index))
            return devices
        return [cls(index) for index in ([indices] if isinstance(indices, int) else indices)]

    @classmethod
    def from_cuda_visible_devices(cls) -> list[CudaDevice]:
        """All CUDA devices, in the order of CUDA indices, see :func:`parse_cuda_visible_devices`.

        The list is empty if NVML cannot be initialized.
        """
        return CudaDevice.all()

    @classmethod
    def from_cuda_indices(cls, cuda_indices: int | Iterable[int] | None = None) -> list[CudaDevice]:
        """CUDA devices with the given CUDA indices, in their order; by default all.

        Raises:
            RuntimeError: Fewer devices are visible to CUDA.
        """
        return CudaDevice.from_indices(cuda_indices)


class PhysicalDevice(Device):
    """A GPU, as counted by nvidia-smi. See :class:`Device`."""

    if TYPE_CHECKING:

        @property
        def index(self) -> int:
            """NVML index."""

    def mig_device(self, mig_index: int) -> MigDevice:
        """MIG device of the GPU with this index.

        NVML: ``nvmlDeviceGetMigDeviceHandleByIndex``

        Raises:
            NVMLError: There is no such device, or the GPU is not in MIG mode.
        """
        return MigDevice((self.index, mig_index))

    def mig_devices(self) -> list[MigDevice]:
        """Current MIG devices of the GPU, in the order of their indices.

        Indices may have gaps if instances have been destroyed.
        """
        return MigDevice.of_parent(self) if self.is_mig_mode_enabled() else []

    def is_leaf_device(self) -> bool:
        """Whether the GPU is not in MIG mode."""
        return not self.is_mig_mode_enabled()

    def to_leaf_devices(self) -> list[Device]:
        """MIG devices of a GPU in MIG mode, possibly none; otherwise the GPU itself."""
        return list(self.mig_devices()) if self.is_mig_mode_enabled() else [self]


class MigDevice(Device):
    """A MIG device. See :class:`Device`.

    The driver reports less for it than for a GPU: memory, processes and, since Hopper, performance
    counters. Other values are ``NA``; values of the whole GPU are available from :attr:`parent`.

    Args:
        index: (GPU index, MIG index), or UUID.
        uuid: ``'MIG-…'``, or ``'MIG-GPU-…/3/0'`` with the IDs of GPU and compute instance.

    Raises:
        TypeError: Not exactly one argument, or an argument of the wrong type.
        NVMLError: There is no such device, or NVML cannot be initialized.
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
        """Find the MIG device by its index on a GPU, or by UUID."""
        index, uuid = index_or_uuid(index, uuid, bus_id)
        if uuid is not None:
            with naming(uuid):
                physical_index, mig_index, handle = find_mig_by_uuid(uuid)
            self._begin(PhysicalDevice(physical_index), mig_index, handle)
        elif is_pair(index):
            physical_index, mig_index = index
            parent = PhysicalDevice(physical_index)
            if parent._loss is not None:
                self._begin(parent, mig_index, None, parent._loss)
                return
            function = 'nvmlDeviceGetMigDeviceHandleByIndex'
            with naming(index):
                handle_and_loss = find_handle(function, parent.handle, mig_index)
            self._begin(parent, mig_index, *handle_and_loss)
        else:
            raise TypeError(f'a MIG device needs a pair of ints or a UUID, not {index!r}')

    def _begin(self, parent: PhysicalDevice, mig_index: int, handle: Any, loss: Any = None) -> None:
        self._parent = parent
        DeviceBase.__init__(self, (parent.physical_index, mig_index), handle, loss)
        # Some getters query the parent, whose reasons are then those of the MIG device.
        self._missing = parent._missing

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
        """Whether this is a MIG device: always true."""
        return True

    def bus_id(self) -> str:
        """PCI bus ID of the GPU, see :meth:`PhysicalDevice.bus_id`."""
        return self.parent.bus_id()

    def cuda_compute_capability(self) -> tuple[int, int] | NaType:
        """CUDA compute capability of the GPU, see :meth:`PhysicalDevice.cuda_compute_capability`."""
        return self.parent.cuda_compute_capability()

    def max_mig_device_count(self) -> int:
        """Maximum number of MIG devices of a MIG device: 0."""
        return 0

    def nvlink_link_count(self) -> int | NaType:
        """Number of NVLinks of a MIG device: 0."""
        return 0

    def gpu_instance_id(self) -> int | NaType:
        """ID of the GPU instance, the slice of memory and engines. Queried once.

        NVML: ``nvmlDeviceGetGpuInstanceId`` · nvidia-smi: GI ID
        """
        return self._number('nvmlDeviceGetGpuInstanceId', static=True)

    def compute_instance_id(self) -> int | NaType:
        """ID of the compute instance, the part of the GPU instance's engines. Queried once.

        NVML: ``nvmlDeviceGetComputeInstanceId`` · nvidia-smi: CI ID
        """
        return self._number('nvmlDeviceGetComputeInstanceId', static=True)

    def mig_profile(self) -> str:
        """Profile, from the name of the device: ``'3g.40gb'``, ``'1c.3g.40gb'``.

        NVML: ``nvmlDeviceGetName`` · nvidia-smi -L
        """
        _, separator, profile = self.name().rpartition('MIG ')
        return profile if separator and profile else NA

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

    def as_snapshot(self) -> Snapshot:
        """Values as in :meth:`Device.as_snapshot`, and ``mig_index``."""
        snapshot = super().as_snapshot()
        snapshot['mig_index'] = self.mig_index
        return snapshot

    @classmethod
    def of_parent(cls: type[M], parent: PhysicalDevice) -> list[M]:
        """MIG devices of a GPU, in the order of their indices, which may have gaps."""
        devices: list[M] = []
        for mig_index, handle in mig_handles(parent.handle, parent.max_mig_device_count()):
            device: M = object.__new__(cls)
            device._begin(parent, mig_index, handle)
            devices.append(device)
        return devices

    @classmethod
    def count(cls) -> int:
        """Number of MIG devices of all GPUs; 0 if NVML cannot be initialized."""
        return sum(len(parent.mig_devices()) for parent in PhysicalDevice.all())

    @classmethod
    def from_indices(
        cls: type[M], indices: int | Iterable[int | tuple[int, int]] | None = None
    ) -> list[M]:
        """MIG devices with the given pairs (GPU index, MIG index), in their order; or with one pair.

        Without indices, those of all GPUs. The list is empty if NVML cannot be initialized.

        Raises:
            NVMLError: A given index does not exist.
        """
        if indices is None:
            parents = PhysicalDevice.all()
            return [d for p in parents if p.is_mig_mode_enabled() for d in cls.of_parent(p)]
        pairs = [indices] if isinstance(indices, int) or is_pair(indices) else indices
        return [cls(pair) for pair in pairs]


class CudaDevice(Device):
    """A GPU or MIG device that is visible to CUDA programs, by its CUDA index. See :class:`Device`.

    The CUDA index is the one of ``cudaSetDevice`` and frameworks (``cuda:0``). It depends on
    ``CUDA_VISIBLE_DEVICES`` and ``CUDA_DEVICE_ORDER``: by default the fastest GPU comes first, so
    with different GPUs the CUDA index may differ from the index in nvidia-smi. The rules are those
    of :func:`parse_cuda_visible_devices`.

    >>> CudaDevice(0)                   # or Device.cuda(0)
    CudaDevice(cuda_index=0, nvml_index=3, name="NVIDIA H100 80GB HBM3", total_memory=79.65GiB)

    A CUDA device has no MIG devices; it is always a leaf device. A MIG device becomes a
    :class:`CudaMigDevice`.

    Args:
        cuda_index: CUDA index, or UUID.
        nvml_index: NVML index; (GPU index, MIG index) for MIG devices.
        uuid: UUID of a GPU or of a MIG device.

    Raises:
        TypeError: Not exactly one argument, or an argument of the wrong type.
        RuntimeError: The device is not visible to CUDA, or NVML cannot be initialized.
        NVMLError: NVML has no such device.
    """

    _numbering = 'CUDA'
    #: NVML index or UUID that the device was created from.
    _sought: tuple[int | tuple[int, int] | None, str | None]
    #: ``None`` until it is determined; ``NA`` if the device may be invisible to CUDA.
    _cuda_index: int | NaType | None

    def __new__(
        cls,
        cuda_index: int | str | None = None,
        *,
        nvml_index: int | tuple[int, int] | None = None,
        uuid: str | None = None,
    ) -> CudaDevice:
        """Find the NVML index, which decides the class."""
        if isinstance(cuda_index, str) and uuid is None:
            _, uuid = index_or_uuid(cuda_index, None, None)
            cuda_index = None
        if sum(argument is not None for argument in (cuda_index, nvml_index, uuid)) != 1:
            raise TypeError(
                'a CUDA device needs exactly one of cuda_index, nvml_index and uuid, got '
                f'cuda_index={cuda_index!r}, nvml_index={nvml_index!r}, uuid={uuid!r}'
            )
        if cuda_index is not None:
            nvml_index = _nvml_indices([cuda_index])[0]
        is_mig = isinstance(nvml_index, tuple) or is_mig_device_uuid(uuid)
        device: CudaDevice = object.__new__(CudaMigDevice if is_mig and cls is CudaDevice else cls)
        known_index: Any = cuda_index
        device._cuda_index = known_index
        device._sought = nvml_index, uuid
        return device

    def __init__(
        self,
        cuda_index: int | str | None = None,
        *,
        nvml_index: int | tuple[int, int] | None = None,
        uuid: str | None = None,
    ) -> None:
        """Find the device in NVML, and check that it is visible to CUDA."""
        nvml_index, uuid = self._sought
        super().__init__(nvml_index, uuid=uuid)
        if self._cuda_index is None:
            self._cuda_index = super().cuda_index

    @property
    def cuda_index(self) -> int:
        """CUDA index, as given when the device was created, or determined once.

        Raises:
            RuntimeError: The device is not visible to CUDA.
        """
        if not isinstance(self._cuda_index, int):
            self._cuda_index = super().cuda_index
        return self._cuda_index

    def _cuda_index_or_na(self) -> int | str:
        try:
            return self.cuda_index
        except RuntimeError:
            return NA

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}(cuda_index={self._cuda_index_or_na()}, '
            f'nvml_index={self.nvml_index}, name="{self.name()}", '
            f'total_memory={self.memory_total_human()})'
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # The CUDA index may be another device where the pickle is loaded.
        return _create, (type(self), NA, *self._sought)

    def as_snapshot(self) -> Snapshot:
        """Values as in :meth:`Device.as_snapshot`, and ``cuda_index``, ``NA`` if not visible to CUDA."""
        snapshot = super().as_snapshot()
        snapshot['cuda_index'] = self._cuda_index_or_na()
        return snapshot

    @classmethod
    def count(cls) -> int:
        """Number of devices that are visible to CUDA; 0 if NVML cannot be initialized."""
        return len(parse_cuda_visible_devices())

    @classmethod
    def from_indices(
        cls: type[C], indices: int | Iterable[int | tuple[int, int]] | None = None
    ) -> list[C]:
        """Devices with the given CUDA indices, in their order.

        Without indices, all that are visible to CUDA. The list is empty if NVML cannot be
        initialized.

        Raises:
            RuntimeError: Fewer devices are visible to CUDA.
        """
        if indices is None:
            visible: list[Any] = parse_cuda_visible_devices()
            cuda_indices: list[Any] = list(range(len(visible)))
        else:
            cuda_indices = [indices] if isinstance(indices, int) else list(indices)
            visible = _nvml_indices(cuda_indices)
        return [
            _create(cls, cuda_index, nvml_index)
            for cuda_index, nvml_index in zip(cuda_indices, visible)
        ]


class CudaMigDevice(CudaDevice, MigDevice):
    """The only MIG device that is visible to CUDA. See :class:`CudaDevice`."""


def _nvml_indices(cuda_indices: Sequence[object]) -> list[Any]:
    visible: list[Any] = parse_cuda_visible_devices()
    nvml_indices = []
    for index in cuda_indices:
        if not isinstance(index, int) or isinstance(index, bool):
            raise TypeError(f'a CUDA index must be an int, not {index!r}')
        if not 0 <= index < len(visible):
            raise RuntimeError(
                f'CUDA error: invalid device ordinal: {index}, {describe_visible(len(visible))}'
            )
        nvml_indices.append(visible[index])
    return nvml_indices


def _create(
    cls: type[C],
    cuda_index: int | NaType,
    nvml_index: int | tuple[int, int] | None,
    uuid: str | None = None,
) -> C:
    """Create a device without checking that it is visible to CUDA."""
    device: Any = cls.__new__(cls, nvml_index=nvml_index, uuid=uuid)
    device._cuda_index = cuda_index
    type(device).__init__(device, nvml_index=nvml_index, uuid=uuid)
    created: C = device
    return created


Device.cuda = CudaDevice
