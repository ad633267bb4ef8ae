"""Containers that only the mounts of a process show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.owner.cgroup import parse_mountinfo
from nvitop.owner.types import Layer, make_owner
from tests.owner.values import filled, is_safe

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


@given(st.text(), st.text())
def test_any_mounts_are_parsed(root: str, point: str) -> None:
    for text in (
        root,
        f'1 2 3 {root} {point} x y',
        mounts('/enroot/data/<C> /').replace('4', root),
    ):
        assert all(is_safe(str(layer)) for layer in parse_mountinfo(text))
