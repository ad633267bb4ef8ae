"""Owners of processes through the library."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from nvitop import NA, Device, GpuProcess, HostProcess, simulation, take_snapshots
from nvitop.owner.reading import ELSEWHERE, EXITED
from tests.owner.values import CONTAINER

pytestmark = pytest.mark.skipif(sys.platform != 'linux', reason='needs /proc')

MACHINE = f"""
[[gpu]]
model = "H100"
[[process]]
command = ["python3", "train.py"]
cgroup = "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0"
login_uid = 0
[[process]]
command = ["server"]
cgroup = '0::/kubepods/pod712b37831be464ccc2fb1553ef89aa91/{CONTAINER}'
container_log = 'web-0_prod_web-{CONTAINER}.log'
[[process]]
command = ["bare"]
"""


def test_owners_of_processes_on_a_device() -> None:
    with simulation.machine(simulation.parse_scenario(MACHINE, name='owners')):
        processes = {p.command(): p for p in Device(0).processes().values()}
        owners = {command: process.owner() for command, process in processes.items()}
        assert {command: str(owner) for command, owner in owners.items()} == {
            'python3 train.py': 'slurm 42.0',
            'server': 'pod prod/web-0',
            'bare': '-',
        }
        job = processes['python3 train.py'].host.owner()
        assert not isinstance(job, str)
        assert (job.job_id, job.step, job.login_user) == ('42', '0', 'root')
        pod = processes['server'].owner('none')
        assert str(pod) == 'pod 712b37831be4'
        with pytest.raises(ValueError, match='sockets'):
            processes['server'].owner('all')
        snapshots = {snapshot.command: snapshot for snapshot in take_snapshots().gpu_processes}
        assert str(snapshots['server'].owner) == 'pod prod/web-0'
        assert str(snapshots['server']['owner']) == 'pod prod/web-0'
        host = processes['server'].host
        assert str(host.as_snapshot(['owner', 'pid']).owner) == 'pod prod/web-0'
        assert 'owner' not in [*host.as_snapshot()]


def test_missing_owners_are_not_available_for_a_reason() -> None:
    elsewhere = HostProcess.elsewhere(os.getpid())
    assert elsewhere.owner() is NA
    assert elsewhere.owner_reading().reason == ELSEWHERE
    child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)
    process = HostProcess(child.pid)
    on_device = GpuProcess(child.pid, Device)  # type: ignore[arg-type]  # - any device will do
    assert process.owner() is not NA
    child.communicate()
    assert process.owner() is NA
    assert on_device.owner() is NA
    assert process.owner_reading().reason == EXITED
