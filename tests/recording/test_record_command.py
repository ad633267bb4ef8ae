"""``nvitop record``: arguments, messages, exit status, and what survives its end."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nvitop import simulation
from nvitop.recording.command import Requests, main
from nvitop.recording.frames import LineWriter
from nvitop.sampling.serialization import loads
from tests.command_run import CommandRun
from tests.programs import ROOT, file_size_limit, run_program, running_nvitop
from tests.recording.virtual_clock import SimpleMachine, rows
from tests.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.skipif(sys.platform == 'win32', reason='needs POSIX signals')


RECORD = ('record', '--demo', '--interval=0.25')


def frame_count(path: Path) -> int:
    """Return the number of frames in a recording that may not exist yet."""
    try:
        count: int = rows(path, 'SELECT count(*) FROM frame')[0][0]
    except sqlite3.Error:
        return 0
    return count


def wait_for_frames(path: Path, count: int) -> None:
    wait_until(lambda: frame_count(path) >= count, f'less than {count} frames in {path.name}')


def test_a_limited_recording(machine: simulation.Machine, tmp_path: Path) -> None:
    path = tmp_path / 'a.db'
    ran = CommandRun(main, '-o', str(path), '--interval=0.25', '--duration=0.4', '--mode=640')
    assert (ran.status, ran.out) == (0, '')
    assert ran.err == f'nvitop record: recording to {path}; press Ctrl-C to stop\n'
    assert frame_count(path) > 0
    assert path.stat().st_mode & 0o777 == 0o640
    kinds = [row[0] for row in rows(path, 'SELECT kind FROM event ORDER BY t, id')]
    assert {'start', 'stop'} <= {*kinds}


def test_the_time_until_the_end_counts(machine: simulation.Machine, tmp_path: Path) -> None:
    path = tmp_path / 'a.db'
    assert CommandRun(main, '-o', str(path), '--interval=1h', '--duration=1.5').status == 0
    assert frame_count(path) == 1
    times = rows(path, 'SELECT sum(observed_ms) FROM gpu_minute GROUP BY gpu')
    assert len(times) == 8
    assert min(times) >= (1000,)


def test_a_driver_that_hangs_at_the_end_delays_it_only_briefly(
    machine: simulation.Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('nvitop.recording.command.LAST_SAMPLE_SECONDS', 0.1)
    monkeypatch.setattr('nvitop.recording.command.STOP_SECONDS', 0.1)
    path = tmp_path / 'a.db'
    thread = threading.Thread(
        target=main, args=[['-o', str(path), '--interval=1h', '--duration=2']], daemon=True
    )
    thread.start()
    wait_for_frames(path, 1)
    machine.hang('nvmlDeviceGetMemoryInfo*')
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert rows(path, 'SELECT reason FROM run') == [('stopped',)]


def test_files_of_lines_end_with_a_whole_line_whatever_happens(tmp_path: Path) -> None:
    path, device = tmp_path / 'a.jsonl', SimpleMachine(2)

    def count() -> int:
        return len([*map(loads, path.read_bytes().splitlines())])

    writer = LineWriter(str(path))
    for lines in range(1, 3):
        writer.write(device.sample(10))
        assert count() == lines  # as after SIGKILL
    size = path.stat().st_size
    for room in (0, 1, 20):
        with file_size_limit(size + room), pytest.raises(OSError, match='too large'):
            writer.write(device.sample(10))
        assert path.stat().st_size == size
    writer.close()
    writer = LineWriter(str(path))
    writer.write(device.sample(10))
    assert count() == lines + 1
    writer.close()


def test_simulated_machines_are_kept_out_of_real_recordings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        'nvitop.recording.command.default_recording', lambda: str(tmp_path / 'd.db')
    )
    with pytest.raises(SystemExit):
        main(['--demo'])
    with pytest.raises(SystemExit):
        main(['--demo', '-o', str(tmp_path / 'd.db')])
    monkeypatch.setenv('NVITOP_DEMO', 'half-busy')
    with pytest.raises(SystemExit):
        main([])
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ('words', 'text'), [('-o a.db --duration 0', '--duration'), ('-o a.jsonl.gz', '-o - | gzip >')]
)
def test_wrong_command_lines_record_nothing(
    words: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    assert text in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists('/dev/full'), reason='needs /dev/full')
def test_lines_that_cannot_be_written_end_the_recording(machine: simulation.Machine) -> None:
    ran = CommandRun(main, '-o', '/dev/full', '--format=jsonl')
    assert ran.status == 1
    message = 'nvitop record: error: cannot write to /dev/full: No space left on device'
    assert ran.err.splitlines()[1:] == [message]


@pytest.mark.slow
@pytest.mark.skipif(
    subprocess.call(['unshare', '--mount', 'true'], stderr=subprocess.DEVNULL) != 0
    if shutil.which('unshare')
    else True,
    reason='needs root and unshare, to mount a small disk',
)
def test_a_recording_on_a_full_disk_stays_whole(tmp_path: Path) -> None:
    code = [sys.executable, '-m', 'tests.recording.full_disk', str(tmp_path)]
    subprocess.run(['unshare', '--mount', *code], cwd=ROOT, check=True, timeout=PATIENCE)


def test_second_signal_ends_the_program_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    statuses: list[int] = []
    monkeypatch.setattr('os._exit', statuses.append)
    requests = Requests()
    requests._handle(signal.SIGTERM, None)
    requests._handle(signal.SIGTERM, None)  # sent to a group, it may arrive twice
    assert statuses == []
    monkeypatch.setattr('nvitop.recording.command.AGAIN_SECONDS', -1.0)
    requests._handle(signal.SIGTERM, None)
    assert statuses == [143]


def test_signals_reopen_and_end_a_recording(tmp_path: Path) -> None:
    path = tmp_path / 'a.db'
    with running_nvitop(*RECORD, '-o', str(path)) as program:
        wait_for_frames(path, 2)
        second = run_program('-m', 'nvitop', *RECORD, '-o', str(path))
        assert second.returncode == 1
        assert f'process {program.pid} is already recording to {path}' in second.stderr
        path.rename(tmp_path / 'old.db')
        program.send_signal(signal.SIGHUP)
        wait_for_frames(path, 3)
        program.send_signal(signal.SIGTERM)
        assert program.wait(PATIENCE) == 0
    for name, reason in (('old.db', 'reopened'), ('a.db', 'stopped')):
        # The recorder may have seen that the file was moved before the signal arrived.
        assert rows(tmp_path / name, 'SELECT reason FROM run ORDER BY id')[-1] == (reason,)
        # Readers without permission to write next to the file need a file without a log.
        assert not (tmp_path / f'{name}-wal').exists()


def test_a_reader_that_leaves_ends_the_recording(tmp_path: Path) -> None:
    with running_nvitop(*RECORD, '-o', '-', stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert loads(program.stdout.readline()).sequence > 0
        program.stdout.close()
        assert program.wait(PATIENCE) == 0
        assert program.stderr is not None
        assert 'Traceback' not in program.stderr.read()


@pytest.mark.slow
def test_no_frame_is_lost_when_the_recorder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / 'a.db'
    count = 0
    for _ in range(4):
        with running_nvitop(*RECORD, '-o', str(path)) as program:
            wait_for_frames(path, count + 2)
            count = frame_count(path)
            program.kill()
        assert rows(path, 'PRAGMA integrity_check') == [('ok',)]
        assert frame_count(path) >= count
    assert len(rows(path, "SELECT * FROM run WHERE reason = 'running'")) == 4


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform == 'win32' or os.geteuid() != 0,
    reason='NOT TESTED: needs root to run as another user',
)
def test_another_user_reads_a_recording_that_is_written_or_closed(tmp_path: Path) -> None:
    path = tmp_path / 'a.db'
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(0o755)

    def frames_of_other_user() -> int:
        code = (
            'import os, sys\n'
            'from nvitop.recording.reader import Recording\n'
            'os.setuid(65534)\n'
            'print(Recording(sys.argv[1]).span().last)'
        )
        return int(run_program('-c', code, str(path)).stdout or -1)

    with running_nvitop(*RECORD, '-o', str(path), '--mode=644') as program:
        wait_for_frames(path, 2)
        assert frames_of_other_user() >= 2
        program.kill()
        program.wait(PATIENCE)
    path.with_name('a.db-shm').unlink()  # as after a reboot or in a backup
    assert frames_of_other_user() == -1
    count = frame_count(path)
    assert count >= 2
    with running_nvitop(*RECORD, '-o', str(path), '--mode=644') as program:
        wait_for_frames(path, count + 1)
        program.terminate()
        assert program.wait(PATIENCE) == 0
    assert frames_of_other_user() == frame_count(path) > count
