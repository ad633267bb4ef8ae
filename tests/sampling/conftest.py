"""A simulated machine on a manual clock, and a source that samples it."""

from __future__ import annotations

import threading
from typing import Any, Iterator

import pytest

from nvitop import simulation
from nvitop.sampling.source import LiveSource
from nvitop.sampling.threads import Watchdog
from nvitop.sampling.types import Demand, DeviceSample, Problem, Sample
from tests.clock import Clock
from tests.waiting import PATIENCE, Threads

#: Interval (seconds) of the slow tier.
SLOW_TICK = 5.0


class ClockedMachine:
    """A simulated machine whose clock is turned by hand, and a source that samples it."""

    def __init__(self, scenario: str, only: list[Any] | None = None) -> None:
        self.clock = Clock()
        self.let_go = threading.Event()
        self._threads = Threads()
        self.machine = simulation.machine(
            scenario, processes='fixed', clock=self.clock, sleep=self.sleep
        )
        self.only = only
        self.demand = Demand()

    def open(self) -> None:
        watchdog = Watchdog(
            clock=self.clock, start_thread=self._threads.start, condition=self.clock.condition
        )
        self.source = LiveSource(
            only=self.only,
            clock=self.clock,
            wall_clock=lambda: 1.7e9 + self.clock.now,
            sleep=self.clock.turn,
            watchdog=watchdog,
        )

    def sleep(self, seconds: float) -> None:
        """A delayed call: turns the clock, then hangs until it is let go.

        A watchdog that has just stopped waiting takes a turned clock for a pause of the whole
        process, so the clock is turned several times.
        """
        for _ in range(5):
            self.clock.turn(seconds)
            if self.let_go.wait(PATIENCE / 5):
                return
        raise AssertionError('the test did not let go')

    def sample(self, seconds: float = 0.0) -> Sample:
        self.clock.turn(seconds)
        return self.source.sample(self.demand)

    def calls_per_gpu(self, seconds: float) -> dict[str, float]:
        """Return the NVML calls of a sample ``seconds`` later, divided by 8."""
        self.machine.reset_calls()
        sample = self.sample(seconds)
        assert sample.cost.nvml_calls == sum(self.machine.calls.values())
        return {name: count / 8 for name, count in self.machine.calls.items()}

    def join(self) -> None:
        self.let_go.set()
        self._threads.join()


def labels(sample: Sample) -> list[str]:
    return [device.key.label for device in sample.devices]


def statuses(sample: Sample) -> list[str]:
    return [device.status for device in sample.devices]


def gpu(sample: Sample, index: int) -> DeviceSample:
    (device,) = [d for d in sample.devices if d.key[:2] == (index, -1)]
    return device


def problems_of(sample: Sample, label: int | str) -> dict[str, Problem]:
    return {p.what: p for p in sample.problems if p.device and p.device.label == str(label)}


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Iterator[ClockedMachine]:
    """A bench of the scenario that the test names, by default ``dgx-h100``."""
    options = getattr(request, 'param', 'dgx-h100')
    bench = ClockedMachine(*options) if isinstance(options, tuple) else ClockedMachine(options)
    with bench.machine:
        bench.open()
        yield bench
        bench.join()
