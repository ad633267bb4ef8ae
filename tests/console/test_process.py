"""Commands as processes: closed streams and pipes, full disks, broken bindings, Ctrl-C."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
from typing import IO, Mapping

import pytest

from tests.programs import ROOT
from tests.waiting import PATIENCE

MODULES = {'nvitop': 'nvitop', 'nvitop.cli': 'nvitop.cli', 'nvisel': 'nvitop.select'}

pytestmark = pytest.mark.skipif(os.name != 'posix', reason='needs a POSIX shell')
needs_dev_full = pytest.mark.skipif(not os.path.exists('/dev/full'), reason='needs /dev/full')


def run(
    command: str,
    home: pathlib.Path = ROOT,
    *,
    stdout: int | IO[str] = subprocess.PIPE,
    environment: Mapping[str, str] = {},
) -> subprocess.CompletedProcess[str]:
    """Run a shell command whose first ``nvitop`` or ``nvisel`` is that of this repository."""
    name = re.search(r'nvitop(\.cli)?(?= )|nvisel(?= )', command)
    if name is not None:
        python = f'{shlex.quote(sys.executable)} -m {MODULES[name.group()]}'
        command = command[: name.start()] + python + command[name.end() :]
    return subprocess.run(
        ['/bin/sh', '-c', command],
        cwd=ROOT,
        env={
            'PATH': os.environ['PATH'],
            'HOME': str(home),
            'PYTHONPATH': str(home),
            'PYTHONIOENCODING': 'utf-8',
            'COLUMNS': '80',
            'NVITOP_DEMO': 'workstation',
            **environment,
        },
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
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
    done = run(f'nvitop --demo half-busy --once {streams}')
    assert (done.returncode, done.stderr) == (status, error)
    assert ('CUDA Driver Version' in done.stdout) == (status == 0)


@needs_dev_full
@pytest.mark.parametrize(
    'command',
    [
        'nvitop --demo half-busy -1',
        'PYTHONUNBUFFERED=1 nvitop --help',
        'nvitop query --demo',
        'nvitop --help-query-gpu',
        'nvisel --demo',
    ],
)
def test_a_full_disk_is_one_error_message(command: str) -> None:
    with open('/dev/full', 'w', encoding='utf-8') as full:
        done = run(command, stdout=full)
    assert done.returncode == 1
    messages = [line for line in done.stderr.splitlines() if ': simulating ' not in line]
    (message,) = messages if 'nvisel' not in command else messages[-1:]
    assert message.endswith(': error: cannot write to standard output: No space left on device')


@pytest.mark.parametrize(
    'command',
    [
        'nvitop --demo half-busy -1',
        'nvitop --help',
        'nvitop query --demo -lms 20',
        'nvisel --demo -S',
    ],
)
def test_a_closed_pipe_is_not_an_error(command: str) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, 'w') as closed:
        done = run(command, stdout=closed)
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert [
        one for one in lines if not one.startswith(('nvitop: simulating', 'CUDA_VISIBLE'))
    ] == []


@pytest.mark.parametrize(
    ('command', 'variable'),
    [('nvitop -1 --no-config', True), ('nvitop query', False), ('nvisel -S', True)],
)
def test_an_unknown_scenario_is_status_2(command: str, variable: bool) -> None:
    demo = 'no-such-scenario'
    if variable:
        done = run(command, environment={'NVITOP_DEMO': demo})
    else:
        done = run(f'{command} --demo {demo}')
    assert (done.returncode, done.stdout) == (2, '')
    assert f": error: unknown scenario '{demo}'" in done.stderr
    assert done.stderr.count('\n') == 1


@pytest.mark.parametrize('command', ['nvitop --demo half-busy', 'nvitop.cli --demo half-busy -1'])
def test_a_report_goes_to_stdout_and_nothing_to_other_places(
    tmp_path: pathlib.Path, command: str
) -> None:
    done = run(command, tmp_path)
    assert not list(tmp_path.iterdir())
    assert (done.returncode, done.stderr) == (0, '')
    assert 'SIMULATED' in done.stdout
    assert '8 × H100 80GB HBM3' in done.stdout
    assert '\x1b' not in done.stdout


@pytest.mark.parametrize(
    'environment',
    [
        {'PYTHONIOENCODING': 'ascii'},
        {
            'LC_ALL': 'C',
            'PYTHONUTF8': '0',
            'PYTHONCOERCECLOCALE': '0',
            'PYTHONIOENCODING': 'latin-1',
        },
    ],
)
def test_output_without_unicode_is_ascii(environment: dict[str, str]) -> None:
    done = run('nvitop --demo half-busy -1', environment=environment)
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.isascii()
    assert '+----' in done.stdout


def test_no_driver_is_explained_in_one_message() -> None:
    done = run('nvitop -1', environment={'LD_LIBRARY_PATH': '', 'NVITOP_DEMO': ''})
    if done.returncode == 0:
        pytest.fail('this machine has a GPU driver: the test needs one without')
    assert (done.returncode, done.stdout) == (1, '')
    assert done.stderr.count('nvitop: error: ') == 1
    assert 'libnvidia-ml' in done.stderr
    assert 'Traceback' not in done.stderr


@pytest.mark.skipif(not os.path.exists('/proc/self/comm'), reason='needs names of processes')
@pytest.mark.parametrize('shell', ['', 'sh -c '])
def test_watch_is_recognized(tmp_path: pathlib.Path, shell: str) -> None:
    watch = tmp_path / 'watch'
    watch.symlink_to('/bin/sh')
    script = (
        f'{shell}"nvitop --demo half-busy -1; true"; true'
        if shell
        else 'nvitop --demo half-busy -1; true'
    )
    done = run(f"{shlex.quote(str(watch))} -c '{script}'")
    assert done.stderr.count('without watch') == 1


@pytest.mark.parametrize('home', ['-u HOME', 'HOME=/dev/null'])
def test_no_home_directory_is_needed(home: str) -> None:
    done = run(f'env {home} nvitop --demo half-busy --once --force-color')
    assert (done.returncode, done.stderr) == (0, '')
    assert '\x1b[' in done.stdout


@pytest.mark.parametrize(
    'text', ['def f(:', 'import a_module_that_does_not_exist', 'class NVMLError(Exception): pass']
)
def test_a_broken_or_replaced_binding_is_one_message(tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / 'pynvml.py').write_text(text, encoding='utf-8')
    done = run('nvitop -1', tmp_path)
    assert (done.returncode, done.stdout) == (1, '')
    assert done.stderr.startswith('nvitop: error: The module pynvml ')
    assert done.stderr.count('error:') == 1
    assert 'pip install --force-reinstall nvidia-ml-py' in done.stderr
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
    environment = {'PYTHONPATH': str(ROOT), 'NVITOP_DEMO': ''}
    command = f'{shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / "hanging.py"))}'
    done = run(command, environment=environment)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, '', '')
