from __future__ import annotations

from typing import Iterator

import pytest

from nvitop import ResourceMetricCollector, simulation
from nvitop.sampling import threads
from tests.clock import Clock
from tests.collector.machines import NEVER, machine
from tests.waiting import PATIENCE


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
