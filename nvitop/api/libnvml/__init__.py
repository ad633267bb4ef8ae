# SPDX-License-Identifier: Apache-2.0
"""NVML: the binding ``pynvml`` with safe queries. Nothing else in nvitop uses the binding.

``from nvitop.libnvml import *`` can replace ``from pynvml import *``. The binding is imported when a
name is first used, and the driver is loaded by the first query. :func:`nvmlQuery` returns ``NA``
instead of raising, :func:`last_error` returns the reason, and ``with libnvml:`` initializes NVML and
shuts it down. Functions and structures that exist in several versions are chosen by the abilities of
the driver.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nvitop.api.libnvml._public import *


class _LibnvmlModule(ModuleType):
    """The class of this module, which makes it usable in a ``with`` statement."""

    def __enter__(self) -> _LibnvmlModule:
        self.SESSION.enter()
        return self

    def __exit__(self, *error: object) -> None:
        self.SESSION.exit()


def __getattr__(name: str) -> Any:
    """Return a name of nvitop or of the binding, which is imported on first use."""
    if name.startswith('__') and name != '__all__':
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return importlib.import_module(f'{__name__}._public').find(name, globals())


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__('__all__')})


sys.modules[__name__].__class__ = _LibnvmlModule
