# SPDX-License-Identifier: Apache-2.0
"""The complete NVML driver: the object that the binding uses as the loaded library.

A driver lacks the functions of newer ones, and has some that it never supports or permits.
"""

from __future__ import annotations

import fnmatch
import inspect
import re
from typing import Callable, Iterator

import pynvml

from nvitop.api.libnvml._errors import NO_PERMISSION, NOT_SUPPORTED
from nvitop.simulation.abi import DriverError
from nvitop.simulation.driver import (
    counters,
    global_functions,
    health,
    identity,
    processes,
    sensors,
)
from nvitop.simulation.driver.symbols import GPU, NODE, SYSTEM, Symbol, bind, branch_of, reader
from nvitop.simulation.schema import GPU_KEYS, MIG_VALUES
from nvitop.simulation.world import World

#: Driver branch → functions of nvitop that it introduced, with ``*``.
SINCE = {
    450: (
        '*GpuInstance*', '*ComputeInstance*', '*Mig*', '*RunningProcesses_v2', 'nvmlDeviceGetAttributes*',
        'nvmlDeviceGetRemappedRows', 'nvmlDeviceGetRowRemapperHistogram', 'nvmlDeviceGetArchitecture',
        'nvmlDeviceGetRetiredPages_v2',
    ),
    455: ('nvmlDeviceGetFanSpeed_v2', 'nvmlDeviceGetMPSComputeRunningProcesses'),
    470: ('nvmlDeviceGetNumGpuCores', 'nvmlDeviceGetNumFans'),
    510: ('*RunningProcesses_v3', 'nvmlDeviceGetMemoryInfo_v2', 'nvmlDeviceGetGpuMaxPcieLinkGeneration'),
    520: ('nvmlGpm*', '*Gsp*'),
    530: ('nvmlDeviceGetNumaNodeId', 'nvmlDeviceGetPciInfoExt'),
    535: (
        '*ConfCompute*', '*C2cModeInfoV', '*ClocksEventReasons', 'nvmlDeviceGetJpgUtilization', 'nvmlDeviceGetOfaUtilization',
        'nvmlDeviceGetRunningProcessDetailList',
    ),
    545: ('nvmlDeviceGetGpuFabricInfoV', 'nvmlDeviceGetSramEccErrorStatus', 'nvmlDeviceGetVgpuCapabilities'),
    550: ('nvmlDeviceGetProcessesUtilizationInfo',),
    555: ('nvmlDeviceGetHandleByUUIDV', 'nvmlDeviceGetMarginTemperature'),
    560: ('nvmlDeviceGetTemperatureV', '*VgpuDriverCapabilities'),
    570: ('nvmlDeviceGetDriverModel_v2', '*PlatformInfo', '*DramEncryptionMode'),
    580: ('nvmlDeviceGetAddressingMode',),
    610: ('nvmlDeviceGetRemappedRows_v2', '*AccountingStats_v2'),
    615: ('*GpuFabricInfo_v4', 'nvmlEventSetWait_v3'),
}  # fmt: skip


#: Functions among them that return what older ones do, in other structures.
LAYOUTS = (
    '*RunningProcesses_v2', '*RunningProcesses_v3', 'nvmlDeviceGetMemoryInfo_v2', 'nvmlDeviceGetFanSpeed_v2',
    'nvmlDeviceGetRunningProcessDetailList', 'nvmlDeviceGetProcessesUtilizationInfo', 'nvmlDeviceGetHandleByUUIDV',
    'nvmlDeviceGetTemperatureV', 'nvmlDeviceGetRemappedRows_v2', 'nvmlDeviceGetRetiredPages_v2',
)  # fmt: skip


def not_supported(caller: object) -> None:
    """Return *not supported* for all arguments."""
    raise DriverError(NOT_SUPPORTED)


def no_permission(caller: object) -> None:
    """Return *no permission* for all arguments."""
    raise DriverError(NO_PERMISSION)


def _others() -> Iterator[Symbol]:
    """Functions that the binding calls and nvitop does not.

    They return *not supported*, like a GPU without the feature, or *no permission* if they change it.
    """
    for function in vars(pynvml).values():
        code = getattr(inspect.unwrap(function), '__code__', None) if callable(function) else None
        for name in code.co_consts if code is not None else ():
            if not isinstance(name, str) or not re.fullmatch(r'nvml[A-Z]\w+', name):
                continue
            changes = name.startswith('nvmlDevice') and 'Get' not in name
            is_about_gpu = name.startswith('nvmlDevice') and 'HandleBy' not in name
            body = no_permission if changes else not_supported
            yield Symbol(name, GPU if is_about_gpu else SYSTEM, body)


ALL_SYMBOLS: dict[str, Symbol] = {symbol.name: symbol for symbol in _others()}
ALL_SYMBOLS.update(
    (name, Symbol(name, NODE if key.name in MIG_VALUES else GPU, reader(key.name)))
    for key in GPU_KEYS
    for name in key.nvml.split()
)
ALL_SYMBOLS.update(
    (symbol.name, symbol)
    for subject in (global_functions, identity, sensors, health, counters, processes)
    for symbol in subject.SYMBOLS.all
)


class Driver:
    """Plain functions as attributes. A symbol that the driver lacks is an absent attribute."""

    def __init__(self, functions: dict[str, Callable[..., object]]) -> None:
        self.__dict__.update(functions)

    def hide(self, pattern: str) -> None:
        """Remove symbols by name, with ``*`` and ``?``; raises ValueError if none matches."""
        names = fnmatch.filter(list(self.__dict__), pattern)
        if not names:
            raise ValueError(f'the simulated driver has no function {pattern!r}')
        for name in names:
            del self.__dict__[name]


def nvml_driver(world: World) -> Driver:
    """Create the NVML driver of a machine, with the symbols that its version has."""
    functions: dict[str, Callable[..., object]] = {
        name: bind(world, symbol) for name, symbol in ALL_SYMBOLS.items()
    }
    functions['nvmlErrorString'] = global_functions.nvmlErrorString
    world.faults.know(ALL_SYMBOLS)
    driver = Driver(functions)
    scenario = world.scenario
    newer = _newer(branch_of(scenario.driver_version), layouts_only=scenario.complete)
    for pattern in (*newer, *scenario.hidden):
        if fnmatch.filter(list(driver.__dict__), pattern):
            driver.hide(pattern)
    return driver


def _newer(branch: int, *, layouts_only: bool) -> list[str]:
    """Patterns of the functions that are newer than a driver branch.

    With *layouts_only*, only other versions of older functions count, not new getters.
    """
    patterns = [pattern for since, names in SINCE.items() if branch < since for pattern in names]
    return [pattern for pattern in patterns if pattern in LAYOUTS or not layouts_only]
