"""Demand: only what the screen shows is measured."""

from __future__ import annotations

import pytest

from nvitop.gui.model.choices import GraphState
from tests.gui.driving import demand_of, press, state_of
from tests.gui.samples import SAMPLES


@pytest.mark.parametrize(('keys', 'shown'), [('', True), ('t', False), ('!', True)])
def test_counters_are_read_only_while_their_history_is_visible(keys: str, shown: bool) -> None:
    state = state_of(SAMPLES['h100x8'])
    state = state._replace(main=state.main._replace(graphs=GraphState('gpm_sm_active')))
    demand = demand_of(press(state, *keys.split())[0])
    assert ('gpm_sm_active' in demand.shown_metrics) is shown
