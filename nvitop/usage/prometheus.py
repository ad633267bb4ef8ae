# SPDX-License-Identifier: Apache-2.0
"""Reads the use of GPUs from Prometheus: the counters of ``nvitop exporter``, on all its hosts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Iterator, Mapping, Sequence

from nvitop.accounting.shares import UNKNOWN_USER
from nvitop.fleet.queries import ROW, equals, marked, vector
from nvitop.fleet.reading import host_name
from nvitop.fleet.types import FleetError
from nvitop.usage.report import UNOBSERVED, Place, Report, Sums, Table

if TYPE_CHECKING:
    from nvitop.fleet.client import Client
    from nvitop.fleet.queries import Scope
    from nvitop.fleet.types import PastValues

#: Columns of reports that the counters can give.
PROMETHEUS_DIMENSIONS = ('user', 'job', 'host')
#: Length (seconds) of the parts of a period: a server limits what one query may load.
PART_SECONDS = 86400
#: Time (seconds) of a user outside jobs below which it is a rounding error.
ROUNDING_SECONDS = 1.0

_COUNTERS = {
    'used': 'seconds',
    'held_idle': 'held_idle_seconds',
    'joules': 'energy_joules',
    'kernels': 'kernel_seconds',
    'measured': 'measured_seconds',
}
#: Fields of :class:`~nvitop.usage.report.Sums` that the query has.
_NAMES = frozenset({*_COUNTERS, 'free', 'peak_bytes'})
#: Labels with the name of the host, the best one first.
HOST_NAMES = ('hostname', 'instance')
#: Counters that show only whether a job used a GPU.
_PRESENCE = {name: _COUNTERS[name] for name in ('used', 'held_idle')}
_OWNER = ('owner_kind', 'owner_id')


def _expression(
    scope: Scope, names: Sequence[str], seconds: int, *, jobs: bool, simulated: bool
) -> str:
    """Return the query of one part of the period.

    Several scrape jobs, servers or addresses may have the series of one exporter. So the counters of
    a host are merged before their increase is computed, whatever other labels they have.

    Args:
        scope: The part of the fleet.
        names: Labels that name the host, the best one first.
        seconds: Length of the part.
        jobs: Whether the use of each job is needed.
        simulated: Whether simulated machines are counted, instead of real ones.
    """
    info = vector(['nvitop_simulation_info'], scope.match)
    condition = f'{"and" if simulated else "unless"} on (job, instance) {info}'
    step = 15 if seconds <= 3600 else 60

    def merged(how: str, labels: Sequence[str], series: str) -> str:
        """Return the series of each host, by the first of the labels with its name."""
        parts, others = [], ''
        for name in names:
            selected = f'{series[:-1]},{others}{name}!=""}}'
            parts.append(f'{how} by ({", ".join((*labels, name))}) ({selected} {condition})')
            others += f'{name}="",'
        return ' or '.join(parts)

    def increases(prefix: str, labels: Sequence[str], counters: Mapping[str, str]) -> Iterator[str]:
        for mark, counter in counters.items():
            series = vector([f'nvitop_{prefix}_gpu_{counter}_total'], scope.match)
            total = f'increase(({merged("max", labels, series)})[{seconds}s:{step}s])'
            yield marked(total, f'{prefix} {mark}')

    memory = vector(['nvitop_user_gpu_memory_bytes'], scope.match)
    up = vector(['nvitop_gpu_up'], scope.match, equals('mig_uuid', ''))
    peak = f'max_over_time(({merged("max", ("user",), memory)})[{seconds}s:{step}s])'
    gpus = merged('max', ('gpu', 'uuid'), up)
    count = f'count by ({", ".join(names)}) ({gpus})'
    return ' or '.join(
        (
            *increases('user', ('user',), _COUNTERS),
            *increases('owner', ('user', *_OWNER), _COUNTERS if jobs else _PRESENCE),
            *increases('free', (), {'free': 'seconds', 'joules': 'energy_joules'}),
            marked(peak, 'user peak_bytes'),
            marked(f'max_over_time(({count})[{seconds}s:{step}s])', 'gpus count'),
        )
    )


def read_prometheus(
    client: Client, scope: Scope, since: float, until: float, by: tuple[str, ...]
) -> Report:
    """Return the use of the GPUs of all hosts in a period.

    Raises:
        FleetError: The server does not respond, or knows nothing about the period.
    """
    names = (scope.host_label,) if scope.host_label else HOST_NAMES
    #: Use by host, user and job, and number of GPUs by host.
    uses: dict[tuple[str, str, str], Sums] = {}
    gpus: dict[str, float] = {}
    # Simulated machines are never added to real ones.
    for simulated in (False, True):
        for start, end, step in _parts(since, until):
            expression = _expression(scope, names, step, jobs='job' in by, simulated=simulated)
            for values in client.values_over_time(expression, start, end, step):
                _add(values, names, uses, gpus)
        if gpus:
            break
    else:
        raise FleetError(
            'the server has no counters of nvitop exporter for this period',
            'check --since and --match',
        )
    table = Table(by)
    if 'job' in by:
        _take_jobs_from_users(uses)
    else:
        _count_jobs_of_users(uses)
    observed: dict[str, float] = {}
    for (host, user, job), sums in uses.items():
        table.add(Place(user, job, host=host), sums)
        observed[host] = observed.get(host, 0.0) + sums.seconds
    for host, count in gpus.items():
        rest = max(0.0, count * (until - since) - observed.get(host, 0.0))
        table.add(Place(UNOBSERVED, host=host), Sums(unobserved=rest))
    hosts = tuple(sorted(gpus))
    return Report(
        *(since, until, by, table.rows(), hosts, round(sum(gpus.values()))),
        simulated='demo' if simulated else '',
    )


def _parts(since: float, until: float) -> Iterator[tuple[float, float, int]]:
    """Yield the first end, the last end and the length of the parts of a period."""
    days, rest = divmod(round(until - since), PART_SECONDS)
    if days:
        yield since + PART_SECONDS, since + days * PART_SECONDS, PART_SECONDS
    if rest:
        yield until, until, rest


def _add(
    values: PastValues,
    names: Sequence[str],
    uses: dict[tuple[str, str, str], Sums],
    gpus: dict[str, float],
) -> None:
    """Add the values of one row of the query at the ends of all parts."""
    labels = values.labels
    label = next((name for name in names if labels.get(name)), names[-1])
    host = host_name(label, labels.get(label, ''))
    kind, _, name = labels.get(ROW, '').partition(' ')
    known = [value for _, value in values.points if math.isfinite(value)]
    if kind == 'gpus':
        gpus[host] = max((gpus.get(host, 0.0), *known))
        return
    if name not in _NAMES:  # no row of the query
        return
    user = labels.get('user', '')
    user = UNKNOWN_USER if user == '(unknown)' else user
    job = f'{labels.get(_OWNER[0], "")} {labels.get(_OWNER[1], "")}' if kind == 'owner' else ''
    sums = uses.setdefault((host, user, job), Sums())
    before = getattr(sums, name)
    setattr(sums, name, max((before, *known)) if name == 'peak_bytes' else before + sum(known))


def _count_jobs_of_users(uses: dict[tuple[str, str, str], Sums]) -> None:
    """Replace the use of jobs by the number of jobs of each user."""
    for host, user, job in [key for key in uses if key[2]]:
        sums = uses.pop((host, user, job))
        if sums.seconds:
            uses.setdefault((host, user, ''), Sums()).jobs.add((job, ''))


def _take_jobs_from_users(uses: dict[tuple[str, str, str], Sums]) -> None:
    """Reduce the use of each user to that outside of jobs."""
    for (host, user, job), sums in list(uses.items()):
        if not job:
            continue
        all_of_user = uses.get((host, user, ''), Sums())
        for name in _COUNTERS:
            rest = getattr(all_of_user, name) - getattr(sums, name)
            setattr(all_of_user, name, max(0.0, rest))
        all_of_user.peak_bytes = 0.0
    for host, user, job in list(uses):
        outside = uses.get((host, user, ''))
        if job and outside is not None and outside.seconds < ROUNDING_SECONDS:
            del uses[host, user, '']
