# SPDX-License-Identifier: Apache-2.0
"""Simulated machines: an NVML and a CUDA driver made of Python, for demonstrations and for tests.

Everything above the drivers is real: nvitop, and any program that uses NVML through Python, asks the
simulated machine in this process as it would ask a real one::

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

#: Values of ``NVITOP_DEMO`` that name no scenario but ask for the default one.
_YES = ('1', 'on', 'true', 'yes')


def machine(
    scenario: str | os.PathLike[str] | Scenario = DEFAULT_SCENARIO,
    *,
    processes: str | Sequence[int] = 'real',
    clock: Callable[[], float] = time.monotonic,
    wall_clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> Machine:
    """A simulated machine, to be used in a ``with`` block, in which it answers for the drivers.

    Args:
        scenario: A name out of :func:`scenario_names`, the path of a ``.toml`` file, or a
            :class:`Scenario`.
        processes: ``'real'`` starts a light child process for each process of the scenario;
            ``'fixed'`` gives them PIDs that do not exist; a list of PIDs gives these to the first of
            them, and the others do not exist; ``'none'``: no processes.
        clock: What tells the machine's time, in seconds. ``lambda: 0.0`` makes it stand still but
            for :meth:`Machine.advance`.
        wall_clock: Seconds since the epoch, for the time stamps that the driver gives.
        sleep: How the machine waits where a call is to be slow.

    Raises:
        ScenarioError: The scenario cannot be used.
    """
    return Machine(scenario, processes=processes, clock=clock, wall_clock=wall_clock, sleep=sleep)


def install(
    scenario: str | os.PathLike[str] | Scenario = DEFAULT_SCENARIO, *, announce: bool = True
) -> Machine:
    """Have a simulated machine answer for the rest of this process, and say so on standard error.

    This is what the environment variable ``NVITOP_DEMO`` and ``nvitop --demo`` do.

    Raises:
        ScenarioError: The scenario cannot be used.
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
