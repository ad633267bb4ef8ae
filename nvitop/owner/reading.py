# SPDX-License-Identifier: Apache-2.0
"""Reads the owner of a process from ``/proc``.

:func:`read_cgroup` takes one short read, so every sample can afford it. :func:`read_owner` also reads
ancestors, arguments, environment, mounts and names, which may take long for a process that hangs in
the kernel.
"""

from __future__ import annotations

from typing import Iterable

from nvitop.api.process import procfs
from nvitop.api.system import system
from nvitop.owner.cgroup import parse_cgroup, parse_mountinfo
from nvitop.owner.names import NameLookup, lookup_names
from nvitop.owner.statements import (
    Ancestor,
    ContainerName,
    ancestor_layers,
    cmdline_layers,
    container_names,
    environ_layers,
    parse_environ,
    tmux_name,
    wants_cmdline,
)
from nvitop.owner.types import (
    BEST_STATEMENT,
    CONTAINERS,
    JOBS,
    Layer,
    Owner,
    OwnerReading,
    best_layer,
    clean_name,
    make_owner,
    rank_of,
)
from nvitop.platforms import LINUX
from nvitop.platforms.kernel import name_of_user

#: Reasons why there is no owner, for people.
EXITED = 'the process has exited'
HIDDEN = 'the process is hidden from this user (hidepid)'
ELSEWHERE = 'the PID belongs to another PID namespace'
NOT_LINUX = 'only Linux has control groups'

#: Maximum size (bytes) of what is read of a file. The lines of twelve hierarchies with the longest
#: possible paths fit in; of an environment and of mounts, the rest is ignored.
MAX_BYTES = 1 << 17
#: Maximum number of ancestors that are read.
_MAX_ANCESTORS = 64
#: Login UID of a process that no login started.
_NO_LOGIN = 2**32 - 1
#: The UID map outside of user namespaces.
_ALL_USERS = ['0', '0', '4294967295']


def read_cgroup(pid: int) -> OwnerReading:
    """Return what a process belongs to according to its cgroup. Never raises."""
    if not LINUX:
        return OwnerReading(None, NOT_LINUX)
    try:
        text = read_file(pid, 'cgroup').decode('utf-8', 'replace')
    except (OSError, OverflowError) as error:
        return _missing(pid, error)
    return OwnerReading(parse_cgroup(text), cgroup=text)


def _missing(pid: int, error: Exception) -> OwnerReading:
    if isinstance(error, PermissionError) or procfs.is_hidden(pid):
        return OwnerReading(None, HIDDEN)
    if isinstance(error, (FileNotFoundError, ProcessLookupError, OverflowError)):
        if isinstance(error, FileNotFoundError) and procfs.read_start_ticks(pid) is not None:
            return OwnerReading(Owner())  # a kernel without cgroups
        return OwnerReading(None, EXITED)
    return OwnerReading(None, str(error))


class SharedFiles:
    """What was read of processes above and around others. Only for a second: PIDs are reused."""

    def __init__(self) -> None:
        #: PID → the process and its ancestors, and what they say of its children.
        self.chains: dict[int, list[Ancestor]] = {}
        self.layers: dict[int, tuple[Layer, ...]] = {}
        #: Mount namespace → what its mounts name.
        self.mounts: dict[str, tuple[Layer, ...]] = {}


def read_owner(
    pid: int,
    names: NameLookup | str = 'files',
    cgroup: OwnerReading | None = None,
    *,
    shared: SharedFiles | None = None,
    is_brief: bool = False,
) -> OwnerReading:
    """Return what a process belongs to, from everything that this user may read.

    Args:
        pid: The process.
        names: How to look up names, or a word for ``lookup_names``.
        cgroup: The result of ``read_cgroup``, if it is known already.
        shared: Files that other processes have read, and this one adds to.
        is_brief: Whether to read only what kind, ID and name of the owner depend on. Its other
            layers may be missing.

    The process may exit meanwhile, and its PID may be reused; compare its start time.

    Raises:
        ValueError: ``names`` is an unknown word.
    """
    lookup = lookup_names(names) if isinstance(names, str) else names
    reading = cgroup or read_cgroup(pid)
    if reading.owner is None:
        return reading
    layer = reading.owner.layer
    if is_brief and layer is not None and layer.kind in JOBS and layer.id.isdecimal():
        return reading
    reader = _Details(pid, reading.owner, lookup, shared or SharedFiles())
    return reading._replace(owner=reader.owner(is_brief=is_brief))


class _Details:
    """Reads the layers of one process that are not in its cgroup."""

    def __init__(self, pid: int, owner: Owner, names: NameLookup, shared: SharedFiles) -> None:
        self._pid = pid
        self._owner = owner
        self._names = names
        self._shared = shared
        self._is_simulated = is_simulated(pid)
        self._chain: list[Ancestor] = []

    def owner(self, *, is_brief: bool) -> Owner:
        is_known = any(each.kind in ('pod', *CONTAINERS) for each in self._owner.layers)
        mounts = () if is_known else self._mounts()
        best = best_layer(self._owner.layers + mounts) if is_brief else None
        is_open = best is None or rank_of(best) >= BEST_STATEMENT
        statements = self._statements() if is_open else ()
        logins = () if is_brief else _login(self._pid)
        # Last, so that the start time that is read with the parent is that of all the above.
        self._chain = [] if self._is_simulated else _ancestors(self._pid, self._shared.chains)
        layers = (*self._owner.layers, *self._above(), *mounts, *statements, *logins)
        if not layers:
            return self._owner
        named = [self._named(layer) for layer in layers]
        return make_owner(_without_repetitions(named))

    def _above(self) -> tuple[Layer, ...]:
        if not self._chain:
            return ()
        parent, known = self._chain[0].pid, self._shared.layers
        if parent not in known:
            known[parent] = ancestor_layers(self._chain)
        return known[parent]

    def _statements(self) -> tuple[Layer, ...]:
        try:
            environ = parse_environ(read_file(self._pid, 'environ'))
        except OSError:
            environ = {}
        return environ_layers(environ) + cmdline_layers(_cmdline(self._pid), environ)

    def _mounts(self) -> tuple[Layer, ...]:
        space = '' if self._is_simulated else procfs.mount_namespace(self._pid)
        if space in self._shared.mounts:
            return self._shared.mounts[space]
        is_users = read_text(self._pid, 'uid_map').split() != _ALL_USERS
        layers = parse_mountinfo(read_text(self._pid, 'mountinfo'), is_users=is_users)
        if space:
            self._shared.mounts[space] = layers
        return layers

    def _named(self, layer: Layer) -> Layer:
        """Return a layer with its name, as far as it can be found."""
        if layer.kind == 'slurm' and layer.source == 'cgroup':
            return layer if layer.id.isdecimal() else self._with_job_id(layer)
        if layer.kind == 'tmux' and layer.name is None:
            server = next((each for each in self._chain if str(each.pid) == layer.id), None)
            return layer._replace(name=tmux_name(server, layer.detail))
        if layer.is_statement or not self._names.uses_files:
            return layer
        if layer.kind == 'pod':
            return layer._replace(name=self._pod_name(layer))
        if layer.kind in CONTAINERS:
            return self._named_container(layer)
        return layer

    def _with_job_id(self, layer: Layer) -> Layer:
        """Return a Slurm layer with the number of the job in place of its SLUID."""
        above = (each.id for each in self._above() if each.kind == 'slurm')
        return layer._replace(id=next(above, layer.id))

    def _pod_name(self, pod: Layer) -> str | None:
        container = self._owner.find(*CONTAINERS)
        found = None if container is None else self._container_name(container)
        if found is None or found.pod_name is None or found.pod_uid not in (None, pod.id):
            found = self._names.of_pod(pod.id)
        return None if found is None else found.pod_name

    def _named_container(self, layer: Layer) -> Layer:
        found = self._container_name(layer)
        if found is not None:
            kind = found.runtime or layer.kind if layer.kind == 'container' else layer.kind
            layer = layer._replace(kind=kind, name=found.name)
        if layer.name is None and layer.kind in ('docker', 'podman', 'container'):
            users = next((each.id for each in self._owner.layers if each.kind == 'user'), None)
            name = self._names.from_sockets(layer.id, layer.kind, users if layer.claim else None)
            layer = layer._replace(name=name)
        return layer

    def _container_name(self, layer: Layer) -> ContainerName | None:
        found = self._names.of_container(layer.id)
        if found is not None:
            return found
        watching = (each for each in container_names(self._chain) if each.container_id == layer.id)
        return next(watching, None)


def _ancestors(pid: int, chains: dict[int, list[Ancestor]]) -> list[Ancestor]:
    """Return the ancestors of a process, the parent first. ``chains`` are known and added to."""
    chain: list[Ancestor] = []
    stat = _stat(pid)
    while stat is not None and stat.parent_pid and len(chain) < _MAX_ANCESTORS:
        pid = stat.parent_pid
        if pid in chains:
            chain += chains[pid]
            break
        stat = _stat(pid)
        if stat is None:
            continue
        if wants_cmdline(stat.name):
            is_roots = stat.name == 'slurmstepd' and _is_roots(pid)
            chain.append(Ancestor(pid, stat.name, _cmdline(pid), is_roots))
        else:
            chain.append(Ancestor(pid, stat.name))
    for i, ancestor in enumerate(chain):
        chains.setdefault(ancestor.pid, chain[i:])
    return chain


def _stat(pid: int) -> procfs.Stat | None:
    try:
        return procfs.cached_stat(pid)
    except procfs.UNREADABLE:
        return None


def _is_roots(pid: int) -> bool:
    """Return whether only root of the host can have started a process."""
    try:
        uid = procfs.read_uid(pid)
    except procfs.UNREADABLE:
        return False
    owner = read_cgroup(pid).owner
    return uid == 0 and owner is not None and owner.find('pod', *CONTAINERS) is None


def _cmdline(pid: int) -> list[str]:
    try:
        return procfs.parse_cmdline(read_file(pid, 'cmdline'))
    except OSError:
        return []


def _login(pid: int) -> tuple[Layer, ...]:
    text = read_text(pid, 'loginuid').strip()
    if not text.isdecimal() or int(text) == _NO_LOGIN:
        return ()
    name = name_of_user(int(text))
    return (Layer('login', text, clean_name(name) if name != text else None, 'loginuid'),)


def _without_repetitions(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """Leave out layers that add nothing to the ones before."""
    kept: list[Layer] = []
    for layer in layers:
        same = [each for each in kept if each.kind == layer.kind and layer.id in ('', each.id)]
        adds_name = layer.name is not None and not any(each.name for each in same)
        adds_detail = layer.detail and not any(each.detail for each in same)
        if not same or adds_name or adds_detail:
            kept.append(layer)
    return tuple(kept)


# Files of processes


def read_file(pid: int, name: str) -> bytes:
    """Read a file of a process, such as ``'cgroup'``.

    Raises:
        OSError: There is no such process, or this user may not read it.
    """
    replacement = system().process_file(pid, name)
    if replacement is not None:
        return replacement
    return procfs.read_file(pid, name, MAX_BYTES)


def read_text(pid: int, name: str) -> str:
    """Read a file of a process as text; ``''`` if it cannot be read."""
    try:
        return read_file(pid, name).decode('utf-8', 'replace')
    except OSError:
        return ''


def is_simulated(pid: int) -> bool:
    """Return whether a process is one of a simulated machine."""
    return system().process_file(pid, 'cgroup') is not None
