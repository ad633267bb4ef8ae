# SPDX-License-Identifier: Apache-2.0
"""Parses ``/proc/PID/cgroup`` and ``mountinfo``, which every user may read for every process.

A path is text from strangers: a user can make directories of any name in the part of the tree that
is delegated to ``user@UID.service``, and so can ``root`` of a container. IDs are accepted by their
exact shape only, batch jobs only outside of the parts of users, and layers that a user can make up
are marked as claims.
"""

from __future__ import annotations

import functools
import re
from typing import Callable, NamedTuple

from nvitop.owner.types import (
    CONTAINERS,
    JOBS,
    Layer,
    Owner,
    best_layer,
    clean_name,
    make_owner,
    rank_of,
)

#: End of the path of a cgroup that was removed, as for a zombie.
_DELETED = ' (deleted)'
#: Paths are shorter than this in characters; longer ones are not from a kernel.
_MAX_PATH = 8192
#: Maximum number of layers of one path; the innermost ones are kept.
_MAX_LAYERS = 16

#: Patterns of a hash such as the ID of a container, and of a UUID.
HEX64 = '[0-9a-f]{64}'
_UUID_GROUPS = [f'[0-9a-f]{{{digits}}}' for digits in (8, 4, 4, 4, 12)]
UUID, _UUID_IN_SLICE = '-'.join(_UUID_GROUPS), '_'.join(_UUID_GROUPS)
#: Names of machines, hosts and images.
_NAME = r'[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}'


def shape(pattern: str, word: str = '') -> Callable[[str], re.Match[str] | None]:
    """Return a function that matches whole texts, with ASCII digits and letters only.

    The pattern is compiled when a text first contains ``word``: a report needs few of them.
    """
    compiled: list[Callable[[str], re.Match[str] | None]] = []

    def match(text: str) -> re.Match[str] | None:
        if word not in text:
            return None
        if not compiled:
            compiled.append(re.compile(pattern, re.ASCII).fullmatch)
        return compiled[0](text)

    return match


is_hex64 = shape(HEX64)
_is_name = shape(_NAME)
_unit = shape(r'[A-Za-z0-9:_.\\@-]{1,240}\.(?:service|scope)')
_no_unit = shape(r'init\.scope|user@\d+\.service|session-\w+\.scope')
_user_slice = shape(r'user-(\d{1,10})\.slice', '.slice')
_user_manager = shape(r'user@(\d{1,10})\.service', 'user@')
_session = shape(r'session-(\w{1,32})\.scope', 'session-')

_RUNTIMES = {
    'docker': 'docker',
    'cri-containerd': 'containerd',
    'crio': 'cri-o',
    'libpod': 'podman',
    'libpod-payload': 'podman',
    'nerdctl': 'containerd',
    'containerd': 'containerd',
}
_PREFIXES = '|'.join(sorted(_RUNTIMES, key=len, reverse=True))
_container = shape(rf'({_PREFIXES})-({HEX64})(?:\.scope)?')
#: The systemd path of a runtime that expected a path of directories: ``SLICE:PREFIX:ID``.
_mismatched = shape(rf'([^:]+\.slice):({_PREFIXES}):({HEX64})', '.slice:')
_monitor = shape(rf'(libpod|crio)-conmon-({HEX64})(?:\.scope)?', '-conmon-')
#: Parent directory of a bare container ID → runtime.
_PARENTS = {'docker': 'docker', 'moby': 'docker', 'default': 'containerd', 'k8s.io': 'containerd'}
_podman_pod = shape(rf'(?:[\w.\\]+-)*libpod_pod_({HEX64})\.slice', 'libpod_pod_')

#: The hash of a static pod has 32 digits.
_pod_slice = shape(
    r'(?:[\w.\\]+-)*kubepods(?:-(besteffort|burstable))?'
    rf'-pod({_UUID_IN_SLICE}|[0-9a-f]{{32}})\.slice',
    'kubepods',
)
_pod_directory = shape(rf'pod({UUID}|[0-9a-f]{{32}})', 'pod')
_QOS = {'besteffort': 'besteffort', 'burstable': 'burstable', 'kubepods': 'guaranteed'}

_slurm_scope = shape(r'(?:[A-Za-z0-9][A-Za-z0-9.-]*_)?slurmstepd\.scope', 'slurmstepd.scope')
#: A job ID, or since Slurm 26.05 an SLUID: ``s`` and 13 digits of Crockford's base 32.
_slurm_job = shape(r'job_(\d{1,10})|(s[0-9A-HJKMNP-TV-Z]{13})')
_slurm_step = shape(r'step_(\d{1,10}|batch|extern|interactive)', 'step_')
_slurm_v1 = shape(r'slurm(?:_[A-Za-z0-9][A-Za-z0-9.-]*)?', 'slurm')
_slurm_uid = shape(r'uid_(\d{1,10})', 'uid_')
is_pbs_job = shape(r'\d{1,18}(?:\[\d*\])?(?:\.[A-Za-z0-9][A-Za-z0-9.-]*)?')
_lsf_job = shape(r'job\.(\d{1,18})(?:\.\d+)*', 'job.')
_condor_slot = shape(r'condor_[\w.-]*_(slot\d+(?:_\d+)?(?:@[A-Za-z0-9.-]+)?)', 'condor_')
_oar_unit = shape(r'oar-(\d{1,18})\.service', 'oar-')
#: Flux writes its IDs in base 58.
_flux_unit = shape(r'imp-shell-\d+-(f[1-9A-HJ-NP-Za-km-z]{1,12})\.service', 'imp-shell-')
_ray_node = shape(r'ray-node_(\w{1,64})', 'ray-node_')

_lxc = shape(rf'lxc\.(payload|monitor)\.({_NAME})', 'lxc.')
_nspawn = shape(r'systemd-nspawn@(.+)\.service', 'systemd-nspawn@')
_machine = shape(r'machine-(.+)\.scope', 'machine-')
_libvirt = shape(rf'qemu-\d+-({_NAME})', 'qemu-')
_apptainer = shape(rf'(?:apptainer|singularity)-(?:(\d{{1,10}})|oci-({_NAME}))\.scope', '.scope')
_vm_scope = shape(rf'({_NAME})\.scope', '.scope')
_ESCAPED = re.compile(r'\\x([0-9a-f]{2})')

#: Units of daemons that keep containers below themselves.
_DAEMONS = frozenset(
    f'{name}.service'
    for name in (
        *('containerd', 'cri-docker', 'crio', 'docker', 'k3s', 'k3s-agent', 'kubelet'),
        *('libvirtd', 'lxc', 'lxd', 'incus', 'podman', 'rke2-agent', 'rke2-server'),
    )
)


@functools.lru_cache(maxsize=256)
def parse_cgroup(text: str) -> Owner:
    """Return what a process belongs to according to the text of its ``/proc/PID/cgroup``.

    Never raises. If nothing is recognized, ``owner.kind`` is ``''``. Of several hierarchies (version
    1), the one with the best answer counts.

    >>> str(parse_cgroup('0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0'))
    'slurm 42.0'
    """
    best, best_value = Owner(), (_WORST, 0)
    for line in text.split('\n'):
        fields = line.split(':', 2)
        if len(fields) != 3 or not fields[0].isdecimal() or len(line) > _MAX_PATH:
            continue
        owner = parse_path(fields[2])
        top = best_layer(owner.layers)
        if top is not None:
            facts = sum(2 if layer.detail else 1 for layer in owner.layers)
            value = (rank_of(top), -facts)
            if value < best_value:
                best, best_value = owner, value
    return best


_WORST = 1000


def parse_path(path: str) -> Owner:
    if path.endswith(_DELETED):
        path = path[: -len(_DELETED)]
    # In a cgroup namespace, paths outside of its root begin with "/..".
    parts = [part for part in path.split('/') if part not in ('', '.', '..')]
    return make_owner(_PathReader(parts).layers())


class _Match(NamedTuple):
    """Layers of a path, and the number of parts that they take."""

    layers: tuple[Layer, ...]
    size: int = 1


class _PathReader:
    """Reads the parts of one path, from the outermost to the innermost."""

    def __init__(self, parts: list[str]) -> None:
        self._parts = parts
        self._at = 0
        self._layers: list[Layer] = []
        #: Whether this part is delegated to a user.
        self._is_users = False

    def layers(self) -> tuple[Layer, ...]:
        while self._at < len(self._parts):
            match = self._next()
            for layer in match.layers:
                self._add(layer)
            self._at += match.size
        return tuple(self._layers[-_MAX_LAYERS:])

    def _next(self) -> _Match:
        part = self._parts[self._at]
        if manager := _user_manager(part):
            self._is_users = True
            return _Match(self._user(manager[1]))
        for read in (self._job, self._pod, self._container, self._machine, self._login):
            match = read(part)
            if match is not None:
                return match
        is_unit = _unit(part) and not _no_unit(part)
        return _Match((Layer('unit', part),) if is_unit else ())

    def _add(self, layer: Layer) -> None:
        """Add a layer. A unit inside of another one replaces it."""
        layers = self._layers
        last = layers[-1] if layers else Layer('', '')
        has_own_unit = _oar_unit(last.id) or _flux_unit(last.id)
        if layer.kind == last.kind == 'unit':
            del layers[-1]
        elif layer.kind == 'pod' or (layer.kind in JOBS and not has_own_unit):
            # Below the unit of a daemon, such as that of the kubelet.
            layers[:] = [outer for outer in layers if outer.kind != 'unit']
        elif layer.kind in CONTAINERS and last.id in _DAEMONS:
            del layers[-1]
        is_inside = any(outer.kind in CONTAINERS for outer in layers)
        may_be_made_up = layer.kind != 'user' and (self._is_users or is_inside)
        layers.append(layer._replace(claim=True) if may_be_made_up else layer)

    def _following(self, count: int = 1) -> str:
        at = self._at + count
        return self._parts[at] if at < len(self._parts) else ''

    def _before(self) -> str:
        return self._parts[self._at - 1] if self._at else ''

    def _user(self, uid: str) -> tuple[Layer, ...]:
        known = any(layer.kind == 'user' and layer.id == uid for layer in self._layers)
        return () if known else (Layer('user', uid),)

    def _login(self, part: str) -> _Match | None:
        if user := _user_slice(part):
            return _Match(self._user(user[1]))
        session = _session(part)
        if session and _user_slice(self._before()):
            return _Match((Layer('session', session[1]),))
        return None

    # Jobs

    def _job(self, part: str) -> _Match | None:
        if flux := _flux_unit(part):  # it uses the systemd of the user
            return _Match((Layer('unit', part), Layer('flux', flux[1])))
        if self._is_users:
            return None
        if oar := _oar_unit(part):
            return _Match((Layer('unit', part), Layer('oar', oar[1])))
        return self._slurm(part) or self._directory_of_job(part)

    def _slurm(self, part: str) -> _Match | None:
        user: tuple[Layer, ...] = ()
        if _slurm_scope(part):
            job, size = _slurm_job(self._following()), 2
        elif _slurm_v1(part) and _slurm_uid(self._following()):
            uid = _slurm_uid(self._following())
            assert uid is not None
            job, size, user = _slurm_job(self._following(2)), 3, self._user(uid[1])
            if job is None or job[1] is None:
                return _Match(user, 2)
        else:
            return None
        if job is None:
            return None
        step = _slurm_step(self._following(size))
        layer = Layer('slurm', job[1] or job[2], detail=step[1] if step else '')
        return _Match((*user, layer), size)

    def _directory_of_job(self, part: str) -> _Match | None:
        child, grandchild = self._following(), self._following(2)
        if part == 'pbs_jobs.service' and child in ('jobid', 'jobs') and is_pbs_job(grandchild):
            return _Match((Layer('pbs', grandchild),), 3)
        if part == 'torque' and is_pbs_job(child):
            return _Match((Layer('torque', child),), 2)
        lsf = _lsf_job(grandchild) if part == 'lsf' else None
        if lsf:
            return _Match((Layer('lsf', lsf[1]),), 3)
        slot = _condor_slot(part)
        if slot and not child and 'htcondor' in self._parts[: self._at]:
            return _Match((Layer('htcondor', slot[1]),))
        return None

    # Pods and containers

    def _pod(self, part: str) -> _Match | None:
        name, colon, rest = part.partition(':')
        if pod := _pod_slice(name if _mismatched(part) else part):
            layer = Layer('pod', pod[2].replace('_', '-'), detail=pod[1] or 'guaranteed')
            _, _, container_id = rest.partition(':')
            inner = (Layer(_RUNTIMES[rest.partition(':')[0]], container_id),) if colon else ()
            return _Match((layer, *inner))
        directory = _pod_directory(part)
        if directory and (self._is_below_kubepods() or self._is_container(self._following())):
            return _Match((Layer('pod', directory[1], detail=_QOS.get(self._before(), '')),))
        return None

    def _is_below_kubepods(self) -> bool:
        return any(part.endswith('kubepods') for part in self._parts[: self._at])

    @staticmethod
    def _is_container(part: str) -> bool:
        return bool(is_hex64(part) or _container(part))

    def _container(self, part: str) -> _Match | None:
        if container := _container(part):
            return _Match((Layer(_RUNTIMES[container[1]], container[2]),))
        if mismatched := _mismatched(part):
            return _Match((Layer(_RUNTIMES[mismatched[2]], mismatched[3]),))
        if monitor := _monitor(part):
            return _Match((Layer('monitor', monitor[2], detail=_RUNTIMES[monitor[1]]),))
        if pod := _podman_pod(part):
            return _Match((Layer('podman-pod', pod[1]),))
        if is_hex64(part):
            return _Match((self._bare(part),))
        ray = _ray_node(part)
        if ray and self._following() in ('user', 'system'):
            return _Match((Layer('ray', ray[1]),))
        return None

    def _bare(self, container_id: str) -> Layer:
        before = self._before()
        if before == 'libpod_parent':
            return Layer('podman-pod', container_id)
        if 'ecs' in self._parts[: self._at]:
            return Layer('ecs', container_id)
        return Layer(_PARENTS.get(before, 'container'), container_id)

    # System containers and virtual machines

    def _machine(self, part: str) -> _Match | None:
        child = self._following()
        if part in ('lxc', 'lxc.payload', 'lxc.monitor') and _is_name(child):
            return _Match((_lxc_layer(part, child),), 2)
        if lxc := _lxc(part):
            return _Match((_lxc_layer(f'lxc.{lxc[1]}', lxc[2]),))
        if apptainer := _apptainer(part):
            return _Match((Layer('apptainer', apptainer[1] or apptainer[2]),))
        return self._registered_machine(part, child)

    def _registered_machine(self, part: str, child: str) -> _Match | None:
        vm = _vm_scope(part) if self._before() == 'qemu.slice' else None
        if vm:
            return _Match((Layer('vm', vm[1]),))
        nspawn = _nspawn(part)
        if nspawn and child != 'supervisor':
            name = _unescaped(nspawn[1])
            return _Match((Layer('nspawn', name),)) if name else None
        machine = _machine(part)
        name = _unescaped(machine[1]) if machine else ''
        if not name or self._is_users:
            return None
        if libvirt := _libvirt(name):
            return _Match((Layer('vm', libvirt[1]),))
        return _Match((Layer('machine', name),))


def _lxc_layer(directory: str, name: str) -> Layer:
    if directory == 'lxc.monitor':
        return Layer('monitor', name, detail='lxc')
    return Layer('lxc', name)


def _unescaped(name: str) -> str:
    r"""Return a machine name without the escapes of systemd (``\x2d``); ``''`` if it is not one."""
    name = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), name)
    return name if _is_name(name) else ''


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
        root, point = (_decoded(field) for field in fields[3:5])
        if point in _FILES:
            docker, podman = _docker.search(root), _podman.search(root)
            if docker:
                add('docker', docker[1])
            elif podman:
                add('podman', podman[1])
            if pod := _pod.search(root):
                add('pod', pod[1])
        if point in _APPTAINER or point.startswith('/.singularity.d/'):
            add('apptainer', '')
        enroot = _enroot.fullmatch(root[root.find('/enroot/data/') :]) if point == '/' else None
        if enroot:
            add('enroot', '', clean_name(enroot[1]))
    return tuple(sorted(layers.values(), key=lambda layer: layer.kind != 'pod'))


def _decoded(field: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), field) if '\\' in field else field
