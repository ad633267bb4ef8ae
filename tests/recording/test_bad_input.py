"""Files that are damaged, hostile, foreign or old."""

from __future__ import annotations

import contextlib
import gzip
import re
import shutil
import sqlite3
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Iterator

import pytest

from nvitop.gui.replay_command import main
from nvitop.recording import reader
from nvitop.recording.frames import BLOCK_BYTES, MAX_MARKS, FrameError, parse_text
from nvitop.recording.opening import open_recording
from nvitop.recording.recorder import Recorder
from nvitop.recording.store import APPLICATION_ID, RecordingError
from nvitop.sampling.serialization import dumps
from tests.command_run import CommandRun
from tests.programs import run_program
from tests.recording.virtual_clock import SimpleMachine, record, samples_of

#: A view whose rows never end, in place of a table.
ENDLESS_VIEW = """
DROP TABLE frame;
CREATE VIEW frame AS
WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c)
SELECT id, 1 t, 1 run, 1 keyframe, 1 z FROM c
"""
#: A column that computes half a gigabyte.
GENERATED = """
DROP TABLE frame;
CREATE TABLE frame (id INTEGER PRIMARY KEY, t INTEGER, run INTEGER, keyframe INTEGER);
INSERT INTO frame (t, run, keyframe) VALUES (1, 1, 1);
ALTER TABLE frame ADD COLUMN z BLOB GENERATED ALWAYS AS (hex(zeroblob(490000000))) VIRTUAL
"""
pytest.importorskip('resource')
#: Runs a program without its output, and prints its greatest memory in KiB. A program that the tests
#: run themselves would begin with their memory.
PEAK_MEMORY = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
"""
FORMAT_1 = Path(__file__).with_name('format1.sql')


@contextlib.contextmanager
def changed(path: Path) -> Iterator[sqlite3.Connection]:
    """Change a recording with SQL."""
    db = sqlite3.connect(str(path))
    try:
        yield db
        db.commit()
    finally:
        db.close()


def test_a_log_that_cannot_be_opened_is_read_from_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, killed = tmp_path / 'a.db', tmp_path / 'killed.db'
    machine = SimpleMachine()
    recorder = Recorder(str(path))
    for _ in range(3):
        recorder.write(machine.sample(10))
    for suffix in ('', '-wal'):  # without -shm, the log needs a directory that can be written
        shutil.copyfile(f'{path}{suffix}', f'{killed}{suffix}')
    recorder.close()
    open_address = reader._checked

    def refuse(address: str) -> sqlite3.Connection:
        if 'killed.db' in address:
            raise sqlite3.OperationalError('unable to open database file')
        return open_address(address)

    monkeypatch.setattr(reader, '_checked', refuse)
    folder = tmp_path / 'temporary'
    folder.mkdir()
    monkeypatch.setattr(tempfile, 'tempdir', str(folder))
    assert len(samples_of(killed)) == 3
    assert not [*folder.iterdir()]
    usage = shutil.disk_usage(folder)._replace(free=2 * path.stat().st_size)
    monkeypatch.setattr(shutil, 'disk_usage', lambda path: usage)
    with pytest.raises(RecordingError, match=r'no room for a copy in .*; set TMPDIR, or copy it'):
        open_recording(str(killed))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    machine = SimpleMachine(2)
    machine.run(1)
    record(tmp_path / 'a.db', [machine.sample(10) for _ in range(20)])
    return tmp_path / 'a.db'


def readable(path: Path) -> int:
    """Return the number of frames that can be read; 0 if the recording is refused."""
    count = 0
    try:
        recording = open_recording(str(path))
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


def test_a_recording_of_format_1_is_read_for_ever(tmp_path: Path) -> None:
    with changed(tmp_path / 'old.db') as db:
        db.executescript(FORMAT_1.read_text(encoding='ascii'))
        db.execute(f'PRAGMA application_id = {APPLICATION_ID}')
        db.execute('PRAGMA user_version = 1')
    recording = open_recording(str(tmp_path / 'old.db'))
    span = recording.span()
    assert (span.first, span.last) == (1, 3)
    samples = [recording.sample(frame) for frame in (1, 2, 3)]
    assert [sample.devices[0].status for sample in samples] == ['ok', 'ok', 'lost']
    assert samples[0].host.hostname == 'gpu07'
    assert samples[0].processes[0].command == 'python3 train.py'
    event = recording.event(samples[0].timestamp, 1)
    assert event is not None
    assert event.text == 'device 0: GPU is lost'
    recording.close()


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
        'UPDATE frame SET z = zeroblob(20000000) WHERE id = 1',
        "UPDATE frame SET z = 'text', keyframe = 'key'",
        "UPDATE frame SET t = 'now'",
        'UPDATE frame SET t = 9223372036854775807',
        'UPDATE frame SET t = -1',
        'DELETE FROM keyframe',
        'DROP TABLE event',
        'DELETE FROM frame',
        'UPDATE run SET interval_ms = -1',
        *([GENERATED] if sqlite3.sqlite_version_info >= (3, 31) else []),
        ENDLESS_VIEW,
    ],
)
def test_hostile_databases_are_read_or_refused(path: Path, statement: str) -> None:
    with changed(path) as db:
        db.executescript(statement)
    readable(path)
    for arguments in (['--export=csv'], ['-1', '--no-config'], ['-1', '--no-config', '--at=-1m']):
        ran = CommandRun(main, str(path), *arguments)
        assert len(ran.err.splitlines()) == (ran.status == 1)
        if statement == GENERATED:
            assert ran.err.endswith('is not a recording of nvitop\n')


@pytest.mark.parametrize('timestamp', ['999999999999', '-99999999999', '99999999999999999999'])
def test_lines_of_impossible_times_are_refused(tmp_path: Path, timestamp: str) -> None:
    line = re.sub(r'(?<="timestamp":)[\d.]+', timestamp, dumps(SimpleMachine().sample()), count=1)
    path = tmp_path / 'a.jsonl'
    path.write_text(line, 'ascii')
    ran = CommandRun(main, str(path), '--export=csv')
    assert ran.err == f'nvitop replay: error: {path} is not a recording of nvitop\n'


def test_a_frame_of_an_impossible_time_is_refused() -> None:
    with pytest.raises(FrameError, match='impossible time'):
        parse_text(dumps(SimpleMachine(start=1e12).sample()).encode())


@pytest.mark.slow
def test_bombs_need_little_memory(path: Path, tmp_path: Path) -> None:
    block = zlib.compress(bytes(BLOCK_BYTES), 9)
    with changed(path) as db:
        db.execute('UPDATE frame SET z = ?', (zlib.compress(bytes(100 << 20), 9),))
        db.execute('UPDATE keyframe SET z = ?', (block * 10_000,))
    (tmp_path / 'line.gz').write_bytes(gzip.compress(bytes(200 << 20), 9))
    head = dumps(SimpleMachine().sample())[:-1].encode()
    deep = head + b',"x":' + b'[' * 100_000 + b']' * 100_000 + b'}\n'
    (tmp_path / 'deep.jsonl').write_bytes(deep)
    wide = head + b',"x":[' + b'[],' * 1_300_000 + b'0]}\n'
    (tmp_path / 'wide.jsonl').write_bytes(wide)
    # Unknown fields are ignored, up to the number of values that a sample may have.
    largest = head + b',"x":[' + b'{"":0},' * (MAX_MARKS // 2 - 1000) + b'0]}\n'
    (tmp_path / 'largest.jsonl').write_bytes(largest)
    names = ('a.db', 'line.gz', 'deep.jsonl', 'wide.jsonl', 'largest.jsonl')
    for name in names:
        replay = ['-m', 'nvitop', 'replay', '-1', '--no-config', str(tmp_path / name)]
        done = run_program('-c', PEAK_MEMORY, sys.executable, *replay)
        if name == 'largest.jsonl':
            assert (done.returncode, done.stderr) == (0, '')
        else:
            assert done.returncode == 1, name
            assert done.stderr.startswith('nvitop replay: error: '), done.stderr
            assert len(done.stderr.splitlines()) == 1
        assert int(done.stdout) < 64 << 10, f'{name}: {int(done.stdout) >> 10} MiB'


def test_line_larger_than_any_sample_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('nvitop.recording.lines.MAX_TEXT_BYTES', 1000)
    path = tmp_path / 'a.jsonl'
    path.write_text('{"format": "' + 2000 * 'x')
    with pytest.raises(RecordingError, match='a line of more than'):
        open_recording(str(path))
