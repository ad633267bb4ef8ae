"""The environment screen."""

from __future__ import annotations

import pytest

from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import EnvironmentRead, KeyPressed
from nvitop.gui.state.update import update
from nvitop.owner.types import Layer, Owner, make_owner
from tests.gui.drawing import lines_of, state_on, text_of
from tests.gui.driving import update_all
from tests.gui.samples import ENVIRONMENT

pytestmark = pytest.mark.usefixtures('utc')


def environment_of(width: int, height: int, *keys: str) -> AppState:
    """Return the environment screen after the environment was read, and after these keys."""
    state = state_on('one', width, height, 'Down', 'e')
    read = EnvironmentRead(state.environ.pid, state.environ.start_time, ENVIRONMENT)
    return update_all(state, (read, *map(KeyPressed, keys)))[0]


def inside(state: AppState) -> list[str]:
    """Return the lines inside the frame."""
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
