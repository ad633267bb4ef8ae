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
import importlib
import os
from typing import TYPE_CHECKING

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
    _SUBMODULES = frozenset(
        [
            'api',
            'caching',
            'collector',
            'device',
            'process',
            'sampling',
            'select',
            'termcolor',
            'utils',
        ]
    )

    def __getattr__(name: str) -> object:
        """Import a public name on first use, because commands such as `nvitop --help` need none."""
        if name in _SUBMODULES:
            return importlib.import_module(f'nvitop.{name}')
        if name.startswith('_') and name != '__all__':
            raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
        from nvitop import api

        if name == '__all__':
            value = [*api.__all__, 'select_devices', 'claim']
        elif name == 'select_devices':
            value = importlib.import_module('nvitop.select').select_devices
        elif name == 'claim':
            value = importlib.import_module('nvitop.claims.acquire').claim
        elif name in api.__all__:
            value = getattr(api, name)
        else:
            raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
        # setdefault: two threads that import a name at the same time get the same object.
        return globals().setdefault(name, value)

    def __dir__() -> list[str]:
        """Return all names, including those that are imported on first use."""
        return sorted({*globals(), *_SUBMODULES, *__getattr__('__all__')})


if os.environ.get('NVITOP_DEMO'):
    # A broken binding is reported by what needs it. Ctrl-C here would be a traceback of any command.
    with contextlib.suppress(Exception, KeyboardInterrupt):
        from nvitop.api.libnvml._session import SESSION

        SESSION.cover_binding()
