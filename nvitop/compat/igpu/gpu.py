# SPDX-License-Identifier: Apache-2.0
"""The class ``GPUInfo`` of igpu: the values of a GPU at one time."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from nvitop.api import host, libnvml
from nvitop.api.device import Device, MigDevice
from nvitop.api.process import GpuProcess
from nvitop.api.utils import NA, MiB, NaType
from nvitop.compat.igpu.groups import (
    GPUClockInfo,
    GPUMemoryInfo,
    GPUPCIInfo,
    GPUPowerInfo,
    GPUProcessesInfo,
    GPUProcessInfo,
    GPUUtilizationInfo,
)

if TYPE_CHECKING:
    from typing import Tuple, Union

    #: Index of a GPU, or (GPU index, MIG index) of a MIG device.
    Index = Union[int, Tuple[int, int]]


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
    used = float(info.used) + reserved
    return GPUMemoryInfo(
        total=float(info.total) / MiB, used=used / MiB, free=float(info.free) / MiB, unit='MiB'
    )


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
    now, most = device.clock_infos(), device.max_clock_infos()
    return GPUClockInfo(
        graphics=float(now.graphics),
        sm=float(now.sm),
        memory=float(now.memory),
        max_graphics=float(most.graphics),
        max_sm=float(most.sm),
        max_memory=float(most.memory),
        video=float(now.video),
        max_video=float(most.video),
        unit='MHz',
    )


def _power(device: Device) -> GPUPowerInfo:
    return GPUPowerInfo(
        management='Supported' if device.power_management() == 'Enabled' else str(NA),
        draw=_watts(device.power_usage()),
        limit=_watts(device.power_limit()),
        min_limit=_watts(device.min_power_limit()),
        max_limit=_watts(device.max_power_limit()),
        enforced_limit=_watts(device.enforced_power_limit()),
        default_limit=_watts(device.default_power_limit()),
        unit='W',
    )


def _watts(milliwatts: int | NaType) -> float:
    return float(milliwatts) / 1000


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
