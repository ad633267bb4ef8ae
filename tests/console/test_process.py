"""Commands as processes: closed streams and pipes, full disks, broken bindings, Ctrl-C."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
from typing import IO

import pytest

from tests.programs import ROOT, run_alone

MODULES = {'nvitop': 'nvitop', 'nvitop.cli': 'nvitop.cli', 'nvisel': 'nvitop.select'}

pytestmark = pytest.mark.skipif(os.name != 'posix', reason='needs a POSIX shell')


def run(
    command: str, home: pathlib.Path = ROOT, stdout: int | IO[str] = subprocess.PIPE, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run a shell command whose first ``nvitop`` or ``nvisel`` is that of this repository."""
    name = re.search(r'nvitop(\.cli)?(?= )|nvisel(?= )', command)
    if name is not None:
        python = f'{shlex.quote(sys.executable)} -m {MODULES[name.group()]}'
        command = command[: name.start()] + python + command[name.end() :]
    folder = str(home)
    environ = {'COLUMNS': '80', 'NVITOP_DEMO': 'workstation', **environ}
    return run_alone(
        '/bin/sh', '-c', command, stdout=stdout, HOME=folder, PYTHONPATH=folder, **environ
    )


@pytest.mark.parametrize(
    ('streams', 'status', 'error'),
    [
        ('2>&-', 0, ''),
        ('>&-', 1, 'nvitop: error: cannot write to standard output: Bad file descriptor\n'),
        ('<&- >&- 2>&-', 1, ''),
    ],
)
def test_closed_streams_do_not_crash(streams: str, status: int, error: str) -> None:
    done = run(f'nvitop --demo half-busy --once {streams}')
    assert (done.returncode, done.stderr) == (status, error)
    assert ('CUDA Driver Version' in done.stdout) == (status == 0)


COMMANDS = (
    'nvitop --demo half-busy -1',
    'nvitop --help',
    'nvitop query --demo',
    'nvisel --demo -S',
)


@pytest.mark.parametrize('command', COMMANDS)
def test_a_full_disk_is_one_error_and_a_closed_pipe_is_none(command: str) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, 'w') as closed:
        done = run(command, stdout=closed)
    assert (done.returncode, messages_of(done)) == (0, [])
    if os.path.exists('/dev/full'):
        with open('/dev/full', 'w', encoding='utf-8') as full:
            done = run(f'PYTHONUNBUFFERED=1 {command}', stdout=full)
        (message,) = messages_of(done)
        assert done.returncode == 1
        assert message.endswith(': error: cannot write to standard output: No space left on device')


def messages_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    notices = ('nvitop: simulating', 'CUDA_VISIBLE')
    return [line for line in done.stderr.splitlines() if not line.startswith(notices)]


@pytest.mark.parametrize('command', ['nvitop -1 --no-config', 'nvitop query', 'nvisel -S'])
def test_an_unknown_scenario_is_status_2(command: str) -> None:
    done = run(command, NVITOP_DEMO='no-such-scenario')
    assert (done.returncode, done.stdout) == (2, '')
    assert ": error: NVITOP_DEMO: unknown scenario 'no-such-scenario'" in done.stderr
    assert done.stderr.count('\n') == 1


@pytest.mark.parametrize('command', ['nvitop --demo half-busy', 'nvitop.cli --demo half-busy -1'])
def test_a_report_goes_to_stdout_and_nothing_to_other_places(
    tmp_path: pathlib.Path, command: str
) -> None:
    done = run(command, tmp_path)
    assert not list(tmp_path.iterdir())
    assert (done.returncode, done.stderr) == (0, '')
    assert '[SIM]' in done.stdout
    assert '8 × H100 80GB HBM3' in done.stdout
    assert '\x1b' not in done.stdout


def test_output_without_unicode_is_ascii() -> None:
    variables = 'LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 PYTHONIOENCODING=latin-1'
    done = run(f'{variables} nvitop --demo half-busy -1')
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.isascii()
    assert '+----' in done.stdout


def test_no_driver_is_explained_in_one_message() -> None:
    done = run('nvitop -1', LD_LIBRARY_PATH='', NVITOP_DEMO='')
    if done.returncode == 0:
        pytest.fail('this machine has a GPU driver: the test needs one without')
    assert (done.returncode, done.stdout) == (1, '')
    assert done.stderr.count('nvitop: error: ') == 1
    assert 'libnvidia-ml' in done.stderr
    assert 'Traceback' not in done.stderr


@pytest.mark.skipif(not os.path.exists('/proc/self/comm'), reason='needs names of processes')
def test_watch_is_recognized(tmp_path: pathlib.Path) -> None:
    watch = tmp_path / 'watch'
    watch.symlink_to('/bin/sh')
    script = 'sh -c "nvitop --demo half-busy -1; true"; true'
    done = run(f"{shlex.quote(str(watch))} -c '{script}'")
    assert done.stderr.count('without watch') == 1


def test_no_home_directory_is_needed() -> None:
    done = run('env -u HOME nvitop --demo half-busy --once --force-color')
    assert (done.returncode, done.stderr) == (0, '')
    assert '\x1b[' in done.stdout


@pytest.mark.parametrize('text', ['def f(:', 'class NVMLError(Exception): pass'])
def test_a_broken_or_replaced_binding_is_one_message(tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / 'pynvml.py').write_text(text, encoding='utf-8')
    done = run('nvitop -1', tmp_path)
    assert (done.returncode, done.stdout) == (1, '')
    assert done.stderr.startswith('nvitop: error: The module pynvml ')
    assert done.stderr.count('error:') == 1
    assert 'pip install --force-reinstall nvidia-ml-py' in done.stderr
    assert 'Traceback' not in done.stderr


@pytest.mark.parametrize(
    'arguments', ['--help', 'query --help', 'exporter --help', 'fleet --demo -1', 'doctor']
)
def test_commands_without_a_gpu_need_no_binding(tmp_path: pathlib.Path, arguments: str) -> None:
    (tmp_path / 'pynvml.py').write_text("raise RuntimeError('no such symbol')")
    done = run(f'nvitop {arguments}', tmp_path, NVITOP_DEMO='')
    assert (done.returncode, done.stderr) == (int(arguments == 'doctor'), '')
    words = 'failed   NVML binding   The module pynvml cannot be imported'
    assert (words in done.stdout) == (arguments == 'doctor')


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
    command = f'{shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / "hanging.py"))}'
    done = run(command, NVITOP_DEMO='')
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, '', '')


# Modules that commands import: none that they do not use

#: Runs a command and prints the imported modules after its output.
PROGRAM = """
import os, sys
from {module} import {function} as run
real_exit = os._exit
def leave(status):
    print('\\nimported', *sorted(sys.modules))
    sys.stdout.flush()
    real_exit(status)
os._exit = leave
run()
"""


def run_and_list_imports(module: str, function: str, *arguments: str) -> tuple[str, set[str]]:
    """Output of the command, and the modules that it imported."""
    program = PROGRAM.replace('{module}', module).replace('{function}', function)
    done = run_alone(
        # -S: the startup files of the site may import anything.
        *(sys.executable, '-S', '-c', program, *arguments),
        PYTHONPATH=os.pathsep.join([str(ROOT), *filter(os.path.isdir, sys.path)]),
        NVITOP_DEMO='workstation',
        XDG_CONFIG_HOME=os.devnull,
    )
    assert done.returncode == 0, done.stderr
    printed, _, names = done.stdout.rpartition('\nimported ')
    return printed, set(names.split())


#: Commands, and what they must not import.
CASES = """
    nvitop.__main__ run -1: argparse asyncio cachetools curses logging psutil wcwidth nvitop.gui.app
        nvitop.gui.monitor nvitop.gui.state.keymap nvitop.gui.state.update nvitop.gui.term
        nvitop.gui.view.frame nvitop.sampling.serialization nvitop.select
        nvitop.api.libcudart nvitop.callbacks nvitop.compat nvitop.query;
    nvitop.console.lifecycle nvisel: nvitop.cli nvitop.gui nvitop.recording nvitop.exporter
        cachetools psutil wcwidth;
    nvitop.__main__ run query --gpu=index --processes=pid --format=json: nvitop.console.config
        nvitop.gui nvitop.select cachetools psutil wcwidth
"""


@pytest.mark.skipif(sys.platform != 'linux', reason='elsewhere psutil reads the host')
@pytest.mark.parametrize('case', CASES.split(';'))
def test_commands_import_nothing_that_they_do_not_use(case: str) -> None:
    command, _, forbidden = case.partition(':')
    printed, imported = run_and_list_imports(*command.split())
    assert printed
    rooms = forbidden.split()
    assert not [n for n in imported for room in rooms if n == room or n.startswith(f'{room}.')]
