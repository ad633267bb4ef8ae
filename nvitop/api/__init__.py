# SPDX-License-Identifier: Apache-2.0
"""The public library: live objects over NVML, CUDA and psutil.

Names are imported on first use: many programs need neither psutil nor CUDA, and some only units.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nvitop.basics import lazy
from nvitop.basics.lazy import lazy_names

if TYPE_CHECKING:
    from nvitop.api import host as host
    from nvitop.api import libcuda as libcuda
    from nvitop.api import libcudart as libcudart
    from nvitop.api import libnvml as libnvml
    from nvitop.api.caching import ttl_cache as ttl_cache
    from nvitop.api.device import CudaDevice as CudaDevice
    from nvitop.api.device import CudaMigDevice as CudaMigDevice
    from nvitop.api.device import Device as Device
    from nvitop.api.device import MigDevice as MigDevice
    from nvitop.api.device import PhysicalDevice as PhysicalDevice
    from nvitop.api.device import normalize_cuda_visible_devices as normalize_cuda_visible_devices
    from nvitop.api.device import parse_cuda_visible_devices as parse_cuda_visible_devices
    from nvitop.api.libnvml import NVMLError as NVMLError
    from nvitop.api.libnvml import nvmlCheckReturn as nvmlCheckReturn
    from nvitop.api.process import GpuProcess as GpuProcess
    from nvitop.api.process import HostProcess as HostProcess
    from nvitop.api.process import command_join as command_join
    from nvitop.api.snapshots import take_snapshots as take_snapshots
    from nvitop.api.utils import *
    from nvitop.collector import ResourceMetricCollector as ResourceMetricCollector
    from nvitop.collector import collect_in_background as collect_in_background


def _install_demo() -> None:
    """Replace the driver by the simulated machine that ``NVITOP_DEMO`` names."""
    scenario = os.environ.get('NVITOP_DEMO')
    if scenario:
        from nvitop import simulation  # only loaded for a demonstration

        try:
            simulation.install(scenario)
        except simulation.ScenarioError as error:
            raise simulation.ScenarioError(f'NVITOP_DEMO: {error}') from None


# This is the only place in nvitop.api that knows the simulation, which imports libnvml.
lazy.before_first_init = _install_demo

if not TYPE_CHECKING:  # it would hide misspelled names
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            __name__: 'caching collector device host libcuda libcudart libnvml process termcolor utils',
            'nvitop.api.caching': 'ttl_cache',
            'nvitop.api.device': 'CudaDevice CudaMigDevice Device MigDevice PhysicalDevice '
            'normalize_cuda_visible_devices parse_cuda_visible_devices',
            'nvitop.api.libnvml': 'NVMLError nvmlCheckReturn',
            'nvitop.api.process': 'GpuProcess HostProcess command_join',
            'nvitop.api.snapshots': 'take_snapshots',
            'nvitop.api.utils': 'Snapshot colored set_color',
            'nvitop.basics.units': 'NA SIZE_UNITS UINT_MAX ULONGLONG_MAX GiB KiB MiB NaType NotApplicable '
            'NotApplicableType PiB TiB boolify bytes2human human2bytes timedelta2human '
            'utilization2string',
            'nvitop.collector': 'ResourceMetricCollector collect_in_background',
        },
    )
    _MODULES = {'caching', 'collector', 'device', 'process', 'termcolor', 'utils'}
    __all__ = sorted({*__dir__()}.difference(globals(), _MODULES))
