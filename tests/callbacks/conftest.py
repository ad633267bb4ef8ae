"""A simulated machine, and substitutes for the frameworks."""

from __future__ import annotations

import sys
from typing import Iterator

import pytest

from nvitop import simulation
from nvitop.callbacks import keras, lightning, pytorch_lightning
from tests.api.machines import machine as make_machine
from tests.callbacks import frameworks

TWO_GPUS = """
description = "for the tests of callbacks"
[[gpu]]
count = 2
model = "RTX 4090"
temperature = 44
fan_speed = 30
gpu_utilization = 61
memory_utilization = 37
memory_total = "24 GiB"
memory_reserved = 0
memory_base = "6 GiB"
"""


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[simulation.Machine]:
    monkeypatch.delenv('CUDA_VISIBLE_DEVICES', raising=False)
    with make_machine(TWO_GPUS) as running:
        yield running


@pytest.fixture
def no_driver(machine: simulation.Machine) -> simulation.Machine:
    machine.fail('nvmlInit*', 'DRIVER_NOT_LOADED')
    return machine


@pytest.fixture
def substitutes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    forget_classes()
    for name, module in frameworks.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    yield
    forget_classes()


def forget_classes() -> None:
    for module in (keras, lightning, pytorch_lightning):
        vars(module).pop('GpuStatsLogger', None)
