# SPDX-License-Identifier: Apache-2.0
"""What processes say about owners: their environment and arguments, and those of their ancestors.

An environment is that of the start of the program, and its owner can write anything into it. These
layers are therefore claims, which never rank above what the kernel says. Every user may read names
and arguments of all processes. Only the ancestors nearest to the first process of the system can be
trusted to be what they seem: a container can start a program of any name, but nothing above itself.
"""

from __future__ import annotations

import functools
from typing import Iterator, Mapping, NamedTuple, Sequence

from nvitop.owner.cgroup import is_hex64, is_pbs_job, shape
from nvitop.owner.types import Layer, clean_name

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
    """An ancestor of a process."""

    pid: int
    #: Program name, cut to 15 bytes by the kernel.
    name: str
    #: Arguments, if :func:`wants_cmdline`.
    cmdline: Sequence[str] = ()
    #: Whether only ``root`` of the host can have started it.
    is_roots: bool = False


class ContainerName(NamedTuple):
    """Names of a container, as its monitor or its log has them."""

    container_id: str
    #: ``'podman'``, ``'cri-o'``, ``'docker'`` or ``'containerd'``.
    runtime: str
    #: Name of the container, ``None`` if it is not known.
    name: str | None = None
    pod_name: str | None = None
    pod_uid: str | None = None


def wants_cmdline(name: str) -> bool:
    """Return whether the arguments of an ancestor with this program name matter."""
    return name in _NAMES or name.startswith('containerd-shim')


def parse_step_title(title: str) -> tuple[str, str] | None:
    """Return job ID and step (``''``: none) of the title of Slurm's step daemon."""
    match = _step_title(title)
    return (match[1], match[2] or '') if match else None


def ancestor_layers(chain: Sequence[Ancestor]) -> tuple[Layer, ...]:
    """Return what a process belongs to according to its ancestors, the outermost first.

    Args:
        chain: The ancestors, the parent first.
    """
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
    """Return the name of a tmux session, from the arguments that started the server.

    They name only the first session, number 0.
    """
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
    kubelet = _kubelet_name(name)
    if kubelet:
        container, pod, namespace, uid = kubelet.groups()
        return ContainerName(container_id, 'cri-o', container, f'{namespace}/{pod}', uid)
    known = name if _is_container_name(name) else None
    return ContainerName(container_id, 'podman', known)


def parse_environ(content: bytes) -> dict[str, str]:
    """Return the :data:`VARIABLES` in the content of ``/proc/PID/environ``."""
    found: dict[str, str] = {}
    for item in content.split(b'\0'):
        key, _, value = item.partition(b'=')
        if value and key in _NAMES_OF_VARIABLES:
            found.setdefault(_NAMES_OF_VARIABLES[key], value.decode('utf-8', 'replace'))
    return found


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
    kind = _KINDS_OF_CONTAINER.get(environ.get('container', ''))
    if kind:
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
    flux = _flux_id(value('FLUX_JOB_ID', ''))
    if flux:
        yield _statement('flux', f'f{flux[1]}')
    if _is_number(value('OAR_JOB_ID', '')):
        yield _statement('oar', environ['OAR_JOB_ID'], value('OAR_JOB_NAME'))
    if _is_ray_id(value('RAY_JOB_ID', '')):
        yield _statement('ray', environ['RAY_JOB_ID'])


def _terminals(environ: Environ) -> Iterator[Layer]:
    if 'VSCODE_IPC_HOOK_CLI' in environ or environ.get('TERM_PROGRAM') == 'vscode':
        yield _statement('vscode', '')
    screen = _screen(environ.get('STY', ''))
    if screen:
        yield _statement('screen', screen[1], screen[2])
    tmux = _tmux(environ.get('TMUX', ''))
    if tmux:
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
    """Return the ID of a Jupyter kernel, which is in the name of its connection file."""
    for argument in cmdline[1:_MAX_ARGUMENTS]:
        match = _kernel_file(argument)
        if match:
            return match[1]
    return None
