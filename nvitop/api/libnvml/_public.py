# SPDX-License-Identifier: Apache-2.0
"""The names of ``nvitop.libnvml``: those that are listed here, and all others of the binding."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

# Not `from nvitop.api.libnvml import ...`: it would ask the package for the names first, which asks this module.
import nvitop.api.libnvml._binding as _binding
import nvitop.api.libnvml._overrides as _overrides
import nvitop.api.libnvml._process_lists as _process_lists
import nvitop.api.libnvml._query as _query
from nvitop.api.libnvml._binding import BINDING, is_constant
from nvitop.api.libnvml._query import OVERRIDES
from nvitop.api.libnvml._session import SESSION
from nvitop.basics import units
from nvitop.basics.log import logger

if TYPE_CHECKING:
    import logging

    from nvitop.api.libnvml._binding import *
    from nvitop.api.libnvml._explanation import *
    from nvitop.api.libnvml._overrides import *
    from nvitop.api.libnvml._process_lists import *
    from nvitop.api.libnvml._query import *
    from nvitop.basics.units import NA as NA
    from nvitop.basics.units import UINT_MAX as UINT_MAX
    from nvitop.basics.units import ULONGLONG_MAX as ULONGLONG_MAX

    LOGGER: logging.Logger
    VERSIONED_PATTERN: re.Pattern[str]

    def __getattr__(name: str) -> Any: ...


#: Names of other modules, in addition to those of :data:`OVERRIDES`.
_NAMES = {
    _binding: 'NVMLError NVMLError_FunctionNotFound NVMLError_GpuIsLost NVMLError_LibraryNotFound '
    'NVMLError_NotFound NVMLError_NotSupported NVMLError_Uninitialized NVMLError_Unknown '
    'c_nvmlDevice_t explain_binding',
    _overrides: 'c_nvmlMemory_v1_t c_nvmlMemory_v2_t c_nvmlProcessInfo_v1_t c_nvmlProcessInfo_v2_t '
    'c_nvmlProcessInfo_v3_t c_nvmlTemperature_v1_t nvmlDeviceGetDriverModel nvmlQueryFieldValues',
    _process_lists: 'ProcessInfo impossible_answer',
    _query: 'UNKNOWN_FUNCTIONS UNKNOWN_FUNCTIONS_CACHE_SIZE call_count last_error '
    'missing_functions_report nvmlCheckReturn nvmlQuery',
    units: 'NA UINT_MAX ULONGLONG_MAX',
}
nvmlInit = nvmlInitWithFlags = SESSION.init
nvmlShutdown = SESSION.shutdown
restart_nvml = SESSION.restart
use_library = SESSION.use_library
on_new_library = SESSION.on_new_library
calls_in_flight = SESSION.calls_in_flight
OVERRIDES.update(nvmlInit=nvmlInit, nvmlInitWithFlags=nvmlInit, nvmlShutdown=nvmlShutdown)

_EXPLANATIONS = ('advise_on_failure', 'explain_init_error', 'explain_silence')
_OWN = {
    *('calls_in_flight', 'nvmlInit', 'nvmlInitWithFlags', 'nvmlShutdown', 'on_new_library'),
    *('restart_nvml', 'use_library', 'LOGGER', 'VERSIONED_PATTERN', *_EXPLANATIONS),
}
for _module, _names in _NAMES.items():
    globals().update({name: getattr(_module, name) for name in _names.split()})
    _OWN.update(_names.split())
globals().update(OVERRIDES)


def find(name: str, names: dict[str, Any]) -> Any:
    """Return a name of this module, one that few programs use, or one of the binding.

    It is added to ``names``, unless the binding assigns it while it runs.
    """
    if name in globals():
        value = globals()[name]
    elif name == '__all__':
        value = sorted(filter(is_constant, {*_OWN, *OVERRIDES, *vars(BINDING)}))
    elif name == 'LOGGER':
        value = logger()
    elif name == 'VERSIONED_PATTERN':  # functions and structures that exist in several versions
        value = re.compile(r'^(?P<name>\w+?)(?P<suffix>_v(?P<version>\d+))$')
    elif name in _EXPLANATIONS:
        from nvitop.api.libnvml import _explanation  # only after failures

        value = getattr(_explanation, name)
    elif hasattr(BINDING, name):
        value = getattr(BINDING, name)
    else:
        raise AttributeError(f"module 'nvitop.api.libnvml' has no attribute {name!r}")
    return names.setdefault(name, value) if is_constant(name) else value
