# SPDX-License-Identifier: Apache-2.0
"""Values of a fleet as plain immutable tuples. ``None`` means *not available*."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Literal, Mapping, NamedTuple, TypeVar

from nvitop.basics.text import exact_word
from nvitop.basics.units import format_duration
from nvitop.owner.types import PLAIN, TOOLS, Layer
from nvitop.sampling.types import STALE_SECONDS

if TYPE_CHECKING:
    from nvitop.health.states import DeviceWord

    #: Severities of findings; others are left out.
    FaultSeverity = Literal['critical', 'warning']

_Number = TypeVar('_Number', int, float)


class FleetError(Exception):
    """Hosts cannot be read. The text is shown to the user."""

    def __init__(self, text: str, hint: str = '') -> None:
        super().__init__(text)
        #: Step to try, ``''`` if nothing is known to help.
        self.hint = hint

    @property
    def line(self) -> str:
        """The error and what to try, in one line."""
        return f'{self}; {self.hint}' if self.hint else str(self)


def percent_of(part: float | None, whole: float | None) -> float | None:
    """Return a part in percent of the whole, ``None`` if one of them is unknown."""
    return 100.0 * part / whole if part is not None and whole else None


class Series(NamedTuple):
    """One series and its value, as a server returns it."""

    name: str
    labels: Mapping[str, str]
    value: float


class PastValues(NamedTuple):
    """A series with its values over time."""

    name: str
    labels: dict[str, str]
    #: Seconds since the epoch, value.
    points: tuple[tuple[float, float], ...]


class FleetFinding(NamedTuple):
    """Something that is wrong with a GPU or a host."""

    #: ``'lost'``, ``'Xid 79'``.
    words: str
    severity: FaultSeverity = 'critical'
    #: In the lists of a host and of a fleet: its host, and the index of its GPU, ``'?'`` if unknown;
    #: ``''``: the host.
    host: str = ''
    gpu: str = ''
    #: What to do, ``''`` if unknown.
    advice: str = ''
    #: Whether it is about the temperature of a GPU.
    is_hot: bool = False

    @property
    def text(self) -> str:
        """What is wrong with what: ``'GPU 3 lost'``, ``'not responding'``."""
        return f'GPU {self.gpu} {self.words}' if self.gpu else self.words


#: A host whose exporter, or ssh, does not respond; one that had values within the last hour.
NOT_RESPONDING = FleetFinding(
    'not responding', advice='Check whether the host is up, and its exporter or ssh'
)
NOT_SCRAPED = FleetFinding(
    'no longer scraped', 'warning', advice='Check whether it was removed from the server on purpose'
)
_OLD_ADVICE = 'Check its exporter or ssh, and the clocks of both machines'
#: A host whose GPUs are simulated.
SIMULATED = FleetFinding('simulated: these are not its GPUs', 'warning')


class FleetUse(NamedTuple):
    """What a user has on a GPU."""

    user: str
    memory_bytes: float | None = None
    processes: int | None = None


class FleetOwner(NamedTuple):
    """A job, pod, container or session on a GPU, and its user, ``''`` if unknown."""

    user: str
    layer: Layer


class FleetGpu(NamedTuple):
    """One GPU, or a MIG device instead of the GPU that it is a part of."""

    id: str
    #: Index on its host: ``'3'``, or ``'3:0'`` for a MIG device; ``''`` if unknown.
    label: str = ''
    #: The GPU: its own ID, or that of the GPU of a MIG device.
    gpu: str = ''
    model: str = ''
    state: DeviceWord = 'unknown'
    utilization_percent: float | None = None
    memory_used_bytes: float | None = None
    memory_total_bytes: float | None = None
    #: Power and temperature of the whole GPU.
    power_watts: float | None = None
    temperature_celsius: float | None = None
    findings: tuple[FleetFinding, ...] = ()
    uses: tuple[FleetUse, ...] = ()
    owners: tuple[FleetOwner, ...] = ()

    @property
    def is_free(self) -> bool:
        """Whether no process holds it, or it sleeps, and it has no critical finding."""
        return self.state in ('free', 'asleep') and self.severity != 'critical'

    @property
    def is_used(self) -> bool:
        """Whether processes use it or hold its memory."""
        return self.state in ('busy', 'in use', 'held')

    @property
    def severity(self) -> FaultSeverity | None:
        """Highest severity of its findings; ``None`` if there are none."""
        return worst(self.findings)

    @property
    def word(self) -> str:
        """Its state as on all screens."""
        words = {'timed out': 'not responding', 'error': 'failing'}
        return words.get(self.state, self.state)

    @property
    def memory_percent(self) -> float | None:
        """Share of its memory in use."""
        return percent_of(self.memory_used_bytes, self.memory_total_bytes)

    @property
    def users(self) -> tuple[str, ...]:
        """Users with processes on it."""
        return tuple(use.user for use in self.uses)

    @property
    def no_user(self) -> str:
        """Why it has no users: ``'free'``, or ``'unknown'`` if they are not reported; otherwise ``''``."""
        return '' if self.uses else 'free' if self.is_free else 'unknown' if self.is_used else ''

    @property
    def jobs(self) -> tuple[str, ...]:
        """Jobs, pods and others on it."""
        return tuple(dict.fromkeys(str(owner.layer) for owner in self.owners))


def worst(findings: Iterable[FleetFinding]) -> FaultSeverity | None:
    """Return the highest severity of findings; ``None`` if there are none."""
    severities = {finding.severity for finding in findings}
    return 'critical' if 'critical' in severities else 'warning' if severities else None


class FleetHost(NamedTuple):
    """One machine with its GPUs, or with some of them; in lists also several machines that are alike."""

    #: In lists the names of all ``members``: ``'gpu[0017-0020]'``.
    name: str
    #: Where its values come from: ``'own'`` or ``'dcgm'`` names in Prometheus, ``'ssh'`` (nvitop) or
    #: ``'nvidia-smi'`` over ssh, or ``'demo'``.
    kind: str = 'own'
    #: Its GPUs. A GPU that is divided has MIG devices instead.
    gpus: tuple[FleetGpu, ...] = ()
    #: Label and value that select its series in Prometheus.
    selector: tuple[str, str] = ('', '')
    #: Findings about the host itself.
    findings: tuple[FleetFinding, ...] = ()
    #: Age of its values when the fleet was read; ``None`` if unknown.
    age_seconds: float | None = None
    #: Whether it has no values; its only finding is the reason.
    is_silent: bool = False
    #: The hosts in this row of a list, if there are several.
    members: tuple[FleetHost, ...] = ()

    @property
    def is_old(self) -> bool:
        """Whether its values are so old that they are a problem."""
        return (self.age_seconds or 0.0) >= STALE_SECONDS and not self.is_silent

    def later(self, seconds: float) -> FleetHost:
        """Return it with older values by this time. Late ones do not say which GPUs are free, and idle."""
        if self.age_seconds is None:
            return self
        age, gpus = self.age_seconds + seconds, self.gpus
        if age >= STALE_SECONDS:
            gpus = tuple(
                gpu._replace(state='unknown', utilization_percent=None) if gpu.is_free else gpu
                for gpu in gpus
            )
        return self._replace(gpus=gpus, age_seconds=age)

    @property
    def utilization_percent(self) -> float | None:
        """Mean utilization of its GPUs."""
        return mean(gpu.utilization_percent for gpu in self.gpus)

    @property
    def memory_used_bytes(self) -> float | None:
        """Memory in use on all its GPUs."""
        return total(gpu.memory_used_bytes for gpu in self.gpus)

    @property
    def memory_total_bytes(self) -> float | None:
        """Memory of all its GPUs."""
        return total(gpu.memory_total_bytes for gpu in self.gpus)

    @property
    def power_watts(self) -> float | None:
        """Power of all its GPUs; MIG devices share that of their GPU."""
        return total({gpu.gpu: gpu.power_watts for gpu in self.gpus}.values())

    @property
    def temperature_celsius(self) -> float | None:
        """Temperature of its hottest GPU."""
        return max(available(gpu.temperature_celsius for gpu in self.gpus), default=None)

    @property
    def models(self) -> tuple[str, ...]:
        """The models of its GPUs."""
        names = (gpu.model.replace('NVIDIA ', '') for gpu in self.gpus)
        return tuple(filter(None, dict.fromkeys(names)))

    @property
    def held(self) -> int:
        """Number of its GPUs that processes hold without using them."""
        return sum(gpu.state == 'held' for gpu in self.gpus)

    @property
    def free(self) -> int:
        """Number of its GPUs that no process holds, without a critical finding."""
        return sum(gpu.is_free for gpu in self.gpus)

    @property
    def users(self) -> tuple[str, ...]:
        """Users with processes on its GPUs, those with the most GPUs first."""
        counts: dict[str, int] = {}
        for gpu in self.gpus:
            for user in gpu.users:
                counts[user] = counts.get(user, 0) + 1
        return tuple(sorted(counts, key=lambda user: (-counts[user], user)))

    @property
    def problems(self) -> tuple[FleetFinding, ...]:
        """The findings about it, its GPUs and the age of its values, critical ones first."""
        problems = [finding._replace(host=self.name) for finding in self.findings]
        if self.is_old:
            words = f'values {format_duration(self.age_seconds or 0.0)} old'
            problems.append(FleetFinding(words, 'warning', self.name, advice=_OLD_ADVICE))
        for gpu in self.gpus:
            label = gpu.label.partition(':')[0] or '?'
            problems += [finding._replace(host=self.name, gpu=label) for finding in gpu.findings]
        unique = dict.fromkeys(problems)  # MIG devices share those of their GPU
        return tuple(sorted(unique, key=lambda problem: problem.severity))  # by the alphabet

    @property
    def severity(self) -> FaultSeverity | None:
        """Highest severity of its findings; ``None`` if there are none."""
        return worst(self.problems)


class FleetShare(NamedTuple):
    """A user, or a job, pod, container, unit or session, over all hosts."""

    #: Jobs are named as in the column ``JOB``: ``'slurm 1392969'``, ``'pod serving/chat-0'``.
    name: str
    #: Words of the filter for its hosts: ``'job:"slurm 1392969"'``.
    filter: str
    users: tuple[str, ...]
    hosts: tuple[str, ...]
    gpus: int
    #: Number of its GPUs that are held.
    held_gpus: int = 0
    #: Mean utilization of its GPUs.
    utilization_percent: float | None = None
    #: Only of users.
    processes: int | None = None
    memory_bytes: float | None = None


class Fleet(NamedTuple):
    """All hosts of one response."""

    hosts: tuple[FleetHost, ...] = ()
    #: When they were read, in seconds since the epoch.
    timestamp: float = 0.0
    #: Notes of the server, such as a partial response.
    warnings: tuple[str, ...] = ()
    #: Duration of the request in seconds, and size of the response in bytes.
    seconds: float = 0.0
    size_bytes: int = 0

    def at(self, timestamp: float) -> Fleet:
        """Return the hosts with the ages that their values have at a later time."""
        seconds = max(0.0, timestamp - self.timestamp)
        return self._replace(
            hosts=tuple(host.later(seconds) for host in self.hosts), timestamp=timestamp
        )

    @property
    def problems(self) -> list[FleetFinding]:
        """All findings, critical ones first."""
        problems = [problem for host in self.hosts for problem in host.problems]
        return sorted(problems, key=lambda problem: problem.severity)  # by the alphabet

    @property
    def users(self) -> list[FleetShare]:
        """The users of its GPUs, those with the most GPUs first."""
        return _shares(
            (use.user, exact_word('user', use.user), host, gpu, use)
            for host in self.hosts
            for gpu in host.gpus
            for use in gpu.uses
        )

    @property
    def without_users(self) -> list[FleetShare]:
        """Rows for GPUs whose users are not reported, and for free GPUs."""
        shares = _shares(
            (gpu.no_user, f'user:{gpu.no_user}', host, gpu, FleetUse(''))
            for host in self.hosts
            for gpu in host.gpus
            if gpu.no_user
        )
        return sorted(shares, key=lambda share: share.name == 'free')

    @property
    def jobs(self) -> list[FleetShare]:
        """The jobs, pods and others on its GPUs, those with the most GPUs first."""
        return _shares(
            (str(layer), _words_of(layer, user, host), host, gpu, FleetUse(user))
            for host in self.hosts
            for gpu in host.gpus
            for user, layer in gpu.owners
        )


def _words_of(layer: Layer, user: str, host: FleetHost) -> str:
    """Return the words of a filter for a job."""
    words = exact_word('job', str(layer))
    if layer.kind not in TOOLS and layer.kind not in PLAIN:
        return words
    # Sessions of several hosts have nothing in common but a number, unless one user has them.
    return f'{words} {exact_word("user", user) if user else exact_word("host", host.name)}'


def _shares(
    uses: Iterable[tuple[str, str, FleetHost, FleetGpu, FleetUse]],
) -> list[FleetShare]:
    """Return the sums over the uses of each name and its filter."""
    groups: dict[tuple[str, str], list[tuple[FleetHost, FleetGpu, FleetUse]]] = {}
    for name, words, host, gpu, use in uses:
        groups.setdefault((name, words), []).append((host, gpu, use))
    shares = []
    for (name, words), rows in groups.items():
        gpus = {(host.name, gpu.id): gpu for host, gpu, _ in rows}.values()
        shares.append(
            FleetShare(
                name,
                words,
                tuple(sorted({use.user for _, _, use in rows if use.user})),
                tuple(dict.fromkeys(host.name for host, _, _ in rows)),
                len(gpus),
                sum(gpu.state == 'held' for gpu in gpus),
                mean(gpu.utilization_percent for gpu in gpus),
                total(use.processes for _, _, use in rows),
                total(use.memory_bytes for _, _, use in rows),
            )
        )
    return sorted(shares, key=lambda share: (-share.gpus, share.name))


class Totals(NamedTuple):
    """Sums over hosts; the names are those of the JSON."""

    hosts: int = 0
    hosts_not_responding: int = 0
    gpus: int = 0
    utilization_percent: float | None = None
    memory_used_bytes: float | None = None
    memory_total_bytes: float | None = None
    power_watts: float | None = None
    free_gpus: int = 0
    held_gpus: int = 0
    #: Number of findings about hosts and GPUs, and of critical ones.
    problems: int = 0
    critical_problems: int = 0
    #: Largest age of the values of a host.
    age_seconds: float | None = None

    @property
    def memory_percent(self) -> float | None:
        """Share of the memory in use."""
        return percent_of(self.memory_used_bytes, self.memory_total_bytes)


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are available."""
    known = available(values)
    return sum(known) / len(known) if known else None


def total(values: Iterable[_Number | None]) -> _Number | None:
    """Return the sum of the values that are available, ``None`` if none is."""
    known = available(values)
    return sum(known) if known else None


def available(values: Iterable[_Number | None]) -> list[_Number]:
    """Return the values that are not ``None``."""
    return [value for value in values if value is not None]


def totals(hosts: Iterable[FleetHost]) -> Totals:
    """Return the sums over hosts."""
    known = tuple(hosts)
    present = [host for host in known if not host.is_silent]
    gpus = [gpu for host in present for gpu in host.gpus]
    # Add up memory only if used and total are known: otherwise the percentage would be wrong.
    memory = [gpu for gpu in gpus if gpu.memory_percent is not None]
    problems = [problem for host in known for problem in host.problems]
    return Totals(
        hosts=len(known),
        hosts_not_responding=len(known) - len(present),
        gpus=len(gpus),
        utilization_percent=mean(gpu.utilization_percent for gpu in gpus),
        memory_used_bytes=total(gpu.memory_used_bytes for gpu in memory),
        memory_total_bytes=total(gpu.memory_total_bytes for gpu in memory),
        power_watts=total(host.power_watts for host in present),
        free_gpus=sum(gpu.is_free for gpu in gpus),
        held_gpus=sum(gpu.state == 'held' for gpu in gpus),
        problems=len(problems),
        critical_problems=sum(problem.severity == 'critical' for problem in problems),
        age_seconds=max(available(host.age_seconds for host in present), default=None),
    )
