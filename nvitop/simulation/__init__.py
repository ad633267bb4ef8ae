# SPDX-License-Identifier: Apache-2.0
"""Simulated machines for demonstrations and tests: an NVML and a CUDA driver written in Python.

Everything above the drivers is real. nvitop, and every program that uses NVML through Python, queries
the simulated machine in this process like a real one::

    from nvitop import simulation
    from nvitop.device import Device

    def test_a_hot_gpu_is_reported():
        with simulation.machine('dgx-h100', processes='fixed') as machine:
            machine.fail('nvmlDeviceGetFanSpeed', 'NOT_SUPPORTED')
            machine.advance(60.0)
            assert Device(0).temperature() > 30
            assert not Device(0).fan_speed()
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import time
from typing import Callable, Sequence

from nvitop.simulation.machine import (
    DEFAULT_SCENARIO,
    Machine,
    load,
    scenario_names,
    simulated,
)
from nvitop.simulation.parse import parse_scenario
from nvitop.simulation.scenario import Scenario, ScenarioError

__all__ = [
    'DEFAULT_SCENARIO',
    'Machine',
    'Scenario',
    'ScenarioError',
    'install',
    'load',
    'machine',
    'parse_scenario',
    'scenario_names',
    'simulated',
]

#: Values of ``NVITOP_DEMO`` that select the default scenario.
_YES = ('1', 'on', 'true', 'yes')


def machine(
    scenario: str | os.PathLike[str] | Scenario = DEFAULT_SCENARIO,
    *,
    processes: str | Sequence[int] = 'real',
    clock: Callable[[], float] = time.monotonic,
    wall_clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> Machine:
    """Create a simulated machine, which replaces the drivers in a ``with`` block.

    Args:
        scenario: A name from :func:`scenario_names`, the path of a ``.toml`` file, or a
            :class:`Scenario`.
        processes: ``'real'`` starts a lightweight child for each process of the scenario.
            ``'fixed'`` lists PIDs that do not exist. A list of PIDs assigns these to the first
            processes; the others do not exist. ``'none'`` lists no processes.
        clock: Returns the machine's time in seconds. With ``lambda: 0.0``, time only moves by
            :meth:`Machine.advance`.
        wall_clock: Returns seconds since the epoch, for the timestamps of the driver.
        sleep: Sleeps for a number of seconds during slow calls.

    Raises:
        ScenarioError: The scenario does not exist or has a mistake.
    """
    return Machine(scenario, processes=processes, clock=clock, wall_clock=wall_clock, sleep=sleep)


def install(
    scenario: str | os.PathLike[str] | Scenario = DEFAULT_SCENARIO, *, announce: bool = True
) -> Machine:
    """Replace the drivers of this process by a simulated machine until it exits.

    ``NVITOP_DEMO`` and ``nvitop --demo`` call this.

    Args:
        scenario: See :func:`machine`.
        announce: Print a line to stderr.

    Raises:
        ScenarioError: The scenario does not exist or has a mistake.
    """
    if isinstance(scenario, str) and scenario.lower() in _YES:
        scenario = DEFAULT_SCENARIO
    installed = Machine(scenario)
    installed.start()
    atexit.register(installed.end_processes)
    if announce:
        name = installed.scenario.name
        text = f'nvitop: simulated machine {name!r}: not the GPUs of this computer'
        with contextlib.suppress(OSError):  # a full disk
            print(text, file=sys.stderr)
    return installed
