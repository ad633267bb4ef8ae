# SPDX-License-Identifier: Apache-2.0
"""Owners of processes, as immutable values."""

from __future__ import annotations

from typing import NamedTuple

from nvitop.basics.text import printable

#: Batch systems.
JOBS = ('slurm', 'pbs', 'torque', 'lsf', 'sge', 'htcondor', 'flux', 'oar')
#: Container runtimes and virtual machines. ``'container'``: the runtime is unknown.
CONTAINERS = (
    *('docker', 'podman', 'containerd', 'cri-o', 'ecs', 'container'),
    *('lxc', 'nspawn', 'machine', 'vm', 'apptainer', 'enroot', 'charliecloud'),
)
#: Programs in which people start others.
TOOLS = ('jupyter', 'tmux', 'screen', 'vscode')
#: Owners that say no more than the name of the user. ``''``: nothing is known.
PLAIN = ('session', 'ssh', 'user', '')
#: Layers that describe a process, but do not own it.
NOTES = ('podman-pod', 'login', 'venv')
#: All kinds of layers, those that make the better owner first.
KINDS = (*JOBS, 'pod', *CONTAINERS, 'ray', 'monitor', 'unit', *TOOLS, *PLAIN[:-1], *NOTES)

#: Longest name that is kept, in characters.
MAX_NAME = 256
#: Shortened length of hexadecimal IDs, as container runtimes show them.
_SHORT_ID = 12


class Layer(NamedTuple):
    """One thing that a process belongs to: a job, a pod, a container, a unit, a session …"""

    #: One of :data:`KINDS`.
    kind: str
    #: ID of exact shape; ``''``: not known.
    id: str
    #: Name that people use, safe to print; ``None``: not known. For a pod, namespace and name:
    #: ``'ml/train-0'``.
    name: str | None = None
    #: Where it was read: ``'cgroup'``, ``'parent'`` (an ancestor process), ``'mountinfo'``,
    #: ``'loginuid'``, ``'cmdline'`` or ``'environ'``.
    source: str = 'cgroup'
    #: Whether the user of the process can make it up.
    claim: bool = False
    #: Step of a job (``'0'``, ``'batch'``), QoS class of a pod (``'burstable'``), runtime of a
    #: monitor, number of a tmux session.
    detail: str = ''

    @property
    def is_statement(self) -> bool:
        """Whether the process says it about itself: in its arguments, environment or own mounts."""
        return self.source in ('cmdline', 'environ') or (self.source == 'mountinfo' and self.claim)

    def __str__(self) -> str:
        """Return kind and name, as in the column ``JOB``."""
        kind, name = self.kind, self.name
        if kind in JOBS:
            return f'{kind} {self.id}.{self.detail}' if self.detail else f'{kind} {self.id}'
        if kind == 'jupyter':
            return f'nb {(name or "").rpartition("/")[2] or short_id(self.id)}'
        if kind == 'tmux':
            return f'tmux {name or self.detail or f"server {self.id}"}'
        if kind == 'monitor':
            return f'{self.detail} monitor {short_id(self.id)}'
        shown = name or (self.id if kind == 'ssh' else short_id(self.id))
        return f'{kind} {shown}' if shown and kind != 'vscode' else kind


class Owner(NamedTuple):
    """Owner of a process. The best layer gives it kind, ID and name.

    ``str(owner)`` is the text of the column ``JOB``: ``slurm 1392969.0``, ``pod ml/train-0``,
    ``docker web``, ``unit ollama.service``, ``nb analysis.ipynb``, ``tmux main``, or ``-``.
    """

    #: Kind of the best layer; ``''``: the process belongs to nothing that is known.
    kind: str = ''
    #: ID of the best layer.
    id: str = ''
    #: Name of the best layer.
    name: str | None = None
    #: All layers: those of the cgroup first, from the outermost to the innermost.
    layers: tuple[Layer, ...] = ()

    def __str__(self) -> str:
        """Return kind and name, or ``-``."""
        layer = self.layer
        return '-' if layer is None else str(layer)

    @property
    def layer(self) -> Layer | None:
        """The best layer; ``None``: nothing is known."""
        return best_layer(self.layers)

    @property
    def group(self) -> str:
        """Its text without the step of a job: ``slurm 42``."""
        return f'{self.kind} {self.id}' if self.kind in JOBS else str(self)

    @property
    def is_plain(self) -> bool:
        """Whether it says no more than the name of the user: a session, or nothing."""
        return self.kind in PLAIN

    @property
    def claim(self) -> bool:
        """Whether the user of the process can make the best layer up."""
        layer = self.layer
        return layer is not None and layer.claim

    @property
    def source(self) -> str | None:
        """Where the best layer was read."""
        layer = self.layer
        return None if layer is None else layer.source

    def find(self, *kinds: str) -> Layer | None:
        """Return the innermost layer of these kinds.

        What the process says about itself counts only if it is the best layer.
        """
        best = self.layer
        for layer in reversed(self.layers):
            if layer.kind in kinds and (not layer.is_statement or layer == best):
                return layer
        return None

    @property
    def job_id(self) -> str | None:
        """ID of the job."""
        return _id(self.find(*JOBS))

    @property
    def step(self) -> str | None:
        """Step of the job: ``'0'``, ``'batch'``, ``'extern'``, ``'interactive'``."""
        job = self.find(*JOBS)
        return job.detail or None if job is not None else None

    @property
    def pod_uid(self) -> str | None:
        """UID of the Kubernetes pod."""
        return _id(self.find('pod'))

    @property
    def pod_name(self) -> str | None:
        """Namespace and name of the pod: ``'ml/train-0'``."""
        return _name(self.find('pod'))

    @property
    def container_id(self) -> str | None:
        """ID of the innermost container; for LXC and virtual machines, the name."""
        return _id(self.find(*CONTAINERS))

    @property
    def container_name(self) -> str | None:
        """Name of the innermost container."""
        return _name(self.find(*CONTAINERS))

    @property
    def unit(self) -> str | None:
        """Name of the systemd unit: ``'ollama.service'``."""
        return _id(self.find('unit'))

    @property
    def login_user(self) -> str | None:
        """User who logged in, even if the process runs as root now (``sudo``, ``su``)."""
        login = self.find('login')
        return None if login is None else login.name or login.id


class ContainerName(NamedTuple):
    """Names of a container, as its monitor or its log has them."""

    container_id: str
    #: ``'podman'``, ``'cri-o'``, ``'docker'`` or ``'containerd'``.
    runtime: str
    #: Name of the container, ``None`` if it is not known.
    name: str | None = None
    pod_name: str | None = None
    pod_uid: str | None = None


class OwnerReading(NamedTuple):
    """An owner, or the reason why there is none."""

    owner: Owner | None
    #: The reason in words, ``''`` if there is an owner.
    reason: str = ''
    #: The text of its cgroup, to notice changes.
    cgroup: str = ''


def make_owner(layers: tuple[Layer, ...]) -> Owner:
    best = best_layer(layers)
    if best is None:
        return Owner(layers=layers)
    return Owner(best.kind, best.id, best.name, layers)


def best_layer(layers: tuple[Layer, ...]) -> Layer | None:
    """Return the layer that owns the process: the innermost one of the best rank."""
    owning = [layer for layer in reversed(layers) if layer.kind in _RANKS]
    return min(owning, key=rank_of) if owning else None


#: Kind → rank; the lowest rank owns the process.
_RANKS: dict[str, int] = {
    **dict.fromkeys(JOBS, 0),
    'pod': 1,
    **dict.fromkeys(CONTAINERS, 2),
    'ray': 3,
    'monitor': 4,
    'unit': 5,
    'jupyter': 16,
    'tmux': 17,
    'screen': 17,
    'vscode': 18,
    'session': 30,
    'ssh': 31,
    'user': 32,
}
#: Best rank of statements: they come after all that the kernel says, except sessions.
BEST_STATEMENT = 10
#: A scope that a user made says only that something was started: a tab of a terminal, a tmux server.
_SCOPE_RANK = 20


def rank_of(layer: Layer) -> int:
    """Return the rank of a layer; the lowest one owns the process."""
    rank = _RANKS[layer.kind]
    if layer.is_statement:
        return rank % BEST_STATEMENT + BEST_STATEMENT
    if layer.kind == 'unit' and layer.claim and layer.id.endswith('.scope'):
        return _SCOPE_RANK
    return rank


def clean_name(text: str) -> str | None:
    """Return a name from outside, safe to print and of limited length; ``None`` if it is empty."""
    return printable(text[:MAX_NAME]).strip() or None


def _id(layer: Layer | None) -> str | None:
    return None if layer is None else layer.id or None


def _name(layer: Layer | None) -> str | None:
    return None if layer is None else layer.name


def short_id(text: str) -> str:
    """Return an ID as people see it: 12 digits of a long number, the first group of a UUID."""
    if len(text) in (32, 64) and text.isalnum():
        return text[:_SHORT_ID]
    first = text.split('-', 1)[0]
    return first if len(text) == 36 and len(first) == 8 else text
