"""Demand: only what the screen shows is measured."""

from __future__ import annotations

import pytest

from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.gui.model.choices import DETAILS, GraphState
from nvitop.gui.model.device_columns import DETAIL_COLUMNS
from nvitop.gui.state.app_state import AppState
from tests.gui.driving import demand_of, press, state_of
from tests.gui.samples import SAMPLES


def with_counters(width: int, *keys: str) -> AppState:
    """Return a state whose lower graph plots a hardware counter."""
    state, _ = press(state_of(SAMPLES['one'], width=width, height=60), *keys)
    graphs = GraphState(lower='gpm_sm_active')
    return state._replace(main=state.main._replace(graphs=graphs))


@pytest.mark.parametrize(
    ('width', 'keys', 'shown'),
    [
        (120, 'f', True),
        (120, 'f H', False),
        (120, 'c', False),
        (59, '', False),
        (120, 'f t', False),
        (120, 'f h', False),
        (120, 'f Down Enter', False),
        (120, 'f !', True),
        (120, 'c !', False),
    ],
)
def test_counters_are_read_only_while_their_graph_is_visible(
    width: int, keys: str, shown: bool
) -> None:
    demand = demand_of(with_counters(width, *keys.split()))
    assert ('gpm_sm_active' in demand.shown_metrics) is shown


def test_owners_are_read_while_they_can_be_seen_or_matter() -> None:
    def reads_owners(width: int, *keys: str) -> bool:
        return demand_of(press(state_of(SAMPLES['one'], width=width), *keys)[0]).owners

    assert reads_owners(160)
    assert not reads_owners(70)
    # The device panel shows jobs from this width on, and at once after another screen.
    assert reads_owners(160, 't')
    assert reads_owners(160, 'C', *['Down'] * 4, 'Space', 'q')
    assert not reads_owners(70, 'C', *['Down'] * 4, 'Space', 'q')
    assert reads_owners(70, 'o', 'w')
    assert reads_owners(70, '\\', *'owner:pod')


def test_details_are_measured_while_they_are_shown() -> None:
    for keys, shown in (('d', True), ('d d', False), ('d t', False), ('d !', True), ('!', False)):
        state, _ = press(state_of(SAMPLES['one']), *keys.split())
        assert set(DETAILS).issubset(demand_of(state).shown_metrics) is shown


def test_details_are_documented_and_measured_no_more_often_than_shown() -> None:
    assert set(DETAILS) == {name for column in DETAIL_COLUMNS for name in column.metrics}
    assert {METRICS_BY_NAME[name].tier for name in DETAILS} == {'shown', 'slow'}


def test_graphs_of_a_process_measure_what_they_show() -> None:
    state = state_of(SAMPLES['h100x8'])
    usual, shown = demand_of(state), demand_of(press(state, 'Down', 'Enter')[0])
    assert usual.detailed_process is None
    assert 'pcie_rx_throughput' not in usual.shown_metrics
    assert shown.detailed_process == SAMPLES['h100x8'].processes[0].key
    assert shown.shown_metrics == ('pcie_rx_throughput',)


def test_only_visible_ones_of_many_processes_are_measured() -> None:
    many = state_of(SAMPLES['processes200'], height=24)
    seen = demand_of(many).visible_processes
    assert seen is not None
    assert 0 < len(seen) < 30
    few = state_of(SAMPLES['h100x8'], height=12)
    assert demand_of(few).visible_processes is None
    for keys in ('t', '!', 'Down Enter'):
        # No value is missing just after leaving the screen.
        assert demand_of(press(few, *keys.split())[0]).visible_processes is None
        others = demand_of(press(many, *keys.split())[0]).visible_processes
        assert others is not None
        assert len(others) <= 1
