"""The process that makes no driver calls, and its child; state D is in ``tests/owner``."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from nvitop.console.lifecycle import _is_guarded
from nvitop.platforms import stuck_calls
from tests.e2e.program import environment
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform != 'linux', reason='needs state D, which Linux has')

SCRIPT = """
import os, signal, sys, time
from nvitop.platforms.guard import continue_in_child
send_status = continue_in_child()
{}
send_status(7)
os._exit(7)
"""


def start(body: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, '-c', SCRIPT.format(body)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )


@pytest.mark.parametrize(
    ('body', 'status', 'out'),
    [
        ('print(os.getppid(), flush=True)', 7, '{pid}\n'),
        ('sys.exit(3)', 3, ''),
        ('os.kill(os.getpid(), signal.SIGTERM)', -signal.SIGTERM, ''),
        ('os.kill(os.getpid(), signal.SIGKILL)', -signal.SIGKILL, ''),
        ('send_status(5); time.sleep(60)', 5, ''),  # it cannot end
    ],
)
def test_the_status_and_the_output_are_those_of_the_child(body: str, status: int, out: str) -> None:
    process = start(body)
    assert process.communicate(timeout=30)[0] == out.format(pid=process.pid)
    assert process.returncode == status


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_reach_the_child_once(number: signal.Signals) -> None:
    process = start(
        'got = []\n'
        f'signal.signal({number:d}, lambda *_: got.append(1))\n'
        'print("ready", flush=True)\n'
        'while not got: time.sleep(0.01)\n'
        'time.sleep(0.1); print(len(got), flush=True)'
    )
    assert process.stdout is not None
    assert process.stdout.readline() == 'ready\n'
    process.send_signal(number)
    assert process.communicate(timeout=30)[0] == '1\n'
    assert process.returncode == 7


def test_without_processes_or_proc_the_command_runs_in_one_process() -> None:
    body = 'print(os.getpid(), flush=True)'
    script = SCRIPT.replace(
        'send_status =', 'def fail(*_): raise OSError\nos.fork = os.listdir = fail\nsend_status ='
    ).format(body)
    done = subprocess.Popen(
        [sys.executable, '-c', script], stdout=subprocess.PIPE, text=True, env=environment()
    )
    assert done.communicate(timeout=30)[0] == f'{done.pid}\n'
    assert done.returncode == 7


def test_the_child_ends_with_a_parent_that_is_killed() -> None:
    process = start('print(os.getpid(), flush=True); time.sleep(60)')
    assert process.stdout is not None
    child = psutil.Process(int(process.stdout.readline()))
    process.kill()
    process.communicate(timeout=30)
    with contextlib.suppress(psutil.NoSuchProcess):
        wait_until(lambda: child.status() == psutil.STATUS_ZOMBIE, 'the child still runs')


@pytest.mark.parametrize(
    ('line', 'expected'),
    [
        ('nvitop', True),
        ('nvitop -1', True),
        ('nvitop health', True),
        ('nvisel -n 2', True),
        ('nvitop exporter', True),
        ('nvitop-exporter', True),
        ('nvitop exporter --demo', False),
        ('nvitop health --demo', False),
        ('nvitop --ssh host', False),
        ('nvitop run -n 1 python', False),  # it becomes the command
        ('nvitop claims', True),
        ('nvitop usage', False),
    ],
)
def test_commands_that_call_the_driver_and_end_are_guarded(
    line: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv('NVITOP_DEMO', raising=False)
    monkeypatch.setattr(sys, 'argv', line.split())
    assert _is_guarded(line.split()[0]) is expected


HOLDER = """
import sys, time
from nvitop.platforms import stuck_calls
stuck_calls._path = lambda user: sys.argv[1]
stuck_calls.heed()
with stuck_calls.calling(5):
    print('ready', flush=True)
    time.sleep(60)
"""


@pytest.fixture
def file(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    path = tmp_path / 'calls'
    monkeypatch.setattr(stuck_calls, '_path', lambda _user: str(path))
    monkeypatch.setattr(stuck_calls, '_files', [])
    monkeypatch.setattr(stuck_calls, 'problem', '')
    return path


def test_a_call_waits_for_the_process_that_is_inside(
    file: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck_calls.heed()
    waits = threading.Event()
    monkeypatch.setattr(time, 'sleep', lambda _seconds: waits.set())
    for _ in range(2):  # the record of the first process stays
        process = subprocess.Popen(
            [sys.executable, '-c', HOLDER, str(file)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert process.stdout is not None
        assert process.stdout.readline() == 'ready\n'
        monkeypatch.setattr(stuck_calls, 'HANGING_SECONDS', 0.0)
        hangs = f'no response since .*: process {process.pid} hangs'
        with pytest.raises(TimeoutError, match=hangs), stuck_calls.calling(5):
            pass
        monkeypatch.setattr(stuck_calls, 'HANGING_SECONDS', 60.0)
        waits.clear()
        entered = threading.Thread(target=enter, args=(5,))
        entered.start()
        assert waits.wait(30)
        with stuck_calls.calling(6):
            pass
        with open(file, 'r+b') as records:  # of a process that was killed
            records.write(bytes(stuck_calls._offset(5)) + stuck_calls._RECORD.pack(1, -1000.0))
            records.flush()
            holder = stuck_calls.find_holder(5)
        assert holder is not None
        assert (holder.pid, holder.seconds) == (process.pid, 0.0)
        process.send_signal(signal.SIGSTOP)  # it is no reason to wait
        entered.join(30)
        assert not entered.is_alive()
        process.kill()
        process.communicate()


def enter(subject: stuck_calls.Subject) -> None:
    with stuck_calls.calling(subject):
        pass


def locked(file: pathlib.Path) -> list[str]:
    """What another process finds locked, of the driver and GPU 1."""
    script = HOLDER.partition('with')[0] + (
        'for subject in ("driver", 1):\n    if stuck_calls.find_holder(subject): print(subject)'
    )
    words = [sys.executable, '-c', script, str(file)]
    return subprocess.check_output(words, text=True, env=environment()).split()


def test_calls_inside_of_others_and_of_other_threads_keep_their_locks(file: pathlib.Path) -> None:
    stuck_calls.heed()
    with stuck_calls.calling(stuck_calls.DRIVER):
        assert locked(file) == ['driver']
        with stuck_calls.calling(1):
            assert locked(file) == ['1']
            thread = threading.Thread(target=enter, args=(1,))
            thread.start()
            thread.join(30)
            assert locked(file) == ['1']
        assert locked(file) == ['driver']
    assert locked(file) == []


def test_on_a_full_disk_nothing_stays_locked(
    file: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pwrite(*_arguments: object) -> int:
        raise OSError(errno.ENOSPC, 'No space left on device')

    stuck_calls.heed()
    monkeypatch.setattr(os, 'pwrite', pwrite)
    with stuck_calls.calling(1):
        assert locked(file) == []
    assert locked(file) == []


def test_a_service_keeps_its_file_where_systemd_leaves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('RUNTIME_DIRECTORY', raising=False)
    assert stuck_calls._path(61000) == '/dev/shm/nvitop-calls-61000'
    monkeypatch.setenv('RUNTIME_DIRECTORY', '/run/nvitop-exporter:/run/other')
    assert stuck_calls._path(61000) == '/run/nvitop-exporter/nvitop-calls'
    assert stuck_calls._path(0) == '/run/nvitop-calls'


def test_a_file_that_another_user_could_lock_or_have_put_there_is_not_used(
    file: pathlib.Path,
) -> None:
    stuck_calls.heed()
    assert file.stat().st_mode & 0o777 == 0o600
    stuck_calls._files.clear()
    file.chmod(0o604)
    stuck_calls.heed()
    assert stuck_calls._files == []
    other = file.with_name('other')
    other.touch()
    for put in (os.mkfifo, functools.partial(os.symlink, other), functools.partial(os.link, other)):
        with contextlib.suppress(FileNotFoundError):
            file.unlink()
        put(file)
        stuck_calls.heed()
        assert stuck_calls._files == []
