# SPDX-License-Identifier: Apache-2.0
"""An interactive NVIDIA GPU process viewer and the Python library under it.

>>> from nvitop import Device
>>> for device in Device.all():
...     print(device.index, device.name(), device.memory_usage(), device.gpu_utilization())

Importing this package loads no driver; the first question does. The names are those of
:mod:`nvitop.api`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from nvitop import api
from nvitop.api import *
from nvitop.version import __version__

__all__ = ['__version__']
__all__ += api.__all__


def _on_use(name: str) -> Any:
    """Import a module of :mod:`nvitop.api` under its conventional name."""
    if name in ('caching', 'collector', 'device', 'process', 'termcolor', 'utils'):
        return importlib.import_module(f'nvitop.{name}')
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


if not TYPE_CHECKING:  # where it would hide misspelled names
    __getattr__ = _on_use
