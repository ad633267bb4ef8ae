# SPDX-License-Identifier: Apache-2.0
"""An interactive NVIDIA GPU process viewer and the Python library under it.

>>> from nvitop import Device
>>> for device in Device.all():
...     print(device.index, device.name(), device.memory_usage(), device.gpu_utilization())

The names are those of :mod:`nvitop.api`. They are imported on first use, and the driver is loaded by
the first query.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from nvitop.basics.lazy import lazy_names
from nvitop.version import __version__ as __version__

if TYPE_CHECKING:
    from nvitop import api as api
    from nvitop import caching as caching
    from nvitop import collector as collector
    from nvitop import device as device
    from nvitop import process as process
    from nvitop import sampling as sampling
    from nvitop import select as select
    from nvitop import termcolor as termcolor
    from nvitop import utils as utils
    from nvitop.api import *
    from nvitop.claims.acquire import claim as claim
    from nvitop.select import select_devices as select_devices
else:  # type checkers must not see a `__getattr__`: it would hide misspelled names
    from nvitop.api import __all__ as _api_names

    __all__ = [*_api_names, 'select_devices', 'claim']
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            __name__: 'api caching collector device process sampling select termcolor utils',
            'nvitop.api': ' '.join(_api_names),
            'nvitop.select': 'select_devices',
            'nvitop.claims.acquire': 'claim',
        },
    )

if os.environ.get('NVITOP_DEMO'):
    # A broken binding is reported by what needs it. Ctrl-C here would be a traceback of any command.
    with contextlib.suppress(Exception, KeyboardInterrupt):
        from nvitop.api.libnvml._session import SESSION

        SESSION.cover_binding()
