"""Demand: only what the screen shows is measured."""

from __future__ import annotations

import pytest

from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.gui.model.choices import DETAILS, GraphState
from tests.gui.driving import demand_of, press, state_of
from tests.gui.samples import SAMPLES


@pytest.mark.parametrize(('keys', 'shown'), [('', True), ('t', False), ('!', True)])
def test_counters_are_read_only_while_their_history_is_visible(keys: str, shown: bool) -> None:
    state = state_of(SAMPLES['h100x8'])
    state = state._replace(main=state.main._replace(graphs=GraphState('gpm_sm_active')))
    demand = demand_of(press(state, *keys.split())[0])
    assert ('gpm_sm_active' in demand.shown_metrics) is shown


def test_owners_are_always_read_and_details_on_the_page_of_a_gpu() -> None:
    state = state_of(SAMPLES['h100x8'], 40, 12)
    assert demand_of(state).owners
    assert not demand_of(state).shown_metrics
    assert {*DETAILS} <= {*demand_of(press(state, '0', 'Enter')[0]).shown_metrics}
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
