"""Each key of the key table has its visible effect on each of its screens."""

from __future__ import annotations

import pytest

from nvitop.gui.model.screens import Screen
from nvitop.gui.state.bindings import BINDINGS, Action
from nvitop.gui.state.keymap import USUAL
from tests.e2e.expectations import EXPECTATIONS
from tests.e2e.monitor import TITLES, Monitor, Monitors


def test_every_action_has_an_expectation() -> None:
    assert {*EXPECTATIONS, Action.QUIT} == {binding.action for binding in BINDINGS} == {*Action}


@pytest.mark.parametrize('screen', Screen, ids=lambda screen: screen.value)
def test_every_key_has_its_effect(screen: Screen, monitors: Monitors) -> None:
    pressed = 0
    with monitors.lent() as monitor:
        monitor.enter(screen)
        for binding in BINDINGS:
            for keys in binding.keys:
                if binding.action is Action.QUIT or USUAL.find(screen, keys) is not binding:
                    continue
                try:
                    EXPECTATIONS[binding.action](monitor, binding, keys)
                    monitor.wait_for(TITLES[screen])
                except AssertionError as error:
                    raise AssertionError(f'{keys} on the screen {screen.value}: {error}') from error
                pressed += 1
    assert pressed > 10


def test_other_quit_key_restores_the_terminal(monitors: Monitors) -> None:
    with Monitor(monitors.machine.path) as monitor:
        monitor.wait_for_first_sample()
        monitor.key('Q')
        assert monitor.wait_for_exit() == 0
        monitor.assert_restored()
