# SPDX-License-Identifier: Apache-2.0
"""Measuring: live objects over NVML, CUDA and psutil; the public library."""

from __future__ import annotations

from nvitop.api import host, libcuda, libcudart, libnvml
from nvitop.api.caching import ttl_cache
from nvitop.api.collector import take_snapshots
from nvitop.api.device import (
    CudaDevice,
    CudaMigDevice,
    Device,
    MigDevice,
    PhysicalDevice,
)
from nvitop.api.device.visible import (
    normalize_cuda_visible_devices,
    parse_cuda_visible_devices,
)
from nvitop.api.libnvml import NVMLError, nvmlCheckReturn
from nvitop.api.process import GpuProcess, HostProcess, command_join
from nvitop.api.utils import (
    NA,
    SIZE_UNITS,
    UINT_MAX,
    ULONGLONG_MAX,
    GiB,
    KiB,
    MiB,
    NaType,
    NotApplicable,
    NotApplicableType,
    PiB,
    Snapshot,
    TiB,
    boolify,
    bytes2human,
    colored,
    human2bytes,
    set_color,
    timedelta2human,
    utilization2string,
)

__all__ = [
    'NA',
    'SIZE_UNITS',
    'UINT_MAX',
    'ULONGLONG_MAX',
    'CudaDevice',
    'CudaMigDevice',
    'Device',
    'GiB',
    'GpuProcess',
    'HostProcess',
    'KiB',
    'MiB',
    'MigDevice',
    'NVMLError',
    'NaType',
    'NotApplicable',
    'NotApplicableType',
    'PhysicalDevice',
    'PiB',
    'Snapshot',
    'TiB',
    'boolify',
    'bytes2human',
    'colored',
    'command_join',
    'host',
    'human2bytes',
    'libcuda',
    'libcudart',
    'libnvml',
    'normalize_cuda_visible_devices',
    'nvmlCheckReturn',
    'parse_cuda_visible_devices',
    'set_color',
    'take_snapshots',
    'timedelta2human',
    'ttl_cache',
    'utilization2string',
]
