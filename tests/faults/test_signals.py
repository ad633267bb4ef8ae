"""PIDs that are reused between display and key press: the wrong process is never signaled."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

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
