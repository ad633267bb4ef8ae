"""Screens: keys that work on each, cursors, messages, and what they share."""

from __future__ import annotations

import pytest

from nvitop.gui.model.choices import Screen
from nvitop.gui.monitor_screens import SCREENS
from nvitop.gui.render.theme import Role
from nvitop.gui.state.app_state import AppState, Notice
from nvitop.gui.state.bindings import BINDINGS
from nvitop.gui.state.events import EnvironmentRead, KeyPressed, SampleArrived
from nvitop.gui.state.lists import listed_users
from nvitop.gui.state.navigation import current_line
from nvitop.gui.state.update import update
from nvitop.owner.types import Layer, Owner, make_owner
from nvitop.sampling.types import Problem
from tests.gui.drawing import frame_on, lines_of, lines_on, state_on, text_of
from tests.gui.driving import after, keys_that_open, press, pressed, update_all
from tests.gui.samples import ENVIRONMENT, SAMPLES

pytestmark = pytest.mark.usefixtures('utc')


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


def test_cursor_follows_its_line_when_the_order_changes() -> None:
    state = pressed(state_on('h100x8', 120, 40), 'U', 'Down')
    name = listed_users(state)[current_line(state) or 0].name
    state = pressed(state, 'o', 'c')
    assert listed_users(state)[current_line(state) or 0].name == name
    assert listed_users(state)[1].name != name


def test_cursor_stays_visible_on_every_list() -> None:
    for key in ('!', 'U', 'C'):
        for height in (6, 8, 12, 40):
            for to in ('End', 'Home'):
                buffer = frame_on('h100x8', 80, height, key, to)
                roles = [style.role for y in range(height) for _, _, style in buffer.row(y)]
                assert Role.SELECTED in roles or key == '!'


def test_empty_tree_shows_the_reason() -> None:
    assert 'Looking for processes ...' in lines_on('nothing-yet', 80, 24, 't')[3]
    assert 'No match: 16 processes' in lines_on('h100x8', 80, 24, 't', '\\', '#')[3]


def test_missing_process_is_unknown_if_its_gpu_does_not_respond() -> None:
    state = state_on(SAMPLES['h100x8'], 120, 30, 'Down', 'Enter')
    sample = state.sample._replace(sequence=2, processes=state.sample.processes[1:])
    first, *others = sample.devices
    silent = first._replace(status='timed out', reason='no response for 6 s')
    unlisted = Problem(first.key, 'processes', 'x', 'error')
    for changed, text in (
        (sample._replace(devices=(silent, *others)), 'GPU 0: no response for 6 s'),
        (sample._replace(problems=(unlisted,)), 'GPU 0 does not report its processes'),
        (sample, 'The process has exited or no longer uses this GPU'),
    ):
        seen, _ = update(state, SampleArrived(changed))
        assert lines_of(seen)[2].strip('│ ') == text


def environment_of(width: int, height: int, *keys: str) -> AppState:
    state = state_on('one', width, height, 'Down', 'e')
    read = EnvironmentRead(state.environ.pid, state.environ.start_time, ENVIRONMENT)
    return update_all(state, (read, *map(KeyPressed, keys)))[0]


def inside(state: AppState) -> list[str]:
    return [line[1:-1].strip() for line in lines_of(state)[2:-1]]


def with_owner(height: int, owner: Owner | None, reason: str = '') -> list[str]:
    state = state_on('one', 80, height, 'Down', 'e')
    key = state.environ.pid, state.environ.start_time
    read = EnvironmentRead(*key, ENVIRONMENT, owner=owner, no_owner=reason)
    return inside(update(state, read)[0])


def test_layers_of_the_owner_are_above_the_variables() -> None:
    pod = '5ba385ca-b6e6-4246-bd66-d48d429dbc12'
    layers = (
        Layer('pod', pod, 'ml/a\x1b[2Jb', detail='burstable'),
        Layer('docker', '4f' * 32, claim=True),
        Layer('jupyter', '1b2c', 'work/a.ipynb', 'environ', claim=True),
    )
    lines = with_owner(24, make_owner(layers))
    assert lines[0].startswith(f'pod ml/a␛[2Jb        from its cgroup: {pod[:30]}')
    assert lines[1].startswith('docker 4f4f4f4f4f4f  from its cgroup, which its user set: 4f4f')
    assert lines[2].startswith('nb a.ipynb           from its environment, which the process set')
    assert lines[3].startswith('1 of 19')
    assert lines[4].startswith('AWS_SECRET_ACCESS_KEY=')


def test_secrets_are_hidden_until_revealed() -> None:
    secrets = ('wJalr', 'hf_abc', 'hunter2')
    hidden = text_of(environment_of(80, 24, '$', 'Home'))
    assert not any(secret in hidden for secret in secrets)
    assert 'EMPTY_TOKEN=' in inside(environment_of(80, 24))
    shown = text_of(environment_of(80, 24, 'v'))
    assert all(secret in shown for secret in secrets)
    again = text_of(environment_of(80, 24, 'v', 'v'))
    assert not any(secret in again for secret in secrets)


def test_error_is_shown_in_full() -> None:
    state = state_on('one', 40, 10, 'Down', 'e')
    assert 'Reading ...' in inside(state)
    reason = 'cannot be read: [Errno 5] Input/output error'
    state, _ = update(state, EnvironmentRead(state.environ.pid, 0.0, (), reason))
    assert ' '.join(inside(state)).strip() == reason


def test_long_notice_is_wrapped_or_cut_to_a_third_of_the_screen() -> None:
    def last_lines(*texts: str) -> list[str]:
        notices = tuple(Notice(text, 9.0) for text in texts)
        state = state_on('h100x8', 40, 12)._replace(notices=notices)
        return lines_of(state)

    long = 'Paused before the details of all eight devices were measured (z: resume the display)'
    wrapped = [
        ' Paused before the details of all eight',
        ' devices were measured (z: resume the',
        ' display)',
    ]
    assert last_lines('Theme: mono', long)[-4:] == [' Theme: mono', *wrapped]
    # A notice is not shown in part.
    lines = last_lines(long, long)
    assert lines[-3:] == wrapped
    assert 'display)' not in lines[-4]
    *above, first, _, _, last = last_lines('x ' * 400)
    assert first.startswith(' x x ')
    assert last.endswith(' x ..')
    assert '│' in above[-1]


@pytest.mark.parametrize(('width', 'height'), [(39, 40), (100, 5), (1, 1)])
def test_small_screen_shows_the_minimum_size(width: int, height: int) -> None:
    lines = [line.strip() for line in lines_on('h100x8', width, height)]
    assert sum(map(bool, lines)) == 1
    assert 'too small'.startswith(''.join(lines)[:9].rstrip('.'))
