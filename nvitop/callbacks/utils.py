# SPDX-License-Identifier: Apache-2.0
"""What the callbacks share: devices by the numbers of frameworks, their values, times of steps."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nvitop.api.device import CudaDevice
from nvitop.api.utils import MiB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nvitop.api.device import Device

__all__ = ['get_devices_by_logical_ids', 'get_gpu_stats']


def devices_by_logical_ids(
    device_ids: Iterable[int | str], unique: bool = True
) -> list[CudaDevice]:
    """The devices that frameworks call by these numbers, in their order.

    Numbers are CUDA indices, as in ``cuda:0``; texts are UUIDs.

    Args:
        device_ids: The numbers.
        unique: Leave out a device that was there before.

    Raises:
        RuntimeError: CUDA does not see that many devices.
        NVMLError: There is no driver, or no such device.
    """
    devices = [
        CudaDevice(uuid=device_id) if isinstance(device_id, str) else CudaDevice(device_id)
        for device_id in device_ids
    ]
    return list(dict.fromkeys(devices)) if unique else devices


def gpu_stats(
    devices: Iterable[Device],
    memory_utilization: bool = True,
    gpu_utilization: bool = True,
    fan_speed: bool = False,
    temperature: bool = False,
) -> dict[str, float]:
    """What the devices do now, ready for a logger; NaN where a device does not tell.

    Names begin with ``gpu_id: <CUDA index>``, and with ``(physical index: <index of nvidia-smi>)``
    where that is another one.

    Args:
        devices: The devices.
        memory_utilization: ``utilization.memory (%)`` ``memory.used (MiB)`` ``memory.free (MiB)``.
        gpu_utilization: ``utilization.gpu (%)``.
        fan_speed: ``fan.speed (%)``.
        temperature: ``temperature.gpu (C)``.
    """
    stats: dict[str, float] = {}
    for device in devices:
        prefix = _name_of(device)
        with device.oneshot():
            if memory_utilization:
                stats[f'{prefix}/utilization.memory (%)'] = float(device.memory_utilization())
            if gpu_utilization:
                stats[f'{prefix}/utilization.gpu (%)'] = float(device.gpu_utilization())
            if memory_utilization:
                stats[f'{prefix}/memory.used (MiB)'] = float(device.memory_used()) / MiB
                stats[f'{prefix}/memory.free (MiB)'] = float(device.memory_free()) / MiB
            if fan_speed:
                stats[f'{prefix}/fan.speed (%)'] = float(device.fan_speed())
            if temperature:
                stats[f'{prefix}/temperature.gpu (C)'] = float(device.temperature())
    return stats


def _name_of(device: Device) -> str:
    try:
        cuda_index = device.cuda_index
    except RuntimeError:  # CUDA programs do not see it
        return f'gpu_id: {device.index}'
    if cuda_index == device.physical_index:
        return f'gpu_id: {cuda_index}'
    return f'gpu_id: {cuda_index} (physical index: {device.physical_index})'


# The names that programs know.
get_devices_by_logical_ids = devices_by_logical_ids
get_gpu_stats = gpu_stats


class StepTimer:
    """Times of steps in milliseconds: how long they take, and how long it is from one to the next."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """Forget the last step: what lies between two epochs is no time between two steps."""
        self._began: float | None = None
        self._ended: float | None = None

    def begin(self) -> dict[str, float]:
        """A step begins: the time since the last one, ``{}`` for the first."""
        self._began = self._clock()
        if self._ended is None:
            return {}
        return {'batch_time/inter_step (ms)': (self._began - self._ended) * 1000.0}

    def end(self) -> dict[str, float]:
        """A step ends: the time since it began, ``{}`` if nobody said that it did."""
        self._ended = self._clock()
        if self._began is None:
            return {}
        return {'batch_time/intra_step (ms)': (self._ended - self._began) * 1000.0}
