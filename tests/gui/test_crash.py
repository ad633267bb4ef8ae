"""Crash reports: everything needed to reproduce a crash, without private data."""

from __future__ import annotations

import os
import pathlib
import platform
import stat

import psutil
import pytest

from nvitop.gui.app import describe_event
from nvitop.gui.monitor import explain_crash, format_crash, write_crash
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.state.app_state import AppState, TextField
from nvitop.gui.state.events import EnvironmentRead, Event, KeyPressed, Pasted, SampleArrived
from nvitop.gui.state.update import update
from nvitop.version import __version__
from tests.gui.samples import SAMPLES


def state_of(name: str) -> AppState:
    return update(AppState(MONITOR), SampleArrived(SAMPLES[name]._replace(sequence=1)))[0]


def crash(state: AppState) -> ValueError:
    try:
        raise ValueError(f'cannot draw {state.sample.processes[0].command}')
    except ValueError as error:
        return error


@pytest.mark.parametrize('name', ['hostile', 'h100x8'])
def test_report_has_no_names_users_or_commands(name: str) -> None:
    state = state_of(name)
    text = format_crash(crash(state), state, ["KeyPressed(key='Down')"])
    assert 'ValueError' in text
    assert 'test_crash.py:' in text
    assert f'nvitop {__version__}, Python {platform.python_version()}' in text
    assert f'psutil {psutil.__version__}' in text
    assert '80 x 24' in text
    assert "KeyPressed(key='Down')" in text
    for process in state.sample.processes:
        for secret in (process.username, process.command):
            assert secret is None or len(secret) < 3 or secret not in text


@pytest.mark.parametrize(
    ('event', 'secret'),
    [
        (Pasted('hunter2'), 'hunter2'),
        (EnvironmentRead(1, 1.0, (('TOKEN', 'hunter2'),)), 'hunter2'),
        (SampleArrived(SAMPLES['h100x8']), 'train.py'),
    ],
)
def test_events_are_described_without_their_contents(event: Event, secret: str) -> None:
    assert secret not in describe_event(event, AppState(MONITOR))
    assert type(event).__name__ in describe_event(event, AppState(MONITOR))


def test_typed_text_is_not_recorded() -> None:
    typing = AppState(MONITOR, field=TextField('filter'))
    assert describe_event(KeyPressed('x'), typing) == repr(KeyPressed('•'))
    assert describe_event(KeyPressed('Enter'), typing) == repr(KeyPressed('Enter'))
    assert describe_event(KeyPressed('x'), AppState(MONITOR)) == repr(KeyPressed('x'))


def test_report_is_readable_by_this_user_only(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('tempfile.tempdir', str(tmp_path))
    state = state_of('hostile')
    error = crash(state)
    path = write_crash(error, state, [])
    assert path is not None
    assert path in explain_crash(error, path)
    if os.name == 'posix':
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_system_error_is_explained_without_file_names() -> None:
    text = explain_crash(OSError(24, 'Too many open files', '/home/ada/secret'), None)
    assert 'OSError (Too many open files)' in text
    assert 'ada' not in text


def test_failure_to_write_a_report_is_explained(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('tempfile.tempdir', str(tmp_path / 'absent'))
    state = state_of('h100x8')
    error = crash(state)
    assert write_crash(error, state, []) is None
    text = explain_crash(error, None)
    assert 'ValueError in crash (' in text
    assert 'test_crash.py:' in text
    assert 'no report could be written' in text
    assert str(error) not in text
    assert 'no report' in explain_crash(ValueError(), None)
