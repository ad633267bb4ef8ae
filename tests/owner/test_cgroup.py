"""Owners in the texts of /proc/PID/cgroup and mountinfo, and in what processes say."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.owner import Owner, parse_cgroup
from nvitop.owner.cgroup import parse_mountinfo
from nvitop.owner.names import parse_container_log
from nvitop.owner.reading import (
    VARIABLES,
    Ancestor,
    ancestor_layers,
    cmdline_layers,
    container_names,
    environ_layers,
    parse_environ,
)
from nvitop.owner.types import CONTAINERS, JOBS, KINDS, ContainerName, Layer, make_owner
from tests.owner.values import CONTAINER, OUTER, POD, corpus, filled, is_safe, values_of

CORPUS = corpus()


def is_plain_path(text: str) -> bool:
    return text.startswith('0::') and text.count('\n') <= 1 and '(deleted)' not in text


@pytest.mark.parametrize(('text', 'values'), CORPUS)
def test_cgroups_of_the_corpus(text: str, values: str) -> None:
    assert values_of(parse_cgroup(text)) == values


@pytest.mark.parametrize(('text', 'values'), [row for row in CORPUS if is_plain_path(row[0])])
def test_other_views_of_a_path(text: str, values: str) -> None:
    """From a cgroup namespace, of a removed cgroup, and as one of several hierarchies."""
    path = text.rstrip('\n')[len('0::') :]
    assert values_of(parse_cgroup(f'0::/../..{path}\n')) == values
    assert values_of(parse_cgroup(f'0::{path} (deleted)')) == values
    hybrid = f'12:pids:/\n4:memory:{path}\n1:name=systemd:/user.slice\n0::/'
    assert values_of(parse_cgroup(hybrid)) == values


def test_best_hierarchy_counts() -> None:
    lines = [
        '0::/user.slice/user-5.slice',
        '9:a:/user.slice/user-5.slice/session-3.scope',
        '8:b:/system.slice/a.service',
        f'7:c:/system.slice/crio-conmon-{CONTAINER}.scope',
        f'6:d:/docker/{CONTAINER}',
        f'5:e:/kubepods/pod{POD}',
        '4:f:/slurm/uid_5/job_42',
        '3:g:/slurm/uid_5/job_42/step_0',
    ]
    kinds = ['user', 'session', 'unit', 'monitor', 'docker', 'pod', 'slurm', 'slurm']
    for count, kind in enumerate(kinds, 1):
        assert parse_cgroup('\n'.join(lines[:count])).kind == kind
        assert parse_cgroup('\n'.join(reversed(lines[:count]))).kind == kind
    best = parse_cgroup('\n'.join(lines))
    assert (str(best), best.group) == ('slurm 42.0', 'slurm 42')
    assert parse_cgroup('0::/a.service').group == 'unit a.service'


HEX = re.compile('[0-9a-f]{64}')
POD_UID = re.compile('[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')
OTHER = re.compile(r'[A-Za-z0-9][A-Za-z0-9:_.\\@+\[\]-]*', re.ASCII)


def check_shapes(owner: Owner) -> None:
    for layer in owner.layers:
        assert layer.kind in KINDS
        is_container = layer.kind in CONTAINERS[:6] or layer.kind == 'podman-pod'
        shape = HEX if is_container else POD_UID if layer.kind == 'pod' else OTHER
        assert shape.fullmatch(layer.id)
        if layer.kind in (*JOBS, 'user', 'session'):
            assert layer.id.isascii()
    assert is_safe(str(owner))


PARTS = sorted({part for text, _ in CORPUS for part in re.split('[/\n]', text)})


@given(st.lists(st.sampled_from(PARTS), max_size=40), st.text(max_size=3))
def test_parts_in_any_order_have_ids_of_exact_shape(parts: list[str], odd: str) -> None:
    check_shapes(parse_cgroup('0::/' + '/'.join(parts)))
    check_shapes(parse_cgroup('\n'.join(f'{number}:a:/{p}' for number, p in enumerate(parts))))
    check_shapes(parse_cgroup('0::/' + odd.join(parts)))


# Mounts


LINE = '{number} 20 8:1 {root} {point} rw,relatime - ext4 /dev/sda1 rw'


def mounts(*pairs: str) -> str:
    """Return mounts, each given as ``ROOT POINT``."""
    lines = []
    for number, pair in enumerate(('/ /', '/ /proc', *pairs), 21):
        root, point = filled(pair).split(' ')
        lines.append(LINE.format(number=number, root=root, point=point))
    return '\n'.join(lines) + '\n'


@pytest.mark.parametrize(
    ('pairs', 'values'),
    [
        (['/var/lib/docker/containers/<C>/resolv.conf /etc/resolv.conf'], 'docker <C>'),
        (['/lib/docker/containers/<C>/hostname /mnt/hostname'], ''),
        (['/containers/storage/overlay-containers/<C>/userdata/hosts /etc/hosts'], 'podman <C>'),
        (['/var/lib/kubelet/pods/<P>/etc-hosts /etc/hosts'], 'pod <P>'),
        (['/var/lib/kubelet/pods/<P>/containers/main/0a1b2c3d /dev/termination-log'], 'pod <P>'),
        (['/var/lib/kubelet/pods/<P>/volumes/x /var/lib/kubelet/pods/<P>/volumes/x'], ''),
        (['/ /.singularity.d/libs'], 'apptainer '),
        (['/ /var/lib/apptainer/mnt/session'], 'apptainer '),
        (['/home/me/enroot/data/torch+24 /'], 'enroot '),
        (['/var/lib/docker/containers/0abc/resolv.conf /etc/resolv.conf'], ''),
    ],
)
def test_containers_in_mounts(pairs: list[str], values: str) -> None:
    layers = parse_mountinfo(mounts(*pairs))
    assert ' '.join(f'{layer.kind} {layer.id}' for layer in layers) == filled(values)
    assert all(layer.source == 'mountinfo' and not layer.claim for layer in layers)


def test_users_can_mount_anything_in_their_namespace() -> None:
    text = mounts('/docker/containers/<C>/hosts /etc/hosts')
    (layer,) = parse_mountinfo(text, is_users=True)
    assert layer.claim
    assert make_owner((Layer('unit', 'a.service'), layer)).kind == 'unit'
    assert make_owner((Layer('session', '3'), layer)).kind == 'docker'
    (layer,) = parse_mountinfo(text)
    assert make_owner((Layer('unit', 'a.service'), layer)).kind == 'docker'


def test_escaped_paths() -> None:
    (layer,) = parse_mountinfo(mounts(r'/enroot/data/a\040b /'))
    assert (layer.kind, layer.name) == ('enroot', 'a b')


@given(
    st.text(), st.lists(st.text()), st.dictionaries(st.sampled_from(sorted(VARIABLES)), st.text())
)
def test_any_text_of_strangers_is_parsed(
    text: str, arguments: list[str], environ: dict[str, str]
) -> None:
    for path in (text, f'0::/{text}', f'0::/docker/{text}', f'1:a:/slurm/uid_1/job_{text}'):
        check_shapes(parse_cgroup(path))
    content = '\0'.join(f'{name}={value}' for name, value in environ.items())
    layers = [
        *parse_mountinfo(text),
        *parse_mountinfo(mounts('/enroot/data/<C> /').replace('4', text)),
        *environ_layers(parse_environ(content.encode('utf-8', 'surrogatepass'))),
        *cmdline_layers(arguments, environ),
    ]
    assert all(layer.kind in KINDS and is_safe(str(layer)) for layer in layers)
    found = parse_container_log(f'{text}_ml_main-{CONTAINER}.log')
    assert found is None or is_safe(found[1].pod_name or '')


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
