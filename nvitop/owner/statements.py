# SPDX-License-Identifier: Apache-2.0
"""Statements of a process about itself: in its environment and its arguments.

An environment is that of the start of the program, and its owner can write anything into it. These
layers are therefore claims, which never rank above what the kernel says.
"""

from __future__ import annotations

from typing import Iterator, Mapping, Sequence

from nvitop.owner.cgroup import is_pbs_job, shape
from nvitop.owner.types import Layer, clean_name

#: Variables that are read. No other variable of a process is kept.
VARIABLES = (
    *('SLURM_JOB_ID', 'SLURM_STEP_ID', 'SLURM_JOB_NAME'),
    *('PBS_JOBID', 'PBS_JOBNAME', 'LSB_JOBID', 'LSB_JOBINDEX', 'LSB_JOBNAME'),
    *('SGE_ROOT', 'JOB_ID', 'JOB_NAME', 'SGE_TASK_ID', '_CONDOR_SLOT', 'FLUX_JOB_ID'),
    *('OAR_JOB_ID', 'OAR_JOB_NAME', 'RAY_JOB_ID', 'KUBERNETES_SERVICE_HOST', 'HOSTNAME'),
    *('POD_NAME', 'POD_NAMESPACE', 'APPTAINER_CONTAINER', 'APPTAINER_NAME'),
    *('SINGULARITY_CONTAINER', 'SINGULARITY_NAME', 'CH_RUNNING', 'ENROOT_ROOTFS', 'container'),
    *('TMUX', 'STY', 'VSCODE_IPC_HOOK_CLI', 'TERM_PROGRAM'),
    *('JPY_SESSION_NAME', 'JPY_PARENT_PID', 'CONDA_DEFAULT_ENV', 'VIRTUAL_ENV'),
)


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

Environ = Mapping[str, str]


def parse_environ(content: bytes) -> dict[str, str]:
    """Return the :data:`VARIABLES` in the content of ``/proc/PID/environ``."""
    found: dict[str, str] = {}
    for item in content.split(b'\0'):
        name, _, value = item.decode('utf-8', 'replace').partition('=')
        if name in VARIABLES and value:
            found.setdefault(name, value)
    return found


def environ_layers(environ: Environ) -> tuple[Layer, ...]:
    """Return what the environment of a process says that it belongs to, the outermost first."""
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
