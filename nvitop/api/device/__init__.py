# SPDX-License-Identifier: Apache-2.0
"""Live devices: physical GPUs, MIG devices, and both as CUDA sees them."""

from __future__ import annotations

from nvitop.api.device.base import ImpossibleAnswer, NotReported, Reading
from nvitop.api.device.handles import is_mig_device_uuid
from nvitop.api.device.health import RemappedRows
from nvitop.api.device.interconnect import ThroughputInfo
from nvitop.api.device.kinds import CudaDevice, CudaMigDevice, Device, MigDevice, PhysicalDevice
from nvitop.api.device.memory import MemoryInfo
from nvitop.api.device.sensors import ClockEventReasons, ClockInfos, ClockSpeedInfos
from nvitop.api.device.utilization import GpmMetrics, UtilizationRates
from nvitop.api.device.visible import normalize_cuda_visible_devices, parse_cuda_visible_devices

__all__ = [
    'ClockEventReasons',
    'ClockInfos',
    'ClockSpeedInfos',
    'CudaDevice',
    'CudaMigDevice',
    'Device',
    'GpmMetrics',
    'ImpossibleAnswer',
    'MemoryInfo',
    'MigDevice',
    'NotReported',
    'PhysicalDevice',
    'Reading',
    'RemappedRows',
    'ThroughputInfo',
    'UtilizationRates',
    'is_mig_device_uuid',
    'normalize_cuda_visible_devices',
    'parse_cuda_visible_devices',
]
