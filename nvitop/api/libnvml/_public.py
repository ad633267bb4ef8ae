# SPDX-License-Identifier: Apache-2.0
"""The names of ``nvitop.libnvml``: those that are listed here, and all others of the binding."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nvitop.api.libnvml._binding import BINDING, is_constant
from nvitop.api.libnvml._binding import NVMLError as NVMLError
from nvitop.api.libnvml._binding import NVMLError_FunctionNotFound as NVMLError_FunctionNotFound
from nvitop.api.libnvml._binding import NVMLError_GpuIsLost as NVMLError_GpuIsLost
from nvitop.api.libnvml._binding import NVMLError_LibraryNotFound as NVMLError_LibraryNotFound
from nvitop.api.libnvml._binding import NVMLError_NotFound as NVMLError_NotFound
from nvitop.api.libnvml._binding import NVMLError_NotSupported as NVMLError_NotSupported
from nvitop.api.libnvml._binding import NVMLError_Uninitialized as NVMLError_Uninitialized
from nvitop.api.libnvml._binding import NVMLError_Unknown as NVMLError_Unknown
from nvitop.api.libnvml._binding import c_nvmlDevice_t as c_nvmlDevice_t
from nvitop.api.libnvml._binding import explain_binding as explain_binding
from nvitop.api.libnvml._overrides import (
    nvmlDeviceGetAccountingStats as nvmlDeviceGetAccountingStats,
)
from nvitop.api.libnvml._overrides import nvmlDeviceGetCount as nvmlDeviceGetCount
from nvitop.api.libnvml._overrides import (
    nvmlDeviceGetCurrentDriverModel as nvmlDeviceGetCurrentDriverModel,
)
from nvitop.api.libnvml._overrides import nvmlDeviceGetDriverModel as nvmlDeviceGetDriverModel
from nvitop.api.libnvml._overrides import nvmlDeviceGetFieldValues as nvmlDeviceGetFieldValues
from nvitop.api.libnvml._overrides import (
    nvmlDeviceGetHandleByPciBusId as nvmlDeviceGetHandleByPciBusId,
)
from nvitop.api.libnvml._overrides import nvmlDeviceGetHandleBySerial as nvmlDeviceGetHandleBySerial
from nvitop.api.libnvml._overrides import nvmlDeviceGetHandleByUUID as nvmlDeviceGetHandleByUUID
from nvitop.api.libnvml._overrides import nvmlDeviceGetMemoryInfo as nvmlDeviceGetMemoryInfo
from nvitop.api.libnvml._overrides import (
    nvmlDeviceGetPendingDriverModel as nvmlDeviceGetPendingDriverModel,
)
from nvitop.api.libnvml._overrides import nvmlDeviceGetTemperature as nvmlDeviceGetTemperature
from nvitop.api.libnvml._overrides import nvmlQueryFieldValues as nvmlQueryFieldValues
from nvitop.api.libnvml._process_lists import ProcessInfo as ProcessInfo
from nvitop.api.libnvml._process_lists import impossible_answer as impossible_answer
from nvitop.api.libnvml._process_lists import (
    nvmlDeviceGetComputeRunningProcesses as nvmlDeviceGetComputeRunningProcesses,
)
from nvitop.api.libnvml._process_lists import (
    nvmlDeviceGetGraphicsRunningProcesses as nvmlDeviceGetGraphicsRunningProcesses,
)
from nvitop.api.libnvml._process_lists import (
    nvmlDeviceGetMPSComputeRunningProcesses as nvmlDeviceGetMPSComputeRunningProcesses,
)
from nvitop.api.libnvml._process_lists import (
    nvmlDeviceGetProcessesUtilizationInfo as nvmlDeviceGetProcessesUtilizationInfo,
)
from nvitop.api.libnvml._process_lists import (
    nvmlDeviceGetProcessUtilization as nvmlDeviceGetProcessUtilization,
)
from nvitop.api.libnvml._query import OVERRIDES
from nvitop.api.libnvml._query import UNKNOWN_FUNCTIONS as UNKNOWN_FUNCTIONS
from nvitop.api.libnvml._query import UNKNOWN_FUNCTIONS_CACHE_SIZE as UNKNOWN_FUNCTIONS_CACHE_SIZE
from nvitop.api.libnvml._query import call_count as call_count
from nvitop.api.libnvml._query import last_error as last_error
from nvitop.api.libnvml._query import missing_functions_report as missing_functions_report
from nvitop.api.libnvml._query import nvmlCheckReturn as nvmlCheckReturn
from nvitop.api.libnvml._query import nvmlQuery as nvmlQuery
from nvitop.api.libnvml._session import SESSION
from nvitop.api.libnvml._structures import c_nvmlMemory_v1_t as c_nvmlMemory_v1_t
from nvitop.api.libnvml._structures import c_nvmlMemory_v2_t as c_nvmlMemory_v2_t
from nvitop.api.libnvml._structures import c_nvmlProcessInfo_v1_t as c_nvmlProcessInfo_v1_t
from nvitop.api.libnvml._structures import c_nvmlProcessInfo_v2_t as c_nvmlProcessInfo_v2_t
from nvitop.api.libnvml._structures import c_nvmlProcessInfo_v3_t as c_nvmlProcessInfo_v3_t
from nvitop.api.libnvml._structures import c_nvmlTemperature_v1_t as c_nvmlTemperature_v1_t
from nvitop.basics.log import logger
from nvitop.basics.units import NA as NA
from nvitop.basics.units import UINT_MAX as UINT_MAX
from nvitop.basics.units import ULONGLONG_MAX as ULONGLONG_MAX

if TYPE_CHECKING:
    import logging

    from nvitop.api.libnvml._explanation import advise_on_failure as advise_on_failure
    from nvitop.api.libnvml._explanation import explain_init_error as explain_init_error
    from nvitop.api.libnvml._explanation import explain_silence as explain_silence

    LOGGER: logging.Logger
    VERSIONED_PATTERN: re.Pattern[str]

    def __getattr__(name: str) -> Any: ...


nvmlInit = nvmlInitWithFlags = SESSION.init
nvmlShutdown = SESSION.shutdown
restart_nvml = SESSION.restart
use_library = SESSION.use_library
on_new_library = SESSION.on_new_library
calls_in_flight = SESSION.calls_in_flight
OVERRIDES.update(nvmlInit=nvmlInit, nvmlInitWithFlags=nvmlInit, nvmlShutdown=nvmlShutdown)

_EXPLANATIONS = ('advise_on_failure', 'explain_init_error', 'explain_silence')
_NOT_EXPORTED = {'Any', 'BINDING', 'OVERRIDES', 'SESSION', 'TYPE_CHECKING'}
_NOT_EXPORTED |= {'annotations', 'find', 'is_constant', 'logger', 're'}


def find(name: str, names: dict[str, Any]) -> Any:
    """Return a name of this module, one that few programs use, or one of the binding.

    It is added to ``names``, unless the binding assigns it while it runs.
    """
    if name in globals():
        value = globals()[name]
    elif name == '__all__':
        own = {*globals(), *_EXPLANATIONS, 'LOGGER', 'VERSIONED_PATTERN'} - _NOT_EXPORTED
        value = sorted(filter(is_constant, {*own, *vars(BINDING)}))
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
