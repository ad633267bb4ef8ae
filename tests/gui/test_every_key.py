"""Each key of the key table has an effect on each of its screens."""

from __future__ import annotations

import pytest

from nvitop.gui.model.choices import Screen
from nvitop.gui.monitor_screens import SCREENS
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.bindings import BINDINGS
from nvitop.gui.state.events import EnvironmentRead
from tests.gui.drawing import state_on
from tests.gui.driving import after, keys_that_open, press, pressed
from tests.gui.samples import ENVIRONMENT

#: Keys before the key that is tested. Some keys work only in some of these situations.
SITUATIONS = (
    (),
    ('Down',),
    ('Home', 'Down', 'PageDown', 'Right', 'Right'),
    ('End',),
    ('Tab',),
    ('f', 'd', '+'),
    ('f', 'd', 'PageDown'),
    ('o', 'p'),
)


def effects_of(state: AppState, keys: str) -> bool:
    """Return whether keys change the state, from which a frame is drawn, or have an effect outside."""
    after, effects = press(state, *keys.split())
    return bool(effects) or after._replace(notices=state.notices) != state


@pytest.mark.parametrize('screen', SCREENS, ids=lambda screen: screen.value)
def test_every_key_has_an_effect_on_its_screens(screen: Screen) -> None:
    states = []
    for situation in SITUATIONS:
        machine = 'lost' if screen is Screen.PROBLEMS else 'processes200'
        opening = keys_that_open(screen)
        if screen is Screen.SIGNAL:
            opening = ('Down', *['Space'] * 20, *opening)
        state = state_on(machine, 100, 12, *opening)
        assert state.screen is screen
        environ = state.environ
        state = after(state, EnvironmentRead(environ.pid, environ.start_time, ENVIRONMENT))
        states.append(pressed(state, *situation))
    without = [
        keys
        for binding in BINDINGS
        if screen in binding.screens
        for keys in binding.keys
        if not any(effects_of(state, keys) for state in states)
        if binding.name != 'signal-parent'  # needs a zombie
    ]
    assert not without
