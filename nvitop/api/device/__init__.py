# SPDX-License-Identifier: Apache-2.0
"""Live devices: physical GPUs, MIG devices, and both as CUDA sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.api.device.base import ImpossibleAnswer, MadeOnUse, Reading
from nvitop.api.device.clock import ClockEventReasons, ClockInfos, ClockSpeedInfos
from nvitop.api.device.device import Device, MigDevice, PhysicalDevice
from nvitop.api.device.gpm import GpmMetrics
from nvitop.api.device.handles import is_mig_device_uuid
from nvitop.api.device.health import RemappedRows
from nvitop.api.device.interconnect import ThroughputInfo
from nvitop.api.device.memory import MemoryInfo
from nvitop.api.device.utilization import UtilizationRates
from nvitop.api.device.visible import (
    normalize_cuda_visible_devices,
    parse_cuda_visible_devices,
)
from nvitop.lazy import lazy_names

if TYPE_CHECKING:
    from nvitop.api.device.cuda import CudaDevice, CudaMigDevice

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
    'PhysicalDevice',
    'Reading',
    'RemappedRows',
    'ThroughputInfo',
    'UtilizationRates',
    'is_mig_device_uuid',
    'normalize_cuda_visible_devices',
    'parse_cuda_visible_devices',
]

# The public path, as shown in reprs, pickles and the documentation.
for _name in __all__:
    if _name in globals():
        globals()[_name].__module__ = __name__
del _name

if not TYPE_CHECKING:  # it would hide misspelled names
    __getattr__, __dir__ = lazy_names(
        __name__, {'nvitop.api.device.cuda': 'CudaDevice CudaMigDevice'}
    )
    # The module of CudaDevice imports that of Device.
    Device.cuda = MadeOnUse(lambda: __getattr__('CudaDevice'))
