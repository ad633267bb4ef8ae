"""``nvitop`` as a process: closed streams, full disks, broken bindings, Ctrl-C."""

from __future__ import annotations

import os
import pathlib
import shlex
import subprocess
import sys

import pytest

from tests.patience import PATIENCE

ROOT = pathlib.Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(os.name != 'posix', reason='needs a POSIX shell')


def run(command: str, path: pathlib.Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a shell command in which ``nvitop`` means that of this repository."""
    nvitop = f'{shlex.quote(sys.executable)} -m nvitop'
    return subprocess.run(
        ['/bin/sh', '-c', command.replace('nvitop', nvitop, 1)],
        cwd=ROOT,
        env={
            'PATH': os.environ['PATH'],
            'HOME': str(path),
            'PYTHONPATH': str(path),
            'PYTHONIOENCODING': 'utf-8',
            'COLUMNS': '80',
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding='utf-8',
        timeout=PATIENCE,
    )


@pytest.mark.parametrize(
    ('streams', 'status', 'error'),
    [
        ('<&-', 0, ''),
        ('2>&-', 0, ''),
        ('>&-', 1, 'nvitop: error: cannot write to standard output: Bad file descriptor\n'),
        ('<&- >&- 2>&-', 1, ''),
    ],
)
def test_closed_streams_do_not_crash(streams: str, status: int, error: str) -> None:
    done = run(f'nvitop --demo --once {streams}')
    assert (done.returncode, done.stderr) == (status, error)
    assert ('NVITOP' in done.stdout) == (status == 0)


@pytest.mark.skipif(not os.path.exists('/dev/full'), reason='needs /dev/full')
@pytest.mark.parametrize('buffered', ['', 'PYTHONUNBUFFERED=1 '])
@pytest.mark.parametrize(
    'arguments', ['--help', '--version', 'query --help', '--no-config --print-config']
)
def test_a_full_disk_is_one_error_message(arguments: str, buffered: str) -> None:
    done = run(f'{buffered}nvitop {arguments} >/dev/full')
    assert done.returncode == 1
    assert done.stderr.endswith('cannot write to standard output: No space left on device\n')
    assert done.stderr.count('\n') == 1


@pytest.mark.parametrize('home', ['-u HOME', 'HOME=', 'HOME=/dev/null', 'HOME=/nonexistent'])
def test_no_home_directory_is_needed(home: str) -> None:
    done = run(f'env {home} nvitop --demo --once')
    assert (done.returncode, done.stderr) == (0, '')
    assert 'NVITOP' in done.stdout


def test_nothing_is_written_to_the_home_directory(tmp_path: pathlib.Path) -> None:
    done = run('nvitop --demo --once', tmp_path)
    assert (done.returncode, done.stderr) == (0, '')
    assert not list(tmp_path.iterdir())


def test_a_closed_pipe_is_not_an_error() -> None:
    done = run('nvitop --help | true')
    assert (done.returncode, done.stderr) == (0, '')


@pytest.mark.parametrize(
    'text',
    [
        'raise ImportError("boom")',
        'def f(:',
        'import a_module_that_is_not_there',
        'def nvmlInit(): pass',
        'class NVMLError(Exception): pass',
    ],
)
def test_a_broken_or_replaced_binding_is_one_message(tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / 'pynvml.py').write_text(text, encoding='utf-8')
    done = run('nvitop -1', tmp_path)
    assert done.returncode == 1
    assert done.stdout == ''
    assert done.stderr.startswith('nvitop: error: The module pynvml ')
    assert done.stderr.count('error:') == 1
    assert 'pip3 install --force-reinstall nvidia-ml-py' in done.stderr
    assert 'Traceback' not in done.stderr


def test_ctrl_c_during_imports_exits_quietly(tmp_path: pathlib.Path) -> None:
    (tmp_path / 'pynvml.py').write_text('raise KeyboardInterrupt', encoding='utf-8')
    done = run('nvitop -1', tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, '', '')


def test_ctrl_c_exits_while_the_driver_hangs(tmp_path: pathlib.Path) -> None:
    (tmp_path / 'hanging.py').write_text(
        """
import os, signal, sys, threading, time
from nvitop import simulation
from nvitop.__main__ import run

with simulation.machine('dgx-h100', processes='fixed') as machine:
    machine.hang('nvmlDeviceGetMemoryInfo_v2')
    machine.hang('nvmlDeviceGetMemoryInfo')

    def interrupt():
        while not any(name.startswith('nvmlDeviceGetMemoryInfo') for name in machine.calls):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    sys.argv = ['nvitop', '-1', '--no-config']
    run()
""",
        encoding='utf-8',
    )
    done = subprocess.run(
        [sys.executable, str(tmp_path / 'hanging.py')],
        cwd=ROOT,
        env={'PATH': os.environ['PATH'], 'PYTHONPATH': str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, '', '')
