"""A simulated machine with a fixed clock."""

from __future__ import annotations

from typing import Any, Callable, Iterator

import pynvml
import pytest

from nvitop import simulation
from nvitop.simulation.capture import Capture, scenario_values
from nvitop.simulation.parse import scenario_of
from nvitop.simulation.scenario import Scenario


def scenario_of_capture(capture: Capture) -> Scenario:
    return scenario_of(scenario_values(capture, ''), name='captured')


@pytest.fixture
def start() -> Iterator[Callable[..., simulation.Machine]]:
    """Start a machine from the text or the name of a scenario; it stops after the test."""
    machines: list[simulation.Machine] = []

    def start_machine(scenario: str = 'dgx-h100', **options: Any) -> simulation.Machine:
        if '\n' in scenario:
            options['scenario'] = simulation.parse_scenario(scenario, name='test')
        else:
            options['scenario'] = scenario
        options.setdefault('processes', 'fixed')
        options.setdefault('clock', lambda: 0.0)
        options.setdefault('wall_clock', lambda: 1_000_000.0)
        machine = simulation.machine(**options)
        machine.start()
        machines.append(machine)
        pynvml.nvmlInit()
        return machine

    yield start_machine
    for machine in reversed(machines):
        machine.stop()


#: Functions of bindings that know all values of the captures.
NEWEST = ('nvmlDeviceGetAddressingMode', 'nvmlDeviceGetTemperatureV')


def needs(*names: str) -> pytest.MarkDecorator:
    """Skip a test if the binding does not have these names yet."""
    missing = [name for name in names if not hasattr(pynvml, name)]
    return pytest.mark.skipif(bool(missing), reason=f'this binding lacks {", ".join(missing)}')


def text(value: Any) -> str:
    """Text from the binding; the oldest ones return bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


def handle(index: int = 0) -> Any:
    return pynvml.nvmlDeviceGetHandleByIndex(index)
