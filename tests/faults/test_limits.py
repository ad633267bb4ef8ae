"""Limits of the system, and PIDs that are reused between display and key press."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

if os.name != 'posix':
    pytest.skip('needs POSIX', allow_module_level=True)

from tests.e2e.program import Program
from tests.programs import run_alone

IS_ROOT = os.geteuid() == 0
#: Limits of processes (including threads) and of descriptors (including standard streams); -1: none.
LIMITS = {'no file': (-1, 3), 'neither': (1, 6)}
#: Program → part of its output. Queries of the driver need no descriptor.
OUTPUT = {'report': 'H100', 'collector': '288\n'}


def command(program: str, processes: int, files: int) -> list[str]:
    limits = [str(processes), str(files)]
    return [sys.executable, '-m', 'tests.faults.resource_limits', program, *limits]


@pytest.mark.parametrize(('program', 'limit'), [('report', 'neither'), ('collector', 'no file')])
def test_programs_run_without_threads_and_descriptors(program: str, limit: str) -> None:
    if LIMITS[limit][0] > 0 and not IS_ROOT:
        pytest.skip('NOT TESTED: needs root to run as a user without processes')
    processes, files = LIMITS[limit]
    done = run_alone(*command(program, processes, files))
    assert done.returncode == 0, done.stderr
    assert 'Traceback' not in done.stderr
    assert OUTPUT[program] in done.stdout


@pytest.mark.skipif(not IS_ROOT, reason='NOT TESTED: needs root to run as a user without processes')
def test_monitor_without_threads_prints_a_report() -> None:
    with Program(command('monitor', 1, -1), variables={'COLUMNS': '100'}) as monitor:
        assert monitor.wait_for_exit() == 1
        assert 'H100' in monitor.text
        assert "cannot run: can't start new thread" in monitor.errors()
        assert 'ulimit -u' in monitor.errors()


UNSHARE = shutil.which('unshare') or ''
NAMESPACE = [UNSHARE, '--pid', '--fork', '--kill-child', '--mount-proc']
#: Functions of tests.faults.pid_reuse, which can only be imported on Linux.
WAYS = ('by_monitor', 'by_library', 'by_library_once_gone')


def has_namespaces() -> bool:
    """Whether a PID namespace can be created in which PIDs can be chosen."""
    check = 'test -w /proc/sys/kernel/ns_last_pid'
    command = [*NAMESPACE, '/bin/sh', '-c', check]
    return bool(UNSHARE) and subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.parametrize('way', WAYS)
def test_reused_pid_is_not_signaled(way: str) -> None:
    if not has_namespaces():
        pytest.skip('NOT TESTED: cannot create a PID namespace')
    done = subprocess.run(
        [*NAMESPACE, sys.executable, '-m', 'tests.faults.pid_reuse', '20', way],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {'reused': 20, 'signaled': 0, 'outcomes': {'reused': 20}}
