# SPDX-License-Identifier: Apache-2.0
"""Hosts, GPUs, users, jobs and problems as text: tables for people, CSV and JSON for programs. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence

from nvitop.basics.printable import printable
from nvitop.basics.tables import aligned, csv_text
from nvitop.fleet.reading import natural
from nvitop.fleet.types import Totals, totals

if TYPE_CHECKING:
    from nvitop.fleet.queries import Scope
    from nvitop.fleet.types import Fleet, FleetProblem, Kind

FORMATS = ('table', 'json', 'csv')
#: Version of the JSON structure; increased by changes that would break programs.
SCHEMA = 1


class ListColumn(NamedTuple):
    """A column of a list."""

    #: Name in CSV, JSON and ``--sort``.
    name: str
    #: The value of a row at a time.
    value: Callable[[Any, float], Any]
    #: Heading of the table; ``''``: not in the table.
    title: str = ''
    #: The text in the table, if it is not that of the value.
    text: Callable[[Any, float], str] | None = None


class View(NamedTuple):
    """A list that can be printed."""

    columns: tuple[ListColumn, ...]
    rows: Callable[[Fleet], Sequence[Any]]
    #: The question that it asks.
    kind: Kind
    #: Shown instead of an empty table.
    empty: str


# fmt: off
_HOST_COLUMNS = (
    ListColumn('host', lambda host, _: host.name, 'HOST'),
    ListColumn('gpus', lambda host, _: len(host.gpus), 'GPUS'),
    ListColumn('utilization_percent', lambda host, _: rounded(host.utilization_percent, 1), 'UTIL', lambda host, _: percent_text(host.utilization_percent)),
    ListColumn('memory_used_bytes', lambda host, _: rounded(host.memory_used_bytes), 'MEMORY', lambda host, _: memory_text(host.memory_used_bytes, host.memory_total_bytes)),
    ListColumn('memory_total_bytes', lambda host, _: rounded(host.memory_total_bytes)),
    ListColumn('power_watts', lambda host, _: rounded(host.power_watts, 1), 'POWER', lambda host, _: power_text(host.power_watts, host.power_limit_watts)),
    ListColumn('power_limit_watts', lambda host, _: rounded(host.power_limit_watts, 1)),
    ListColumn('temperature_celsius', lambda host, _: rounded(host.temperature_celsius), 'TEMP', lambda host, _: temperature_text(host.temperature_celsius)),
    ListColumn('free_gpus', lambda host, _: host.free, 'FREE'),
    ListColumn('idle_gpus', lambda host, _: host.idle),
    ListColumn('held_gpus', lambda host, _: host.held, 'HELD'),
    ListColumn('age_seconds', lambda host, now: rounded(host.age(now), 1), 'AGE', lambda host, now: age_text(host.age(now))),
    ListColumn('users', lambda host, _: list(host.users), 'USERS', lambda host, _: users_text(host.users)),
    ListColumn('findings', lambda host, _: [problem.text for problem in host.problems], 'PROBLEMS'),
    ListColumn('gpu_utilization_percent', lambda host, _: [rounded(gpu.utilization_percent, 1) for gpu in host.gpus]),
    ListColumn('exporters', lambda host, _: sorted({one.dialect for one in host.exporters})),
)
_GPU_COLUMNS = (
    ListColumn('host', lambda pair, _: pair[0].name, 'HOST'),
    ListColumn('gpu', lambda pair, _: pair[1].label, 'GPU'),
    ListColumn('uuid', lambda pair, _: pair[1].id),
    ListColumn('state', lambda pair, _: 'free' if pair[1].is_free else pair[1].state, 'STATE'),
    ListColumn('utilization_percent', lambda pair, _: rounded(pair[1].utilization_percent, 1), 'UTIL', lambda pair, _: percent_text(pair[1].utilization_percent)),
    ListColumn('memory_used_bytes', lambda pair, _: rounded(pair[1].memory_used_bytes), 'MEMORY', lambda pair, _: memory_text(pair[1].memory_used_bytes, pair[1].memory_total_bytes)),
    ListColumn('memory_total_bytes', lambda pair, _: rounded(pair[1].memory_total_bytes)),
    ListColumn('power_watts', lambda pair, _: rounded(pair[1].power_watts, 1), 'POWER', lambda pair, _: power_text(pair[1].power_watts)),
    ListColumn('temperature_celsius', lambda pair, _: rounded(pair[1].temperature_celsius), 'TEMP', lambda pair, _: temperature_text(pair[1].temperature_celsius)),
    ListColumn('users', lambda pair, _: list(pair[1].users), 'USERS'),
    ListColumn('findings', lambda pair, _: [finding.words for finding in pair[1].findings], 'PROBLEMS'),
)
_USER_COLUMNS = (
    ListColumn('user', lambda user, _: user.name, 'USER'),
    ListColumn('hosts', lambda user, _: user.hosts, 'HOSTS'),
    ListColumn('gpus', lambda user, _: user.gpus, 'GPUS'),
    ListColumn('held_gpus', lambda user, _: user.held_gpus, 'HELD'),
    ListColumn('processes', lambda user, _: user.processes, 'PROCESSES'),
    ListColumn('memory_bytes', lambda user, _: rounded(user.memory_bytes), 'MEMORY', lambda user, _: memory_text(user.memory_bytes, None)),
)
_JOB_COLUMNS = (
    ListColumn('job', lambda job, _: job.name, 'JOB'),
    ListColumn('users', lambda job, _: list(job.users), 'USERS'),
    ListColumn('gpus', lambda job, _: job.gpus, 'GPUS'),
    ListColumn('held_gpus', lambda job, _: job.held_gpus, 'HELD'),
    ListColumn('utilization_percent', lambda job, _: rounded(job.utilization_percent, 1), 'UTIL', lambda job, _: percent_text(job.utilization_percent)),
    ListColumn('hosts', lambda job, _: list(job.hosts), 'HOSTS', lambda job, _: users_text(job.hosts)),
)
_PROBLEM_COLUMNS = (
    ListColumn('host', lambda problem, _: problem.host, 'HOST'),
    ListColumn('gpu', lambda problem, _: problem.gpu, 'GPU'),
    ListColumn('severity', lambda problem, _: problem.finding.severity, 'SEVERITY'),
    ListColumn('finding', lambda problem, _: problem.finding.words, 'PROBLEM'),
)
#: The lists that can be printed.
VIEWS = {
    'hosts': View(_HOST_COLUMNS, lambda fleet: fleet.hosts, 'hosts', 'No host matches'),
    'gpus': View(_GPU_COLUMNS, lambda fleet: [(host, gpu) for host in fleet.hosts for gpu in host.gpus], 'gpus', 'No GPU matches'),
    'users': View(_USER_COLUMNS, lambda fleet: fleet.users, 'users', "No exporter reports users. nvitop's own exporter and nvitop-exporter do."),
    'jobs': View(_JOB_COLUMNS, lambda fleet: fleet.jobs, 'jobs', 'No exporter reports jobs. "nvitop exporter --owners" does, and dcgm-exporter can.'),
    'problems': View(_PROBLEM_COLUMNS, lambda fleet: problems_of(fleet), 'hosts', 'Nothing wrong is known'),
}
# fmt: on
#: Columns that are aligned to the left, as are lists.
_WORDS = frozenset({'host', 'user', 'job', 'state', 'severity', 'finding'})


def problems_of(fleet: Fleet) -> list[FleetProblem]:
    """Return all findings of a fleet, critical ones first."""
    found = [problem for host in fleet.hosts for problem in host.problems]
    return sorted(found, key=lambda problem: problem.finding.severity)  # by the alphabet


def rounded(value: float | None, digits: int = 0) -> float | int | None:
    """Return a value with few digits, a whole number if there are none."""
    if value is None:
        return None
    return round(value, digits) if digits else round(value)


def sorted_rows(view: View, fleet: Fleet, order: str) -> Sequence[Any]:
    """Return the rows of a list, sorted by a column: names ascending, numbers descending.

    Without a column they keep their order. Rows without a value are last.
    """
    rows = view.rows(fleet)
    column = next((one for one in view.columns if one.name == order), None)
    if column is None:
        return rows
    values = [(column.value(row, fleet.timestamp), row) for row in rows]
    known = [pair for pair in values if pair[0] is not None]
    if any(isinstance(value, str) for value, _ in known):
        known.sort(key=lambda pair: natural(pair[0]))
    else:
        known.sort(key=lambda pair: -_size(pair[0]))
    return [row for _, row in known] + [row for value, row in values if value is None]


def _size(value: Any) -> float:
    """Return a number, or the length of a list."""
    return float(len(value) if isinstance(value, list) else value)


def fleet_text(fleet: Fleet, kind: str, name: str = 'hosts', order: str = '') -> str:
    """Return one of :data:`VIEWS` in one of :data:`FORMATS`, sorted by a column."""
    view = VIEWS[name]
    rows = sorted_rows(view, fleet, order)
    if kind == 'table':
        return _table(fleet, view, rows)
    table = [[column.value(row, fleet.timestamp) for column in view.columns] for row in rows]
    names = [column.name for column in view.columns]
    if kind == 'json':
        return _json(fleet, name, [dict(zip(names, values)) for values in table])
    return csv_text([names, *table])


def _json(fleet: Fleet, name: str, rows: list[dict[str, Any]]) -> str:
    sums = totals(fleet.hosts, fleet.timestamp)
    document: dict[str, Any] = {'schema': SCHEMA, 'timestamp': round(fleet.timestamp, 3)}
    if fleet.hosts:
        document['totals'] = {
            'hosts': sums.hosts,
            'gpus': sums.gpus,
            'utilization_percent': rounded(sums.utilization_percent, 1),
            'memory_used_bytes': rounded(sums.memory_used_bytes),
            'memory_total_bytes': rounded(sums.memory_total_bytes),
            'power_watts': rounded(sums.power_watts, 1),
            'free_gpus': sums.free,
            'idle_gpus': sums.idle,
            'held_gpus': sums.held,
            'faulty_gpus': sums.faulty,
            'critical_gpus': sums.critical,
            'age_seconds': rounded(sums.age, 1),
        }
    document['warnings'] = list(fleet.warnings)
    return json.dumps({**document, name: rows}, indent=2) + '\n'


def _table(fleet: Fleet, view: View, rows: Sequence[Any]) -> str:
    now = fleet.timestamp
    columns = [column for column in view.columns if column.title]
    text = f'{view.empty}\n'
    if rows:
        table = [[column.title for column in columns]]
        table += [[printable(_text(column, row, now)) for column in columns] for row in rows]
        left = {
            at
            for at, column in enumerate(columns)
            if column.name in _WORDS or isinstance(column.value(rows[0], now), list)
        }
        text = aligned(table, left)
    if view.kind == 'hosts':  # other responses lack values for some of the totals
        text = '  '.join(totals_texts(totals(fleet.hosts, now)).values()) + f'\n{text}'
    return text


def _text(column: ListColumn, row: Any, now: float) -> str:
    if column.text is not None:
        return column.text(row, now)
    value = column.value(row, now)
    if isinstance(value, list):
        return ', '.join(value)
    return 'N/A' if value is None else str(value)


def no_hosts(scope: Scope) -> str:
    """Return why the server may have returned no host."""
    if scope.match:
        return f'no series of GPUs match {{{",".join(map(str, scope.match))}}}'
    return 'the server has no series of GPUs; does it scrape an exporter for GPUs?'


# Texts of values


def totals_texts(sums: Totals, everything: Totals | None = None) -> dict[str, str]:
    """Return the sums over hosts, and what a filter hides, in the order of the screen."""
    hidden = 0 if everything is None else everything.faulty - sums.faulty
    hosts = counted(sums.hosts, 'host')
    if everything is not None and everything.hosts > sums.hosts:
        hosts = f'{sums.hosts:,} of {counted(everything.hosts, "host")}'
    return {
        'hosts': hosts,
        **({'gone': f'{sums.gone:,} gone'} if sums.gone else {}),
        'gpus': counted(sums.gpus, 'GPU'),
        'utilization': f'util {percent_text(sums.utilization_percent)}',
        'memory': f'mem {percent_text(sums.memory_percent)}',
        'power': power_text(sums.power_watts),
        'free': f'{sums.free:,} free',
        'held': f'{sums.held:,} held',
        'faulty': f'problems on {counted(sums.faulty, "GPU")} ({sums.critical:,} critical)'
        if sums.faulty
        else 'no problems',
        **({'hidden': f'problems on {counted(hidden, "GPU")} hidden'} if hidden > 0 else {}),
        'age': f'age {age_text(sums.age)}',
    }


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``'1 host'``, ``'2,000 hosts'``."""
    return f'{number:,} {noun}{"" if number == 1 else "s"}'


def percent_text(percent: float | None) -> str:
    """Return a percentage: ``'98%'``."""
    return 'N/A' if percent is None else f'{percent:.0f}%'


def memory_text(used: float | None, total: float | None) -> str:
    """Return memory in use and in total: ``'611/640 GiB'``, ``'32.6 TiB'``."""
    if used is None:
        return 'N/A'
    scale, unit, digits = (1 << 30, 'GiB', 0)
    if max(used, total or 0.0) >= 10_000 << 30:
        scale, unit, digits = (1 << 40, 'TiB', 1)
    text = f'{used / scale:.{digits}f}'
    return f'{text} {unit}' if total is None else f'{text}/{total / scale:.{digits}f} {unit}'


def power_text(watts: float | None, limit: float | None = None) -> str:
    """Return power: ``'5.4/5.6 kW'``."""
    if watts is None:
        return 'N/A'
    top = max(watts, limit or 0.0)
    scale, unit, digits = (1.0, 'W', 0) if top < 1000 else (1e3, 'kW', 1)
    if top >= 1e6:
        scale, unit, digits = 1e6, 'MW', 2
    text = f'{watts / scale:.{digits}f}'
    return f'{text} {unit}' if limit is None else f'{text}/{limit / scale:.{digits}f} {unit}'


def temperature_text(celsius: float | None) -> str:
    """Return a temperature: ``'71°C'``."""
    return 'N/A' if celsius is None else f'{celsius:.0f}°C'


def age_text(seconds: float | None) -> str:
    """Return an age: ``'9s'``, ``'3 min'``, ``'2 h'``, ``'5 d'``."""
    if seconds is None:
        return 'N/A'
    if seconds < 120:
        return f'{seconds:.0f}s'
    if seconds < 7200:
        return f'{seconds / 60:.0f} min'
    return f'{seconds / 3600:.0f} h' if seconds < 172800 else f'{seconds / 86400:.0f} d'


def users_text(users: Sequence[str]) -> str:
    """Return users in a short form: ``'bob +2'``."""
    if not users:
        return ''
    return users[0] if len(users) == 1 else f'{users[0]} +{len(users) - 1}'
