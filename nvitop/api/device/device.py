# SPDX-License-Identifier: Apache-2.0
"""A device: all subjects together, how it is made, compared, shown, and taken a snapshot of."""

from __future__ import annotations

import contextlib
import functools
import re
from typing import TYPE_CHECKING, Any, ClassVar, cast

from nvitop.api import libnvml
from nvitop.api.device.base import DeviceBase
from nvitop.api.device.clock import ClockMixin
from nvitop.api.device.gpm import GpmMixin
from nvitop.api.device.health import HealthMixin
from nvitop.api.device.identity import IdentityMixin
from nvitop.api.device.interconnect import InterconnectMixin
from nvitop.api.device.memory import MemoryMixin
from nvitop.api.device.mode import ModeMixin
from nvitop.api.device.power import PowerMixin
from nvitop.api.device.process import ProcessMixin
from nvitop.api.device.utilization import UtilizationMixin
from nvitop.api.device.visible import VisibilityMixin
from nvitop.api.libnvml._errors import is_unreachable
from nvitop.api.utils import NA, Snapshot, snapshot_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    from nvitop.api.device.extended import ExtendedMixin
    from nvitop.api.device.mig import MigDevice

    D = TypeVar('D', bound='Device')
else:
    ExtendedMixin = DeviceBase  # until the first question: see _join_extended_values

_UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'


# Compiled on use: few programs look at UUIDs, and it takes as long as importing four modules.
@functools.lru_cache(maxsize=None)
def uuid_pattern() -> re.Pattern[str]:
    """The pattern of UUIDs: of GPUs, of MIG devices, and of MIG devices before R470."""
    return re.compile(
        rf'(?:(?P<gpu>GPU-{_UUID})'
        rf'|(?P<mig>MIG-{_UUID})'
        rf'|MIG-(?P<parent>GPU-{_UUID})/(?P<gpu_instance>\d+)/(?P<compute_instance>\d+))\Z'
    )


class _UuidPatternOnUse:
    """The value of :attr:`Device.UUID_PATTERN`."""

    def __get__(self, instance: object, owner: type) -> re.Pattern[str]:
        return uuid_pattern()


_VERSION_SUFFIX = r'(_v\d+)\Z'


def is_mig_device_uuid(uuid: str | None) -> bool:
    """Whether a text is the UUID of a MIG device: ``'MIG-…'``."""
    match = uuid_pattern().match(uuid) if isinstance(uuid, str) else None
    return match is not None and match['gpu'] is None


class Device(
    IdentityMixin,
    ProcessMixin,
    MemoryMixin,
    UtilizationMixin,
    ClockMixin,
    PowerMixin,
    InterconnectMixin,
    ModeMixin,
    HealthMixin,
    GpmMixin,
    VisibilityMixin,
    ExtendedMixin,
):
    """A GPU, or a MIG device: a slice of a GPU that is a device of its own.

    ``Device(…)`` makes a :class:`PhysicalDevice` or a :class:`MigDevice`, by what it is given:

    >>> Device(0)                       # the first GPU, in the order of PCI bus ids
    >>> Device((1, 0))                  # the first MIG device of the second GPU
    >>> Device(Device(0).uuid())        # by UUID, of a GPU or of a MIG device
    >>> Device(bus_id='00000000:1B:00.0')

    Getters ask the driver when they are called. What the driver does not tell is ``NA``; getters never
    raise because of the driver, and :meth:`unavailable_reason` has its error. Within
    :meth:`oneshot` each question is asked once. Units: memory in bytes, loads in percent (0 to 100),
    clocks in MHz, power in mW, temperature in °C, throughput in KiB/s; getters ending in ``_human``
    give text with a unit.

    Anything else that NVML can be asked of a device has a method as well, ``device.board_id()`` for
    ``nvmlDeviceGetBoardId(handle)``: the name in snake_case, versions as they are (``pci_info_v3``).

    Devices are equal if index and UUID are, can be hashed, and are pickled by index. A GPU that is
    lost when its device is made has no handle and is called ``'ERROR: GPU is Lost'``.

    Args:
        index: Index in NVML, (GPU index, MIG index), or UUID.
        uuid: UUID of a GPU or of a MIG device.
        bus_id: PCI bus id of a GPU.

    Raises:
        TypeError: Not just one argument, or one of the wrong type.
        NVMLError: There is no such device, or NVML cannot be initialised.
    """

    _known_identity: tuple[Any, str] | None = None

    UUID_PATTERN: ClassVar[re.Pattern[str]] = cast(Any, _UuidPatternOnUse())

    #: What :meth:`as_snapshot` holds, beside ``index`` and ``physical_index``.
    SNAPSHOT_KEYS: ClassVar[Sequence[str]] = [
        'name',
        'uuid',
        'bus_id',
        'memory_info',
        'memory_used',
        'memory_free',
        'memory_total',
        'memory_used_human',
        'memory_free_human',
        'memory_total_human',
        'memory_percent',
        'memory_usage',
        'utilization_rates',
        'gpu_utilization',
        'memory_utilization',
        'encoder_utilization',
        'decoder_utilization',
        'clock_infos',
        'max_clock_infos',
        'clock_speed_infos',
        'sm_clock',
        'memory_clock',
        'fan_speed',
        'temperature',
        'power_usage',
        'power_limit',
        'power_status',
        'pcie_throughput',
        'pcie_tx_throughput',
        'pcie_rx_throughput',
        'pcie_tx_throughput_human',
        'pcie_rx_throughput_human',
        'display_active',
        'display_mode',
        'current_driver_model',
        'persistence_mode',
        'performance_state',
        'total_volatile_uncorrected_ecc_errors',
        'compute_mode',
        'cuda_compute_capability',
        'mig_mode',
    ]

    def __new__(
        cls,
        index: int | tuple[int, int] | str | None = None,
        *,
        uuid: str | None = None,
        bus_id: str | None = None,
    ) -> Device:
        """Choose the class by what is given."""
        if cls is not Device:
            return super().__new__(cls)
        from nvitop.api.device.mig import MigDevice
        from nvitop.api.device.physical import PhysicalDevice

        named = index if isinstance(index, str) else uuid
        is_mig = isinstance(index, tuple) or is_mig_device_uuid(named)
        return super().__new__(MigDevice if is_mig else PhysicalDevice)

    def __init__(
        self,
        index: int | tuple[int, int] | str | None = None,
        *,
        uuid: str | None = None,
        bus_id: str | None = None,
    ) -> None:
        """Find the GPU: by index, UUID or PCI bus id."""
        index, uuid = only_one(index, uuid, bus_id)
        if index is not None and (isinstance(index, bool) or not isinstance(index, int)):
            raise TypeError(f'the index of a GPU is a number, not {index!r}')
        handle, loss = NA, None
        try:
            if index is not None:
                handle = find('nvmlDeviceGetHandleByIndex', index)
            elif uuid is not None:
                handle = find('nvmlDeviceGetHandleByUUID', uuid.encode())
            else:
                handle = find('nvmlDeviceGetHandleByPciBusId', str(bus_id).encode())
            if index is None:
                index = int(find('nvmlDeviceGetIndex', handle))
        except libnvml.NVMLError as error:
            if not is_unreachable(error):
                raise
            loss = error.with_traceback(None)
        super().__init__(NA if index is None else index, None if loss else handle, loss)

    # which device

    @property
    def index(self) -> int | tuple[int, int]:
        """Index in NVML (the order of PCI bus ids); (GPU index, MIG index) of MIG devices.

        ``NA`` for a GPU that was lost already when its device was made by UUID or bus id.
        """
        index: int | tuple[int, int] = self._index
        return index

    @property
    def nvml_index(self) -> int | tuple[int, int]:
        """The same as :attr:`index`, as opposed to :attr:`cuda_index`."""
        index: int | tuple[int, int] = self._index
        return index

    @property
    def physical_index(self) -> int:
        """Index of the GPU in NVML, that of the parent for a MIG device."""
        index: int = self._index[0] if isinstance(self._index, tuple) else self._index
        return index

    @property
    def handle(self) -> Any:
        """Handle of the driver, to be used with :mod:`nvitop.libnvml`; ``None`` for a lost GPU."""
        return self._handle

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}(index={self.index}, name="{self.name()}", '
            f'total_memory={self.memory_total_human()})'
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, str]:
        # Kept as first known: a device must not change its hash when its GPU is lost.
        if self._known_identity is None:
            self._known_identity = self._index, self.uuid()
        return self._known_identity

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._index if self._index is not NA else self.uuid(),)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A method for any other ``nvmlDeviceGet…``, by its name in snake_case."""
        if not name.startswith('_'):
            _join_extended_values()
            if hasattr(type(self), name):
                found: Callable[..., Any] = getattr(self, name)
                return found
        function = _getter_function(name)
        if not function:
            raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}')

        def method(*args: Any, **kwargs: Any) -> Any:
            return self._ask(function, args, kwargs)[0]

        method.__name__ = name
        method.__qualname__ = f'{type(self).__name__}.{name}'
        method.__doc__ = f'The answer to ``{function}``, ``NA`` where the driver has none.'
        self.__dict__[name] = method
        return method

    def __dir__(self) -> Iterable[str]:
        """All names, of extended facts too."""
        _join_extended_values()
        return super().__dir__()

    # slices

    def mig_device(self, mig_index: int) -> MigDevice:
        """The MIG device of this index on the GPU.

        Raises:
            NVMLError: There is no such device: a MIG device, and a device of CUDA, has none.
        """
        raise libnvml.NVMLError(libnvml.NVML_ERROR_NOT_FOUND)

    def mig_devices(self) -> list[MigDevice]:
        """The MIG devices of the GPU; none for a MIG device."""
        return []

    def is_leaf_device(self) -> bool:
        """Whether there is no MIG device below: processes run on leaf devices."""
        return True

    def to_leaf_devices(self) -> list[Device]:
        """The MIG devices of a GPU in MIG mode, otherwise the device itself."""
        return [self]

    # snapshots

    def as_snapshot(self) -> Snapshot:
        """All :attr:`SNAPSHOT_KEYS` of one moment, as attributes and items.

        Each fact is asked once. What is not held is asked when it is used.
        """
        with self.oneshot():
            values = {key: getattr(self, key)() for key in self.SNAPSHOT_KEYS}
        return snapshot_of(
            self, {'index': self.index, 'physical_index': self.physical_index, **values}
        )

    # all devices

    @classmethod
    def is_available(cls) -> bool:
        """Whether there is a device of this class that can be asked. Never raises."""
        try:
            return cls.count() > 0
        except (libnvml.NVMLError, AttributeError):
            return False

    @staticmethod
    def driver_version() -> str:
        """Version of the driver: ``'570.172.08'``.

        NVML: ``nvmlSystemGetDriverVersion`` · nvidia-smi: ``driver_version``

        Raises:
            NVMLError: NVML cannot be initialised.
        """
        return _text(libnvml.nvmlQuery('nvmlSystemGetDriverVersion'))

    @staticmethod
    def cuda_driver_version() -> str:
        """Highest version of CUDA that the driver can run: ``'12.8'``.

        NVML: ``nvmlSystemGetCudaDriverVersion`` · nvidia-smi: CUDA Version

        Raises:
            NVMLError: NVML cannot be initialised.
        """
        return version_text(libnvml.nvmlQuery('nvmlSystemGetCudaDriverVersion'))

    max_cuda_version = cuda_driver_version

    @classmethod
    def count(cls) -> int:
        """Number of GPUs that NVML sees.

        NVML: ``nvmlDeviceGetCount`` · nvidia-smi: ``count``

        Raises:
            NVMLError: NVML cannot be initialised.
        """
        return int(libnvml.nvmlQuery('nvmlDeviceGetCount', default=0))

    @classmethod
    def all(cls: type[D]) -> list[D]:
        """All devices of this class, as :meth:`from_indices` gives them."""
        return cls.from_indices()

    @classmethod
    def from_indices(
        cls: type[D], indices: int | Iterable[int | tuple[int, int]] | None = None
    ) -> list[D]:
        """Devices of the given indices in NVML, in their order.

        Without indices all GPUs, but for those that cannot be used (no permission, no power); none
        where NVML cannot be initialised.

        Raises:
            NVMLError: One of the indices given does not exist, or cannot be used.
        """
        if indices is None:
            devices = []
            with contextlib.suppress(libnvml.NVMLError):
                for index in range(cls.count()):
                    with contextlib.suppress(libnvml.NVMLError):
                        devices.append(cls(index))
            return devices
        return [cls(index) for index in ([indices] if isinstance(indices, int) else indices)]


def _join_extended_values() -> None:
    """Give devices the methods of :mod:`nvitop.api.device.extended`, which few programs ask for."""
    if DeviceBase not in Device.__bases__:
        return
    from nvitop.api.device.extended import ExtendedMixin

    Device.__bases__ = tuple(
        ExtendedMixin if base is DeviceBase else base for base in Device.__bases__
    )


def only_one(
    index: int | tuple[int, int] | str | None, uuid: str | None, bus_id: str | None = None
) -> tuple[int | tuple[int, int] | None, str | None]:
    """The index or the UUID that was given, a text in place of the index being a UUID."""
    if sum(argument is not None for argument in (index, uuid, bus_id)) != 1:
        raise TypeError(
            'a device is made of just one of index, uuid and bus_id, got '
            f'index={index!r}, uuid={uuid!r}, bus_id={bus_id!r}'
        )
    for argument in (uuid, bus_id):
        if argument is not None and not isinstance(argument, str):
            raise TypeError(f'UUIDs and PCI bus ids are texts, not {argument!r}')
    return (None, index) if isinstance(index, str) else (index, uuid)


def version_text(version: Any) -> str:
    """Text of a version number of CUDA: ``12040`` is ``'12.4'``, and ``NA`` stays ``NA``."""
    if not isinstance(version, int) or version <= 0:
        return NA
    major, minor, revision = version // 1000, version % 1000 // 10, version % 10
    return f'{major}.{minor}.{revision}' if revision else f'{major}.{minor}'


def _text(answer: object) -> str:
    return answer if isinstance(answer, str) else NA


def find(function: str, *args: Any) -> Any:
    """The driver's answer where a device is looked for: errors are raised."""
    return libnvml.nvmlQuery(function, *args, ignore_errors=False)


def _getter_function(name: str) -> str:
    """NVML's function for a snake_case name, whatever NVML writes in capitals; ``''`` if none."""
    if name.startswith('_') or name != name.lower():
        return ''
    stem, *suffix = re.split(_VERSION_SUFFIX, name)
    exact = 'nvmlDeviceGet' + ''.join(word.capitalize() for word in stem.split('_'))
    wanted = ''.join([exact, *suffix])
    if hasattr(libnvml, wanted):
        return wanted
    names = (found for found in dir(libnvml) if found.lower() == wanted.lower())
    return next(names, '')
