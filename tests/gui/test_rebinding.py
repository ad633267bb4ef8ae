"""Keys from the configuration file: they work, and help and hints show them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvitop.console.options import Options
from nvitop.gui.model.choices import Screen, Sort
from nvitop.gui.monitor import first_state
from nvitop.gui.monitor_screens import MONITOR, SCREENS
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.bindings import USUAL, USUAL_KEYS
from nvitop.gui.state.events import Quit, SampleArrived
from nvitop.gui.state.keymap import Keymap, rebind
from nvitop.gui.state.update import update
from tests.gui.drawing import state_on
from tests.gui.driving import keys_that_open, press
from tests.gui.samples import SAMPLES

pytestmark = pytest.mark.usefixtures('utc')


def rebound(**keys: list[str]) -> Keymap:
    keymap, problems = rebind(
        {name.replace('_', '-'): found for name, found in keys.items()}, USUAL
    )
    assert problems == ()
    return keymap


def state_with(keymap: Keymap) -> AppState:
    state = AppState(MONITOR, 100, 30, keys=keymap)
    return update(state, SampleArrived(SAMPLES['h100x8']._replace(sequence=1)))[0]


def test_configured_key_replaces_the_default_one() -> None:
    state = state_with(rebound(quit=['F10'], sort_by_pid=['P', 'x p'], kill=[]))
    assert press(state, 'F10')[1] == (Quit(),)
    after, effects = press(state, 'q')
    assert (after._replace(notices=()), effects) == (state, ())
    assert press(state, 'P')[0].sort == Sort('pid')
    assert press(state, 'x', 'p')[0].sort == Sort('pid')
    assert press(state, 'o', 'p')[0].sort == Sort()
    assert press(state, 'o', 'g')[0].sort == Sort('gpu_memory')
    assert press(state, 'Down', 'K')[0].dialog is None
    assert press(state, 'Down', 'T')[0].dialog is not None


@pytest.mark.parametrize(
    'keys',
    [{'quit': []}, {'back': []}, {'help': ['q', 'Q', 'F10']}, {'quit': ['x y'], 'freeze': ['x']}],
)
def test_keys_that_leave_no_way_out_of_a_screen_are_refused(keys: dict[str, list[str]]) -> None:
    keymap, problems = rebind(keys, USUAL)
    assert keymap is USUAL
    assert 'no key would leave the screen' in problems[0]


_ANY_KEYS = st.sampled_from(
    ['q', 'Q', 'Esc', 'h', 'x', 'o', 'o g', 'x y', 'F10', 'Enter', 't', 'e']
)


@settings(max_examples=8, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(USUAL_KEYS)), st.lists(_ANY_KEYS, max_size=3)))
def test_every_screen_can_be_left_whatever_the_keys(keys: dict[str, list[str]]) -> None:
    keymap, _ = rebind(keys, USUAL)
    for screen in SCREENS:
        state = state_on('one', 100, 30, *keys_that_open(screen))._replace(keys=keymap)
        assert state.screen is screen
        pressed = {key for binding in keymap.bindings for key in binding.keys}
        after = (press(state, *key.split(' ')) for key in sorted(pressed))
        if screen is Screen.MAIN:
            assert any(effects == (Quit(),) for _, effects in after)
        else:
            assert any(left.screen is Screen.MAIN for left, _ in after)


def test_monitor_starts_with_configured_keys_and_reports_conflicts() -> None:
    state = first_state(Options(keys=(('open-tree', ('y',)), ('open-users', ('y',)))))
    assert press(state, 'y')[0].screen is Screen.TREE
    assert [notice.text for notice in state.notices] == [
        "key 'y' is bound to both open-tree and open-users"
    ]
    assert first_state(Options()).keymap is USUAL


def test_preset_brings_the_keys_of_nvitop_1_back_and_single_actions_change_them() -> None:
    state = first_state(Options(keys=(('preset', ('nvitop-1',)), ('open-tree', ('y',)))))
    assert state.notices == ()
    state = state._replace(width=100, height=40, view=state.view._replace(flat=True))
    state = update(state, SampleArrived(SAMPLES['processes200']._replace(sequence=1)))[0]
    chosen = press(state, 'Down', 'Tab')[0]
    assert chosen.selected == state.rows[1].key
    assert press(chosen, 'k')[0].dialog is not None
    assert press(state, '/')[0].sort.reverse
    assert press(chosen, 'R')[0].selected is None
    assert press(state, 'PageDown')[0].position.scroll_y == 1
    assert press(state, 'y')[0].screen is Screen.TREE
    assert press(state, 'q')[1] == (Quit(),)
