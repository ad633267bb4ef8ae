# SPDX-License-Identifier: Apache-2.0
"""A replacement for igpu: ``import nvitop.compat.igpu as igpu``.

Unavailable numbers are ``nan``, unavailable text is ``'N/A'``.
"""

from __future__ import annotations

import math
import time
from types import SimpleNamespace
from typing import Any, List, Optional, Tuple, Union

from nvitop.api import host, libnvml
from nvitop.api.device import Device, MigDevice
from nvitop.api.libnvml import NVMLError
from nvitop.api.process import GpuProcess
from nvitop.basics.text import printable
from nvitop.basics.units import NA, MiB, NaType

__all__ = [
    'DriverVersion',
    'GPUClockInfo',
    'GPUInfo',
    'GPUMemoryInfo',
    'GPUPCIInfo',
    'GPUPowerInfo',
    'GPUProcessInfo',
    'GPUProcessesInfo',
    'GPUUtilizationInfo',
    'count_devices',
    'count_visible_devices',
    'devices',
    'devices_index',
    'get_device',
    'nvidia_driver_version',
    'visible_devices',
    'visible_devices_index',
]

#: Index of a GPU, or (GPU index, MIG index) of a MIG device.
Index = Union[int, Tuple[int, int]]


_BAR_WIDTH = 25
#: Widths of the columns of a process: PID, name, user, parent, creation time.
_PROCESS_WIDTHS = (6, 20, 20, 8, 20)


def _number(value: float, form: str, unit: str = '') -> str:
    """Format a number with its unit; ``'N/A'`` if it is unknown."""
    return str(NA) if math.isnan(value) else f'{value:{form}}{unit}'


def _bar(percent: float) -> str:
    """Format a percentage as a bar and a number; the bar ends at 100 %."""
    if math.isnan(percent):
        return str(NA)
    filled = int(min(max(percent, 0.0), 100.0) / 100.0 * _BAR_WIDTH)
    return f'[{"|" * filled:<{_BAR_WIDTH}}] {percent:.2f}%'


def _group(title: str, rows: dict[str, str]) -> str:
    width = max(map(len, rows))
    return '\n'.join([f'{title}:', *(f'    {key:<{width}} : {rows[key]}' for key in rows)])


class GPUMemoryInfo(SimpleNamespace):
    """Memory of a GPU in MiB; reserved memory is part of ``used``."""

    total: float
    used: float
    free: float
    unit: str

    def __str__(self) -> str:
        rows = {}
        for key, size in (('Total', self.total), ('Used', self.used), ('Free', self.free)):
            share = 100.0 * size / self.total if self.total else math.nan
            rows[key] = f'{_number(size, ".2f"):>10} {self.unit} ({_number(share, "6.2f", "%")})'
        return _group('GPU MEMORY', rows)


class GPUUtilizationInfo(SimpleNamespace):
    """Utilization and fan speed in percent, temperature in °C, performance state (``'P0'``)."""

    gpu: float
    memory: float
    fan: float
    temperature: float
    performance: str

    def __str__(self) -> str:
        rows = {
            'Performance': self.performance,
            'Temperature': _number(self.temperature, '.2f', 'C'),
            'Graphics': _bar(self.gpu),
            'Memory': _bar(self.memory),
            'Fan': _bar(self.fan),
        }
        return _group('GPU UTILIZATION', rows)


class GPUPCIInfo(SimpleNamespace):
    """PCI location and link of a GPU, as text."""

    bus: str
    bus_id: str
    device: str
    device_id: str
    sub_system_id: str
    current_link_gen: str
    max_link_gen: str
    current_link_width: str
    max_link_width: str

    def __str__(self) -> str:
        rows = {
            'Bus': self.bus,
            'Bus ID': self.bus_id,
            'Device': self.device,
            'Device ID': self.device_id,
            'Sub-System ID': self.sub_system_id,
            'Generation': f'{self.current_link_gen} (Max: {self.max_link_gen})',
            'Link Width': f'{self.current_link_width} (Max: {self.max_link_width})',
        }
        return _group('PCI INFO', rows)


class GPUClockInfo(SimpleNamespace):
    """Current and maximum clocks in MHz."""

    graphics: float
    sm: float
    memory: float
    video: float
    max_graphics: float
    max_sm: float
    max_memory: float
    max_video: float
    unit: str

    def __str__(self) -> str:
        clocks = {
            'Graphics': (self.graphics, self.max_graphics),
            'SM': (self.sm, self.max_sm),
            'Memory': (self.memory, self.max_memory),
            'Video': (self.video, self.max_video),
        }
        rows = {
            key: f'{_number(clock, ".1f", f" {self.unit}")} (Max: {_number(most, ".1f")})'
            for key, (clock, most) in clocks.items()
        }
        return _group('GPU CLOCK', rows)


class GPUPowerInfo(SimpleNamespace):
    """Power and power limits in W; ``management`` is ``'Supported'`` or ``'N/A'``."""

    management: str
    draw: float
    limit: float
    enforced_limit: float
    default_limit: float
    min_limit: float
    max_limit: float
    unit: str

    def __str__(self) -> str:
        names = ('draw', 'limit', 'enforced_limit', 'default_limit', 'min_limit', 'max_limit')
        rows = {
            name.replace('_', ' ').title(): _number(getattr(self, name), '.2f', f' {self.unit}')
            for name in names
        }
        return _group('POWER INFO', {'Management': self.management, **rows})


class GPUProcessInfo(SimpleNamespace):
    """A process on a GPU. Values of an exited process are ``'N/A'``."""

    pid: int
    name: str
    user: str
    #: PID of the parent; 0 if there is none, ``None`` if it is unknown.
    parent_pid: int | None
    parent_name: str
    #: Local time: ``'2026-01-31 23:59:59'``.
    create_time: str
    #: In MiB; ``nan`` if unknown.
    gpu_memory: float
    #: ``'C'`` (compute), ``'G'`` (graphics) or ``'C+G'``; not in igpu.
    type: str

    def __str__(self) -> str:
        parent = NA if self.parent_pid is None else self.parent_pid
        words = (self.pid, printable(self.name), printable(self.user), parent, self.create_time)
        cells = [f'{word!s:<{width}}' for word, width in zip(words, _PROCESS_WIDTHS)]
        return ' | '.join([*cells, _number(self.gpu_memory, '.0f')])


class GPUProcessesInfo(List[GPUProcessInfo]):
    """The processes on a GPU: a list that prints as a table."""

    def __str__(self) -> str:
        words = ('PID', 'NAME', 'USER', 'PARENT', 'CREATION TIME')
        cells = [f'{word:<{width}}' for word, width in zip(words, _PROCESS_WIDTHS)]
        rows = [' | '.join([*cells, 'GPU MEM']), *map(str, self)]
        return '\n'.join(['PROCESSES', *(f'    {row}' for row in rows)])


class GPUInfo:
    """A GPU or a MIG device at the time of the last :meth:`update`."""

    #: Index of the GPU; (GPU index, MIG index) of a MIG device.
    index: Index
    #: Product name.
    name: str
    #: Serial number of the board.
    serial: str
    #: Globally unique identifier.
    uuid: str
    #: Version of the video BIOS.
    bios: str
    #: Memory in MiB.
    memory: GPUMemoryInfo
    #: Utilization, fan speed, temperature and performance state.
    utilization: GPUUtilizationInfo
    #: PCI location and link.
    pci: GPUPCIInfo
    #: Clocks in MHz.
    clocks: GPUClockInfo
    #: Power in W.
    power: GPUPowerInfo
    #: Compute and graphics processes, including those on MIG devices.
    processes: GPUProcessesInfo

    def __init__(self, device: Device) -> None:
        """Read the values of a device."""
        self._device = device
        self.update()

    def update(self) -> None:
        """Read the values again. Groups that were returned before do not change."""
        device = self._device
        # Some values are only available for the GPU of a MIG device.
        physical = device.parent if isinstance(device, MigDevice) else device
        with device.oneshot():
            self.index = device.index
            self.name, self.uuid = str(device.name()), str(device.uuid())
            self.serial, self.bios = str(physical.serial()), str(physical.vbios_version())
            self.memory = _memory(device)
            self.utilization = GPUUtilizationInfo(
                gpu=float(device.gpu_utilization()),
                memory=float(device.memory_utilization()),
                fan=float(physical.fan_speed()),
                temperature=float(physical.temperature()),
                performance=str(physical.performance_state()),
            )
            self.pci = _pci(physical)
            self.clocks = _clocks(physical)
            self.power = _power(physical)
        self.processes = _processes(device)

    def __str__(self) -> str:
        rows = {
            'INDEX': self.index,
            'BOARD NAME': self.name,
            'SERIAL': self.serial,
            'UUID': self.uuid,
            'BIOS VERSION': self.bios,
        }
        head = '\n'.join(f'{key:<12} : {value}' for key, value in rows.items())
        groups = (self.memory, self.utilization, self.pci, self.clocks, self.power, self.processes)
        return '\n\n'.join([head, *map(str, groups)])

    def __repr__(self) -> str:
        return f'{type(self).__name__}(index={self.index}, name={self.name!r})'


def _memory(device: Device) -> GPUMemoryInfo:
    info = device.memory_info()
    reserved = info.reserved if isinstance(info.reserved, int) else 0
    sizes = {'total': info.total, 'used': float(info.used) + reserved, 'free': info.free}
    return GPUMemoryInfo(**{key: float(size) / MiB for key, size in sizes.items()}, unit='MiB')


def _pci(device: Device) -> GPUPCIInfo:
    pci = libnvml.nvmlQuery('nvmlDeviceGetPciInfo', device.handle)

    def digits(name: str, count: int) -> str:
        return str(NA) if pci is NA else f'{getattr(pci, name):0{count}X}'

    def lanes(width: object) -> str:
        return f'{width}x' if isinstance(width, int) else str(NA)

    return GPUPCIInfo(
        bus=digits('bus', 2),
        bus_id=str(device.bus_id()),
        device=digits('device', 2),
        device_id=digits('pciDeviceId', 8),
        sub_system_id=digits('pciSubSystemId', 8),
        current_link_gen=str(device.pcie_link_generation()),
        max_link_gen=str(device.max_pcie_link_generation()),
        current_link_width=lanes(device.pcie_link_width()),
        max_link_width=lanes(device.max_pcie_link_width()),
    )


def _clocks(device: Device) -> GPUClockInfo:
    now, most = device.clock_infos()._asdict(), device.max_clock_infos()._asdict()
    clocks = {**now, **{f'max_{name}': clock for name, clock in most.items()}}
    return GPUClockInfo(**{name: float(clock) for name, clock in clocks.items()}, unit='MHz')


def _power(device: Device) -> GPUPowerInfo:
    powers = {
        'draw': device.power_usage(),
        'limit': device.power_limit(),
        'enforced_limit': device.enforced_power_limit(),
        'default_limit': device.default_power_limit(),
        'min_limit': device.min_power_limit(),
        'max_limit': device.max_power_limit(),
    }
    return GPUPowerInfo(
        management='Supported' if device.power_management() == 'Enabled' else str(NA),
        **{name: float(power) / 1000 for name, power in powers.items()},
        unit='W',
    )


def _processes(device: Device) -> GPUProcessesInfo:
    leaves = device.to_leaf_devices()
    with GpuProcess.failsafe():
        return GPUProcessesInfo(
            _process(process) for leaf in leaves for process in leaf.processes().values()
        )


def _process(process: GpuProcess) -> GPUProcessInfo:
    parent_pid, parent_name = _parent(process)
    return GPUProcessInfo(
        pid=process.pid,
        name=str(process.name()),
        user=str(process.username()),
        parent_pid=parent_pid,
        parent_name=parent_name,
        create_time=_local_time(process.create_time()),
        gpu_memory=_mib(process.gpu_memory()),
        type=str(process.type),
    )


def _mib(size: int | NaType) -> float:
    return size // MiB if isinstance(size, int) else math.nan


def _parent(process: GpuProcess) -> tuple[int | None, str]:
    try:
        pid = process.host.ppid()
        parent = process.host.parent()
        return pid, parent.name() if parent is not None else str(NA)
    except host.PsutilError:
        return None, str(NA)


def _local_time(seconds: Any) -> str:
    if not isinstance(seconds, (int, float)):
        return str(NA)
    return time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(seconds))


class DriverVersion(Tuple[Optional[int], Optional[int]]):
    """Version of the driver: (major, minor), and all parts.

    >>> version = DriverVersion('535.129.03')
    >>> version, version.parts, version.text
    ((535, 129), (535, 129, 3), '535.129.03')
    """

    #: All parts.
    parts: tuple[int, ...]
    #: Version as text.
    text: str

    def __new__(cls, text: str) -> DriverVersion:
        """Parse a version; an empty text is ``(None, None)``."""
        parts = tuple(int(part) for part in text.split('.') if part.isdigit())
        version = super().__new__(cls, (*parts[:2], None, None)[:2])
        version.parts, version.text = parts, text
        return version

    def __getnewargs__(self) -> tuple[str]:
        return (self.text,)


def nvidia_driver_version() -> DriverVersion:
    """Return (major, minor) of the driver; (None, None) without a driver."""
    try:
        version = Device.driver_version()
    except NVMLError:
        version = ''
    return DriverVersion(version)


def count_devices() -> int:
    """Return the number of GPUs; 0 without a driver."""
    try:
        return Device.count()
    except NVMLError:
        return 0


def devices_index() -> list[int]:
    """Return the indices of all GPUs."""
    return list(range(count_devices()))


def get_device(device_index: Index) -> GPUInfo:
    """Return a GPU by its index, or a MIG device by (GPU index, MIG index).

    Raises:
        ValueError: The device does not exist, or the driver cannot open it.
    """
    indices = devices_index()
    if not indices:
        raise ValueError('there is no GPU')
    if isinstance(device_index, tuple):
        try:
            return GPUInfo(Device(device_index))
        except (NVMLError, TypeError):
            raise ValueError(f'there is no MIG device {device_index}') from None
    if not isinstance(device_index, int) or device_index not in indices:
        raise ValueError(f'there is no GPU {device_index!r}; the indices are {indices}')
    try:
        return GPUInfo(Device(int(device_index)))
    except NVMLError as error:
        raise ValueError(f'cannot open GPU {int(device_index)}: {error}') from error


def devices() -> list[GPUInfo]:
    """Return all GPUs."""
    return [get_device(index) for index in devices_index()]


def count_visible_devices() -> int:
    """Return the number of devices that CUDA programs see."""
    return len(visible_devices_index())


def visible_devices_index() -> list[Any]:
    """Return the indices of the devices that CUDA programs see, by the rules of CUDA.

    These are all GPUs if ``CUDA_VISIBLE_DEVICES`` is not set. A MIG device is (GPU index, MIG index).
    """
    return list(Device.parse_cuda_visible_devices())


def visible_devices() -> list[GPUInfo]:
    """Return the devices that CUDA programs see."""
    return [get_device(index) for index in visible_devices_index()]
