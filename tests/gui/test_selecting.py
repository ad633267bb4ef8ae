"""Selecting, tagging and moving on the main screen, by keys and mouse."""

from __future__ import annotations

import pytest

from nvitop.gui.model.choices import Screen, Sort
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import (
    EnvironmentRead,
    Event,
    KeyPressed,
    MousePressed,
    MouseScrolled,
    Resized,
    RingBell,
)
from nvitop.gui.state.navigation import current_line, lines_layout, selected_key
from tests.gui.drawing import click_hit
from tests.gui.driving import MANY, after, arrived, keys_that_open, press, pressed, state_of, texts
from tests.gui.samples import ENVIRONMENT, with_families


def row_of_selected(state: AppState) -> int | None:
    index = current_line(state)
    if index is None:
        return None
    layout = lines_layout(state)
    return layout.row_of(index) if index in layout.shown else None


def test_selection_follows_the_process_until_it_exits() -> None:
    state = pressed(state_of(MANY), 'Down', 'Down')
    selected = state.selected
    others = tuple(process for process in MANY.processes if process.key != state.rows[0].key)
    state = arrived(state, MANY._replace(processes=others))
    assert state.selected == selected is not None
    rest = tuple(process for process in others if process.key != selected)
    assert arrived(state, MANY._replace(processes=rest)).selected is None


def test_reused_pid_loses_its_tag() -> None:
    state = pressed(state_of(MANY), 'Down', 'Space')
    key = state.rows[0].key
    assert key in state.main.tagged
    reborn = tuple(
        p._replace(key=p.key._replace(start_time=p.key.start_time + 100.0)) if p.key == key else p
        for p in MANY.processes
    )
    assert arrived(state, MANY._replace(processes=reborn)).main.tagged == frozenset()


def test_esc_clears_the_filter_first_and_then_selection_and_tags() -> None:
    state = pressed(state_of(MANY), 'Down', 'Space', '\\', 'p', 'Enter')
    assert state.query == 'p'
    state = pressed(state, 'Esc')
    assert (state.query, bool(state.main.tagged)) == ('', True)
    state = pressed(state, 'Esc')
    assert (state.selected, state.main.tagged) == (None, frozenset())


@pytest.mark.parametrize('screen', ['', 't'])
def test_keys_ignore_a_selected_process_that_the_filter_hides(screen: str) -> None:
    state = pressed(state_of(with_families(MANY)), *screen, 'Down', '\\', *'#none#', 'Enter')
    selected = selected_key(state)
    assert selected is not None
    for key in ('T', 'e', 'x' if screen else 'Enter'):
        later, effects = press(state, key)
        assert effects == (RingBell(),)
        assert texts(later) == [f'{selected[0]} is hidden by the filter; Esc clears it']
        assert later._replace(notices=()) == state


# Scrolling


def test_selected_process_stays_visible() -> None:
    state = state_of(MANY, height=24)
    for key in ('Down',) * 60 + ('End', 'Home') + ('Up',) * 3:
        state = pressed(state, key)
        assert row_of_selected(state) is not None
    state = pressed(state_of(MANY, height=60), *['Down'] * 40)
    events: list[Event] = [Resized(*size) for size in ((120, 20), (50, 12), (120, 40))]
    events += map(KeyPressed, ('f', 'c', 'a', 'H', 'd', 'o', 'g', 'o', 'p', '/'))
    for event in events:
        state = after(state, event)
        assert row_of_selected(state) is not None


@pytest.mark.parametrize('size', [(80, 20), (120, 40)])
@pytest.mark.parametrize('keys', ['PageDown PageUp', 'Ctrl-D Ctrl-U', '] ['])
def test_scrolling_keeps_a_selected_process_on_the_screen(size: tuple[int, int], keys: str) -> None:
    state = pressed(state_of(MANY, *size), *['Down'] * 3)
    for key in keys.split():
        before = state.selected
        for _ in range(40):
            state = pressed(state, key)
            assert row_of_selected(state) is not None
        assert state.selected != before


# Mouse


def test_clicks_select_sort_and_clear() -> None:
    state = state_of(MANY)
    state = after(state, click_hit(state, 'process', state.rows[2].key))
    assert state.selected == state.rows[2].key
    state = after(state, click_hit(state, 'column', 'pid'))
    assert state.sort == Sort('pid')
    state = after(state, click_hit(state, 'column', 'pid'))
    assert state.sort == Sort('pid', reverse=True)
    assert after(state, MousePressed(0, 0)).selected is None


@pytest.mark.parametrize('screen', [Screen.TREE, Screen.ENVIRON, Screen.COLUMNS, Screen.HELP])
def test_clicks_and_the_wheel_move_on_lists(screen: Screen) -> None:
    state = pressed(state_of(with_families(MANY), 80, 24), *keys_that_open(screen))
    environ = state.environ
    state = after(state, EnvironmentRead(environ.pid, environ.start_time, ENVIRONMENT))
    state = pressed(state, 'Home')
    if screen is not Screen.HELP:  # it has no cursor
        state = after(state, MousePressed(5, lines_layout(state).row_of(2)))
        assert current_line(state) == 2
        state = after(state, MouseScrolled(5, 4, dy=-2))
    for dy, ctrl, line in ((1, False, 1), (1, True, 6), (-1, False, 5), (-1, True, 0)):
        state = after(state, MouseScrolled(5, 4, dy=dy, ctrl=ctrl))
        assert current_line(state) == line
