"""Owners in the texts of /proc/PID/cgroup and /proc/PID/mountinfo."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.owner import Owner, parse_cgroup
from nvitop.owner.cgroup import parse_mountinfo
from nvitop.owner.names import parse_container_log
from nvitop.owner.reading import VARIABLES, cmdline_layers, environ_layers, parse_environ
from nvitop.owner.types import CONTAINERS, JOBS, KINDS, Layer, make_owner
from tests.owner.values import CONTAINER, POD, corpus, filled, is_safe, values_of

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
    st.text(),
    st.lists(st.text()),
    st.dictionaries(st.sampled_from(sorted(VARIABLES)), st.text()),
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
