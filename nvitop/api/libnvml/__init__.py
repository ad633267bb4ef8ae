# SPDX-License-Identifier: Apache-2.0
"""NVML: the binding ``pynvml`` with safe queries. Nothing else in nvitop uses the binding.

``from nvitop.libnvml import *`` can replace ``from pynvml import *``. The driver is loaded by the
first query. :func:`nvmlQuery` returns ``NA`` instead of raising, :func:`last_error` returns the
reason, and ``with libnvml:`` initializes NVML and shuts it down. Functions and structures that exist
in several versions are chosen by the abilities of the driver.
"""

from __future__ import annotations

import re
import sys
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Callable

from nvitop.api.libnvml._binding import (
    BINDING,
    NVMLError,
    NVMLError_FunctionNotFound,
    NVMLError_GpuIsLost,
    NVMLError_LibraryNotFound,
    NVMLError_NotFound,
    NVMLError_NotSupported,
    NVMLError_Uninitialized,
    NVMLError_Unknown,
    c_nvmlDevice_t,
    explain_binding,
    is_constant,
)
from nvitop.api.libnvml._overrides import (
    nvmlDeviceGetAccountingStats,
    nvmlDeviceGetCount,
    nvmlDeviceGetCurrentDriverModel,
    nvmlDeviceGetDriverModel,
    nvmlDeviceGetFieldValues,
    nvmlDeviceGetHandleByPciBusId,
    nvmlDeviceGetHandleBySerial,
    nvmlDeviceGetHandleByUUID,
    nvmlDeviceGetMemoryInfo,
    nvmlDeviceGetPendingDriverModel,
    nvmlDeviceGetTemperature,
    nvmlQueryFieldValues,
)
from nvitop.api.libnvml._process_lists import (
    ProcessInfo,
    impossible_answer,
    nvmlDeviceGetComputeRunningProcesses,
    nvmlDeviceGetGraphicsRunningProcesses,
    nvmlDeviceGetMPSComputeRunningProcesses,
    nvmlDeviceGetProcessesUtilizationInfo,
    nvmlDeviceGetProcessUtilization,
)
from nvitop.api.libnvml._query import (
    UNKNOWN_FUNCTIONS,
    UNKNOWN_FUNCTIONS_CACHE_SIZE,
    call_count,
    last_error,
    missing_functions_report,
    nvmlCheckReturn,
    nvmlQuery,
    override,
)
from nvitop.api.libnvml._session import SESSION
from nvitop.api.libnvml._structures import (
    c_nvmlMemory_v1_t,
    c_nvmlMemory_v2_t,
    c_nvmlProcessInfo_v1_t,
    c_nvmlProcessInfo_v2_t,
    c_nvmlProcessInfo_v3_t,
    c_nvmlTemperature_v1_t,
)
from nvitop.basics.log import logger
from nvitop.basics.units import NA, UINT_MAX, ULONGLONG_MAX

if TYPE_CHECKING:
    import logging

    from nvitop.api.libnvml._explanation import (
        advise_on_failure,
        explain_init_error,
        explain_silence,
    )

    LOGGER: logging.Logger
    VERSIONED_PATTERN: re.Pattern[str]

__all__ = [
    'LOGGER',
    'NA',
    'UINT_MAX',
    'ULONGLONG_MAX',
    'UNKNOWN_FUNCTIONS',
    'UNKNOWN_FUNCTIONS_CACHE_SIZE',
    'VERSIONED_PATTERN',
    'NVMLError',
    'NVMLError_FunctionNotFound',
    'NVMLError_GpuIsLost',
    'NVMLError_LibraryNotFound',
    'NVMLError_NotFound',
    'NVMLError_NotSupported',
    'NVMLError_Uninitialized',
    'NVMLError_Unknown',
    'ProcessInfo',
    'advise_on_failure',
    'c_nvmlDevice_t',
    'c_nvmlMemory_v1_t',
    'c_nvmlMemory_v2_t',
    'c_nvmlProcessInfo_v1_t',
    'c_nvmlProcessInfo_v2_t',
    'c_nvmlProcessInfo_v3_t',
    'c_nvmlTemperature_v1_t',
    'call_count',
    'calls_in_flight',
    'explain_binding',
    'explain_init_error',
    'explain_silence',
    'impossible_answer',
    'last_error',
    'missing_functions_report',
    'nvmlCheckReturn',
    'nvmlDeviceGetAccountingStats',
    'nvmlDeviceGetComputeRunningProcesses',
    'nvmlDeviceGetCount',
    'nvmlDeviceGetCurrentDriverModel',
    'nvmlDeviceGetDriverModel',
    'nvmlDeviceGetFieldValues',
    'nvmlDeviceGetGraphicsRunningProcesses',
    'nvmlDeviceGetHandleByPciBusId',
    'nvmlDeviceGetHandleBySerial',
    'nvmlDeviceGetHandleByUUID',
    'nvmlDeviceGetMPSComputeRunningProcesses',
    'nvmlDeviceGetMemoryInfo',
    'nvmlDeviceGetPendingDriverModel',
    'nvmlDeviceGetProcessUtilization',
    'nvmlDeviceGetProcessesUtilizationInfo',
    'nvmlDeviceGetTemperature',
    'nvmlInit',
    'nvmlInitWithFlags',
    'nvmlQuery',
    'nvmlQueryFieldValues',
    'nvmlShutdown',
    'on_new_library',
    'restart_nvml',
    'use_library',
]


@override
def nvmlInit() -> None:
    """Initialize NVML with default flags; see :func:`nvmlInitWithFlags`."""
    SESSION.init()


@override
def nvmlInitWithFlags(flags: int) -> None:
    """Initialize NVML. If it is initialized with the same flags already, only count the call.

    As in the binding, NVML stays initialized until :func:`nvmlShutdown` has been called as often.
    :func:`nvmlQuery` does not need this call. NVML is shut down when the process exits.

    Args:
        flags: A sum of ``NVML_INIT_FLAG_…``.

    Raises:
        NVMLError: NVML cannot be initialized; :func:`explain_init_error` explains the error.
        NVMLError_LibraryNotFound: There is no NVML library; this is also logged once.
    """
    SESSION.init(flags)


@override
def nvmlShutdown() -> None:
    """Undo the last initialization.

    Raises:
        NVMLError_InUse: Another thread was still inside a driver call after half a second.
        NVMLError_Uninitialized: NVML is not initialized.
    """
    SESSION.shutdown()


def restart_nvml() -> None:
    """Shut NVML down and initialize it again, as is necessary after the driver was reloaded.

    Afterwards it is initialized as often as before.

    Raises:
        NVMLError_InUse: Another thread was still inside a driver call after half a second.
        NVMLError: NVML can no longer be initialized.
    """
    SESSION.restart()


def use_library(library: object | None) -> None:
    """Replace the driver's library by an object with Python functions; None restores it.

    The binding calls the attributes of the object as it calls the functions of the library.
    Everything known about the previous library is dropped, and the next query initializes NVML.
    """
    SESSION.use_library(library)


def on_new_library(forget: Callable[[], None]) -> None:
    """Call ``forget`` when the library is replaced, to drop what is known about the old one."""
    SESSION.on_new_library(forget)


def calls_in_flight() -> dict[int, str]:
    """Return the NVML function that each other thread is inside, by thread identifier."""
    return SESSION.calls_in_flight()


class _LibnvmlModule(ModuleType):
    """The class of this module, which makes it usable in a ``with`` statement."""

    def __enter__(self) -> _LibnvmlModule:
        SESSION.enter()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        SESSION.exit()


def _find(name: str) -> Any:
    """Return a name that few programs use, or one of the binding."""
    if name == 'LOGGER':
        return logger()
    if name == 'VERSIONED_PATTERN':  # functions and structures that exist in several versions
        return re.compile(r'^(?P<name>\w+?)(?P<suffix>_v(?P<version>\d+))$')
    if name in ('advise_on_failure', 'explain_init_error', 'explain_silence'):
        from nvitop.api.libnvml import _explanation

        return getattr(_explanation, name)
    return getattr(BINDING, name)


def __getattr__(name: str) -> Any:
    """Return a name that is imported or made when it is first used."""
    try:
        value = _find(name)
    except AttributeError:
        message = f'module {__name__!r} has no attribute {name!r}'
        raise AttributeError(message) from None
    if is_constant(name):
        globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return all names, including those of the binding."""
    return sorted({*globals(), *filter(is_constant, vars(BINDING))})


if not TYPE_CHECKING:
    __all__ += {*filter(is_constant, vars(BINDING))}.difference(__all__)

sys.modules[__name__].__class__ = _LibnvmlModule
