"""The process that makes no driver calls, and its child; state D is in ``tests/owner``."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys

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
        'send_status =',
        'def fail(*_): raise OSError\nos.fork = os.listdir = fail\nsend_status =',
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
        ('nvitop health --demo', False),
        ('nvitop --ssh host', False),
        ('nvitop run -n 1 python', False),  # it becomes the command
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
stuck_calls._calls = {1: (5, 1000.0), 2: (6, time.time())}
stuck_calls.leave_file()
print('ready', flush=True)
time.sleep(60)
"""


def test_a_process_that_cannot_end_says_which_calls_hang(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / 'stuck'
    monkeypatch.setattr(stuck_calls, '_path', lambda _user: str(path))
    monkeypatch.setattr(stuck_calls, '_is_on', True)
    for _ in range(2):  # the file stays
        process = subprocess.Popen(
            [sys.executable, '-c', HOLDER, str(path)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert process.stdout is not None
        assert process.stdout.readline() == 'ready\n'
        assert stuck_calls.stuck_calls() == [(5, process.pid, 1000.0)]
        hangs = f'process {process.pid} hangs'
        with pytest.raises(TimeoutError, match=hangs), stuck_calls.calling(5):
            pass
        with stuck_calls.calling(6):
            pass
        process.kill()
        process.communicate()
        with stuck_calls.calling(5):
            pass


def test_a_file_that_another_user_could_have_put_there_is_not_read(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / 'stuck'
    monkeypatch.setattr(stuck_calls, '_path', lambda _user: str(path))
    os.mkfifo(path)
    assert stuck_calls.stuck_calls() == []
    path.unlink()
    path.symlink_to('/etc/passwd')
    assert stuck_calls.stuck_calls() == []
