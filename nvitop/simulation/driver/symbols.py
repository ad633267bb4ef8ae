# SPDX-License-Identifier: Apache-2.0
"""How a subject's functions become symbols: look up the node, count, apply faults, return a code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, TypeVar

from nvitop.namedtuple import NamedTuple
from nvitop.simulation.abi import (
    INVALID_ARGUMENT,
    SUCCESS,
    UNINITIALIZED,
    DriverError,
    address_of,
    fill_number,
    target,
)

if TYPE_CHECKING:
    from nvitop.simulation.machine import Machine


Body = TypeVar('Body', bound=Callable[..., None])

#: Whom a function asks: the driver, even before it is initialized; the driver; the driver, for the
#: handle of a device (the last argument); a GPU; a GPU or a MIG device.
ALWAYS, SYSTEM, LOOKUP, GPU, NODE = 'always', 'system', 'lookup', 'gpu', 'node'


class Symbol(NamedTuple):
    """A function of the driver before it belongs to a machine."""

    name: str
    kind: str
    body: Callable[..., None]


class Symbols:
    """The functions of one subject. A body returns on success and raises :class:`DriverError`."""

    def __init__(self) -> None:
        self.all: list[Symbol] = []

    def add(self, kind: str, *names: str) -> Callable[[Body], Body]:
        """Register a body under its own name, or under other names.

        It is called with the node (kinds ``GPU`` and ``NODE``) or the machine, then with the
        other arguments as the binding gives them.
        """

        def register(body: Body) -> Body:
            for name in names or (body.__name__,):
                self.all.append(Symbol(name, kind, body))
            return body

        return register

    def add_numbers(self, kind: str, keys: Mapping[str, str]) -> None:
        """Register functions ``(device, *number)`` that answer with the value of a key."""
        for name, key in keys.items():
            self.all.append(Symbol(name, kind, _reader(key)))


def _reader(key: str) -> Callable[[Any, object], None]:
    def read(node: Any, out: object) -> None:
        fill_number(out, node.read(key))

    return read


def bind(machine: Machine, symbol: Symbol) -> Callable[..., int]:
    """Make the plain function that a binding calls."""
    name, kind, body = symbol
    faults = machine.faults
    rules = faults.rules
    count = faults.count
    world = machine.world

    def call_driver(*arguments: object) -> int:
        try:
            count(name)
            if kind != ALWAYS and not machine.is_initialized:
                raise DriverError(UNINITIALIZED)
            key = None
            if kind == LOOKUP:
                body(machine, *arguments)
                key = world.by_address[address_of(target(arguments[-1]))].key
            if name in rules:
                faults.apply(name, key, world.seconds())
            if kind != LOOKUP:
                body(machine, *arguments)
        except DriverError as error:
            return error.code
        return SUCCESS

    def call_node(*arguments: object) -> int:
        try:
            count(name)
            if not machine.is_initialized:
                raise DriverError(UNINITIALIZED)
            node = world.by_address.get(address_of(arguments[0])) if arguments else None
            if node is None:
                raise DriverError(INVALID_ARGUMENT)
            if name in rules:
                faults.apply(name, node.key, world.seconds())
            node.check()
            if node.mig is not None and kind == GPU:
                raise DriverError(world.scenario.mig_code)
            body(node, *arguments[1:])
        except DriverError as error:
            return error.code
        return SUCCESS

    call = call_node if kind in (GPU, NODE) else call_driver
    call.__name__ = call.__qualname__ = name
    return call
