"""Commands end although a driver call is in uninterruptible sleep, for ``make test-owners``.

The simulated driver writes to a file on a frozen file system: its thread is then in state D, which no
signal ends, like a thread inside a driver that hangs.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import Iterator

import psutil
import pytest

from tests.e2e.program import Program, environment
from tests.owner.values import REAL_OWNERS
from tests.waiting import PATIENCE, wait_until

pytestmark = [*REAL_OWNERS]

SET_CHILD_SUBREAPER = 36
#: Runs a command whose calls hang: FILE MARKER FUNCTION GPU PROGRAM ARGUMENTS.
SCRIPT = """
import sys
from nvitop import simulation
from nvitop.console import lifecycle
from nvitop.console.commands import NVISEL
from nvitop.platforms import stuck_calls

file, marker, function, gpu, program, *arguments = sys.argv[1:]
sys.argv = [program, *arguments]
stuck_calls._path = lambda user: marker
lifecycle._is_guarded = lambda program: True

class Frozen:
    def wait(self):
        with open(file, 'wb', 0) as opened:
            opened.write(b'x')

    def is_set(self):
        return False

def load():
    machine = simulation.machine('half-busy', processes='none').__enter__()
    machine.world.faults._released = Frozen()
    machine.hang(function, gpu=int(gpu) if gpu else None)
    if program == 'nvisel':
        return NVISEL.load().main
    from nvitop.cli import main
    return main

lifecycle.run_process(program, load)
"""


class FrozenDisk:
    """A file system that is frozen, and commands whose driver calls write to it."""

    def __init__(self, home: pathlib.Path) -> None:
        self.home = home
        self.disk = home / 'disk'
        self.disk.mkdir()
        image = home / 'image'
        image.write_bytes(bytes(16 << 20))
        for command in (
            ['mkfs.ext4', '-q', str(image)],
            ['mount', '-o', 'loop', str(image), str(self.disk)],
        ):
            done = subprocess.run(command, capture_output=True, check=False)
            if done.returncode:
                pytest.skip(f'NOT TESTED: {command[0]}: {done.stderr.decode().strip()}')
        (self.disk / 'file').touch()
        (home / 'script.py').write_text(SCRIPT)

    def freeze(self) -> None:
        subprocess.run(['fsfreeze', '-f', str(self.disk)], check=True)

    def thaw(self) -> None:
        subprocess.run(['fsfreeze', '-u', str(self.disk)], check=False, capture_output=True)

    def command(self, function: str, gpu: str, *words: str) -> list[str]:
        files = [str(self.home / 'script.py'), str(self.disk / 'file'), str(self.home / 'stuck')]
        return [sys.executable, *files, function, gpu, *words]

    def run(self, function: str, gpu: str, line: str) -> subprocess.CompletedProcess[str]:
        """Run a command and read its output to the end, which comes at the end of all its holders."""
        return subprocess.run(
            self.command(function, gpu, *line.split()),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=PATIENCE,
            check=False,
            env=environment(),
            cwd=self.home,
        )

    def stuck(self) -> list[int]:
        """PIDs of the processes of this test that cannot end: they become its children."""
        pids = [child.pid for child in psutil.Process().children()]
        return [pid for pid in pids if os.waitpid(pid, os.WNOHANG)[0] == 0]


@pytest.fixture
def disk(tmp_path: pathlib.Path) -> Iterator[FrozenDisk]:
    frozen = FrozenDisk(tmp_path)
    libc = ctypes.CDLL(None)
    libc.prctl(SET_CHILD_SUBREAPER, 1)
    try:
        frozen.freeze()
        yield frozen
    finally:
        frozen.thaw()
        wait_until(lambda: not frozen.stuck(), 'the end of the processes')
        libc.prctl(SET_CHILD_SUBREAPER, 0)
        subprocess.run(['umount', '--lazy', str(frozen.disk)], check=False)


COMMANDS = {
    'nvitop health': (2, r'GPU 5: critical: not responding\n  no response '),
    'nvitop -1': (0, 'GPU 5: not responding'),
    'nvitop query --gpu=index,memory.used': (0, r'(?m)^4, '),
    'nvisel': (0, r'(?s)4.*skipped GPU \d+: lost or not responding'),
    'nvitop doctor': (1, 'GPU 5: not responding'),
    'nvitop record --duration 3s -o recording.db': (0, ''),
}


@pytest.mark.parametrize('line', COMMANDS)
def test_a_command_ends_and_the_next_ones_leave_the_gpu_alone(disk: FrozenDisk, line: str) -> None:
    status, output = COMMANDS[line]
    for number in range(3):
        done = disk.run('nvmlDeviceGetMemoryInfo*', '5', line.replace('.db', f'{number}.db'))
        assert done.returncode == status, done
        assert re.search(output, done.stdout + done.stderr), done
    assert len(disk.stuck()) == 1
    again = disk.run('nvmlDeviceGetMemoryInfo*', '5', 'nvitop health').stdout
    assert re.search(r'no response since [-0-9]+ [0-9:]+: process \d+ hangs in a call', again)
    disk.thaw()
    wait_until(
        lambda: disk.run('nvmlDeviceGetMemoryInfo*', '5', 'nvitop health').stdout == 'ok: 8 GPUs\n',
        'health',
    )


@pytest.mark.parametrize('line', [line for line in COMMANDS if 'record' not in line])
def test_a_driver_that_hangs_as_a_whole_is_not_called_again(disk: FrozenDisk, line: str) -> None:
    status = {'nvitop health': 3}.get(line, 1)
    assert disk.run('nvmlInit*', '', line).returncode == status
    again = disk.run('nvmlInit*', '', line)
    assert again.returncode == status
    assert 'no response since' in again.stdout + again.stderr
    assert len(disk.stuck()) == 1


@pytest.mark.parametrize(
    ('function', 'gpu'), [('nvmlDeviceGetMemoryInfo*', '5'), ('nvmlInit*', '')]
)
def test_checks_that_overlap_leave_one_process(disk: FrozenDisk, function: str, gpu: str) -> None:
    checks = []
    for number in range(10):
        words = disk.command(function, gpu, 'nvitop', 'health', '--timeout', '5')
        checks.append(
            subprocess.Popen(
                words, stdout=subprocess.PIPE, text=True, env=environment(), cwd=disk.home
            )
        )
        time.sleep(0.5 * (number > 4))  # the first ones begin at the same time
    outputs = [check.communicate(timeout=PATIENCE)[0] for check in checks]
    assert all('no response' in output for output in outputs), outputs
    assert {check.returncode for check in checks} == {2 if gpu else 3}
    assert len(disk.stuck()) == 1


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGKILL])
def test_who_ends_a_check_early_does_not_wait_for_its_output(
    disk: FrozenDisk, number: signal.Signals
) -> None:
    words = ('nvitop', 'health', '--timeout', '60')
    command = disk.command('nvmlDeviceGetMemoryInfo*', '5', *words)
    check = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(), cwd=disk.home
    )
    parent = psutil.Process(check.pid)
    wait_until(parent.children, 'the child')
    (child,) = parent.children()
    wait_until(lambda: 'D' in thread_states(child.pid), 'a call that hangs')
    check.send_signal(number)
    assert check.communicate(timeout=5.0)[0] == b''
    assert check.returncode == -number
    assert len(disk.stuck()) == 1


def thread_states(pid: int) -> str:
    files = pathlib.Path(f'/proc/{pid}/task').glob('*/stat')
    return ''.join(file.read_text().rpartition(')')[2].split()[0] for file in files)


def test_the_monitor_quits_at_once(disk: FrozenDisk) -> None:
    disk.thaw()
    command = disk.command('nvmlDeviceGetMemoryInfo*', '5', 'nvitop', '--no-config')
    with Program(command) as monitor:
        monitor.wait_for('GPU')
        disk.freeze()
        monitor.wait_for('no response for')
        started = time.monotonic()
        monitor.type('q')
        assert monitor.wait_for_exit() == 0
        assert time.monotonic() - started < 2.0


def test_restarts_of_the_exporter_leave_one_process(disk: FrozenDisk) -> None:
    words = ('nvitop', 'exporter', '--listen=127.0.0.1:0', '--interval=0.5')
    command = disk.command('nvmlDeviceGetMemoryInfo*', '5', *words)
    for _ in range(3):
        exporter = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env=environment(), cwd=disk.home
        )
        assert exporter.stderr is not None
        lines = iter(exporter.stderr.readline, '')
        url = next(line for line in lines if 'listening on' in line).split()[-1]

        def page(url: str = url) -> str:
            try:
                with urllib.request.urlopen(url, timeout=PATIENCE) as response:
                    text: str = response.read().decode()
            except urllib.error.HTTPError:  # no sample yet
                return ''
            return text

        wait_until(lambda: re.search(r'nvitop_gpu_up{gpu="5".* 0', page()), 'a GPU that hangs')
        assert re.search(r'nvitop_gpu_temperature_celsius{gpu="4"', page())
        exporter.terminate()
        exporter.communicate(timeout=PATIENCE)
        assert exporter.returncode == 0
    assert len(disk.stuck()) == 1
