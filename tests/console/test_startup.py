"""Modules that commands import: none that they do not use."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.programs import ROOT
from tests.waiting import PATIENCE

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
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(('NVITOP', 'LOGLEVEL', 'COV'))
    }
    program = PROGRAM.replace('{module}', module).replace('{function}', function)
    done = subprocess.run(
        # -S: the startup files of the site may import anything.
        [sys.executable, '-S', '-c', program, *arguments],
        env={
            **environment,
            'PYTHONPATH': os.pathsep.join([str(ROOT), *filter(os.path.isdir, sys.path)]),
            'NVITOP_DEMO': 'workstation',
            'XDG_CONFIG_HOME': os.devnull,
        },
        cwd=ROOT,
        capture_output=True,
        encoding='utf-8',
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed, _, names = done.stdout.rpartition('\nimported ')
    return printed, set(names.split())


@pytest.fixture(scope='module')
def imported() -> set[str]:
    report, names = run_and_list_imports('nvitop.__main__', 'run', '-1')
    assert 'GeForce' in report
    return names


def within(imported: set[str], *rooms: str) -> list[str]:
    return sorted(n for n in imported for room in rooms if n == room or n.startswith(room + '.'))


def test_a_report_imports_neither_the_monitor_nor_unrelated_packages(imported: set[str]) -> None:
    monitor = 'app effect_runner monitor state.update term view.frame'
    sampling = ('nvitop.sampling.sampler', 'nvitop.sampling.serialization')
    assert not within(imported, 'curses', *sampling)
    assert not within(imported, *(f'nvitop.gui.{room}' for room in monitor.split()))
    others = ('api.libcudart', 'callbacks', 'compat', 'query', 'select')
    assert not within(imported, *(f'nvitop.{room}' for room in others))


@pytest.mark.skipif(sys.platform != 'linux', reason='elsewhere psutil reads the host')
def test_a_report_imports_no_slow_module(imported: set[str]) -> None:
    # The simulated driver is Python, and imports modules that a real one does not.
    assert not within(imported, 'argparse', 'asyncio', 'cachetools', 'logging', 'psutil', 'wcwidth')


def test_nvisel_loads_neither_psutil_nor_the_monitor() -> None:
    printed, names = run_and_list_imports('nvitop.console.lifecycle', 'nvisel')
    assert printed == '0\n'
    assert not within(names, 'nvitop.cli', 'nvitop.gui', 'nvitop.recording', 'nvitop.exporter')
    assert not within(names, 'cachetools', 'psutil', 'wcwidth')


@pytest.mark.skipif(sys.platform != 'linux', reason='elsewhere psutil reads the host')
def test_a_query_imports_no_screens() -> None:
    query = ('query', '--gpu=index', '--processes=pid', '--format=json')
    printed, names = run_and_list_imports('nvitop.__main__', 'run', *query)
    assert printed.startswith('{')
    assert not within(names, 'nvitop.console.config', 'nvitop.gui', 'nvitop.select')
    assert not within(names, 'cachetools', 'psutil', 'wcwidth')
