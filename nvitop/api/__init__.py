# SPDX-License-Identifier: Apache-2.0
"""The public library: live objects over NVML, CUDA and psutil.

Names that need psutil or CUDA are imported on first use, since importing psutil takes a third of the
time and many programs query only GPUs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nvitop.api import host, libnvml
from nvitop.api.device import (
    CudaDevice,
    CudaMigDevice,
    Device,
    MigDevice,
    PhysicalDevice,
    normalize_cuda_visible_devices,
    parse_cuda_visible_devices,
)
from nvitop.api.libnvml import NVMLError, nvmlCheckReturn
from nvitop.api.libnvml._session import SESSION
from nvitop.api.process import command_join
from nvitop.api.snapshots import take_snapshots
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
from nvitop.basics.lazy import lazy_names

if TYPE_CHECKING:
    from nvitop.api import libcuda, libcudart
    from nvitop.api.caching import ttl_cache
    from nvitop.api.process import GpuProcess, HostProcess
    from nvitop.collector import ResourceMetricCollector, collect_in_background

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
    'ResourceMetricCollector',
    'Snapshot',
    'TiB',
    'boolify',
    'bytes2human',
    'collect_in_background',
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


def _install_demo() -> None:
    """Replace the driver by the simulated machine that ``NVITOP_DEMO`` names."""
    scenario = os.environ.get('NVITOP_DEMO')
    if scenario:
        from nvitop import simulation  # only loaded for a demonstration

        simulation.install(scenario)


# This is the only place in nvitop.api that knows the simulation, which imports libnvml.
SESSION.before_first_init = _install_demo

if not TYPE_CHECKING:  # it would hide misspelled names
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            __name__: 'caching collector libcuda libcudart termcolor',
            'nvitop.api.caching': 'ttl_cache',
            'nvitop.collector': 'ResourceMetricCollector collect_in_background',
            'nvitop.api.process': 'GpuProcess HostProcess',
        },
    )
