# SPDX-License-Identifier: Apache-2.0
"""An interactive NVIDIA GPU process viewer and the Python library under it.

>>> from nvitop import Device
>>> for device in Device.all():
...     print(device.index, device.name(), device.memory_usage(), device.gpu_utilization())

The names are those of :mod:`nvitop.api`. Importing this package loads nothing: each name is imported
when it is first used, and the driver is loaded by the first question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.version import __version__

if TYPE_CHECKING:
    from nvitop.api import *
    from nvitop.select import select_devices

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
    '__version__',
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
    'select_devices',
    'set_color',
    'take_snapshots',
    'timedelta2human',
    'ttl_cache',
    'utilization2string',
]

#: Modules that are those of nvitop.api, see there.
_MODULES = ('caching', 'collector', 'device', 'process', 'termcolor', 'utils')

if not TYPE_CHECKING:  # where it would hide misspelled names

    def __getattr__(name):
        if name not in __all__ and name not in _MODULES:
            raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
        import importlib

        if name in _MODULES:
            return importlib.import_module(f'nvitop.{name}')
        home = 'nvitop.select' if name == 'select_devices' else 'nvitop.api'
        value = globals()[name] = getattr(importlib.import_module(home), name)
        return value

    def __dir__():
        return sorted({*globals(), *__all__, *_MODULES})
