# SPDX-License-Identifier: Apache-2.0
"""The complete NVML driver: the object that the binding uses as the loaded library.

The functions here are about the driver itself: versions, lookup of devices, and events. A driver lacks the functions of newer ones, and has some that it never supports or permits.
"""

from __future__ import annotations

import fnmatch
import inspect
import os
import re
import sys
import time
from typing import Callable, Iterable, Iterator

import pynvml

from nvitop.api.libnvml._errors import (
    INVALID_ARGUMENT,
    NO_PERMISSION,
    NOT_FOUND,
    NOT_SUPPORTED,
    TIMEOUT,
    UNINITIALIZED,
)
from nvitop.api.libnvml._query import address_of
from nvitop.simulation.abi import NVML_ERRORS, DriverError, Handle, known, number, target, text_of
from nvitop.simulation.driver import (
    ALWAYS,
    GPU,
    LOOKUP,
    NODE,
    SYMBOLS,
    SYSTEM,
    Symbol,
    add_symbol,
    bind,
    branch_of,
    identity,
    processes,
    reader,
    sensors,
)
from nvitop.simulation.schema import GPU_KEYS, MIG_VALUES
from nvitop.simulation.world import Change, Node, World

#: Modules that add the functions of their subjects to :data:`SYMBOLS`.
SUBJECTS = (identity, processes, sensors)
_ERROR_TEXTS = {code: text.encode() for code, text in NVML_ERRORS.values()}


def nvmlErrorString(code: object) -> bytes:
    value = number(code)
    return b'Success' if value == 0 else _ERROR_TEXTS.get(value, b'Unknown Error')


@add_symbol(ALWAYS, 'nvmlInit', 'nvmlInit_v2', 'nvmlInitWithFlags')
def initialize(world: World, flags: object = 0) -> None:
    world.init_count += 1


@add_symbol(ALWAYS, 'nvmlShutdown')
def shut_down(world: World) -> None:
    if world.init_count <= 0:
        raise DriverError(UNINITIALIZED)
    world.init_count -= 1


@add_symbol(SYSTEM)
def nvmlSystemGetDriverVersion(world: World) -> str:
    return known(world.scenario.driver_version or None)


@add_symbol(SYSTEM, 'nvmlSystemGetCudaDriverVersion', 'nvmlSystemGetCudaDriverVersion_v2')
def cuda_driver_version(world: World) -> int:
    """``(int *)``: 12040 is 12.4."""
    return known(world.scenario.cuda_version or None)


@add_symbol(SYSTEM)
def nvmlSystemGetProcessName(world: World, pid: object) -> str:
    wanted = number(pid)
    for task in world.tasks:
        if world.pid_of(task) == wanted:
            return task.spec.command[0]
    if wanted == os.getpid():
        return sys.executable
    raise DriverError(NOT_FOUND)


@add_symbol(SYSTEM, 'nvmlDeviceGetCount', 'nvmlDeviceGetCount_v2')
def device_count(world: World) -> int:
    return len(world.present())


@add_symbol(LOOKUP, 'nvmlDeviceGetHandleByIndex', 'nvmlDeviceGetHandleByIndex_v2')
def handle_by_index(world: World, index: object) -> Handle:
    nodes = world.present()
    wanted = number(index)
    if not 0 <= wanted < len(nodes):
        raise DriverError(INVALID_ARGUMENT)
    return _first(nodes[wanted : wanted + 1])


@add_symbol(LOOKUP)
def nvmlDeviceGetHandleByUUID(world: World, uuid: object) -> Handle:
    """``(const char *, handle *)``: a GPU or a MIG device, also as ``MIG-GPU-…/gi/ci``."""
    wanted, t, nodes = text_of(uuid), world.seconds(), world.present()
    migs = [mig for node in nodes for mig in node.migs if mig.exists(t)]
    return _first(n for n in (*nodes, *migs) if wanted in (n.value('uuid'), n.legacy_uuid()))


@add_symbol(LOOKUP, 'nvmlDeviceGetHandleByPciBusId', 'nvmlDeviceGetHandleByPciBusId_v2')
def handle_by_bus_id(world: World, bus_id: object) -> Handle:
    """``(const char *, handle *)``: the domain may be short or missing."""
    wanted = _bus_parts(text_of(bus_id))
    return _first(node for node in world.present() if _bus_parts(node.value('bus_id')) == wanted)


@add_symbol(LOOKUP)
def nvmlDeviceGetHandleBySerial(world: World, serial: object) -> Handle:
    wanted = text_of(serial)
    return _first(node for node in world.present() if node.value('serial') == wanted)


add_symbol(NODE, 'nvmlDeviceGetIndex')(Node.index)


def _first(nodes: Iterable[Node]) -> Handle:
    for node in nodes:
        node.check()
        return Handle(node.address)
    raise DriverError(NOT_FOUND)


def _bus_parts(text: str) -> tuple[int, ...]:
    """Domain, bus, device and function. ``00000000:1B:00.0`` and ``1b:0.0`` are equal."""
    try:
        parts = [int(part, 16) for part in text.replace('.', ':').split(':')]
    except ValueError:
        raise DriverError(INVALID_ARGUMENT) from None
    return tuple([0] * (4 - len(parts)) + parts)


#: Key → bit of the event when it is set to another value than 0.
_EVENT_BITS = {'total_volatile_uncorrected_ecc_errors': 0x2, 'xid': 0x8, 'lost': 0x4000}
_NO_INSTANCE = 0xFFFFFFFF


class EventSet:
    """GPUs with the events that were registered, and how many changes were seen."""

    def __init__(self) -> None:
        self.seen: dict[tuple[Node, str], int] = {}

    def add(self, node: Node, mask: int) -> None:
        """Register a GPU; what happened before is not an event."""
        for key, bit in _EVENT_BITS.items():
            if mask & bit:
                self.seen[node, key] = len(_past(node, key))

    def take(self) -> tuple[Node, str, int] | None:
        """Return the next event: GPU, key and value; ``None``: nothing has happened."""
        for (node, key), seen in self.seen.items():
            for place, change in enumerate(_past(node, key)[seen:], seen + 1):
                self.seen[node, key] = place
                value = node.value_at(key, change.at)
                if value:
                    return node, key, int(value)
        for node, _ in self.seen:
            node.check()
        return None

    def next_change(self) -> float:
        times = [
            change.at
            for (node, key), seen in self.seen.items()
            for change in node.changes.get(key, ())[seen:]
        ]
        return min(times, default=float('inf'))


def _past(node: Node, key: str) -> list[Change]:
    now = node.world.seconds()
    return [change for change in node.changes.get(key, ()) if change.at <= now]


def _set_of(world: World, handle: object) -> EventSet:
    event_set = world.event_sets.get(address_of(handle))
    if not isinstance(event_set, EventSet):
        raise DriverError(INVALID_ARGUMENT)
    return event_set


@add_symbol(SYSTEM)
def nvmlEventSetCreate(world: World) -> Handle:
    handle = next(world.new_handles)
    world.event_sets[handle] = EventSet()
    return Handle(handle)


@add_symbol(SYSTEM)
def nvmlEventSetFree(world: World, events: object) -> None:
    _set_of(world, events)
    del world.event_sets[address_of(events)]


add_symbol(GPU, 'nvmlDeviceGetSupportedEventTypes')(lambda node: sum(_EVENT_BITS.values()))


@add_symbol(GPU)
def nvmlDeviceRegisterEvents(node: Node, mask: object, events: object) -> None:
    if number(mask) & ~sum(_EVENT_BITS.values()):
        raise DriverError(NOT_SUPPORTED)
    _set_of(node.world, events).add(node, number(mask))


@add_symbol(SYSTEM, 'nvmlEventSetWait', 'nvmlEventSetWait_v2')
def wait_for_event(world: World, events: object, out: object, milliseconds: object) -> None:
    event_set, data = _set_of(world, events), target(out)
    deadline = time.monotonic() + number(milliseconds) / 1000
    with world.changed:
        while True:
            if world.is_closed:
                raise DriverError(UNINITIALIZED)
            event = event_set.take()
            if event is not None:
                break
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise DriverError(TIMEOUT)
            world.changed.wait(
                min(remaining, max(0.001, event_set.next_change() - world.seconds()))
            )
    node, key, value = event
    handle = type(data.device)
    data.device = handle(handle._type_.from_address(node.address))
    data.eventType, data.eventData = _EVENT_BITS[key], value if key == 'xid' else 0
    if hasattr(data, 'gpuInstanceId'):  # not in the older structure
        data.gpuInstanceId = data.computeInstanceId = _NO_INSTANCE


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
    raise DriverError(NOT_SUPPORTED)


def no_permission(caller: object) -> None:
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
ALL_SYMBOLS.update(SYMBOLS)


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
    functions: dict[str, Callable[..., object]] = {
        name: bind(world, symbol) for name, symbol in ALL_SYMBOLS.items()
    }
    functions['nvmlErrorString'] = nvmlErrorString
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
