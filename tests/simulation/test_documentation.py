"""The pages about simulated machines agree with the code."""

from __future__ import annotations

import pathlib
from typing import Callable

import pynvml
import pytest

from nvitop import simulation
from nvitop.simulation.models import MODELS
from tests.simulation.conftest import handle, text

DOCS = pathlib.Path(__file__).parent.parent.parent / 'docs'
TEXT = ''.join(
    (DOCS / name).read_text(encoding='utf-8') for name in ('simulation.md', 'scenario-files.md')
)


def test_document_names_every_scenario_and_model() -> None:
    for name in (*simulation.scenario_names(), *MODELS):
        assert f'`{name}`' in TEXT, name


@pytest.mark.parametrize('name', simulation.scenario_names())
def test_bundled_scenario_lists_its_gpus(name: str, start: Callable[..., object]) -> None:
    start(name, processes='none')
    scenario = simulation.load(name)
    assert scenario.description
    assert pynvml.nvmlDeviceGetCount() == len(scenario.gpus)
    for index, gpu in enumerate(scenario.gpus):
        if (name, index) != ('faults', 1):  # a lost GPU
            assert text(pynvml.nvmlDeviceGetName(handle(index))) == gpu.values['name']
