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

from nvitop.simulation.machine import DEFAULT_SCENARIO, Machine, load, scenario_names, simulated
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


#: Creates a machine: ``with simulation.machine('mig') as machine:``.
machine = Machine


def install(
    scenario: str | os.PathLike[str] | Scenario = DEFAULT_SCENARIO, *, announce: bool = True
) -> Machine:
    """Replace the drivers of this process by a simulated machine until it exits.

    ``NVITOP_DEMO`` and ``nvitop --demo`` call this.

    Args:
        scenario: See :class:`Machine`.
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
        text = f'nvitop: simulating {name!r}; these are not your GPUs'
        with contextlib.suppress(OSError):  # a full disk
            print(text, file=sys.stderr)
    return installed
