"""The scenarios that come with nvitop."""

from __future__ import annotations

import pynvml
import pytest

from nvitop import simulation
from tests.simulation.conftest import text


@pytest.mark.parametrize('name', simulation.scenario_names())
def test_a_shipped_scenario_loads_and_lists_its_gpus(name: str) -> None:
    scenario = simulation.load(name)
    assert scenario.description
    with simulation.machine(scenario, processes='none', clock=lambda: 0.0):
        pynvml.nvmlInit()
        assert pynvml.nvmlDeviceGetCount() == len(scenario.gpus)
        for index in range(len(scenario.gpus)):
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            expected = scenario.gpus[index].values['name']
            assert text(pynvml.nvmlDeviceGetName(handle)) == expected


def test_the_scenarios_that_the_documentation_names_are_there() -> None:
    assert simulation.scenario_names() == (
        'dgx-h100',
        'empty',
        'faults',
        'mig',
        'old-driver',
        'spark',
        'workstation',
    )
