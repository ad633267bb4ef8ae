# SPDX-License-Identifier: Apache-2.0
"""Turn a subject's functions into symbols: count the call, find the node, apply faults, return a code."""

from __future__ import annotations

from typing import Callable, Mapping, NamedTuple, Sequence, TypeVar

from nvitop.api.libnvml._errors import INVALID_ARGUMENT, SUCCESS, UNINITIALIZED
from nvitop.api.libnvml._query import address_of
from nvitop.simulation.abi import DriverError, fill_number, target
from nvitop.simulation.world import Node, World

Body = TypeVar('Body', bound=Callable[..., None])

#: Kinds of functions: about the driver, even before nvmlInit; about the driver; lookups that store
#: a device handle in their last argument; about a GPU; about a GPU or a MIG device.
ALWAYS, SYSTEM, LOOKUP, GPU, NODE = 'always', 'system', 'lookup', 'gpu', 'node'


class Symbol(NamedTuple):
    """A function of the driver, not yet bound to a machine."""

    name: str
    kind: str
    body: Callable[..., None]


class Symbols:
    """The functions of one subject. A body returns on success and raises :class:`DriverError`."""

    def __init__(self) -> None:
        self.all: list[Symbol] = []

    def add(self, kind: str, *names: str) -> Callable[[Body], Body]:
        """Register a body under its own name, or under other names.

        It is called with the node (kinds ``GPU`` and ``NODE``) or the world, then with the other
        arguments as the binding passes them.
        """

        def register(body: Body) -> Body:
            for name in names or (body.__name__,):
                self.all.append(Symbol(name, kind, body))
            return body

        return register

    def add_numbers(self, kind: str, keys: Mapping[str, str]) -> None:
        """Register functions ``(device, *number, …)`` that return the values of keys."""
        for name, key in keys.items():
            self.all.append(Symbol(name, kind, _reader(key.split())))

    def add_structs(self, kind: str, fields: Mapping[str, Mapping[str, str]]) -> None:
        """Register functions ``(device, *struct)`` that return the values of keys in its fields."""
        for name, keys in fields.items():
            self.all.append(Symbol(name, kind, _struct_reader(keys)))


def _reader(keys: Sequence[str]) -> Callable[..., None]:
    def read(node: Node, *outs: object) -> None:
        for key, out in zip(keys, outs):
            fill_number(out, node.read(key))

    return read


def _struct_reader(keys: Mapping[str, str]) -> Callable[[Node, object], None]:
    def read(node: Node, out: object) -> None:
        struct = target(out)
        for field, key in keys.items():
            setattr(struct, field, node.read(key))

    return read


def bind(world: World, symbol: Symbol) -> Callable[..., int]:
    """Create the plain function that the binding calls."""
    name, kind, body = symbol
    faults = world.faults
    rules = faults.rules
    count = faults.count

    def call_driver(*arguments: object) -> int:
        try:
            count(name)
            if kind != ALWAYS and not world.init_count:
                raise DriverError(UNINITIALIZED)
            key = None
            if kind == LOOKUP:
                body(world, *arguments)
                key = world.by_address[address_of(target(arguments[-1]))].key
            if name in rules:
                faults.apply(name, key, world.seconds())
            if kind != LOOKUP:
                body(world, *arguments)
        except DriverError as error:
            return error.code
        return SUCCESS

    def call_node(*arguments: object) -> int:
        try:
            count(name)
            if not world.init_count:
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
