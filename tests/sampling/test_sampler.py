from __future__ import annotations

import queue
import threading
from typing import Callable, List, Tuple

import pytest

from nvitop.sampling.threads import ERROR_PAUSE_SECONDS, MIN_PAUSE_SECONDS, Sampler
from nvitop.sampling.types import LIVE, Demand, Problem, Sample
from tests.waiting import PATIENCE

Script = List[Tuple[float, Callable[[], None]]]


class ScriptedTime(threading.Condition):
    """Waits take no time: the clock jumps to the end of the wait, or to the next act of the script."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.script: Script = []

    def clock(self) -> float:
        return self.now

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        until = self.now + timeout
        if self.script and self.script[0][0] <= until:
            at, act = self.script.pop(0)
            self.now = max(self.now, at)
            act()
        else:
            self.now = until
        return True


class FakeSource:
    """Due every second; remembers its calls, and acts on each."""

    def __init__(self, time: ScriptedTime) -> None:
        self.time = time
        self.calls: list[tuple[float, Demand]] = []
        self.refreshed = 0
        self.act: Callable[[], None] = lambda: None
        self.due = 0.0
        self.origin = LIVE

    def sample(self, demand: Demand) -> Sample:
        self.calls.append((round(self.time.now, 3), demand))
        if self.time.now >= self.due:
            self.due = self.time.now + 1.0
        self.act()
        return Sample(timestamp=self.time.now, sequence=len(self.calls))

    def next_due(self) -> float:
        return self.due

    def refresh(self) -> None:
        self.refreshed += 1

    @property
    def times(self) -> list[float]:
        return [time for time, _ in self.calls]


class Bench:
    """A sampler whose thread runs inside the test, on scripted time."""

    def __init__(self) -> None:
        self.time = ScriptedTime()
        self.source = FakeSource(self.time)
        self.samples: list[Sample] = []
        self.sampler = self.make(self.samples.append)

    def make(self, on_sample: Callable[[Sample], None]) -> Sampler:
        return Sampler(
            self.source,
            on_sample,
            clock=self.time.clock,
            start_thread=lambda _, target: target(),
            condition=self.time,
        )

    def stop(self) -> None:
        self.sampler.stop(0.0)

    def run(self, script: Script, until: float) -> None:
        self.time.script = [*script, (until, self.stop)]
        self.sampler.start()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_new_demand_is_measured_at_once(bench: Bench) -> None:
    demand = Demand(shown_metrics=('total_energy',))
    bench.run([(0.4, lambda: bench.sampler.demand(demand))], 1.5)
    assert bench.source.calls == [(0, Demand()), (0.4, demand), (1, demand)]


def test_a_demand_for_less_takes_no_sample(bench: Bench) -> None:
    more = Demand(('a', 'b'), visible_processes=None, owners=True)

    def show(demand: Demand) -> Callable[[], None]:
        return lambda: bench.sampler.demand(demand)

    less = (more._replace(owners=False), Demand(('b',)), Demand())
    script = [(0.2 + i / 10, show(demand)) for i, demand in enumerate((more, *less))]
    bench.run(script, 1.5)
    assert bench.source.times == [0, 0.2, 1]
    assert not more.includes(more._replace(shown_metrics=('c',)))
    assert not Demand(visible_processes=()).includes(more)


def test_demands_in_quick_succession_share_a_sample(bench: Bench) -> None:
    def show(*names: str) -> Callable[[], None]:
        return lambda: bench.sampler.demand(Demand(shown_metrics=names))

    bench.run([(0.01, show('a')), (0.02, show('a', 'b')), (0.03, show('c'))], 0.5)
    assert bench.source.times == [0, MIN_PAUSE_SECONDS]
    assert bench.source.calls[-1][1].shown_metrics == ('c',)


def test_an_error_becomes_a_problem_and_the_thread_continues(bench: Bench) -> None:
    def fail() -> None:
        raise RuntimeError('disk on fire')

    bench.run(
        [
            (1.5, lambda: setattr(bench.source, 'act', fail)),
            (2.5, lambda: setattr(bench.source, 'act', lambda: None)),
        ],
        2 + ERROR_PAUSE_SECONDS + 0.5,
    )
    first, second, failed, recovered = bench.samples
    assert failed.timestamp == second.timestamp
    assert failed.sequence > second.sequence > first.sequence
    assert failed.problems == (Problem('monitor', 'source', 'RuntimeError: disk on fire', 'error'),)
    assert recovered.problems == ()
    assert recovered.timestamp == 2 + ERROR_PAUSE_SECONDS


def test_a_failed_delivery_is_a_problem_of_the_next_sample(bench: Bench) -> None:
    received = []

    def receive(sample: Sample) -> None:
        received.append(sample)
        if len(received) == 1:
            raise ValueError('no room')

    bench.sampler = bench.make(receive)
    bench.run([], 2.5)
    assert [[problem.reason for problem in sample.problems] for sample in received] == [
        [],
        ['ValueError: no room'],
        [],
    ]


def threaded(source: FakeSource, on_sample: Callable[[Sample], None]) -> Sampler:
    sampler = Sampler(source, on_sample)
    sampler.start()
    return sampler


def test_a_sampler_can_be_restarted_and_runs_once() -> None:
    source = FakeSource(ScriptedTime())
    source.due = 1e12
    taken: queue.Queue[Sample] = queue.Queue()
    sampler = threaded(source, taken.put)
    sampler.start()
    assert taken.get(timeout=PATIENCE).sequence == 1
    assert sampler.stop(30)
    sampler.start()
    assert taken.get(timeout=PATIENCE).sequence == 2
    assert sampler.stop(30)
    assert taken.empty()
