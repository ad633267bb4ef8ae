"""Programs on hosts without a home, a user name, descriptors, streams, permissions or a terminal."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Sequence

import pytest

from tests.programs import ROOT, run_alone
from tests.waiting import PATIENCE

UNSHARE = shutil.which('unshare') or ''

pytestmark = pytest.mark.skipif(os.name != 'posix', reason='needs POSIX')
needs_root = pytest.mark.skipif(
    not hasattr(os, 'geteuid') or os.geteuid() != 0, reason='NOT TESTED: needs root'
)

#: Programs to run.
PROGRAMS = {
    'report': "from nvitop.cli import main; status = main(['-1'])",
    'query': "from nvitop.cli import main; status = main(['query', '--all', '--format=json'])",
    'nvisel': "from nvitop.select import main; status = main(['-f', '1GiB'])",
}
_FIXED = """
import sys
from nvitop import simulation
with simulation.machine('dgx-h100', processes='fixed'):
    {program}
sys.exit(status)
"""
#: Host → code that creates its conditions.
HOSTS = {
    'an old locale': "import os; os.environ.update(LANG='C', LC_ALL='C')",
    'no files of processes': "import psutil; psutil.PROCFS_PATH = '/nowhere'",
    'errors on a full disk': "import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 2)",
    'no directory': 'import os, tempfile; d = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)',
}


def run(code: str, *wrapper: str) -> subprocess.CompletedProcess[str]:
    return run_alone(*wrapper, sys.executable, '-c', code)


@pytest.mark.parametrize(
    ('host', 'program'),
    [
        ('no files of processes', 'report'),
        ('no directory', 'query'),
        ('an old locale', 'nvisel'),
        ('errors on a full disk', 'report'),
    ],
)
def test_programs_run_on_restricted_hosts(host: str, program: str) -> None:
    done = run(HOSTS[host] + '\n' + _FIXED.format(program=PROGRAMS[program]))
    # 120: Python cannot flush its streams at exit.
    statuses = (0, 120) if host == 'errors on a full disk' else (0,)
    assert done.returncode in statuses, done.stderr
    assert 'Traceback' not in done.stderr
    if program == 'query':
        rows = json.loads(done.stdout)['devices']
        assert [row['temperature'] is not None for row in rows] == [True] * 8
    else:
        assert '7' in done.stdout


_DAEMON = """
import os, sys, json
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
for descriptor in (0, 1, 2):
    os.close(descriptor)
sys.stdin = sys.stdout = sys.stderr = None
from nvitop import Device, ResourceMetricCollector, simulation, take_snapshots
with simulation.machine('dgx-h100', processes='fixed'):
    devices = Device.all()
    found = [device.memory_used() for device in devices]
    shots = take_snapshots()
    with ResourceMetricCollector(devices).context('x') as collector:
        numbers = collector.collect()
temporary = sys.argv[1] + '.new'
with open(temporary, 'w') as file:
    json.dump([found, len(shots.devices), len(numbers)], file)
os.rename(temporary, sys.argv[1])
"""


def test_daemon_without_terminal_and_streams_measures(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'found'
    read, write = os.pipe()
    with open(read, 'rb') as end:
        subprocess.run(
            [sys.executable, '-c', _DAEMON, str(path)],
            cwd=ROOT,
            env={'PYTHONPATH': str(ROOT)},
            pass_fds=[write],
            timeout=PATIENCE,
            check=True,
        )
        os.close(write)
        end.read()  # until the daemon exits
    memory, devices, numbers = json.loads(path.read_text(encoding='utf-8'))
    assert all(isinstance(value, int) for value in memory)
    assert (len(memory), devices) == (8, 8)
    assert numbers > 100


_UNNAMED_USER = """
import contextlib, getpass, io, json, os, sys
from nvitop import cli, simulation
from nvitop.query.command import main as query
def ask():
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert cli.main(['-1', '--no-config', '-u']) == 0
        assert cli.main(['-1', '--no-config']) == 0
    rows = io.StringIO()
    with contextlib.redirect_stdout(rows):
        assert query(['--all', '--format=json']) == 0
    return out.getvalue(), json.loads(rows.getvalue())['processes']
for name in ('USER', 'LOGNAME', 'LNAME', 'USERNAME'):
    os.environ.pop(name, None)
with simulation.machine('half-busy'):  # its processes have the users of their children
    ask()  # import everything before permissions are dropped
    os.setgroups([])
    os.setgid(54321)
    os.setuid(54321)
    text, rows = ask()
print(json.dumps([text, rows]))
"""


def as_unnamed_user(*wrapper: str) -> tuple[str, list[dict[str, object]]]:
    done = run(_UNNAMED_USER, *wrapper)
    assert done.returncode == 0, done.stderr
    text, rows = json.loads(done.stdout)
    return text, rows


@needs_root
def test_user_without_a_name_sees_processes_of_other_users() -> None:
    text, rows = as_unnamed_user()
    assert 'H100' in text
    assert len(rows) >= 5
    assert all(isinstance(row['pid'], int) and row['gpu_memory'] for row in rows)


def can_hide_processes(wrapper: Sequence[str]) -> bool:
    return bool(UNSHARE) and run('pass', *wrapper).returncode == 0


@needs_root
@pytest.mark.parametrize('how', [1, 2])
def test_hidden_processes_are_listed_with_known_values(how: int) -> None:
    mount = f'mount -o remount,hidepid={how} /proc && exec "$@"'
    wrapper = [UNSHARE, '--mount', '--pid', '--fork', '--mount-proc', '/bin/sh', '-c', mount, 'sh']
    if not can_hide_processes(wrapper):
        pytest.skip('NOT TESTED: /proc cannot be mounted with hidepid here')
    text, rows = as_unnamed_user(*wrapper)
    assert 'H100' in text
    assert len(rows) >= 5
    for row in rows:
        assert row['gpu_memory']
        assert row['command'] is None
        assert row['user'] is None
