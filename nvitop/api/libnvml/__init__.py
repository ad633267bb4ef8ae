# SPDX-License-Identifier: Apache-2.0
"""The only door to NVML: everything of the binding ``pynvml``, made safe to ask.

``from nvitop.libnvml import *`` can stand for ``from pynvml import *``. Nothing is loaded before
the first question. :func:`nvmlQuery` asks without raising; functions and structures that exist in
several versions are chosen by what the driver has; :func:`last_error` tells why an answer is
missing; ``with libnvml:`` initialises and shuts down.
"""

from __future__ import annotations

import sys
from types import ModuleType, TracebackType
from typing import Any, Callable

from nvitop.api.libnvml._accounting import nvmlDeviceGetAccountingStats
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
    is_lasting,
)
from nvitop.api.libnvml._count import nvmlDeviceGetCount
from nvitop.api.libnvml._explanation import (
    advise_on_failure,
    explain_init_error,
    explain_silence,
)
from nvitop.api.libnvml._field_values import nvmlDeviceGetFieldValues, nvmlQueryFieldValues
from nvitop.api.libnvml._log import LOGGER
from nvitop.api.libnvml._missing_functions import missing_functions_report
from nvitop.api.libnvml._process_lists import (
    ProcessInfo,
    impossible_answer,
    nvmlDeviceGetComputeRunningProcesses,
    nvmlDeviceGetGraphicsRunningProcesses,
    nvmlDeviceGetMPSComputeRunningProcesses,
    nvmlDeviceGetProcessUtilization,
)
from nvitop.api.libnvml._query import (
    UNKNOWN_FUNCTIONS,
    UNKNOWN_FUNCTIONS_CACHE_SIZE,
    VERSIONED_PATTERN,
    call_count,
    last_error,
    nvmlCheckReturn,
    nvmlQuery,
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
from nvitop.api.libnvml._text_arguments import (
    nvmlDeviceGetHandleByPciBusId,
    nvmlDeviceGetHandleBySerial,
    nvmlDeviceGetHandleByUUID,
)
from nvitop.api.libnvml._versions import (
    nvmlDeviceGetCurrentDriverModel,
    nvmlDeviceGetDriverModel,
    nvmlDeviceGetMemoryInfo,
    nvmlDeviceGetPendingDriverModel,
    nvmlDeviceGetTemperature,
)

__all__ = [
    'LOGGER',
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


def nvmlInit() -> None:
    """Initialise NVML with default flags; see :func:`nvmlInitWithFlags`."""
    SESSION.init()


def nvmlInitWithFlags(flags: int) -> None:
    """Initialise NVML; where it is with just these flags already, only count that.

    As with the binding, NVML stays initialised until each initialisation is undone by an
    :func:`nvmlShutdown`. Not needed before :func:`nvmlQuery`. NVML is shut down as the process ends.

    Args:
        flags: A sum of ``NVML_INIT_FLAG_…``.

    Raises:
        NVMLError: NVML cannot be initialised; :func:`explain_init_error` has it in words.
        NVMLError_LibraryNotFound: There is no NVML library; the logger explains it once.
    """
    SESSION.init(flags)


def nvmlShutdown() -> None:
    """Undo the last initialisation.

    Raises:
        NVMLError_InUse: Another thread was still inside a call after half a second.
        NVMLError_Uninitialized: NVML is not initialised.
    """
    SESSION.shutdown()


def restart_nvml() -> None:
    """Shut NVML down and initialise it again: only then it sees a driver that was loaded anew.

    How often NVML has to be shut down stays the same for all who have initialised it.

    Raises:
        NVMLError_InUse: Another thread was still inside a call after half a second.
        NVMLError: NVML cannot be initialised any more.
    """
    SESSION.restart()


def use_library(library: object | None) -> None:
    """Have NVML answered by an object of plain Python functions; ``None``: by the driver again.

    The object stands where the binding keeps its loaded library, so its attributes are called as the
    functions of the library are. What was learnt of the library before is forgotten, and NVML is
    initialised anew at the next question.
    """
    SESSION.use_library(library)


def on_new_library(forget: Callable[[], None]) -> None:
    """Have ``forget`` called whenever another library is installed: it drops what was learnt."""
    SESSION.on_new_library(forget)


def calls_in_flight() -> dict[int, str]:
    """The NVML function in which each other thread is right now, by thread identifier."""
    return SESSION.calls_in_flight()


class _LibnvmlModule(ModuleType):
    """This module, usable in a ``with`` statement."""

    @property
    def __all__(self) -> list[str]:
        """All public names, looked up only by who imports ``*``: the binding has thousands."""
        own: list[str] = vars(self)['__all__']
        return [*own, *sorted({*filter(is_lasting, vars(BINDING))} - {*own})]

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


def __getattr__(name: str) -> Any:
    """Whatever is not here is looked for in the binding, when it is first used."""
    try:
        value = getattr(BINDING, name)
    except AttributeError:
        message = f'module {__name__!r} has no attribute {name!r}'
        raise AttributeError(message) from None
    if is_lasting(name):
        globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All names, those of the binding too."""
    return sorted({*globals(), *filter(is_lasting, vars(BINDING))})


# Functions say the path where users find them, not the file they are written in.
for _name in __all__:
    _value = globals().get(_name)
    if getattr(_value, '__module__', '').startswith(f'{__name__}._'):
        _value.__module__ = __name__
del _name, _value

sys.modules[__name__].__class__ = _LibnvmlModule
