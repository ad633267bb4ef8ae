# SPDX-License-Identifier: Apache-2.0
"""A simulated NVML: one plain Python function for each symbol.

Each counts the call, finds the node, applies faults, and returns a code. The modules are NVML's own
subjects.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Mapping, NamedTuple, TypeVar

from nvitop.api.libnvml._errors import INVALID_ARGUMENT, SUCCESS, UNINITIALIZED
from nvitop.api.libnvml._query import address_of
from nvitop.simulation.abi import DriverError, store
from nvitop.simulation.world import Node, World

Body = TypeVar('Body', bound=Callable[..., object])

#: Kinds of functions: about the driver, even before nvmlInit; about the driver; lookups that return
#: a device handle; about a GPU; about a GPU or a MIG device.
ALWAYS, SYSTEM, LOOKUP, GPU, NODE = 'always', 'system', 'lookup', 'gpu', 'node'


def branch_of(driver_version: str) -> int:
    """``'580.65.06'`` → 580; 0 if the version is unknown."""
    match = re.match(r'\d+', driver_version)
    return int(match.group()) if match else 0


class Symbol(NamedTuple):
    """A function of the driver, not yet bound to a machine."""

    name: str
    kind: str
    body: Callable[..., Any]


#: The functions of all subjects, by name.
SYMBOLS: dict[str, Symbol] = {}


def add_symbol(kind: str, *names: str) -> Callable[[Body], Body]:
    """Register a body under its own name, or under other names.

    A body is called with the node (kinds ``GPU`` and ``NODE``) or the world, then with as many of the
    caller's arguments as it has parameters. Its result is stored through the other arguments as
    described at :func:`store`. It raises :class:`DriverError` to return another code.
    """

    def register(body: Body) -> Body:
        for name in names or (body.__name__,):
            SYMBOLS[name] = Symbol(name, kind, body)
        return body

    return register


def add_values(kind: str, values: Mapping[str, str | Mapping[str, str]]) -> None:
    """Register functions that return values of several keys, or the fields of a struct."""
    for name, keys in values.items():
        add_symbol(kind, name)(
            _struct(keys) if isinstance(keys, Mapping) else reader(*keys.split())
        )


def reader(*keys: str) -> Callable[[Node], object]:
    if len(keys) == 1:
        return lambda node: node.read(keys[0])
    return lambda node: tuple(node.read(key) for key in keys)


def _struct(fields: Mapping[str, str]) -> Callable[[Node], object]:
    return lambda node: {field: node.read(key) for field, key in fields.items()}


def bind(world: World, symbol: Symbol) -> Callable[..., int]:
    name, kind, body = symbol
    faults = world.faults
    rules = faults.rules
    count = faults.count
    parameters = body.__code__.co_argcount

    def call_driver(*arguments: object) -> int:
        try:
            count(name)
            if kind != ALWAYS and not world.init_count:
                raise DriverError(UNINITIALIZED)
            inputs, outs = arguments[: parameters - 1], arguments[parameters - 1 :]
            result = body(world, *inputs) if kind == LOOKUP else None
            if name in rules:
                key = None if result is None else world.by_address[result].key
                faults.apply(name, key, world.seconds())
            store(result if kind == LOOKUP else body(world, *inputs), outs)
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
                raise DriverError(INVALID_ARGUMENT)
            store(body(node, *arguments[1:parameters]), arguments[parameters:])
        except DriverError as error:
            return error.code
        return SUCCESS

    call = call_node if kind in (GPU, NODE) else call_driver
    call.__name__ = call.__qualname__ = name
    return call
