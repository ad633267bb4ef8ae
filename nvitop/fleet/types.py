# SPDX-License-Identifier: Apache-2.0
"""Values of a fleet as plain immutable tuples. ``None`` means *not available*."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Iterable, Iterator, Literal, Mapping, NamedTuple, TypeVar

from nvitop.health import HELD_SECONDS, state_of_values

if TYPE_CHECKING:
    from nvitop.health.states import DeviceWord

    #: Severities of findings; others are not queried.
    FaultSeverity = Literal['critical', 'warning']
    Kind = Literal['hosts', 'gpus', 'users', 'jobs', 'host', 'history']
    _Item = TypeVar('_Item')

#: Number of rows that are read between two pauses, in which the thread of the screen runs.
SLICE = 250
PAUSE_SECONDS = 0.0005
#: Ages (seconds) from which data is late (amber) and old (red).
LATE_SECONDS, OLD_SECONDS = 120.0, 300.0


class FleetError(Exception):
    """Hosts cannot be read from the server. The text is shown to the user."""

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


class CurrentValues(NamedTuple):
    """Series with their values, and notes of the server."""

    #: Each can be read once, so that large responses are freed row by row.
    series: Iterator[Series]
    warnings: tuple[str, ...] = ()


class PastValues(NamedTuple):
    """A series with its values over time."""

    name: str
    labels: dict[str, str]
    #: Seconds since the epoch, value.
    points: tuple[tuple[float, float], ...]


class FleetFinding(NamedTuple):
    """Something that is wrong with a GPU."""

    #: ``'lost'``, ``'Xid 79'``.
    words: str
    severity: FaultSeverity = 'critical'


class FleetGpu(NamedTuple):
    """One GPU, even if several exporters report it."""

    #: UUID in lower case without its prefix, or a name made from host and index.
    id: str
    #: Index on its host, ``''`` if no exporter reports it.
    label: str = ''
    utilization_percent: float | None = None
    memory_used_bytes: float | None = None
    memory_total_bytes: float | None = None
    power_watts: float | None = None
    temperature_celsius: float | None = None
    findings: tuple[FleetFinding, ...] = ()
    #: Whether it was busy within the time after which memory in use counts as held.
    was_busy: bool = False
    #: Whether it sleeps, so that it has no values.
    is_asleep: bool = False
    #: Users with processes on it; empty unless GPUs are listed.
    users: tuple[str, ...] = ()

    @property
    def state(self) -> DeviceWord:
        """What it is doing: free, in use, held, busy, asleep, or unknown without a value."""
        if self.is_asleep:
            return 'asleep'
        idle_seconds = 0.0 if self.was_busy else HELD_SECONDS
        return state_of_values(self.utilization_percent, self.memory_used_bytes, idle_seconds).word

    @property
    def is_idle(self) -> bool:
        """Whether it is free, or held."""
        return self.state in ('free', 'held')

    @property
    def is_free(self) -> bool:
        """Whether it is free or asleep, not held, and has no critical finding."""
        return self.state in ('free', 'asleep') and self.severity != 'critical'

    @property
    def severity(self) -> FaultSeverity | None:
        """Highest severity of its findings; ``None`` if there are none."""
        return _worst(finding.severity for finding in self.findings)

    @property
    def memory_percent(self) -> float | None:
        """Share of its memory in use."""
        return percent_of(self.memory_used_bytes, self.memory_total_bytes)


def _worst(severities: Iterable[FaultSeverity]) -> FaultSeverity | None:
    found = {*severities}
    return 'critical' if 'critical' in found else 'warning' if found else None


class FleetProblem(NamedTuple):
    """A finding about a GPU of the fleet."""

    host: str
    #: Index of the GPU, ``'?'`` if unknown.
    gpu: str
    finding: FleetFinding

    @property
    def text(self) -> str:
        """The GPU and what is wrong with it: ``'GPU 3 lost'``."""
        return f'GPU {self.gpu} {self.finding.words}'


class Exporter(NamedTuple):
    """Name of a host in an exporter of one dialect: ``label="value"``."""

    dialect: str
    label: str
    value: str
    #: Value of the label ``instance``, with its port.
    instance: str = ''


class FleetHost(NamedTuple):
    """One machine with its GPUs."""

    name: str
    gpus: tuple[FleetGpu, ...] = ()
    exporters: tuple[Exporter, ...] = ()
    #: Mean utilization of its GPUs.
    utilization_percent: float | None = None
    memory_used_bytes: float | None = None
    memory_total_bytes: float | None = None
    power_watts: float | None = None
    power_limit_watts: float | None = None
    #: Temperature of its hottest GPU.
    temperature_celsius: float | None = None
    #: Users with processes on its GPUs, those with the most GPUs first.
    users: tuple[str, ...] = ()
    #: When its values were measured, in seconds since the epoch; ``None`` if unknown.
    measured: float | None = None
    #: When its values disappeared from the server; ``None`` if it has values.
    gone_since: float | None = None

    @property
    def idle(self) -> int:
        """Number of its idle GPUs."""
        return sum(gpu.is_idle for gpu in self.gpus)

    @property
    def held(self) -> int:
        """Number of its idle GPUs on which a process keeps memory."""
        return sum(gpu.state == 'held' for gpu in self.gpus)

    @property
    def free(self) -> int:
        """Number of its GPUs that are idle and not held, without a critical finding."""
        return sum(gpu.is_free for gpu in self.gpus)

    @property
    def faulty(self) -> int:
        """Number of its GPUs with a finding."""
        return sum(bool(gpu.findings) for gpu in self.gpus)

    @property
    def memory_percent(self) -> float | None:
        """Share of the memory of its GPUs in use."""
        return percent_of(self.memory_used_bytes, self.memory_total_bytes)

    @property
    def problems(self) -> tuple[FleetProblem, ...]:
        """The findings about its GPUs, critical ones first."""
        found = [
            FleetProblem(self.name, gpu.label or '?', finding)
            for gpu in self.gpus
            for finding in gpu.findings
        ]
        return tuple(sorted(found, key=lambda one: one.finding.severity))  # by the alphabet

    @property
    def severity(self) -> FaultSeverity | None:
        """Highest severity of the findings about its GPUs; ``None`` if there are none."""
        return _worst(gpu.severity for gpu in self.gpus if gpu.severity)

    def age(self, now: float) -> float | None:
        """Return the age of its values in seconds; ``None`` if unknown."""
        return None if self.measured is None else max(0.0, now - self.measured)


class FleetUser(NamedTuple):
    """One user over all hosts."""

    name: str
    hosts: int
    gpus: int
    processes: int | None = None
    memory_bytes: float | None = None
    #: Number of the user's GPUs that have been idle for a while.
    held_gpus: int | None = None


class FleetJob(NamedTuple):
    """One job, pod, container, unit or session, over all hosts."""

    #: As in the column ``JOB``: ``'slurm 1392969'``, ``'pod serving/chat-0'``.
    name: str
    #: Words of the filter for its hosts: ``'job:1392969'``.
    filter: str
    users: tuple[str, ...]
    hosts: tuple[str, ...]
    gpus: int
    #: Number of its GPUs that have been idle for a while.
    held_gpus: int = 0
    #: Mean utilization of its GPUs.
    utilization_percent: float | None = None


class Fleet(NamedTuple):
    """All hosts, users or jobs of one response of the server."""

    hosts: tuple[FleetHost, ...] = ()
    users: tuple[FleetUser, ...] = ()
    jobs: tuple[FleetJob, ...] = ()
    #: Time of the server, or of this machine if it does not report it.
    timestamp: float = 0.0
    #: Notes of the server, such as a partial response.
    warnings: tuple[str, ...] = ()
    #: Duration of the request in seconds, and size of the response in bytes.
    seconds: float = 0.0
    size_bytes: int = 0

    @property
    def dialects(self) -> tuple[str, ...]:
        """Names of the dialects that were found."""
        return tuple(sorted({one.dialect for host in self.hosts for one in host.exporters}))


class Totals(NamedTuple):
    """Sums over hosts."""

    hosts: int = 0
    gone: int = 0
    gpus: int = 0
    utilization_percent: float | None = None
    memory_used_bytes: float | None = None
    memory_total_bytes: float | None = None
    power_watts: float | None = None
    idle: int = 0
    held: int = 0
    free: int = 0
    faulty: int = 0
    #: Number of faulty GPUs with a critical finding.
    critical: int = 0
    #: Largest age of the values of a host in seconds.
    age: float | None = None

    @property
    def memory_percent(self) -> float | None:
        """Share of the memory in use."""
        return percent_of(self.memory_used_bytes, self.memory_total_bytes)


def drained(items: list[_Item]) -> Iterator[_Item]:
    """Yield the items and free each one, with pauses: otherwise keys would have to wait."""
    items.reverse()
    while items:
        if len(items) % SLICE == 0:
            time.sleep(PAUSE_SECONDS)
        yield items.pop()


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are available."""
    known = available(values)
    return sum(known) / len(known) if known else None


def total(values: Iterable[float | None]) -> float | None:
    """Return the sum of the values that are available, ``None`` if none is."""
    known = available(values)
    return sum(known) if known else None


def available(values: Iterable[float | None]) -> list[float]:
    """Return the values that are not ``None``."""
    return [value for value in values if value is not None]


def totals(hosts: tuple[FleetHost, ...], now: float) -> Totals:
    """Return the sums over hosts. Hosts that are gone are only counted."""
    present = [host for host in hosts if host.gone_since is None]
    usage = [
        (host.utilization_percent, len(available(gpu.utilization_percent for gpu in host.gpus)))
        for host in present
        if host.utilization_percent is not None
    ]
    measured = sum(number for _, number in usage)
    ages = available(host.age(now) for host in present)
    # Add up memory only if used and total are known: otherwise the percentage would be wrong.
    memory = [host for host in present if host.memory_percent is not None]
    return Totals(
        hosts=len(present),
        gone=len(hosts) - len(present),
        gpus=sum(len(host.gpus) for host in present),
        utilization_percent=(
            sum(percent * number for percent, number in usage) / measured if measured else None
        ),
        memory_used_bytes=total(host.memory_used_bytes for host in memory),
        memory_total_bytes=total(host.memory_total_bytes for host in memory),
        power_watts=total(host.power_watts for host in present),
        idle=sum(host.idle for host in present),
        held=sum(host.held for host in present),
        free=sum(host.free for host in present),
        faulty=sum(host.faulty for host in present),
        critical=sum(gpu.severity == 'critical' for host in present for gpu in host.gpus),
        age=max(ages, default=None),
    )


def remember(previous: tuple[FleetHost, ...], fleet: Fleet) -> Fleet:
    """Return the fleet and the hosts that have disappeared from it.

    Those have no values; see :attr:`FleetHost.gone_since`.
    """
    names = {host.name for host in fleet.hosts}
    gone = tuple(
        host
        if host.gone_since is not None
        else FleetHost(host.name, exporters=host.exporters, gone_since=fleet.timestamp)
        for host in previous
        if host.name not in names
    )
    return fleet._replace(hosts=fleet.hosts + gone) if gone else fleet
