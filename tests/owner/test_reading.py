"""Owners of processes in a directory like /proc, and through the library."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Mapping

import psutil
import pytest

from nvitop import NA, Device, GpuProcess, HostProcess, simulation, take_snapshots
from nvitop.owner import NameLookup, Owner, read_owner
from nvitop.owner.names import Places
from nvitop.owner.reading import ELSEWHERE, EXITED, read_cgroup
from nvitop.owner.types import Layer
from tests.owner.values import CONTAINER, OUTER, POD, filled

pytestmark = pytest.mark.skipif(sys.platform != 'linux', reason='needs /proc')

PID = 4242
KERNEL = '1b2c3d4e-0000-4000-8000-000000000001'


class Proc:
    def __init__(self, path: pathlib.Path) -> None:
        self.path = path

    def add(
        self,
        pid: int,
        cgroup: str = '0::/',
        *,
        name: str = 'python3',
        parent: int = 0,
        cmdline: str = 'python3 train.py',
        environ: str | None = None,
        uid: int = 1000,
        files: Mapping[str, str] | None = None,
    ) -> None:
        """Add a process. Arguments and variables are separated by ``|``."""
        directory = self.path / str(pid)
        directory.mkdir(exist_ok=True)
        stat = f'{pid} ({name}) S {parent} ' + '0 ' * 17 + f'{pid} ' + '0 ' * 30
        contents = {
            'cgroup': filled(cgroup) + '\n',
            'stat': stat,
            'status': f'Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n',
            'cmdline': cmdline.replace('|', '\0') + '\0',
            'uid_map': '         0          0 4294967295\n',
            **(files or {}),
        }
        if environ is not None:
            contents['environ'] = environ.replace('|', '\0')
        for file, content in contents.items():
            (directory / file).write_text(content, encoding='utf-8')


@pytest.fixture
def proc(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Proc:
    monkeypatch.setattr(psutil, 'PROCFS_PATH', str(tmp_path))
    return Proc(tmp_path)


def owner_of(pid: int, names: NameLookup | None = None) -> Owner:
    reading = read_owner(pid, names or NameLookup(places=Places('/missing', '/missing')))
    assert reading.owner is not None, reading.reason
    return reading.owner


def test_layers_from_all_sources(proc: Proc) -> None:
    proc.add(1, name='systemd')
    proc.add(20, name='sshd', parent=1, cmdline='sshd: alice@pts/0')
    proc.add(30, name='tmux: server', parent=20, cmdline='tmux|new|-s|main')
    proc.add(
        PID,
        '0::/user.slice/user-1000.slice/session-3.scope',
        parent=30,
        cmdline=f'python3|-m|ipykernel_launcher|-f|/x/kernel-{KERNEL}.json',
        environ='TMUX=/tmp/t,30,0|JPY_SESSION_NAME=work/analysis.ipynb|HOME=/root',
        files={'loginuid': '0'},
    )
    owner = owner_of(PID)
    assert [(str(layer), layer.source, layer.claim) for layer in owner.layers] == [
        ('user 1000', 'cgroup', False),
        ('session 3', 'cgroup', False),
        ('ssh alice@pts/0', 'parent', True),
        ('tmux server 30', 'parent', True),
        ('tmux main', 'environ', True),
        ('nb analysis.ipynb', 'environ', True),
        ('login root', 'loginuid', False),
    ]
    assert str(owner) == 'nb analysis.ipynb'
    assert owner.login_user == 'root'


def test_job_of_a_process_that_left_its_cgroup(proc: Proc) -> None:
    """As with pam_systemd, and on clusters without cgroups."""
    proc.add(1, name='systemd')
    daemon = '0::/system.slice/slurmd.service'
    proc.add(20, daemon, name='slurmstepd', parent=1, cmdline='slurmstepd: [42.0]', uid=0)
    proc.add(30, name='bash', parent=20)
    for cgroup in ('0::/user.slice/user-1000.slice/session-3.scope', daemon):
        proc.add(PID, cgroup, parent=30)
        owner = owner_of(PID)
        assert (str(owner), owner.source, owner.claim) == ('slurm 42.0', 'parent', False)
    scope = '0::/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0'
    proc.add(PID, f'{scope}/user/task_0')
    assert str(owner_of(PID)) == 'slurm s5K1KKYAYG5D00.0'
    proc.add(20, f'{scope}/slurm', name='slurmstepd', cmdline='slurmstepd: [42.0]', uid=0)
    proc.add(PID, f'{scope}/user/task_0', parent=20, environ='SLURM_JOB_ID=42|SLURM_STEP_ID=0')
    assert owner_of(PID).layers == (Layer('slurm', '42', detail='0'),)


@pytest.mark.parametrize(
    ('uid', 'cgroup'), [(1000, '0::/'), (0, '0::/docker/<C>'), (0, '0::/kubepods/pod<P>/<C>')]
)
def test_users_and_containers_cannot_pose_as_a_step_daemon(
    proc: Proc, uid: int, cgroup: str
) -> None:
    proc.add(20, cgroup, name='slurmstepd', cmdline='slurmstepd: [42.0]', uid=uid)
    proc.add(PID, cgroup, parent=20)
    assert owner_of(PID).job_id is None


def test_podman_container_is_named_by_its_monitor(proc: Proc) -> None:
    command = 'conmon|--api-version|1|-c|{}|-u|{}|-n|{}|--exit-dir|/x'
    proc.add(20, name='conmon', cmdline=command.format(CONTAINER, CONTAINER, 'web'))
    proc.add(30, name='conmon', parent=20, cmdline=command.format(CONTAINER, CONTAINER, 'fake'))
    proc.add(PID, '0::/machine.slice/libpod-<C>.scope/container', parent=30)
    owner = owner_of(PID)
    assert (str(owner), owner.container_name) == ('podman web', 'web')
    assert owner.container_id == CONTAINER
    assert str(owner_of(PID, NameLookup('none'))) == 'podman 4f797c539e6c'
    proc.add(PID, '0::/machine.slice/libpod-<D>.scope/container', parent=30)
    assert str(owner_of(PID)) == 'podman 9ec39b91f3d7'


def test_pod_is_named_by_its_monitor_and_its_logs(proc: Proc, tmp_path: pathlib.Path) -> None:
    name = f'k8s_main_train-0_ml_{POD}_2'
    proc.add(20, name='conmon', cmdline=f'conmon|-c|{CONTAINER}|-n|{name}')
    proc.add(PID, '0::/kubepods.slice/kubepods-pod<Q>.slice/crio-<C>.scope', parent=20)
    owner = owner_of(PID)
    assert (str(owner), owner.pod_name, owner.pod_uid) == ('pod ml/train-0', 'ml/train-0', POD)
    assert (owner.container_name, owner.container_id) == ('main', CONTAINER)
    # The name of another pod is not taken.
    proc.add(PID, '0::/kubepods/pod<S>/<C>', parent=20)
    assert str(owner_of(PID)) == 'pod 712b37831be4'
    (tmp_path / 'logs').mkdir()
    (tmp_path / 'logs' / f'train-1_ml_main-{OUTER}.log').touch()
    lookup = NameLookup(places=Places(container_logs=str(tmp_path / 'logs')))
    proc.add(PID, '0::/kubepods/pod<P>/<D>')
    owner = owner_of(PID, lookup)
    assert (str(owner), owner.container_name) == ('pod ml/train-1', 'main')


def test_container_without_a_cgroup(proc: Proc) -> None:
    mounts = '21 20 0:5 / /.singularity.d/libs rw - tmpfs tmpfs rw\n'
    proc.add(PID, '0::/user.slice/user-5.slice/session-1.scope', files={'mountinfo': mounts})
    owner = owner_of(PID)
    assert (str(owner), owner.source, owner.claim) == ('apptainer', 'mountinfo', False)
    rootless = {'mountinfo': mounts, 'uid_map': '1000 1000 1\n'}
    proc.add(PID, '0::/', environ='APPTAINER_CONTAINER=/x/torch.sif', files=rootless)
    owner = owner_of(PID)
    assert (str(owner), owner.claim) == ('apptainer torch.sif', True)


def test_missing_control_groups_have_a_reason(proc: Proc) -> None:
    for pid in (2**22 + 1, 2**70):
        assert read_owner(pid).reason == EXITED
    proc.add(PID)
    (proc.path / str(PID) / 'cgroup').unlink()
    assert read_cgroup(PID).owner == Owner()  # a kernel without cgroups


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
