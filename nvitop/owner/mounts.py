# SPDX-License-Identifier: Apache-2.0
"""Parses ``/proc/PID/mountinfo``: containers that have no cgroup of their own, as with Apptainer.

Every user may read the mounts of every process. A user can mount anything in a user namespace of his
own; layers of such a process are claims.
"""

from __future__ import annotations

import re

from nvitop.owner.cgroup import HEX64, UUID
from nvitop.owner.types import Layer, clean_name

#: Files that container runtimes mount from the directory of the container.
_FILES = frozenset({'/etc/resolv.conf', '/etc/hostname', '/etc/hosts', '/dev/termination-log'})
_docker = re.compile(rf'/docker/containers/({HEX64})/(?:resolv\.conf|hostname|hosts)', re.ASCII)
_podman = re.compile(rf'/overlay-containers/({HEX64})/userdata/[a-z.]+', re.ASCII)
_pod = re.compile(rf'/pods/({UUID}|[0-9a-f]{{32}})/(?:etc-hosts$|containers/)', re.ASCII)
_enroot = re.compile(r'/enroot/data/(?:[^/]+/)?([^/]+)', re.ASCII)
_APPTAINER = frozenset(
    {'/.singularity.d', '/var/lib/apptainer/mnt/session', '/var/singularity/mnt/session'}
)
_OCTAL = re.compile(r'\\([0-7]{3})')


def parse_mountinfo(text: str, *, is_users: bool = False) -> tuple[Layer, ...]:
    """Return the pods and containers that the mounts of a process name.

    Args:
        text: The content of ``/proc/PID/mountinfo``.
        is_users: Whether the process is in a user namespace, in which its user can mount anything.
    """
    layers: dict[str, Layer] = {}

    def add(kind: str, number: str, name: str | None = None) -> None:
        layers.setdefault(kind, Layer(kind, number, name, 'mountinfo', claim=is_users))

    for line in text.split('\n'):
        fields = line.split(' ', 5)
        if len(fields) < 6:
            continue
        root, point = (_unescaped(field) for field in fields[3:5])
        if point in _FILES:
            docker, podman = _docker.search(root), _podman.search(root)
            if docker:
                add('docker', docker[1])
            elif podman:
                add('podman', podman[1])
            pod = _pod.search(root)
            if pod:
                add('pod', pod[1])
        if point in _APPTAINER or point.startswith('/.singularity.d/'):
            add('apptainer', '')
        enroot = _enroot.fullmatch(root[root.find('/enroot/data/') :]) if point == '/' else None
        if enroot:
            add('enroot', '', clean_name(enroot[1]))
    return tuple(sorted(layers.values(), key=lambda layer: layer.kind != 'pod'))


def _unescaped(field: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), field) if '\\' in field else field
