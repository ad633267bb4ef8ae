"""A machine with one GPU and one process for tests of the collector."""

from __future__ import annotations

import os
import threading
from typing import Any, Iterator

import pytest

from nvitop import ResourceMetricCollector, simulation
from nvitop.sampling import threads
from tests.api.machines import machine as make_machine
from tests.clock import Clock
from tests.waiting import PATIENCE

#: An interval so long that only the test takes samples.
NEVER = 3600.0

ONE_GPU = """
description = "for the tests of the collector"
[[gpu]]
model = "H100"
temperature = 44
gpu_utilization = 61
memory_utilization = 37
power_usage = 312.5
power_limit = 600
memory_total = "80 GiB"
memory_reserved = 0
memory_base = 0
[[process]]
gpus = [0]
command = ["train"]
memory = "30 GiB"
sm = 40
memory_utilization = 20
"""


def machine(text: str = ONE_GPU, **options: Any) -> simulation.Machine:
    """Return a machine; its processes are this one by default."""
    return make_machine(text, **{'processes': [os.getpid()], **options})


def sampling_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == 'nvitop-collector']


def scopes(metrics: dict[str, float]) -> set[str]:
    """Return names of metrics without the metric and the statistic."""
    return {key.rpartition('/')[0].rpartition('/')[0] for key in metrics}


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a call may take longer than the limit without hanging."""
    monkeypatch.setattr(threads, 'SHORTEST_LIMIT_SECONDS', PATIENCE)


@pytest.fixture
def clock() -> Clock:
    return Clock(0.0)


@pytest.fixture
def one_gpu() -> Iterator[simulation.Machine]:
    with machine() as running:
        yield running


@pytest.fixture
def collector(one_gpu: simulation.Machine, clock: Clock) -> ResourceMetricCollector:
    return ResourceMetricCollector(interval=NEVER, clock=clock)
