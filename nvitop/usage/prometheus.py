# SPDX-License-Identifier: Apache-2.0
"""Reads the use of GPUs from Prometheus: the counters of ``nvitop exporter``, on all its hosts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Sequence

from nvitop.accounting.shares import UNKNOWN_USER
from nvitop.fleet.reading import host_name
from nvitop.fleet.series import ROW, equals, marked, vector
from nvitop.fleet.types import FleetError
from nvitop.usage.report import UNOBSERVED, Report, Sums, Table

if TYPE_CHECKING:
    from nvitop.fleet.client import Client
    from nvitop.fleet.series import Scope

#: Columns of reports that the counters can give.
PROMETHEUS_DIMENSIONS = ('user', 'host')
#: Length (seconds) of the parts of a period: a server limits what one query may load.
PART_SECONDS = 86400
#: Labels with the name of the host, the best one first.
HOST_NAMES = ('hostname', 'instance')

_USER, _FREE = 'nvitop_user_gpu', 'nvitop_free_gpu'
#: Field of :class:`~nvitop.usage.report.Sums` → counter.
_COUNTERS = {
    'used': f'{_USER}_seconds_total',
    'held_idle': f'{_USER}_held_idle_seconds_total',
    'joules': f'{_USER}_energy_joules_total',
    'kernels': f'{_USER}_kernel_seconds_total',
    'measured': f'{_USER}_measured_seconds_total',
    'free': f'{_FREE}_seconds_total',
    'free joules': f'{_FREE}_energy_joules_total',
}


def _expression(scope: Scope, names: Sequence[str], seconds: int, *, simulated: bool) -> str:
    """Return the query of one part of the period, of simulated machines or of real ones.

    Several scrape jobs, servers or addresses may have the series of one exporter. So the counters of
    a host are merged before their increase is computed, whatever other labels they have. ``names``
    are the labels that name the host, the best one first.
    """
    info = vector(['nvitop_simulation_info'], scope.match)
    condition = f'{"and" if simulated else "unless"} on (job, instance) {info}'
    subquery = f'[{seconds}s:{15 if seconds <= 3600 else 60}s]'

    def merged(series: str, *labels: str) -> str:
        """Return the series of each host, by the first of the labels with its name."""
        parts, others = [], ''
        for name in names:
            selected = f'{series[:-1]},{others}{name}!=""}}'
            parts.append(f'max by ({", ".join((*labels, name))}) ({selected} {condition})')
            others += f'{name}="",'
        return ' or '.join(parts)

    rows = [
        marked(f'increase(({merged(vector([counter], scope.match), "user")}){subquery})', name)
        for name, counter in _COUNTERS.items()
    ]
    memory = merged(vector([f'{_USER}_memory_bytes'], scope.match), 'user')
    gpus = merged(vector(['nvitop_gpu_up'], scope.match, equals('mig_uuid', '')), 'gpu', 'uuid')
    count = f'count by ({", ".join(names)}) ({gpus})'
    rows.append(marked(f'max_over_time(({memory}){subquery})', 'peak_bytes'))
    rows.append(marked(f'max_over_time(({count}){subquery})', 'gpus'))
    return ' or '.join(rows)


def read_prometheus(
    client: Client, scope: Scope, since: float, until: float, by: tuple[str, ...]
) -> Report:
    """Return the use of the GPUs of all hosts in a period.

    Raises:
        FleetError: The server does not respond, or knows nothing about the period.
    """
    names = (scope.host_label,) if scope.host_label else HOST_NAMES
    days, rest = divmod(round(until - since), PART_SECONDS)
    #: The first end, the last end and the length of the parts of the period.
    parts = [(since + PART_SECONDS, since + days * PART_SECONDS, PART_SECONDS)] if days else []
    parts += [(until, until, rest)] if rest else []
    # Simulated machines are never added to real ones.
    for simulated in (False, True):
        table = Table(by)
        #: Number of GPUs, and the time that was observed, of each host.
        gpus: dict[str, float] = {}
        observed: dict[str, float] = {}
        for start, end, step in parts:
            expression = _expression(scope, names, step, simulated=simulated)
            for row in client.values_over_time(expression, start, end, step):
                label = next((name for name in names if row.labels.get(name)), names[-1])
                host = host_name(label, row.labels.get(label, ''))
                field, user = row.labels.get(ROW, ''), row.labels.get('user', '')
                values = [value for _, value in row.points if math.isfinite(value)]
                if field == 'gpus':
                    gpus[host] = max((gpus.get(host, 0.0), *values))
                elif field in _COUNTERS or field == 'peak_bytes':
                    value = max(values, default=0.0) if field == 'peak_bytes' else sum(values)
                    named: dict[str, Any] = {field.replace('free ', ''): value}
                    sums = Sums(**named)
                    table.add(sums, UNKNOWN_USER if user == '(unknown)' else user, host=host)
                    observed[host] = observed.get(host, 0.0) + sums.seconds
        if gpus:
            break
    else:
        raise FleetError(
            'the server has no counters of nvitop exporter for this period',
            'check --since and --match',
        )
    for host, count in gpus.items():
        missing = max(0.0, count * (until - since) - observed.get(host, 0.0))
        table.add(Sums(unobserved=missing), UNOBSERVED, host=host)
    return Report(
        *(since, until, by, table.rows(), tuple(sorted(gpus)), round(sum(gpus.values()))),
        simulated='demo' if simulated else '',
    )
