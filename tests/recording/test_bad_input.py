"""Files that are damaged, foreign, old, or left by a recorder that was killed."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Iterator
from unittest import mock

import pytest

from nvitop.gui.replay_command import main
from nvitop.recording import reader
from nvitop.recording.frames import FrameError
from nvitop.recording.reader import Recording
from nvitop.recording.recorder import Recorder
from nvitop.recording.store import RecordingError
from tests.command_run import CommandRun
from tests.recording.virtual_clock import SimpleMachine, record


@contextlib.contextmanager
def changed(path: Path) -> Iterator[sqlite3.Connection]:
    """Change a recording with SQL."""
    db = sqlite3.connect(str(path))
    try:
        yield db
        db.commit()
    finally:
        db.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    machine = SimpleMachine(2)
    machine.run(1)
    record(tmp_path / 'a.db', [machine.sample(10) for _ in range(20)])
    return tmp_path / 'a.db'


def test_a_log_that_cannot_be_opened_gets_advice(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse = mock.Mock(side_effect=sqlite3.OperationalError('unable to open database file'))
    monkeypatch.setattr(reader, '_checked', refuse)
    path.with_name('a.db-wal').touch()
    with pytest.raises(RecordingError, match='was killed and left a log next to it; copy both'):
        Recording(str(path))


def readable(path: Path) -> int:
    """Return the number of frames that can be read; 0 if the recording is refused."""
    count = 0
    try:
        recording = Recording(str(path))
    except RecordingError:
        return 0
    with contextlib.suppress(RecordingError):
        frame: int | None = recording.span().first
        while frame is not None:
            with contextlib.suppress(FrameError):
                recording.sample(frame)
                count += 1
            frame = recording.neighbor(frame, 1)
    recording.close()
    return count


@pytest.mark.parametrize('version', [1, 99])
def test_a_recording_of_another_format_gets_one_clear_message(path: Path, version: int) -> None:
    with changed(path) as db:
        db.execute(f'PRAGMA user_version = {version}')
    which = 'a newer version of nvitop' if version == 99 else 'a version of nvitop before 2.0'
    ran = CommandRun(main, str(path), '-1')
    assert ran.status == 1
    assert ran.err.startswith(f'nvitop replay: error: {path} was written by {which}')
    assert ran.err.count('\n') == 1
    with pytest.raises(RecordingError, match=f'was written by {which}'):
        Recorder(str(path))


def test_lines_of_json_are_not_a_recording(tmp_path: Path) -> None:
    path = tmp_path / 'a.jsonl'
    path.write_text('{"nvitop_sample":2}\n')
    ran = CommandRun(main, str(path), '-1')
    assert ran.status == 1
    assert f'{path} has lines of JSON' in ran.err
    assert 'nvitop record FILE.db' in ran.err


def test_a_frame_that_is_too_large_is_left_out(path: Path) -> None:
    with changed(path) as db:
        db.execute('UPDATE frame SET z = zeroblob(20000000) WHERE id = 2')
    assert readable(path) == 19


def test_a_recording_that_is_cut_off_anywhere_is_read_or_refused(path: Path) -> None:
    whole = path.read_bytes()
    assert readable(path) == 20
    cut = path.with_name('cut.db')
    for size in range(0, len(whole), 4096):
        cut.write_bytes(whole[:size])
        readable(cut)
        cut.write_bytes(whole[:size] + bytes(4096) + whole[size + 4096 :])
        readable(cut)


@pytest.mark.parametrize(
    'statement',
    [
        'DELETE FROM keyframe',
        'DROP TABLE event',
        'DELETE FROM frame',
        'UPDATE run SET interval_ms = -1',
    ],
)
def test_damaged_databases_are_read_or_refused(path: Path, statement: str) -> None:
    with changed(path) as db:
        db.executescript(statement)
    readable(path)
    for arguments in (['--export=csv'], ['-1', '--no-config'], ['-1', '--no-config', '--at=-1m']):
        ran = CommandRun(main, str(path), *arguments)
        assert len(ran.err.splitlines()) == (ran.status == 1)
