from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from nvitop.recording.frames import LineWriter
from nvitop.recording.recorder import EARLIEST_TIME, Recorder
from nvitop.recording.store import APPLICATION_ID, ROWS_PER_STEP, RecordingError, Retention, Store
from nvitop.sampling.types import HostProcessSample
from tests.recording.virtual_clock import (
    START,
    SimpleMachine,
    events,
    mig,
    record,
    rows,
    samples_of,
    simulated_samples,
)
from tests.sampling.conftest import ClockedMachine


def test_samples_are_stored_as_they_were(bench: ClockedMachine, tmp_path: Path) -> None:
    samples = list(simulated_samples(bench, 30))
    record(tmp_path / 'a.db', samples, commands='full')
    assert samples_of(tmp_path / 'a.db') == samples
    assert any(process.owner for process in samples[0].processes) == bool(samples[0].host_processes)
    kinds = rows(tmp_path / 'a.db', 'SELECT kind FROM event ORDER BY t, id')
    assert kinds[0] == ('start',)
    assert rows(tmp_path / 'a.db', 'PRAGMA application_id') == [(APPLICATION_ID,)]
    assert rows(tmp_path / 'a.db', 'PRAGMA integrity_check') == [('ok',)]
    seen = rows(tmp_path / 'a.db', 'SELECT first_seen / 1000, last_seen / 1000 FROM device')
    assert len(seen) == 8
    minutes = {int(sample.timestamp) // 60: int(sample.timestamp) for sample in reversed(samples)}
    assert set(seen) == {(min(minutes.values()), max(minutes.values()))}
    assert bench.machine.calls['nvmlDeviceGetPcieThroughput'] == 0  # it takes 21 ms


@pytest.mark.parametrize(
    ('commands', 'command', 'name'),
    [
        ('full', 'python3 t.py --token=•••••••• -n 1', 'python3'),
        ('name', 'python3 t.py', 'python3'),
        ('none', '', None),
    ],
)
def test_commands_are_kept_as_asked(
    tmp_path: Path, commands: str, command: str, name: str | None
) -> None:
    machine = SimpleMachine()
    machine.run(1, command='python3 t.py --token=hunter2 -n 1')
    sample = machine.sample()._replace(
        host_processes=(HostProcessSample(1, 1.0, command='python3 t.py --token=hunter2 -n 1'),)
    )
    record(tmp_path / 'a.db', [sample], commands=commands)
    (stored,) = samples_of(tmp_path / 'a.db')
    assert [stored.processes[0].command, stored.host_processes[0].command] == [command, command]
    assert stored.processes[0].name == name
    raw = b''.join(path.read_bytes() for path in tmp_path.iterdir())
    assert b'hunter2' not in raw


def test_events_of_a_night(tmp_path: Path) -> None:
    machine = SimpleMachine(2)
    samples = [machine.sample(10), machine.sample(8 * 60)]
    machine.set(1, status='lost', reason='GPU is lost')
    samples += [machine.sample(10), machine.sample(10, step=-3600)]
    machine.set(1, status='ok', reason='')
    machine.driver = '590.1'
    samples += [machine.sample(10)]
    machine.devices = [machine.devices[0], mig(machine.devices[0], 0)]
    samples += [machine.sample(10)]
    record(tmp_path / 'a.db', samples)
    assert events(tmp_path / 'a.db') == [
        ('gap', 'no samples for 8m'),
        ('lost', 'GPU 1: GPU is lost'),
        ('clock', 'clock set back by 1h'),
        ('driver', 'driver 580.65.06 was replaced by 590.1'),
        ('recovered', 'GPU 1: works again'),
        ('added', 'GPU 0:0: added'),
        ('removed', 'GPU 1: removed'),
    ]
    times = [sample.timestamp for sample in samples_of(tmp_path / 'a.db')]
    assert times == [pytest.approx(sample.timestamp) for sample in samples]


def test_findings_are_events_that_end_a_minute_after_they_were_last_seen(tmp_path: Path) -> None:
    machine = SimpleMachine(1)
    info = machine.devices[0].info._replace(temperature_slowdown_threshold_celsius=90)
    machine.set(0, info=info)
    samples = []
    for celsius in (60, 95, 60, 95, *[60] * 7):
        machine.set(0, temperature_celsius=celsius)
        samples.append(machine.sample(10))
    record(tmp_path / 'a.db', samples)
    assert [kind for kind, _ in events(tmp_path / 'a.db')] == ['finding', 'cleared']
    assert 'GPU 0: too hot: 95°C' in events(tmp_path / 'a.db')[0][1]


def test_nothing_is_recorded_before_the_clock_is_set(tmp_path: Path) -> None:
    machine, messages = SimpleMachine(start=1000.0), []
    samples = [machine.sample(10), machine.sample(10), machine.sample(10, step=EARLIEST_TIME)]
    options = {'on_message': lambda *message: messages.append(message)}
    record(tmp_path / 'a.db', samples, **options)
    assert len(samples_of(tmp_path / 'a.db')) == 1
    assert len(messages) == 1


def test_a_second_recorder_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    path = str(tmp_path / 'a.db')
    recorder = Recorder(path)
    with pytest.raises(RecordingError, match=f'process {os.getpid()} is already recording to '):
        Recorder(path)
    recorder.close()
    Recorder(path).close()


def test_samples_that_come_early_are_counted_but_are_no_frames(tmp_path: Path) -> None:
    machine = SimpleMachine()
    path = tmp_path / 'a.db'
    record(path, [machine.sample(1.0) for _ in range(31)], interval_seconds=10.0)
    assert len(samples_of(path)) == 4
    assert rows(path, 'SELECT sum(observed_ms) FROM gpu_minute') == [(30_000,)]


def test_a_later_run_continues_the_file(tmp_path: Path) -> None:
    machine = SimpleMachine()
    machine.run(1)
    path = tmp_path / 'a.db'
    record(path, [machine.sample(10) for _ in range(3)])
    record(path, [machine.sample(0.5) for _ in range(3)], interval_seconds=0.5)
    assert len(samples_of(path)) == 6
    runs = rows(path, 'SELECT interval_ms, reason FROM run ORDER BY id')
    assert runs == [(10_000, 'stopped'), (500, 'stopped')]
    # Both runs have parts of the same minute.
    assert rows(path, 'SELECT sum(held_ms) FROM usage') == [(21_000,)]


@pytest.mark.parametrize('name', ['a.db', 'a.jsonl'])
def test_a_file_that_was_removed_is_made_again(tmp_path: Path, name: str) -> None:
    machine, path, messages = SimpleMachine(), tmp_path / name, []
    sink: Recorder | LineWriter = LineWriter(str(path))
    if name == 'a.db':
        path.unlink()
        sink = Recorder(str(path), on_message=lambda _, text: messages.append(text))
    sink.write(machine.sample(10))
    path.unlink()
    for _ in range(2):
        sink.write(machine.sample(10))
    sink.close()
    if name == 'a.db':
        assert len(samples_of(path)) == 2
        assert messages == [f'{path} was removed or moved; recording to a new file']
    else:
        assert len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize('scenarios', [('', 'half-busy'), ('half-busy', '')])
def test_simulated_and_real_samples_are_not_mixed(tmp_path: Path, scenarios: list[str]) -> None:
    machine, path = SimpleMachine(), tmp_path / 'a.db'
    first, second = (machine.sample(10)._replace(simulated=name) for name in scenarios)
    record(path, [first])
    what = 'a simulated' if scenarios[0] else 'a real'
    with pytest.raises(RecordingError, match=f'has samples of {what} machine'):
        record(path, [second])
    assert samples_of(path) == [first]


def test_names_of_any_bytes_are_recorded(tmp_path: Path) -> None:
    machine, path = SimpleMachine(), tmp_path / 'a.db'
    machine.set(0, info=machine.devices[0].info._replace(name='A100 \ud800'))
    machine.run(1, command='python3 \udcff.py', username='\udcff')
    samples = [machine.sample(10) for _ in range(10)]
    record(path, samples)
    assert samples_of(path) == samples
    assert rows(path, 'SELECT DISTINCT user FROM usage') == [('\ufffd',)]


def test_files_of_other_programs_are_left_alone(tmp_path: Path) -> None:
    text, database, newer = tmp_path / 'a.txt', tmp_path / 'b.db', tmp_path / 'c.db'
    short = tmp_path / 'd.txt'
    short.write_bytes(b'\n')
    text.write_text('important\n' * 1000)
    db = sqlite3.connect(str(database))
    db.execute('CREATE TABLE t (a)')
    db.close()
    record(newer, [SimpleMachine().sample()])
    db = sqlite3.connect(str(newer))
    db.execute('PRAGMA user_version = 99')
    db.close()
    before = [(path.read_bytes(), path.stat().st_mode) for path in (text, database, newer, short)]
    for path, why in (
        (short, 'is not a recording of nvitop'),
        (text, 'is not a recording of nvitop'),
        (database, 'is not a recording of nvitop'),
        (newer, 'was written by a newer version of nvitop'),
        (tmp_path / 'missing' / 'a.db', 'No such file or directory'),
        (tmp_path, 'Is a directory'),
    ):
        with pytest.raises(RecordingError, match=why):
            Recorder(str(path), mode=0o604)
    for path in (text, database, newer):
        with pytest.raises(RecordingError, match='has no lines of JSON'):
            LineWriter(str(path), mode=0o604)
    assert [
        (path.read_bytes(), path.stat().st_mode) for path in (text, database, newer, short)
    ] == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        'a.txt',
        'b.db',
        'c.db',
        'c.db.lock',
        'd.txt',
    ]


@pytest.mark.skipif(not hasattr(os, 'geteuid'), reason='needs POSIX permissions')
def test_new_files_are_private_unless_a_mode_is_given(tmp_path: Path) -> None:
    def mode(path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    for given, expected in ((None, 0o600), (0o644, 0o644)):
        recorder = Recorder(str(tmp_path / 'a.db'), mode=given)
        recorder.write(SimpleMachine().sample())
        assert {mode(tmp_path / f'a.db{end}') for end in ('', '-wal', '-shm')} == {expected}
        recorder.close()


@pytest.mark.skipif(not hasattr(os, 'geteuid'), reason='needs POSIX permissions')
@pytest.mark.parametrize('suffix', ['', '.lock', '-wal', '-journal'])
def test_symbolic_links_in_shared_directories_are_refused(tmp_path: Path, suffix: str) -> None:
    tmp_path.chmod(0o1777)
    victim = tmp_path / 'victim'
    victim.write_text('important')
    (tmp_path / f'a.db{suffix}').symlink_to(victim)
    with pytest.raises(RecordingError, match='cannot'):
        Recorder(str(tmp_path / 'a.db'))
    assert victim.read_text() == 'important'


@pytest.mark.slow
def test_old_frames_and_usage_are_deleted_in_small_steps(tmp_path: Path) -> None:
    machine, path = SimpleMachine(), tmp_path / 'a.db'
    keep = Retention(frame_seconds=3600.0, usage_seconds=7200.0)
    record(path, (machine.sample(30) for _ in range(120 * 8)), interval_seconds=30, retention=keep)
    first, last, count = rows(path, 'SELECT min(t), max(t), count(*) FROM frame')[0]
    assert 3_540_000 <= last - first <= 3_660_000
    assert count <= 123
    keys = rows(path, 'SELECT count(*) FROM keyframe WHERE id NOT IN (SELECT keyframe FROM frame)')
    assert keys == [(0,)]
    for table in ('usage', 'gpu_minute'):
        minutes = rows(path, f'SELECT count(DISTINCT minute) FROM {table}')[0][0]
        assert 119 <= minutes <= 180, table
    assert rows(
        path, 'SELECT count(*) FROM event WHERE t < (SELECT min(minute) * 60000 FROM usage)'
    )


@pytest.mark.slow
def test_a_large_file_loses_its_oldest_frames_and_shrinks(tmp_path: Path) -> None:
    machine, path = SimpleMachine(), tmp_path / 'a.db'
    recorder = Recorder(str(path), retention=Retention(max_bytes=1 << 20))
    sizes = []
    for tick in range(4000):
        machine.set(0, power_usage_mw=tick * 7919 % 700_000, memory_used_bytes=tick * 104729)
        recorder.write(machine.sample(10))
        sizes.append(path.stat().st_size)
    recorder.close()
    assert max(sizes) < 2 << 20
    assert path.stat().st_size < (1 << 20) + (400 << 10)
    assert len(samples_of(path)) > ROWS_PER_STEP
    assert samples_of(path)[-1].timestamp == pytest.approx(machine.wall)


class FullDisk:
    """A disk that can be full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seems_full: bool) -> None:
        self.is_full = False
        for name in ('add_frame', 'add_rows', 'tidy', 'begin_run', 'note_devices'):
            monkeypatch.setattr(Store, name, self._failing(getattr(Store, name)))
        monkeypatch.setattr(Store, 'has_room', lambda store: not (self.is_full and seems_full))

    def _failing(self, method: Any) -> Any:
        def call(*arguments: Any, **keywords: Any) -> Any:
            if self.is_full:
                raise sqlite3.OperationalError('database or disk is full')
            return method(*arguments, **keywords)

        return call


@pytest.mark.parametrize('seems_full', [True, False])
def test_a_full_disk_is_reported_once_and_no_usage_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seems_full: bool
) -> None:
    disk, machine, messages = FullDisk(monkeypatch, seems_full), SimpleMachine(), []
    machine.run(1)
    path = tmp_path / 'a.db'
    recorder = Recorder(str(path), on_message=lambda kind, text: messages.append(text))
    for tick in range(360):
        disk.is_full = 60 <= tick < 180
        recorder.write(machine.sample(10))
    recorder.close()
    assert rows(path, 'SELECT sum(held_ms) FROM usage') == [(3_590_000,)]
    times = [sample.timestamp for sample in samples_of(path)]
    assert len(times) >= 230
    (stop,) = (i for i, (one, next_) in enumerate(zip(times, times[1:])) if next_ - one > 11)
    # There is room again from tick 180 on.
    assert times[stop + 1] - (START + 1810) <= 60
    assert len(messages) == 4
    assert 'no frames are recorded until there is room: database or disk is full' in messages[0]
    assert 'usage' in messages[1]
    assert messages[2].endswith('usage is recorded again')
    assert messages[3].endswith('frames are recorded again')
