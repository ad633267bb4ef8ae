# SPDX-License-Identifier: Apache-2.0
"""An interactive NVIDIA GPU process viewer and the Python library under it.

>>> from nvitop import Device
>>> for device in Device.all():
...     print(device.index, device.name(), device.memory_usage(), device.gpu_utilization())

The names are those of :mod:`nvitop.api`. They are imported on first use, and the driver is loaded by
the first query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.lazy import lazy_names
from nvitop.version import __version__ as __version__

if TYPE_CHECKING:
    from nvitop.api.libnvml._typing import libnvml as libnvml

    # isort: split
    from nvitop import api as api
    from nvitop import caching as caching
    from nvitop import collector as collector
    from nvitop import device as device
    from nvitop import process as process
    from nvitop import select as select
    from nvitop import termcolor as termcolor
    from nvitop import utils as utils
    from nvitop.api import *  # type: ignore[assignment]  # - libnvml is a module there
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

if not TYPE_CHECKING:  # it would hide misspelled names
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            __name__: 'api caching collector device process select termcolor utils',
            'nvitop.api': ' '.join(name for name in __all__ if name != 'select_devices'),
            'nvitop.select': 'select_devices',
        },
    )
