# SPDX-License-Identifier: Apache-2.0
"""Hosts, GPUs and users from the series of a response. Pure.

Several exporters may report one GPU, and one exporter may have several names. GPUs are
joined by UUID and never counted twice.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Iterable, Mapping

from nvitop.basics.printable import printable
from nvitop.exporter.families import bare_uuid
from nvitop.fleet.series import (
    COUNTING_SERIES,
    INSTANCE,
    JOB_LABEL,
    MIG_LABELS,
    OWNER_SERIES,
    POD_LABELS,
    PREFERENCE,
    ROW,
    USER_MEMORY,
    USER_SERIES,
    identity_labels,
    index_labels,
    meanings,
)
from nvitop.fleet.types import (
    Exporter,
    Fleet,
    FleetFinding,
    FleetGpu,
    FleetHost,
    FleetJob,
    FleetUser,
    available,
    drained,
    mean,
    total,
)
from nvitop.health import KINDS
from nvitop.health.xid import action_of
from nvitop.owner.types import JOBS, PLAIN, TOOLS, Layer

if TYPE_CHECKING:
    from nvitop.fleet.queries import Scope
    from nvitop.fleet.types import Series

#: Numbers are compared in groups of digits, because converting thousands of digits takes long.
_DIGITS = re.compile('([0-9]{1,18})')
#: Kind of finding → words.
COUNTED: dict[str, str] = {kind: label.counted for kind, label in KINDS.items()}
#: Value of ``nvitop_gpu_health`` of critical findings.
CRITICAL = 3.0
_RANKS = {name: rank for rank, name in enumerate(PREFERENCE)}
_USER_DIALECTS = {series: name for name, (series, _) in USER_SERIES.items()}
_INSTANCE_SUMS = ('memory_used', 'memory_total', 'memory_free', 'memory_reserved')
_MEMORY_PARTS = ('memory_used', 'memory_free', 'memory_reserved')


class _Member:
    """Values of one host from one exporter."""

    def __init__(self, exporter: Exporter, name: str) -> None:
        self.exporter = exporter
        self.name = name
        #: GPU → metric → value.
        self.gpus: dict[str, dict[str, float]] = {}
        #: GPU and metric → name of the series with the value.
        self.sources: dict[tuple[str, str], str] = {}
        self.indices: dict[str, str] = {}
        #: Metric → value of the host.
        self.values: dict[str, float] = {}
        self.findings: dict[str, list[FleetFinding]] = {}
        #: GPUs that are idle, but were busy a short time ago.
        self.recent: set[str] = set()
        self.asleep: set[str] = set()
        #: User → number of processes or rows.
        self.users: dict[str, float] = {}
        self.users_of_gpus: dict[str, set[str]] = {}
        self.measured: float | None = None

    def order(self) -> tuple[int, int, str]:
        """Sort by preference: the exporter with the most GPUs first."""
        return -len(self.gpus), _RANKS.get(self.exporter.dialect, 99), self.exporter.instance


class _Hosts:
    """The exporters of all hosts."""

    def __init__(self, scope: Scope) -> None:
        self._labels = scope.host_labels
        self.members: dict[tuple[str, tuple[str | None, ...]], _Member] = {}
        #: Labels of a host → when it was measured.
        self.times: dict[tuple[str | None, ...], float] = {}

    def key_of(self, labels: Mapping[str, str]) -> tuple[str | None, ...]:
        """Return the values of all labels that may name the host."""
        return tuple(map(labels.get, self._labels))

    def member(self, dialect: str, labels: Mapping[str, str]) -> _Member:
        """Return the exporter that a row comes from."""
        key = self.key_of(labels)
        found = self.members.get((dialect, key))
        if found is None:
            place, value = next(
                ((label, value) for label, value in zip(self._labels, key) if value),
                (INSTANCE, ''),
            )
            exporter = Exporter(dialect, place, value, labels.get(INSTANCE, ''))
            found = _Member(exporter, host_name(place, value))
            self.members[dialect, key] = found
        return found


def host_name(label: str, value: str) -> str:
    """Return the name of a host: an instance without its port, safe to draw."""
    if label == INSTANCE:
        host, colon, port = value.rpartition(':')
        if colon and port.isdecimal() and (':' not in host or host.endswith(']')):
            value = host.strip('[]')
    return printable(value) or '(unnamed)'


def read_fleet(series: Iterable[Series], scope: Scope, timestamp: float) -> Fleet:
    """Return the hosts of a response to ``hosts_query`` or ``gpus_query``."""
    hosts = _Hosts(scope)
    for one in series:
        if math.isfinite(one.value):
            _add(hosts, one)
    for key, member in hosts.members.items():
        member.measured = hosts.times.get(key[1])
    joined = sorted(_joined(hosts.members.values()), key=lambda pair: natural(pair[0]))
    hosts.members.clear()
    found = tuple(_host(name, members) for name, members in drained(joined))
    return Fleet(found, timestamp=timestamp)


def natural(text: str) -> tuple[list[str | int], str]:
    """Return a key that sorts ``gpu9`` before ``gpu10``."""
    parts: list[str | int] = [*_DIGITS.split(text)]
    parts[1::2] = [int(digits) for digits in parts[1::2]]
    return parts, text


def _add(hosts: _Hosts, one: Series) -> None:
    labels = one.labels
    row = labels.get(ROW, '')
    if row == 'time':
        hosts.times[hosts.key_of(labels)] = one.value
    elif row == 'user':
        dialect = _USER_DIALECTS.get(one.name)
        if dialect is not None:
            user = labels.get(USER_SERIES[dialect][1], '')
            member = hosts.member(dialect, labels)
            member.users[user] = member.users.get(user, 0) + one.value
            if user and _first(labels, identity_labels()):  # the list of GPUs
                member.users_of_gpus.setdefault(_gpu_id(member, labels), set()).add(user)
    elif row in ('down', 'health', 'missing', 'xid', 'remap'):
        _add_finding(hosts, row, one)
    elif row in ('silent', 'recent', 'asleep'):
        meaning = meanings().get(one.name)
        member = hosts.member('own' if meaning is None else meaning.dialect, labels)
        gpu = _gpu_id(member, labels)
        member.gpus.setdefault(gpu, {})
        if row != 'silent':
            (member.recent if row == 'recent' else member.asleep).add(gpu)
    else:
        meaning = meanings().get(one.name)
        if meaning is None:
            return
        member = hosts.member(meaning.dialect, labels)
        value = one.value * meaning.factor
        if not row:
            _add_to_gpu(member, meaning.metric, one, value)
        else:  # several jobs may read one exporter
            known = member.values.get(meaning.metric, value)
            member.values[meaning.metric] = max(known, value)


def _add_to_gpu(member: _Member, metric: str, one: Series, value: float) -> None:
    """Add a value. The instances of a GPU (MIG) share its memory; other values are the largest."""
    gpu = _gpu_id(member, one.labels)
    values = member.gpus.setdefault(gpu, {})
    # An exporter may have an old and a new name for the same metric.
    if member.sources.setdefault((gpu, metric), one.name) != one.name:
        return
    if metric in _INSTANCE_SUMS and _first(one.labels, MIG_LABELS):
        values[metric] = values.get(metric, 0.0) + value
    else:
        values[metric] = max(values.get(metric, value), value)


def _add_finding(hosts: _Hosts, row: str, one: Series) -> None:
    dialect = 'own' if one.name.startswith('nvitop_') else 'dcgm'
    member = hosts.member(dialect, one.labels)
    kind, bus_id = one.labels.get('kind', ''), one.labels.get('pci_bus_id', '')
    words = {
        'down': 'not responding',
        'health': COUNTED.get(kind, printable(kind)),
        'missing': f'missing: {printable(bus_id) or "unknown bus ID"}',
        'xid': f'Xid {one.value:g}',
        'remap': 'with failed remapping',
    }[row]
    is_warning = row == 'health' and one.value < CRITICAL
    if row == 'xid':
        severity = action_of(int(one.value)).severity
        if severity == 'info':  # an error of the program
            return
        is_warning = severity != 'critical'
    gpu = _gpu_id(member, {'uuid': bus_id} if row == 'missing' else one.labels)
    member.gpus.setdefault(gpu, {})
    finding = FleetFinding(words, 'warning' if is_warning else 'critical')
    member.findings.setdefault(gpu, []).append(finding)


def _gpu_id(member: _Member, labels: Mapping[str, str]) -> str:
    uuid = _first(labels, identity_labels())
    gpu = bare_uuid(uuid)
    if uuid and gpu in member.indices:
        return gpu
    index = _first(labels, index_labels(member.exporter.dialect))
    gpu = gpu or f'{member.name}#{index}'
    if index:
        member.indices[gpu] = printable(index.partition(':')[0][:4])
    return gpu


def _first(labels: Mapping[str, str], names: Iterable[str]) -> str:
    """Return the first of these labels that has a value, ``''`` if none has."""
    for name in names:
        value = labels.get(name)
        if value:
            return value
    return ''


def _joined(members: Iterable[_Member]) -> list[tuple[str, list[_Member]]]:
    """Return the exporters of each host. Hosts that share a GPU are one host with two names."""
    groups: dict[str, list[_Member]] = {}
    for member in members:
        groups.setdefault(member.name, []).append(member)
    parents = {name: name for name in groups}

    def root(name: str) -> str:
        while parents[name] != name:
            parents[name] = name = parents[parents[name]]
        return name

    owners: dict[str, str] = {}
    for name, several in groups.items():
        for member in several:
            for gpu in member.gpus:
                first, second = root(owners.setdefault(gpu, name)), root(name)
                if first != second:
                    # A label names the host better than an address.
                    has_label = any(one.exporter.label != INSTANCE for one in groups[second])
                    kept, other = (second, first) if has_label else (first, second)
                    parents[other] = kept
    joined: dict[str, list[_Member]] = {}
    for name, several in groups.items():
        joined.setdefault(root(name), []).extend(several)
    return list(joined.items())


def _host(name: str, members: list[_Member]) -> FleetHost:
    """Return a host. Each value comes from the best exporter that has it."""
    members.sort(key=_Member.order)
    gpus: dict[str, dict[str, float]] = {}
    indices: dict[str, str] = {}
    findings: dict[str, list[FleetFinding]] = {}
    for member in sorted(members, key=lambda one: _RANKS.get(one.exporter.dialect, 99)):
        for gpu, values in member.gpus.items():
            gpus[gpu] = {**values, **_memory_of_gpu(values), **gpus.get(gpu, {})}
        for gpu, index in member.indices.items():
            indices.setdefault(gpu, index)
        for gpu, words in member.findings.items():
            findings.setdefault(gpu, []).extend(words)
    asleep = set().union(*(member.asleep for member in members))
    users: dict[str, float] = {}
    for member in members:
        users = users or member.users
    order = sorted(gpus, key=lambda gpu: (natural(indices.get(gpu, '~')), gpu))
    return FleetHost(
        name,
        gpus=tuple(
            _gpu(gpu, indices.get(gpu, ''), gpus[gpu], findings.get(gpu, ()))._replace(
                is_asleep=gpu in asleep,
                was_busy=any(gpu in member.recent for member in members),
                users=_users_of_gpu(members, gpu),
            )
            for gpu in order
        ),
        exporters=tuple(member.exporter for member in members),
        utilization_percent=mean(values.get('gpu_utilization') for values in gpus.values()),
        memory_used_bytes=total(values.get('memory_used') for values in gpus.values()),
        memory_total_bytes=_memory_total(members),
        power_watts=_sum(members, 'power_usage'),
        power_limit_watts=_sum(members, 'power_limit'),
        temperature_celsius=max(
            available(member.values.get('temperature') for member in members), default=None
        ),
        users=tuple(
            printable(user) for user in sorted(users, key=lambda user: (-users[user], user)) if user
        ),
        measured=max(available(member.measured for member in members), default=None),
    )


def _users_of_gpu(members: list[_Member], gpu: str) -> tuple[str, ...]:
    found = next((users for one in members if (users := one.users_of_gpus.get(gpu))), ())
    return tuple(sorted(map(printable, found)))


def _gpu(
    gpu: str, label: str, values: Mapping[str, float], findings: Iterable[FleetFinding]
) -> FleetGpu:
    unique: dict[str, FleetFinding] = {}  # several kinds have the same words
    for finding in sorted(findings, key=lambda one: one.severity):  # by the alphabet
        unique.setdefault(finding.words, finding)
    return FleetGpu(
        gpu,
        label,
        utilization_percent=values.get('gpu_utilization'),
        memory_used_bytes=values.get('memory_used'),
        memory_total_bytes=values.get('memory_total'),
        power_watts=values.get('power_usage'),
        temperature_celsius=values.get('temperature'),
        findings=tuple(unique.values()),
    )


def _memory_of_gpu(values: Mapping[str, float]) -> dict[str, float]:
    """Return the memory of a GPU as the sum of its parts, if the exporter does not report it."""
    if 'memory_total' in values or not {'memory_used', 'memory_free'} <= {*values}:
        return {}
    return {'memory_total': sum(values.get(part, 0.0) for part in _MEMORY_PARTS)}


def _sum(members: list[_Member], metric: str) -> float | None:
    """Return the sum of a value over exporters that have no GPU in common."""
    known = [member for member in members if metric in member.values]
    counted: set[str] = set()
    parts: list[float] = []
    for member in known:
        if not parts or (member.gpus and counted.isdisjoint(member.gpus)):
            parts.append(member.values[metric])
            counted.update(member.gpus)
    return sum(parts) if parts else None


def _memory_total(members: list[_Member]) -> float | None:
    reported = _sum(members, 'memory_total')
    if reported is not None:
        return reported
    parts = _sum(members, 'memory_free'), _sum(members, 'memory_reserved')
    first = next((member for member in members if 'memory_free' in member.values), None)
    if first is None or parts[0] is None:
        return None
    used = total(values.get('memory_used') for values in first.gpus.values())
    return None if used is None else used + parts[0] + (parts[1] or 0.0)


class _Usage:
    """Use of one GPU by one user, as the best exporter reports it."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.host = ''
        self.processes: float | None = None
        self.memory: float | None = None


def read_users(series: Iterable[Series], scope: Scope, timestamp: float) -> Fleet:
    """Return the users of a response to ``users_query``, those with the most GPUs first."""
    hosts = _Hosts(scope)
    usages: dict[tuple[str, str], _Usage] = {}
    idle = set()
    for one in series:
        row = one.labels.get(ROW, '')
        if not math.isfinite(one.value):
            continue
        if row == 'idle':
            idle.add(_gpu_of_value(hosts, one))
            continue
        dialect = _USER_DIALECTS.get(one.name, 'own')
        user = one.labels.get(USER_SERIES[dialect][1], '')
        if user:
            member = hosts.member(dialect, one.labels)
            key = printable(user), _gpu_id(member, one.labels)
            rank = _RANKS[dialect]
            usage = usages.get(key)
            if usage is None or usage.rank > rank:
                usage = usages[key] = _Usage(rank)
            if usage.rank == rank:
                usage.host = member.name
                _add_usage(usage, row, one)
    by_user: dict[str, list[tuple[str, _Usage]]] = {}
    for (user, gpu), usage in usages.items():
        by_user.setdefault(user, []).append((gpu, usage))
    users = [_user(name, several, idle) for name, several in by_user.items()]
    users.sort(key=lambda user: (-user.gpus, user.name))
    return Fleet(users=tuple(users), timestamp=timestamp)


def _add_usage(usage: _Usage, row: str, one: Series) -> None:
    if row == 'memory' and one.name in USER_MEMORY:
        usage.memory = max(usage.memory or 0.0, one.value * USER_MEMORY[one.name])
    elif row == ('processes' if one.name in COUNTING_SERIES else 'count'):
        usage.processes = max(usage.processes or 0.0, one.value)


def _user(name: str, usages: list[tuple[str, _Usage]], idle: set[str]) -> FleetUser:
    processes = total(usage.processes for _, usage in usages)
    return FleetUser(
        name,
        hosts=len({usage.host for _, usage in usages}),
        gpus=len(usages),
        processes=None if processes is None else int(processes),
        memory_bytes=total(usage.memory for _, usage in usages),
        held_gpus=sum(gpu in idle for gpu, _ in usages),
    )


def _gpu_of_value(hosts: _Hosts, one: Series) -> str:
    """Return the GPU with the value of a metric."""
    return _gpu_id(hosts.member(meanings()[one.name].dialect, one.labels), one.labels)


class _Job:
    """Where a job runs."""

    def __init__(self, words: str) -> None:
        self.filter = words
        self.users: set[str] = set()
        self.hosts: set[str] = set()
        self.gpus: set[str] = set()


def read_jobs(series: Iterable[Series], scope: Scope, timestamp: float) -> Fleet:
    """Return the jobs of a response to ``jobs_query``, those with the most GPUs first."""
    hosts = _Hosts(scope)
    jobs: dict[tuple[str, str], _Job] = {}
    idle: set[str] = set()
    usage: dict[str, float] = {}
    for one in series:
        row = one.labels.get(ROW, '')
        if not math.isfinite(one.value):
            continue
        if row == 'owner':
            member = hosts.member('own' if one.name == OWNER_SERIES else 'dcgm', one.labels)
            owner = _owner(one.labels)
            # Sessions of several hosts have nothing in common but a number.
            place = member.name if owner.kind in TOOLS or owner.kind in PLAIN else ''
            name = printable(str(owner))
            job = jobs.setdefault((name, place), _Job(_filter(owner, place)))
            job.hosts.add(member.name)
            job.gpus.add(_gpu_id(member, one.labels))
            job.users.update(filter(None, [printable(one.labels.get('user', ''))]))
        elif one.name in meanings():
            gpu = _gpu_of_value(hosts, one)
            if row == 'idle':
                idle.add(gpu)
            else:
                usage.setdefault(gpu, one.value * meanings()[one.name].factor)
    found = [
        FleetJob(
            name,
            job.filter,
            tuple(sorted(job.users)),
            tuple(sorted(job.hosts, key=natural)),
            len(job.gpus),
            len(job.gpus & idle),
            mean(usage.get(gpu) for gpu in job.gpus),
        )
        for (name, _), job in jobs.items()
    ]
    found.sort(key=lambda job: (-job.gpus, natural(job.name)))
    return Fleet(jobs=tuple(found), timestamp=timestamp)


def _filter(owner: Layer, place: str) -> str:
    """Return the words of the filter for the hosts of a job, or of a session on one host."""
    name = owner.id if owner.kind in JOBS else owner.name or owner.id
    # Each word makes the query longer, and servers limit its length.
    words = [f'job:{word}' for word in sorted(printable(name).split(), key=len)[-1:]]
    return ' '.join([*words, f'host:{place}'] if place else words)


def _owner(labels: Mapping[str, str]) -> Layer:
    kind = labels.get('owner_kind', '')
    if kind:
        return Layer(kind, labels.get('owner_id', ''), labels.get('owner_name') or None)
    job = labels.get(JOB_LABEL)
    if job:
        return Layer('slurm', job)
    names = [[labels.get(label, '') for label in pair] for pair in reversed(POD_LABELS)]
    return Layer('pod', '', next(('/'.join(pair) for pair in names if pair[1]), None))
