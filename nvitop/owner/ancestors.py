# SPDX-License-Identifier: Apache-2.0
"""Owners of a process that its ancestors show: job step daemons, container monitors, terminals.

Every user may read names and arguments of all processes. Only the ancestors nearest to the first
process of the system can be trusted to be what they seem: a container can start a program of any
name, but nothing above itself.
"""

from __future__ import annotations

from typing import Iterator, NamedTuple, Sequence

from nvitop.owner.cgroup import is_hex64, shape
from nvitop.owner.types import Layer, clean_name


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
