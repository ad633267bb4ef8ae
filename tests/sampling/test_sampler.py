"""When samples are due, and the thread that takes them."""

from __future__ import annotations

import math
import queue
import threading
from typing import Any, Callable, List, Tuple

import pytest

from nvitop.sampling.plan import FIRST_CPU_INTERVAL, Due, Intervals, Plan, intervals
from nvitop.sampling.threads import ERROR_PAUSE_SECONDS, MIN_PAUSE_SECONDS, Sampler
from nvitop.sampling.types import LIVE, Demand, Problem, Sample
from tests.clock import Clock
from tests.sampling.fakes import process_key
from tests.waiting import PATIENCE

NOTHING = Demand(processes=False)
EVERYTHING = Due(fast=True, slow=True, processes=True, host=True)


@pytest.fixture
def clock() -> Clock:
    return Clock(0.0)


@pytest.fixture
def plan(clock: Clock) -> Plan:
    """A plan whose first tick has passed."""
    plan = Plan(clock=clock)
    assert plan.due(Demand()) == EVERYTHING
    return plan


def run(plan: Plan, clock: Clock, demand: Demand, seconds: float) -> list[tuple[float, Due]]:
    """Return what falls due in the next seconds, at the times that the plan gives."""
    start = clock.now
    seen = []
    while clock.now <= start + seconds:
        seen.append((round(clock.now - start, 3), plan.due(demand)))
        clock.now = plan.next_due()
    return seen


def test_an_interval_sets_all_of_them() -> None:
    assert intervals(0.25) == Intervals(0.25, 0.25, 0.25, 5.0)
    assert intervals(30) == Intervals(30, 30, 30, 30)


@pytest.mark.parametrize('interval', [0.0, -1.0, math.nan, math.inf])
def test_intervals_that_are_not_positive_are_refused(interval: float) -> None:
    with pytest.raises(ValueError, match='positive'):
        intervals(interval)


def test_the_groups_share_their_ticks(clock: Clock) -> None:
    seen = run(Plan(clock=clock), clock, Demand(), 10)
    assert [time for time, _ in seen] == list(range(11))
    assert [time for time, due in seen if due.processes] == [0, 2, 4, 6, 8, 10]
    assert [time for time, due in seen if due.slow] == [0, 5, 10]
    assert all(due.fast and due.host for _, due in seen)
    # Slow metrics are read with others, up to half an interval early.
    clock.now = 0.0
    seen = run(Plan(Intervals(2, 2, 2, 5), clock=clock), clock, Demand(), 10)
    assert [time for time, due in seen if due.slow] == [0, 4, 10]


@pytest.mark.parametrize(
    ('start', 'second'), [(100.0, 1.0), (100.3, 0.7), (100.6, 0.4), (100.7, 1.3)]
)
def test_with_a_phase_ticks_fall_on_whole_seconds(start: float, second: float) -> None:
    clock = Clock(start)
    seen = run(Plan(clock=clock, phase=-7.0), clock, Demand(), 10)
    assert [time for time, _ in seen[:3]] == pytest.approx([0, second, second + 1])
    assert all(due.processes for _, due in seen[2::2])
    assert [due.slow for _, due in seen].count(True) >= 2


def test_late_ticks_do_not_drift_and_missed_ones_are_skipped(plan: Plan, clock: Clock) -> None:
    for second in range(1, 20):
        clock.now = second + 0.2
        assert plan.due(Demand()).fast
        assert plan.next_due() == second + 1
    clock.now = 33.3
    assert plan.due(Demand()).slow
    assert plan.due(Demand()) == Due()
    assert plan.next_due() == pytest.approx(34.3)
    clock.now = plan.next_due() + 1.0  # by exactly one interval
    assert plan.due(Demand()).fast
    assert plan.next_due() == clock.now + 1.0


# A demand that changes


def test_processes_that_come_into_view_are_due_at_once(plan: Plan) -> None:
    a, b, c = (process_key(pid) for pid in (1, 2, 3))
    plan.due(Demand(visible_processes=(a, b)))
    scrolled = Demand(visible_processes=(b, c))
    assert plan.due(scrolled) == Due(new_processes=frozenset({c}))
    assert plan.due(scrolled) == Due()
    assert plan.due(Demand(visible_processes=None)) == Due()


@pytest.mark.parametrize(
    ('demand', 'second', 'due'),
    [
        ({}, {'keys': frozenset({process_key(1)})}, {'new_processes': {process_key(1)}}),
        # Not for processes that left the view, and metrics that are not shown.
        ({'visible_processes': ()}, {'keys': frozenset({process_key(1)})}, {}),
        ({'shown_metrics': ('pcie_tx_throughput', 'total_energy')},
         {'shown': frozenset({'pcie_tx_throughput', 'gpm_sm_active'})},
         {'shown': ('pcie_tx_throughput',)}),
        ({'host_processes': True}, {'tree': True}, {'host_processes': True}),
    ],
)  # fmt: skip
def test_second_readings_are_due_soon(
    plan: Plan, clock: Clock, demand: dict[str, Any], second: dict[str, Any], due: dict[str, Any]
) -> None:
    plan.due(Demand(**demand))
    plan.add_second_reading(**second)
    assert plan.next_due() == FIRST_CPU_INTERVAL
    clock.now = plan.next_due()
    assert plan.due(Demand(**demand)) == Due(host=True, **due)
    assert plan.due(Demand(**demand)) == Due()
    assert plan.next_due() == 1.0


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
