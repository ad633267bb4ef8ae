"""Owners of processes of a real Slurm job, for ``make test-owners``. Slurm runs without systemd."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import time
from typing import Callable, Iterator

import psutil
import pytest

from nvitop import HostProcess
from nvitop.owner import Owner
from tests.owner.values import REAL_OWNERS
from tests.waiting import PATIENCE

PROGRAMS = ('munged', 'slurmctld', 'slurmd', 'srun', 'sinfo')
pytestmark = [
    *REAL_OWNERS,
    pytest.mark.skipif(
        any(not shutil.which(program, path=f'{os.defpath}:/usr/sbin') for program in PROGRAMS),
        reason=f'NOT TESTED: Slurm is not installed ({", ".join(PROGRAMS)})',
    ),
]

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
AuthInfo=socket={path}/munge.sock
SlurmUser=root
SlurmdUser=root
StateSaveLocation={path}/state
SlurmdSpoolDir={path}/spool
SlurmctldPidFile={path}/slurmctld.pid
SlurmdPidFile={path}/slurmd.pid
SlurmctldLogFile={path}/slurmctld.log
SlurmdLogFile={path}/slurmd.log
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
ProctrackType=proctrack/{tracking}
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""
CGROUPS = """
CgroupPlugin=autodetect
CgroupAutomount=no
"""


def free_ports() -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(2)]
        for each in sockets:
            each.bind(('127.0.0.1', 0))
        return [each.getsockname()[1] for each in sockets]


class Cluster:
    """A controller and a node on this machine."""

    def __init__(self, path: pathlib.Path, tracking: str) -> None:
        self.path = path
        self.has_groups = tracking == 'cgroup'
        host = socket.gethostname().partition('.')[0]
        for name in ('state', 'spool'):
            (path / name).mkdir()
        text = CONFIGURATION.format(host=host, path=path, ports=free_ports(), tracking=tracking)
        (path / 'slurm.conf').write_text(text)
        (path / 'cgroup.conf').write_text(CGROUPS)
        (path / 'munge.key').write_bytes(os.urandom(64))
        (path / 'munge.key').chmod(0o400)
        paths = f'{os.defpath}:/usr/sbin:/sbin'
        self.environ = {'PATH': paths, 'SLURM_CONF': str(path / 'slurm.conf')}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        #: Processes of jobs, and their daemons.
        self.steps: list[psutil.Process] = []
        if list(self.directories()):
            pytest.skip('NOT TESTED: Slurm runs already')

    def directories(self) -> Iterator[pathlib.Path]:
        yield from pathlib.Path('/sys/fs/cgroup').glob('*/slurm*')

    def start(self, *command: str) -> None:
        with (self.path / f'{command[0]}.out').open('wb') as output:
            child = subprocess.Popen(
                command, env=self.environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        self.running[command[0]] = child

    def begin(self) -> None:
        """Start the daemons; skip the test if they do not run here."""
        files = {'socket': 'sock', 'key-file': 'key', 'pid-file': 'pid', 'log-file': 'log'}
        options = [f'--{name}={self.path}/munge.{end}' for name, end in files.items()]
        self.start('munged', '--foreground', '--force', f'--seed-file={self.path}/seed', *options)
        is_ready = self.wait(lambda: (self.path / 'munge.sock').exists())
        self.start('slurmctld', '-D')
        self.start('slurmd', '-D')
        states = ('sinfo', '--noheader', '--format=%T')
        if not (is_ready and self.wait(lambda: 'idle' in self.run(*states))):
            pytest.skip(f'NOT TESTED: Slurm does not run here: {self.errors()}')

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command, env=self.environ, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        return done.stdout

    def wait(self, is_reached: Callable[[], object]) -> bool:
        """Wait for a condition; return false if a program exits or takes too long."""
        deadline = time.monotonic() + PATIENCE / 2
        while not is_reached():
            has_exited = any(program.poll() is not None for program in self.running.values())
            if has_exited or time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def errors(self) -> str:
        return ' '.join((self.path / f'{name}.out').read_text()[-200:] for name in self.running)

    def stop(self) -> None:
        """Kill all programs and the processes of jobs, and remove their control groups."""
        for process in self.steps:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(self.steps, PATIENCE)
        for program in self.running.values():
            program.kill()
            program.wait(PATIENCE)
        for top in self.directories():
            for folder, _, _ in os.walk(top, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)


@pytest.fixture(params=['cgroup', 'linuxproc'])
def cluster(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path, request.param)
    try:
        made.begin()
        yield made
    finally:
        made.stop()


def test_processes_of_a_real_job(cluster: Cluster) -> None:
    """With cgroups, and without them by the step daemon above the process."""
    program = cluster.path / 'trainer'
    program.write_text('#!/bin/sh\nsleep 100 & wait\n')
    program.chmod(0o755)
    cluster.start('srun', '--job-name=proof', str(program))
    sleeping: list[psutil.Process] = []

    def is_running() -> bool:
        sleeping[:] = [
            process
            for process in psutil.process_iter(['cmdline'])
            if process.info['cmdline'] == ['sleep', '100']
            and str(program) in ' '.join((process.parent() or process).cmdline())
        ]
        return bool(sleeping)

    assert cluster.wait(is_running), cluster.errors()
    above = sleeping[0].parents()
    cluster.steps += sleeping
    cluster.steps += [each for each in above if each.name() in ('slurmstepd', 'trainer')]
    owner = HostProcess(sleeping[0].pid).owner()
    assert isinstance(owner, Owner)
    sources = [layer.source for layer in owner.layers if layer.kind == 'slurm']
    assert (owner.kind, owner.step, owner.claim) == ('slurm', '0', False)
    assert str(owner.id) == cluster.run('squeue', '--noheader', '--format=%A').strip()
    assert sources[0] == ('cgroup' if cluster.has_groups else 'parent')
