# SPDX-License-Identifier: Apache-2.0
"""Events: changes of keys of GPUs, which wake up who waits for them."""

from __future__ import annotations

import time

from nvitop.api.libnvml._errors import INVALID_ARGUMENT, TIMEOUT, UNINITIALIZED
from nvitop.api.libnvml._query import address_of
from nvitop.simulation.abi import DriverError, fill_handle, fill_number, number, target
from nvitop.simulation.driver.symbols import GPU, SYSTEM, Symbols
from nvitop.simulation.world import Change, Node, World

SYMBOLS = Symbols()
#: Key → bit of the event when it is set to another value than 0.
BITS = {'ecc_uncorrected_volatile': 0x2, 'xid': 0x8, 'lost': 0x4000}
_NO_INSTANCE = 0xFFFFFFFF


class EventSet:
    """GPUs with the events that were registered, and how many changes were seen."""

    def __init__(self) -> None:
        self.seen: dict[tuple[Node, str], int] = {}

    def add(self, node: Node, mask: int) -> None:
        """Register a GPU; what happened before is not an event."""
        for key, bit in BITS.items():
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
def nvmlEventSetCreate(world: World, out: object) -> None:
    """``(event set *)``."""
    fill_handle(out, world.new_event_set(EventSet()))


@SYMBOLS.add(SYSTEM)
def nvmlEventSetFree(world: World, events: object) -> None:
    """``(event set)``."""
    _set_of(world, events)
    del world.event_sets[address_of(events)]


@SYMBOLS.add(GPU)
def nvmlDeviceGetSupportedEventTypes(node: Node, out: object) -> None:
    """``(device, unsigned long long *)``."""
    fill_number(out, sum(BITS.values()))


@SYMBOLS.add(GPU)
def nvmlDeviceRegisterEvents(node: Node, mask: object, events: object) -> None:
    """``(device, unsigned long long, event set)``."""
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
    data.eventType, data.eventData = BITS[key], value if key == 'xid' else 0
    if hasattr(data, 'gpuInstanceId'):  # not in the older structure
        data.gpuInstanceId = data.computeInstanceId = _NO_INSTANCE
