from __future__ import annotations

import math
from typing import Any

import pytest

from nvitop.sampling.plan import FIRST_CPU_INTERVAL, Due, Intervals, Plan, intervals
from nvitop.sampling.types import Demand
from tests.clock import Clock
from tests.sampling.fakes import process_key

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


@pytest.mark.parametrize(
    ('demand', 'due'),
    [
        ({'process_codec': True}, Due(processes=True)),
        ({'shown_metrics': ('total_energy',)}, Due(shown=('total_energy',))),
        ({'host_processes': True}, Due(host_processes=True)),
    ],
)
def test_anything_newly_shown_is_due_at_once(
    plan: Plan, clock: Clock, demand: dict[str, Any], due: Due
) -> None:
    clock.now = 0.3
    assert plan.due(Demand(**demand)) == due
    assert plan.due(Demand(**demand)) == Due()


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
