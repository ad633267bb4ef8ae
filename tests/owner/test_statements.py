"""What processes and their ancestors say about owners."""

from __future__ import annotations

import pytest

from nvitop.owner.reading import (
    Ancestor,
    ancestor_layers,
    cmdline_layers,
    container_names,
    environ_layers,
    parse_environ,
)
from nvitop.owner.types import ContainerName, Layer, make_owner
from tests.owner.values import CONTAINER, OUTER, POD

KERNEL = '1b2c3d4e-0000-4000-8000-000000000001'
INIT = Ancestor(1, 'systemd')


@pytest.mark.parametrize(
    ('environ', 'texts'),
    [
        ('SLURM_JOB_ID=42 SLURM_STEP_ID=3 SLURM_JOB_NAME=train', ['slurm 42.3']),
        ('SLURM_JOB_ID=42 SLURM_STEP_ID=4294967291', ['slurm 42']),
        ('SLURM_JOB_ID=../42', []),
        ('PBS_JOBID=123[4].server PBS_JOBNAME=x', ['pbs 123[4].server']),
        ('PBS_JOBID=x', []),
        ('LSB_JOBID=7 LSB_JOBINDEX=0', ['lsf 7']),
        ('LSB_JOBID=7 LSB_JOBINDEX=2', ['lsf 7[2]']),
        ('SGE_ROOT=/opt/sge JOB_ID=9 SGE_TASK_ID=undefined', ['sge 9']),
        ('SGE_ROOT=/opt/sge JOB_ID=9 SGE_TASK_ID=4', ['sge 9.4']),
        ('JOB_ID=9', []),
        ('_CONDOR_SLOT=slot1_2@node', ['htcondor slot1_2@node']),
        ('FLUX_JOB_ID=ƒUt87KFAo', ['flux fUt87KFAo']),
        ('OAR_JOB_ID=1337', ['oar 1337']),
        ('RAY_JOB_ID=01000000', ['ray 01000000']),
        ('KUBERNETES_SERVICE_HOST=10.0.0.1 HOSTNAME=train-0', ['pod train-0']),
        (
            'KUBERNETES_SERVICE_HOST=1 POD_NAME=train-0 POD_NAMESPACE=ml HOSTNAME=x',
            ['pod ml/train-0'],
        ),
        ('HOSTNAME=train-0', []),
        ('APPTAINER_CONTAINER=/images/torch.sif', ['apptainer torch.sif']),
        ('SINGULARITY_NAME=torch.sif', ['apptainer torch.sif']),
        ('CH_RUNNING=Weirdly', ['charliecloud']),
        ('container=podman', ['podman']),
        ('container=x', []),
        ('TMUX=/tmp/tmux-1000/default,4242,3', ['tmux 3']),
        ('TMUX=x', []),
        ('STY=4242.pts-0.node', ['screen pts-0.node']),
        ('TERM_PROGRAM=vscode', ['vscode']),
        ('CONDA_DEFAULT_ENV=torch VIRTUAL_ENV=/a/b', ['venv torch']),
        ('VIRTUAL_ENV=/home/me/model/.venv', ['venv model']),
    ],
)
def test_environment(environ: str, texts: list[str]) -> None:
    variables = parse_environ('\0'.join(environ.split()).encode() + b'\0')
    layers = environ_layers(variables)
    assert list(map(str, layers)) == texts
    assert all(layer.claim and layer.source == 'environ' for layer in layers)


def test_notebook_of_a_kernel() -> None:
    cmdline = ['python', '-m', 'ipykernel_launcher', '-f', f'/home/me/run/kernel-{KERNEL}.json']
    known = Layer('jupyter', KERNEL, 'work/analysis.ipynb', 'environ', claim=True)
    assert cmdline_layers(cmdline, {'JPY_SESSION_NAME': 'work/analysis.ipynb'}) == (known,)
    assert str(known) == 'nb analysis.ipynb'
    unknown = Layer('jupyter', KERNEL, None, 'cmdline', claim=True)
    assert cmdline_layers(cmdline, {}) == (unknown,)
    assert str(unknown) == 'nb 1b2c3d4e'
    assert cmdline_layers([*cmdline[:-1], 'kernel-1.json'], {}) == ()


@pytest.mark.parametrize(
    ('cmdline', 'texts'),
    [
        (['ray::train'], ['ray train']),
        (['ray::IDLE worker'], ['ray IDLE']),
        (['/opt/conda/envs/torch/bin/python3.11', 'x.py'], ['venv torch']),
        (['/home/me/model/.venv/bin/python', 'x.py'], ['venv model']),
        (['/usr/bin/python3', 'x.py'], []),
        ([], []),
    ],
)
def test_arguments(cmdline: list[str], texts: list[str]) -> None:
    assert list(map(str, cmdline_layers(cmdline, {}))) == texts


def test_statements_never_rank_above_the_cgroup() -> None:
    job = environ_layers({'SLURM_JOB_ID': '1'})
    notebook = cmdline_layers(
        ['python', '-m', 'ipykernel_launcher', '-f', f'kernel-{KERNEL}.json'], {}
    )
    for kind in ('slurm', 'pod', 'docker', 'ray', 'monitor', 'unit'):
        assert make_owner((Layer(kind, '2'), *job, *notebook)).kind == kind
    for kind in ('session', 'user'):
        assert make_owner((Layer(kind, '2'), *job, *notebook)).kind == 'slurm'
        assert make_owner((Layer(kind, '2'), *notebook)).kind == 'jupyter'
    # A scope of a user is no more than a tab of a terminal.
    tab = Layer('unit', 'vte-spawn-1.scope', claim=True)
    assert make_owner((tab, *notebook)).kind == 'jupyter'
    assert make_owner((Layer('unit', 'a.service', claim=True), *notebook)).kind == 'unit'


def conmon(pid: int, container_id: str, name: str) -> Ancestor:
    return Ancestor(pid, 'conmon', ['/usr/bin/conmon', '-c', container_id, '-n', name])


def test_terminals_of_other_users() -> None:
    chain = [
        Ancestor(40, 'bash'),
        Ancestor(30, 'tmux: server', ['tmux', 'new', '-s', 'main']),
        Ancestor(25, 'node', ['/home/me/.vscode-server/cli/node', 'server-main.js']),
        Ancestor(21, 'screen', ['SCREEN', '-S', 'train']),
        Ancestor(20, 'sshd', ['sshd: alice@pts/0']),
        INIT,
    ]
    layers = ancestor_layers(chain)
    assert list(map(str, layers)) == ['ssh alice@pts/0', 'screen train', 'vscode', 'tmux server 30']
    assert all(layer.claim for layer in layers)


def test_monitors_name_their_containers() -> None:
    kubelet = f'k8s_main_train-0_ml_{POD}_2'
    shim = ['/usr/bin/containerd-shim-runc-v2', '-namespace', 'moby', '-id', OUTER]
    chain = [conmon(9, CONTAINER, 'web'), Ancestor(8, 'containerd-shim', shim), INIT]
    assert [*container_names(chain)] == [
        ContainerName(OUTER, 'docker'),
        ContainerName(CONTAINER, 'podman', 'web'),
    ]
    assert [*container_names([conmon(9, CONTAINER, kubelet)])] == [
        ContainerName(CONTAINER, 'cri-o', 'main', 'ml/train-0', POD)
    ]
    assert [*container_names([conmon(9, CONTAINER[1:], 'web')])] == []
    assert [*container_names([conmon(9, CONTAINER, 'a\x1b[2J')])] == [
        ContainerName(CONTAINER, 'podman')
    ]
