"""Screens: opening them, going back, and keys that do not work on them."""

from __future__ import annotations

import pytest

from nvitop.gui.model.choices import Screen, ViewState
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.bindings import BINDINGS
from nvitop.gui.state.events import (
    EnvironmentRead,
    ReadEnvironment,
    Redraw,
    RingBell,
    SampleArrived,
    SignalSent,
)
from tests.gui.driving import FLAT, MANY, TREE, after, press, pressed, state_of, texts

_WAYS = [(key, binding.opens) for binding in BINDINGS if binding.opens for key in binding.keys]


@pytest.mark.parametrize(('key', 'screen'), _WAYS)
def test_key_that_opens_a_screen_also_leaves_it(key: str, screen: Screen) -> None:
    state = pressed(state_of(TREE), 'Down', key)
    assert state.screen is screen
    # On the users screen it alternates between users and jobs.
    assert pressed(state, key).screen is (screen if screen is Screen.USERS else Screen.MAIN)
    assert pressed(state, 'q').screen is Screen.MAIN


# Keys that do nothing here


@pytest.mark.parametrize(
    ('screen', 'key', 'notice'),
    [
        (Screen.METRICS, 'T', 'T works only on the main screen and in the tree (t)'),
        (Screen.PROBLEMS, 'v', 'v works only in the environment (e)'),
        (Screen.MAIN, 'x', 'x works only in the tree (t)'),
        (Screen.MAIN, 'F12', 'F12: unknown key; h lists the keys'),
    ],
)
def test_notice_names_the_screens_on_which_a_key_works(
    screen: Screen, key: str, notice: str
) -> None:
    before = state_of(TREE)._replace(screen=screen)
    state, effects = press(before, key)
    assert texts(state) == [notice]
    assert (state._replace(notices=()), effects) == (before, ())
    # A repeated key, or another one, replaces the notice.
    assert len(pressed(state, key, 'J', key).notices) == 1


def test_read_only_mode_names_no_other_screen_for_signals() -> None:
    state = state_of(TREE, view=ViewState(readonly=True))._replace(screen=Screen.METRICS)
    assert texts(pressed(state, 'T')) == ['Read-only: no signals (--readonly)']
    assert texts(pressed(state, 'x')) == ['x works only in the tree (t)']


def test_escape_leaves_the_tree_when_nothing_is_selected() -> None:
    state = pressed(state_of(TREE), 't', 'Down', 'Esc')
    assert (state.screen, state.positions[Screen.TREE].key) == (Screen.TREE, None)
    assert pressed(state, 'Esc').screen is Screen.MAIN


def test_keys_before_the_first_sample_wait_for_its_processes() -> None:
    state = pressed(AppState(MONITOR, width=120, height=40, view=FLAT), 'Down', 'Down', 'Enter')
    assert (texts(state), state.screen) == ([], Screen.MAIN)
    arrived = after(state, SampleArrived(MANY))
    assert (arrived.screen, arrived.metrics) == (Screen.METRICS, arrived.rows[1].key)
    # Esc goes back, as always; other screens do not get them.
    for key, screen in (('Esc', Screen.MAIN), ('h', Screen.HELP)):
        assert after(pressed(state, key), SampleArrived(MANY)).screen is screen


def test_esc_ends_the_pause_after_everything_else() -> None:
    state = pressed(state_of(MANY), 'z', 'Down', 'Space', 'Esc')
    assert state.frozen is not None
    assert pressed(state, 'Esc').frozen is None
    assert press(state, 'Ctrl-L')[1] == (Redraw(),)


@pytest.mark.parametrize('key', ['x', 'q', 'Down', 'o', 'R'])
def test_unknown_key_after_a_prefix_is_reported_and_the_prefix_stays(key: str) -> None:
    before = pressed(state_of(MANY), 'Down')
    state, effects = press(before, 'o', key)
    assert texts(state) == [f'o {key}: unknown sort key']
    assert (state._replace(notices=()), effects) == (before._replace(prefix='o'), (RingBell(),))
    # Esc and Enter cancel the prefix without a notice.
    assert press(before, 'o', 'Esc') == press(before, 'o', 'Enter') == (before, ())


@pytest.mark.parametrize(
    ('keys', 'notice', 'following'),
    [
        ('! J', 'J works only on the main screen and in the columns (C)', 'q'),
        ('z r', 'Not shown while paused (z: resume)', 'z'),
        ('- - - - -', 'Histories show no shorter time', '+'),
        ('T', 'Select or tag a process first (q quits)', 'Down'),
        ('F3 ~ ~ Enter', 'Not found: ~~', 'Down'),
        ('L', 'Theme: mono', 'h'),
    ],
)
def test_next_key_removes_the_answer_to_a_key(keys: str, notice: str, following: str) -> None:
    state = state_of(MANY, 160, 60)._replace(themes=('dark', 'mono'))
    state = after(
        pressed(state, *keys.split()), SignalSent(MANY.processes[0].key, 'SIGTERM', 'sent')
    )
    outcome = f'Sent SIGTERM to {MANY.processes[0].key.pid}'
    assert texts(state) == [notice, outcome]
    # The outcome of a signal is not an answer.
    assert texts(pressed(state, following)) == [outcome]


# The environment


def test_environment_is_that_of_the_selected_process() -> None:
    assert texts(pressed(state_of(MANY), 'e')) == ['Select a process first']
    state, effects = press(state_of(MANY), 'Down', 'e')
    key = MANY.processes[0].key
    assert effects == (ReadEnvironment(key.pid, key.start_time),)
    state = after(state, EnvironmentRead(999, 1.0, (('A', 'b'),)))
    assert state.environ.variables is None
    state = after(state, EnvironmentRead(key.pid, key.start_time, (('A', 'b'), ('C', 'd'))))
    assert state.environ.variables == (('A', 'b'), ('C', 'd'))
    assert pressed(state, 'End').position.cursor == 1
    assert ReadEnvironment(key.pid, key.start_time) in press(state, 'h', 'q', 'r')[1]


@pytest.mark.parametrize(
    ('event', 'notices'),
    [
        (None, ['There are no variables']),
        (EnvironmentRead(*MANY.processes[0].key[:2], error='denied'), ['There are no variables']),
        (
            EnvironmentRead(*MANY.processes[0].key[:2], (('A', 'b'),)),
            ['No name here looks like a secret'],
        ),
        (EnvironmentRead(*MANY.processes[0].key[:2], (('A_TOKEN', 'b'),)), []),
    ],
)
def test_secrets_are_revealed_if_there_are_any(
    event: EnvironmentRead | None, notices: list[str]
) -> None:
    state = pressed(state_of(MANY), 'Down', 'e')
    state = pressed(after(state, event) if event else state, 'v')
    assert texts(state) == notices
    assert state.environ.reveals_secrets is not bool(notices)


# The columns


def test_last_column_cannot_be_hidden() -> None:
    state, effects = press(state_of(MANY, view=ViewState(columns=('pid',))), 'C', 'Space')
    assert (state.view.columns, effects) == (('pid',), (RingBell(),))
    assert texts(state) == ['At least one column must be shown']
