# SPDX-License-Identifier: Apache-2.0
"""Reads the owner of a process from ``/proc``, and parses what variables and ancestors state about it.

:func:`read_cgroup` takes one short read, so every sample can afford it. :func:`read_owner` also reads
ancestors, arguments, environment, mounts and names, which may take long for a process that hangs in
the kernel.
"""

from __future__ import annotations

import functools
from typing import Iterable, Iterator, Mapping, NamedTuple, Sequence

from nvitop.api.process import procfs
from nvitop.api.system import system
from nvitop.owner.cgroup import is_hex64, is_pbs_job, parse_cgroup, parse_mountinfo, shape
from nvitop.owner.names import NameLookup, lookup_names
from nvitop.owner.types import (
    BEST_STATEMENT,
    CONTAINERS,
    JOBS,
    ContainerName,
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

#: Variables that are read. No other variable of a process is kept.
VARIABLES = frozenset({
    *('SLURM_JOB_ID', 'SLURM_STEP_ID', 'SLURM_JOB_NAME'),
    *('PBS_JOBID', 'PBS_JOBNAME', 'LSB_JOBID', 'LSB_JOBINDEX', 'LSB_JOBNAME'),
    *('SGE_ROOT', 'JOB_ID', 'JOB_NAME', 'SGE_TASK_ID', '_CONDOR_SLOT', 'FLUX_JOB_ID'),
    *('OAR_JOB_ID', 'OAR_JOB_NAME', 'RAY_JOB_ID', 'KUBERNETES_SERVICE_HOST', 'HOSTNAME'),
    *('POD_NAME', 'POD_NAMESPACE', 'APPTAINER_CONTAINER', 'APPTAINER_NAME'),
    *('SINGULARITY_CONTAINER', 'SINGULARITY_NAME', 'CH_RUNNING', 'ENROOT_ROOTFS', 'container'),
    *('TMUX', 'STY', 'VSCODE_IPC_HOOK_CLI', 'TERM_PROGRAM'),
    *('JPY_SESSION_NAME', 'JPY_PARENT_PID', 'CONDA_DEFAULT_ENV', 'VIRTUAL_ENV'),
})  # fmt: skip
_NAMES_OF_VARIABLES = {name.encode(): name for name in VARIABLES}


_is_number = shape(r'\d{1,18}')
#: Step numbers from 2³¹ on stand for special steps, such as the batch script.
_is_step = shape(r'\d{1,9}')
_is_slot = shape(r'slot\d+(?:_\d+)?(?:@[A-Za-z0-9.-]+)?')
#: Flux writes ``ƒ`` before an ID, or ``f`` if the locale has no such character.
_flux_id = shape(r'[fƒ]([1-9A-HJ-NP-Za-km-z]{1,12})')
_is_ray_id = shape(r'[0-9a-f]{8}')
_DNS = r'[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?'
_is_pod_name = shape(rf'{_DNS}(\.{_DNS})*')
_is_namespace = shape(_DNS)
_tmux = shape(r'(/.+),(\d{1,10}),(\d{1,6})')
_screen = shape(r'(\d{1,10})\.(.+)')
_kernel_file = shape(r'(?:.*/)?kernel-([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\.json')
_ray_title = shape(r'ray::(\S{1,200}).*')
_python = shape(r'.*/(?:envs/([^/]+)|(\.?venv))/bin/python[\d.]*')
#: Number of arguments among which the connection file of a kernel is.
_MAX_ARGUMENTS = 8
_KINDS_OF_CONTAINER = {'podman': 'podman', 'lxc': 'lxc', 'systemd-nspawn': 'nspawn'}

#: Program names of ancestors whose arguments are read.
_NAMES = (
    *('slurmstepd', 'conmon'),
    *('tmux: server', 'screen', 'sshd', 'sshd-session', 'code-server', 'node', 'code'),
)

#: The title of the step daemon: ``slurmstepd: [42.0]``, ``[42.batch]``.
_step_title = shape(r'slurmstepd: \[(\d{1,10})(?:\.(\d{1,10}|batch|extern|interactive))?\]\s*')
_is_container_name = shape(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,254}')
#: The names that the kubelet gives: ``k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT``.
_kubelet_name = shape(
    r'k8s_([a-z0-9-]{1,63})_([a-z0-9.-]{1,253})_([a-z0-9-]{1,63})_([0-9a-f-]{32,36})_\d+'
)
_ssh_title = shape(r'sshd(?:-session)?: ([^\s@]+)@(\S+).*')

Environ = Mapping[str, str]


class Ancestor(NamedTuple):
    pid: int
    #: Program name, cut to 15 bytes by the kernel.
    name: str
    #: Arguments, if :func:`wants_cmdline`.
    cmdline: Sequence[str] = ()
    #: Whether only ``root`` of the host can have started it.
    is_roots: bool = False


def wants_cmdline(name: str) -> bool:
    """Return whether the arguments of an ancestor with this program name matter."""
    return name in _NAMES or name.startswith('containerd-shim')


def parse_step_title(title: str) -> tuple[str, str] | None:
    """Return job ID and step (``''``: none) of the title of Slurm's step daemon."""
    match = _step_title(title)
    return (match[1], match[2] or '') if match else None


def ancestor_layers(chain: Sequence[Ancestor]) -> tuple[Layer, ...]:
    """Return what ancestors, the parent first, say about a process, the outermost first."""
    layers: list[Layer] = []
    for ancestor in reversed(chain):
        title = ancestor.cmdline[0] if ancestor.cmdline else ''
        step = parse_step_title(title) if ancestor.name == 'slurmstepd' else None
        if step and ancestor.is_roots:
            layers.append(Layer('slurm', step[0], None, 'parent', detail=step[1]))
        else:
            layers += _terminal(ancestor, title)
    return tuple(layers)


def _terminal(ancestor: Ancestor, title: str) -> Iterator[Layer]:
    pid = str(ancestor.pid)
    if ancestor.name == 'tmux: server':
        yield Layer('tmux', pid, None, 'parent', claim=True)
    elif ancestor.name == 'screen' and title.endswith('SCREEN'):
        yield Layer('screen', pid, _session_name(ancestor.cmdline), 'parent', claim=True)
    elif ancestor.name in ('node', 'code', 'code-server') and _is_vscode(ancestor.cmdline):
        yield Layer('vscode', pid, None, 'parent', claim=True)
    elif ancestor.name in ('sshd', 'sshd-session'):
        login = _ssh_title(title)
        if login is not None:
            yield Layer('ssh', pid, clean_name(f'{login[1]}@{login[2]}'), 'parent', claim=True)


def _is_vscode(cmdline: Sequence[str]) -> bool:
    return any('.vscode-server' in part or 'code-server' in part for part in cmdline[:3])


def _session_name(cmdline: Sequence[str]) -> str | None:
    """Return the value of the option ``-S`` of GNU screen or ``-s`` of tmux."""
    for option, value in zip(cmdline[1:], cmdline[2:]):
        if option in ('-S', '-s', '-dmS', '-DmS', '-dRS', '-RS'):
            return clean_name(value)
    return None


def tmux_name(server: Ancestor | None, number: str) -> str | None:
    """Return the name of a tmux session: a server's arguments name only the first, 0."""
    return _session_name(server.cmdline) if server is not None and number == '0' else None


def container_names(chain: Sequence[Ancestor]) -> Iterator[ContainerName]:
    """Yield names from the monitors of containers among the ancestors, the outermost first."""
    for ancestor in reversed(chain):
        options = dict(zip(ancestor.cmdline, ancestor.cmdline[1:]))
        if ancestor.name == 'conmon' and is_hex64(options.get('-c', '')):
            yield _conmon_name(options['-c'], options.get('-n', ''))
        is_shim = ancestor.name.startswith('containerd-shim')
        if is_shim and is_hex64(options.get('-id', '')):
            is_docker = options.get('-namespace') == 'moby'
            yield ContainerName(options['-id'], 'docker' if is_docker else 'containerd')


def _conmon_name(container_id: str, name: str) -> ContainerName:
    if kubelet := _kubelet_name(name):
        container, pod, namespace, uid = kubelet.groups()
        return ContainerName(container_id, 'cri-o', container, f'{namespace}/{pod}', uid)
    known = name if _is_container_name(name) else None
    return ContainerName(container_id, 'podman', known)


def parse_environ(content: bytes) -> dict[str, str]:
    variables: dict[str, str] = {}
    for item in content.split(b'\0'):
        key, _, value = item.partition(b'=')
        if value and key in _NAMES_OF_VARIABLES:
            variables.setdefault(_NAMES_OF_VARIABLES[key], value.decode('utf-8', 'replace'))
    return variables


def environ_layers(environ: Environ) -> tuple[Layer, ...]:
    """Return what the environment of a process says that it belongs to, the outermost first."""
    return _layers_of_variables(tuple(environ.items())) if environ else ()


@functools.lru_cache(maxsize=64)  # processes of one job have the same variables
def _layers_of_variables(variables: tuple[tuple[str, str], ...]) -> tuple[Layer, ...]:
    environ = dict(variables)
    readers = (_containers, _pods, _jobs, _terminals, _environments)
    return tuple(layer for read in readers for layer in read(environ))


def _statement(kind: str, number: str, name: str | None = None, detail: str = '') -> Layer:
    cleaned = clean_name(name) if name else None
    return Layer(kind, number, cleaned, 'environ', claim=True, detail=detail)


def _containers(environ: Environ) -> Iterator[Layer]:
    for prefix in ('APPTAINER', 'SINGULARITY'):
        image = environ.get(f'{prefix}_CONTAINER') or environ.get(f'{prefix}_NAME')
        if image:
            yield _statement('apptainer', '', image.rstrip('/').rpartition('/')[2])
            break
    if 'ENROOT_ROOTFS' in environ:
        yield _statement('enroot', '', environ['ENROOT_ROOTFS'].rstrip('/').rpartition('/')[2])
    if 'CH_RUNNING' in environ:
        yield _statement('charliecloud', '')
    if kind := _KINDS_OF_CONTAINER.get(environ.get('container', '')):
        yield _statement(kind, '')


def _pods(environ: Environ) -> Iterator[Layer]:
    if 'KUBERNETES_SERVICE_HOST' not in environ:
        return
    name = environ.get('POD_NAME') or environ.get('HOSTNAME', '')
    namespace = environ.get('POD_NAMESPACE', '')
    if _is_pod_name(name):
        known = _is_namespace(namespace)
        yield _statement('pod', '', f'{namespace}/{name}' if known else name)


def _jobs(environ: Environ) -> Iterator[Layer]:
    value = environ.get
    slurm, step = value('SLURM_JOB_ID', ''), value('SLURM_STEP_ID', '')
    if _is_number(slurm):
        detail = step if _is_step(step) else ''
        yield _statement('slurm', slurm, value('SLURM_JOB_NAME'), detail)
    if is_pbs_job(value('PBS_JOBID', '')):
        yield _statement('pbs', environ['PBS_JOBID'], value('PBS_JOBNAME'))
    lsf, index = value('LSB_JOBID', ''), value('LSB_JOBINDEX', '0')
    if _is_number(lsf):
        is_array = _is_number(index) and int(index)
        yield _statement('lsf', f'{lsf}[{index}]' if is_array else lsf, value('LSB_JOBNAME'))
    sge, task = value('JOB_ID', ''), value('SGE_TASK_ID', '')
    if 'SGE_ROOT' in environ and _is_number(sge):
        yield _statement('sge', sge, value('JOB_NAME'), task if _is_number(task) else '')
    if _is_slot(value('_CONDOR_SLOT', '')):
        yield _statement('htcondor', environ['_CONDOR_SLOT'])
    if flux := _flux_id(value('FLUX_JOB_ID', '')):
        yield _statement('flux', f'f{flux[1]}')
    if _is_number(value('OAR_JOB_ID', '')):
        yield _statement('oar', environ['OAR_JOB_ID'], value('OAR_JOB_NAME'))
    if _is_ray_id(value('RAY_JOB_ID', '')):
        yield _statement('ray', environ['RAY_JOB_ID'])


def _terminals(environ: Environ) -> Iterator[Layer]:
    if 'VSCODE_IPC_HOOK_CLI' in environ or environ.get('TERM_PROGRAM') == 'vscode':
        yield _statement('vscode', '')
    if screen := _screen(environ.get('STY', '')):
        yield _statement('screen', screen[1], screen[2])
    if tmux := _tmux(environ.get('TMUX', '')):
        yield _statement('tmux', tmux[2], detail=tmux[3])


def _environments(environ: Environ) -> Iterator[Layer]:
    if environ.get('CONDA_DEFAULT_ENV'):
        yield _statement('venv', '', environ['CONDA_DEFAULT_ENV'].rpartition('/')[2])
    elif environ.get('VIRTUAL_ENV'):
        yield _statement('venv', '', _name_of_venv(environ['VIRTUAL_ENV']))


def _name_of_venv(path: str) -> str:
    """Return the name of a virtual environment; that of the project for ``.venv``."""
    parent, _, name = path.rstrip('/').rpartition('/')
    return parent.rpartition('/')[2] if name in ('.venv', 'venv') else name


def cmdline_layers(cmdline: Sequence[str], environ: Environ) -> tuple[Layer, ...]:
    """Return what the arguments of a process say that it belongs to.

    The notebook of a Jupyter kernel is in its environment only.
    """
    layers = []
    kernel = _kernel_id(cmdline)
    if kernel is not None:
        notebook = environ.get('JPY_SESSION_NAME')
        source = 'environ' if notebook else 'cmdline'
        name = clean_name(notebook) if notebook else None
        layers.append(Layer('jupyter', kernel, name, source, claim=True))
    title = _ray_title(cmdline[0]) if cmdline else None
    if title and 'RAY_JOB_ID' not in environ:
        layers.append(Layer('ray', '', clean_name(title[1]), 'cmdline', claim=True))
    python = _python(cmdline[0]) if cmdline and not environ else None
    if python:
        name = python[1] or _name_of_venv(cmdline[0].rpartition('/bin/')[0])
        layers.append(Layer('venv', '', clean_name(name), 'cmdline', claim=True))
    return tuple(layers)


def _kernel_id(cmdline: Sequence[str]) -> str | None:
    for argument in cmdline[1:_MAX_ARGUMENTS]:
        if match := _kernel_file(argument):
            return match[1]
    return None


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
        is_known = any(layer.kind in ('pod', *CONTAINERS) for layer in self._owner.layers)
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
            server = next(
                (ancestor for ancestor in self._chain if str(ancestor.pid) == layer.id), None
            )
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
        above = (outer.id for outer in self._above() if outer.kind == 'slurm')
        return layer._replace(id=next(above, layer.id))

    def _pod_name(self, pod: Layer) -> str | None:
        container = self._owner.find(*CONTAINERS)
        name = None if container is None else self._container_name(container)
        if name is None or name.pod_name is None or name.pod_uid not in (None, pod.id):
            name = self._names.of_pod(pod.id)
        return None if name is None else name.pod_name

    def _named_container(self, layer: Layer) -> Layer:
        container_name = self._container_name(layer)
        if container_name is not None:
            kind = container_name.runtime or layer.kind if layer.kind == 'container' else layer.kind
            layer = layer._replace(kind=kind, name=container_name.name)
        if layer.name is None and layer.kind in ('docker', 'podman', 'container'):
            users = next((outer.id for outer in self._owner.layers if outer.kind == 'user'), None)
            name = self._names.from_sockets(layer.id, layer.kind, users if layer.claim else None)
            layer = layer._replace(name=name)
        return layer

    def _container_name(self, layer: Layer) -> ContainerName | None:
        container_name = self._names.of_container(layer.id)
        if container_name is not None:
            return container_name
        names = (name for name in container_names(self._chain) if name.container_id == layer.id)
        return next(names, None)


def _ancestors(pid: int, chains: dict[int, list[Ancestor]]) -> list[Ancestor]:
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
        same = [other for other in kept if other.kind == layer.kind and layer.id in ('', other.id)]
        adds_name = layer.name is not None and not any(other.name for other in same)
        adds_detail = layer.detail and not any(other.detail for other in same)
        if not same or adds_name or adds_detail:
            kept.append(layer)
    return tuple(kept)


# Files of processes


def read_file(pid: int, name: str) -> bytes:
    """Read a file of a process, such as ``'cgroup'``; OSError if this user may not read it."""
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
