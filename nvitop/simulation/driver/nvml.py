# SPDX-License-Identifier: Apache-2.0
"""All subjects together: the object that a binding takes for the loaded library."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Callable

from nvitop.simulation.driver import (
    fabric,
    fields,
    gpm,
    health,
    identity,
    interconnect,
    load,
    memory,
    modes,
    power,
    processes,
    refused,
    system,
)
from nvitop.simulation.driver.symbols import Symbol, bind
from nvitop.simulation.driver.versions import newer_symbols

if TYPE_CHECKING:
    from nvitop.simulation.machine import Machine


SUBJECTS = (
    system, identity, memory, load, power, interconnect, modes, health, fabric, fields, gpm,
    processes, refused,
)  # fmt: skip
ALL_SYMBOLS: dict[str, Symbol] = {
    symbol.name: symbol for subject in SUBJECTS for symbol in subject.SYMBOLS.all
}


class Driver:
    """Plain functions as attributes. A symbol that the driver lacks is an absent attribute."""

    def __init__(self, functions: dict[str, Callable[..., object]]) -> None:
        self.__dict__.update(functions)

    def hide(self, pattern: str) -> None:
        """Take away the symbols of a name, with ``*`` and ``?``; an unknown name is an error."""
        names = fnmatch.filter(list(self.__dict__), pattern)
        if not names:
            raise ValueError(f'the simulated driver knows no function {pattern!r}')
        for name in names:
            del self.__dict__[name]


def nvml_driver(machine: Machine) -> Driver:
    """The driver of a machine, with the symbols that its version has."""
    functions: dict[str, Callable[..., object]] = {
        name: bind(machine, symbol) for name, symbol in ALL_SYMBOLS.items()
    }

    def nvmlErrorString(code: object) -> bytes:
        return system.error_string(code)

    functions['nvmlErrorString'] = nvmlErrorString
    driver = Driver(functions)
    for name in newer_symbols(machine.scenario.driver_version, list(functions)):
        del driver.__dict__[name]
    for pattern in machine.scenario.hidden:
        if fnmatch.filter(list(driver.__dict__), pattern):
            driver.hide(pattern)
    return driver
