# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the callbacks: devices of frameworks, their metrics, and timing of steps."""

from __future__ import annotations

import time
from typing import Callable, Iterable

from nvitop.api.device import CudaDevice, Device
from nvitop.basics.units import MiB

__all__ = ['get_devices_by_logical_ids', 'get_gpu_stats']


def get_devices_by_logical_ids(
    device_ids: Iterable[int | str], unique: bool = True
) -> list[CudaDevice]:
    """Return the devices with these IDs of a framework, in this order.

    Args:
        device_ids: CUDA indices, as in ``cuda:0``, or UUIDs.
        unique: Leave out repeated devices.

    Raises:
        RuntimeError: A device is not visible to CUDA, or there is no driver.
        NVMLError: A UUID does not exist.
    """
    devices = [
        CudaDevice(uuid=device_id) if isinstance(device_id, str) else CudaDevice(device_id)
        for device_id in device_ids
    ]
    return list(dict.fromkeys(devices)) if unique else devices


def get_gpu_stats(
    devices: Iterable[Device],
    memory_utilization: bool = True,
    gpu_utilization: bool = True,
    fan_speed: bool = False,
    temperature: bool = False,
) -> dict[str, float]:
    """Return the current metrics of devices for a logger; unavailable ones are NaN.

    Names start with ``gpu_id: <CUDA index>``, followed by ``(physical index: <index of nvidia-smi>)``
    if the two differ.

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


class StepTimer:
    """Measures the duration of steps, and the time between two steps, in milliseconds."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """Forget the last step, so that the time between two epochs is not measured."""
        self._began: float | None = None
        self._ended: float | None = None

    def begin(self) -> dict[str, float]:
        """Start a step. Returns the time since the previous one, or ``{}`` for the first step."""
        self._began = self._clock()
        if self._ended is None:
            return {}
        return {'batch_time/inter_step (ms)': (self._began - self._ended) * 1000.0}

    def end(self) -> dict[str, float]:
        """End a step. Returns its duration, or ``{}`` if it was not started."""
        self._ended = self._clock()
        if self._began is None:
            return {}
        return {'batch_time/intra_step (ms)': (self._ended - self._began) * 1000.0}
