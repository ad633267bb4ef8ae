# SPDX-License-Identifier: Apache-2.0
"""The complete NVML driver: the object that the binding uses as the loaded library."""

from __future__ import annotations

import fnmatch
from typing import Callable

from nvitop.simulation.driver import (
    availability,
    device,
    fields,
    gpm,
    health,
    interconnect,
    processes,
    sensors,
    system,
)
from nvitop.simulation.driver.availability import newer_symbols
from nvitop.simulation.driver.symbols import Symbol, bind
from nvitop.simulation.world import World

SUBJECTS = (
    system, device, sensors, interconnect, health, fields, gpm, processes, availability,
)  # fmt: skip
ALL_SYMBOLS: dict[str, Symbol] = {
    symbol.name: symbol for subject in SUBJECTS for symbol in subject.SYMBOLS.all
}


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
    functions['nvmlErrorString'] = system.nvmlErrorString
    world.faults.know(ALL_SYMBOLS)
    driver = Driver(functions)
    scenario = world.scenario
    for name in newer_symbols(
        scenario.driver_version, list(functions), layouts_only=scenario.complete
    ):
        del driver.__dict__[name]
    for pattern in scenario.hidden:
        if fnmatch.filter(list(driver.__dict__), pattern):
            driver.hide(pattern)
    return driver
