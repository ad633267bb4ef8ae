# SPDX-License-Identifier: Apache-2.0
"""The driver itself: initialization, versions, lookup of devices, and events."""

from __future__ import annotations

import os
import sys
import time
from typing import Iterable

from nvitop.api.libnvml._errors import (
    INVALID_ARGUMENT,
    NOT_FOUND,
    NOT_SUPPORTED,
    TIMEOUT,
    UNINITIALIZED,
)
from nvitop.api.libnvml._query import address_of
from nvitop.simulation.abi import NVML_ERRORS, DriverError, Handle, known, number, target, text_of
from nvitop.simulation.driver.symbols import ALWAYS, GPU, LOOKUP, NODE, SYSTEM, Symbols
from nvitop.simulation.world import Change, Node, World

SYMBOLS = Symbols()
_ERROR_TEXTS = {code: text.encode() for code, text in NVML_ERRORS.values()}


def nvmlErrorString(code: object) -> bytes:
    """Return the text of a return code, a ``const char *``."""
    value = number(code)
    return b'Success' if value == 0 else _ERROR_TEXTS.get(value, b'Unknown Error')


@SYMBOLS.add(ALWAYS, 'nvmlInit', 'nvmlInit_v2', 'nvmlInitWithFlags')
def initialize(world: World, flags: object = 0) -> None:
    """Count one more initialization."""
    world.init_count += 1


@SYMBOLS.add(ALWAYS, 'nvmlShutdown')
def shut_down(world: World) -> None:
    """Count one initialization less."""
    if world.init_count <= 0:
        raise DriverError(UNINITIALIZED)
    world.init_count -= 1


@SYMBOLS.add(SYSTEM)
def nvmlSystemGetDriverVersion(world: World) -> str:
    return known(world.scenario.driver_version or None)


@SYMBOLS.add(SYSTEM, 'nvmlSystemGetCudaDriverVersion', 'nvmlSystemGetCudaDriverVersion_v2')
def cuda_driver_version(world: World) -> int:
    """``(int *)``: 12040 is 12.4."""
    return known(world.scenario.cuda_version or None)


@SYMBOLS.add(SYSTEM)
def nvmlSystemGetProcessName(world: World, pid: object) -> str:
    wanted = number(pid)
    for task in world.tasks:
        if world.pid_of(task) == wanted:
            return task.spec.command[0]
    if wanted == os.getpid():
        return sys.executable
    raise DriverError(NOT_FOUND)


@SYMBOLS.add(SYSTEM, 'nvmlDeviceGetCount', 'nvmlDeviceGetCount_v2')
def device_count(world: World) -> int:
    """``(unsigned *)``."""
    return len(world.present())


@SYMBOLS.add(LOOKUP, 'nvmlDeviceGetHandleByIndex', 'nvmlDeviceGetHandleByIndex_v2')
def handle_by_index(world: World, index: object) -> Handle:
    """``(index, handle *)``."""
    nodes = world.present()
    wanted = number(index)
    if not 0 <= wanted < len(nodes):
        raise DriverError(INVALID_ARGUMENT)
    return _first(nodes[wanted : wanted + 1])


@SYMBOLS.add(LOOKUP)
def nvmlDeviceGetHandleByUUID(world: World, uuid: object) -> Handle:
    """``(const char *, handle *)``: a GPU or a MIG device, also as ``MIG-GPU-…/gi/ci``."""
    wanted, t, nodes = text_of(uuid), world.seconds(), world.present()
    migs = [mig for node in nodes for mig in node.migs if mig.exists(t)]
    return _first(n for n in (*nodes, *migs) if wanted in (n.value('uuid'), n.legacy_uuid()))


@SYMBOLS.add(LOOKUP, 'nvmlDeviceGetHandleByPciBusId', 'nvmlDeviceGetHandleByPciBusId_v2')
def handle_by_bus_id(world: World, bus_id: object) -> Handle:
    """``(const char *, handle *)``: the domain may be short or missing."""
    wanted = _bus_parts(text_of(bus_id))
    return _first(node for node in world.present() if _bus_parts(node.value('bus_id')) == wanted)


@SYMBOLS.add(LOOKUP)
def nvmlDeviceGetHandleBySerial(world: World, serial: object) -> Handle:
    wanted = text_of(serial)
    return _first(node for node in world.present() if node.value('serial') == wanted)


@SYMBOLS.add(NODE)
def nvmlDeviceGetIndex(node: Node) -> int:
    return node.index()


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
        """Return when the scenario next changes a key."""
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
    found = world.event_sets.get(address_of(handle))
    if not isinstance(found, EventSet):
        raise DriverError(INVALID_ARGUMENT)
    return found


@SYMBOLS.add(SYSTEM)
def nvmlEventSetCreate(world: World) -> Handle:
    handle = next(world.new_handles)
    world.event_sets[handle] = EventSet()
    return Handle(handle)


@SYMBOLS.add(SYSTEM)
def nvmlEventSetFree(world: World, events: object) -> None:
    _set_of(world, events)
    del world.event_sets[address_of(events)]


@SYMBOLS.add(GPU)
def nvmlDeviceGetSupportedEventTypes(node: Node) -> int:
    return sum(_EVENT_BITS.values())


@SYMBOLS.add(GPU)
def nvmlDeviceRegisterEvents(node: Node, mask: object, events: object) -> None:
    if number(mask) & ~sum(_EVENT_BITS.values()):
        raise DriverError(NOT_SUPPORTED)
    _set_of(node.world, events).add(node, number(mask))


@SYMBOLS.add(SYSTEM, 'nvmlEventSetWait', 'nvmlEventSetWait_v2')
def wait_for_event(world: World, events: object, out: object, milliseconds: object) -> None:
    """``(event set, struct *, unsigned milliseconds)``."""
    found, data = _set_of(world, events), target(out)
    deadline = time.monotonic() + number(milliseconds) / 1000
    with world.changed:
        while True:
            if world.is_closed:
                raise DriverError(UNINITIALIZED)
            event = found.take()
            if event is not None:
                break
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise DriverError(TIMEOUT)
            world.changed.wait(min(remaining, max(0.001, found.next_change() - world.seconds())))
    node, key, value = event
    handle = type(data.device)
    data.device = handle(handle._type_.from_address(node.address))
    data.eventType, data.eventData = _EVENT_BITS[key], value if key == 'xid' else 0
    if hasattr(data, 'gpuInstanceId'):  # not in the older structure
        data.gpuInstanceId = data.computeInstanceId = _NO_INSTANCE
