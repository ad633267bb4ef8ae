# SPDX-License-Identifier: Apache-2.0
"""The lists of a fleet: their filter, and their columns on the screen, in tables, CSV and JSON. Pure."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Callable, Iterable, Literal, NamedTuple, Sequence

from nvitop.basics.text import (
    aligned,
    contains,
    counted,
    csv_text,
    filter_words,
    is_named,
    name_in_quotes,
    printable,
    split_word,
)
from nvitop.basics.units import format_duration
from nvitop.fleet.reading import natural
from nvitop.fleet.types import LATE_SECONDS, OLD_SECONDS, FleetHost, Totals, available, totals
from nvitop.version import __version__

if TYPE_CHECKING:
    from nvitop.fleet.series import Scope
    from nvitop.fleet.types import Fleet, FleetGpu

    #: How a value is drawn; ``'heat'``: by its size in percent.
    Look = Literal['', 'good', 'warning', 'critical', 'dim', 'heat']

#: Minimum width of a screen that does not shorten users for the words about problems.
_WITH_USERS = 100
#: Maximum number of ranges of hosts with free GPUs above a table.
_MOST_RANGES = 3
#: State → words of its finding.
_STATES = {'timed out': 'not responding'}
FORMATS = ('table', 'json', 'csv')
#: Version of the JSON structure; increased by changes that would break programs.
SCHEMA = 1


class ListColumn(NamedTuple):
    """A column of a list."""

    #: Name in CSV, JSON and ``--sort``.
    name: str
    #: The value of a row at a time.
    value: Callable[[Any, float], Any]
    #: Heading of table and screen; ``''``: in neither.
    title: str = ''
    #: The text in table and screen, if it is not that of the value.
    text: Callable[[Any, float], str] | None = None
    #: Cells on the screen, from narrow to wide; 0 takes the rest.
    sizes: tuple[int, ...] = ()
    #: On a narrow screen, columns of the highest rank are left out first; those of rank 0 never.
    rank: int = 0
    #: Letter after ``o`` that sorts by this column on the screen.
    key: str = ''
    align: str = '>'
    #: How the value is drawn.
    look: Callable[[Any, float], Look] = lambda row, now: ''

    def shown(self, row: Any, now: float) -> str:
        """Return the text of a row, safe to draw."""
        if self.text is not None:
            return printable(self.text(row, now))
        value = self.value(row, now)
        if isinstance(value, list):
            return printable(', '.join(value))
        return 'N/A' if value is None else printable(str(value))


class View(NamedTuple):
    """A list."""

    columns: tuple[ListColumn, ...]
    rows: Callable[[Fleet], Sequence[Any]]
    #: The column that orders it, the largest values first.
    order: str
    #: Shown instead of an empty list.
    empty: str


def age_look(age: float | None) -> Look:
    """Return how an age is drawn."""
    if age is None:
        return 'dim'
    return 'critical' if age >= OLD_SECONDS else 'warning' if age >= LATE_SECONDS else ''


# fmt: off
_HOST_COLUMNS = (
    ListColumn('host', lambda host, _: host.name, 'HOST', sizes=(8, 28), key='h', align='<'),
    ListColumn('gpus', lambda host, _: len(host.gpus), 'GPUS', sizes=(4,), rank=6, key='g'),
    ListColumn('utilization_percent', lambda host, _: rounded(host.utilization_percent, 1), 'UTIL', lambda host, _: percent_text(host.utilization_percent), (5,), 2, 'u', look=lambda host, _: 'heat'),
    ListColumn('memory_used_bytes', lambda host, _: rounded(host.memory_used_bytes), 'MEM GiB', lambda host, _: memory_text(host.memory_used_bytes, host.memory_total_bytes), (9,), 7, 'm'),
    ListColumn('memory_total_bytes', lambda host, _: rounded(host.memory_total_bytes)),
    ListColumn('power_watts', lambda host, _: rounded(host.power_watts, 1), 'POWER kW', lambda host, _: 'N/A' if host.power_watts is None else f'{host.power_watts / 1e3:.1f}', (8,), 9, 'p'),
    ListColumn('temperature_celsius', lambda host, _: rounded(host.temperature_celsius), 'TEMP', lambda host, _: temperature_text(host.temperature_celsius), (5,), 5, 't'),
    ListColumn('free_gpus', lambda host, _: host.free, 'FREE', lambda host, _: str(host.free or ''), (5,), 1, 'r', look=lambda host, _: 'good'),
    ListColumn('held_gpus', lambda host, _: host.held, 'HELD', lambda host, _: str(host.held or ''), (5,), 1, 'd', look=lambda host, _: 'warning'),
    ListColumn('age_seconds', lambda host, now: rounded(host.age(now), 1)),
    ListColumn('models', lambda host, _: list(dict.fromkeys(gpu.model.replace('NVIDIA ', '') for gpu in host.gpus if gpu.model)), 'MODEL', sizes=(16,), rank=10, align='<'),
    ListColumn('users', lambda host, _: list(host.users), 'USERS', lambda host, _: users_text(host.users) or _unknown_users(host.gpus), (14,), 3, align='<', look=lambda host, _: _users_look(host.users)),
    ListColumn('findings', lambda host, _: [problem.text for problem in host.problems], 'PROBLEMS', lambda host, now: ', '.join(problems_of(host, now)), (16, 0), key='f', look=lambda host, now: host.severity or age_look(host.age(now)), align='<'),
    ListColumn('gpu_utilization_percent', lambda host, _: [rounded(gpu.utilization_percent, 1) for gpu in host.gpus]),
    ListColumn('names', lambda host, _: '' if host.is_silent else host.kind),
)
_GPU_COLUMNS = (
    ListColumn('host', lambda pair, _: pair[0].name, 'HOST', sizes=(8, 28), align='<'),
    ListColumn('gpu', lambda pair, _: pair[1].label, 'GPU', sizes=(4,)),
    ListColumn('uuid', lambda pair, _: pair[1].id),
    ListColumn('state', lambda pair, _: pair[1].state, 'STATE', lambda pair, _: _STATES.get(pair[1].state, pair[1].state), (14,), align='<', look=lambda pair, _: _state_look(pair[1])),
    ListColumn('utilization_percent', lambda pair, _: rounded(pair[1].utilization_percent, 1), 'UTIL', lambda pair, _: percent_text(pair[1].utilization_percent), (5,), 2, look=lambda host, _: 'heat'),
    ListColumn('memory_used_bytes', lambda pair, _: rounded(pair[1].memory_used_bytes), 'MEM GiB', lambda pair, _: memory_text(pair[1].memory_used_bytes, pair[1].memory_total_bytes, 1), (9,), 3),
    ListColumn('memory_total_bytes', lambda pair, _: rounded(pair[1].memory_total_bytes)),
    ListColumn('power_watts', lambda pair, _: rounded(pair[1].power_watts, 1), 'POWER W', lambda pair, _: 'N/A' if pair[1].power_watts is None else f'{pair[1].power_watts:.0f}', (7,), 6),
    ListColumn('temperature_celsius', lambda pair, _: rounded(pair[1].temperature_celsius), 'TEMP', lambda pair, _: temperature_text(pair[1].temperature_celsius), (5,), 5),
    ListColumn('users', lambda pair, _: list(pair[1].users), 'USERS', lambda pair, _: ', '.join(pair[1].users) or _unknown_users(pair[1:]), sizes=(12,), rank=1, align='<', look=lambda pair, _: _users_look(pair[1].users)),
    ListColumn('jobs', lambda pair, _: list(dict.fromkeys(str(owner.layer) for owner in pair[1].owners)), 'JOB', sizes=(18,), rank=4, align='<'),
    ListColumn('findings', lambda pair, _: [finding.words for finding in pair[1].findings], 'PROBLEMS', lambda pair, _: _other_problems(pair[1]), (10, 0), align='<', look=lambda pair, _: pair[1].severity or ''),
)
_SHARE_COLUMNS = (
    ListColumn('gpus', lambda share, _: share.gpus, 'GPUS', sizes=(5,)),
    ListColumn('held_gpus', lambda share, _: share.held_gpus, 'HELD', lambda share, _: str(share.held_gpus or ''), (5,), 1, look=lambda share, _: 'warning'),
    ListColumn('utilization_percent', lambda share, _: rounded(share.utilization_percent, 1), 'UTIL', lambda share, _: percent_text(share.utilization_percent), (5,), 3, look=lambda share, _: 'heat'),
)
_USER_COLUMNS = (
    ListColumn('user', lambda user, _: user.name, 'USER', sizes=(12, 40), align='<'),
    *_SHARE_COLUMNS,
    ListColumn('processes', lambda user, _: user.processes, 'PROCESSES', sizes=(9,), rank=4),
    ListColumn('memory_bytes', lambda user, _: rounded(user.memory_bytes), 'MEM GiB', lambda user, _: memory_text(user.memory_bytes, None), (8,), 3),
    ListColumn('hosts', lambda user, _: list(user.hosts), 'HOSTS', lambda user, _: names_text(user.hosts), (20, 0), 2, align='<'),
)
_JOB_COLUMNS = (
    ListColumn('job', lambda job, _: job.name, 'JOB', sizes=(12, 40), align='<'),
    *_SHARE_COLUMNS,
    ListColumn('users', lambda job, _: list(job.users), 'USERS', lambda job, _: users_text(job.users) or 'N/A', (14,), 2, align='<', look=lambda job, _: _users_look(job.users)),
    ListColumn('hosts', lambda job, _: list(job.hosts), 'HOSTS', lambda job, _: names_text(job.hosts), (20, 0), 4, align='<'),
)
_PROBLEM_COLUMNS = (
    ListColumn('severity', lambda problem, _: problem.severity, 'SEVERITY', sizes=(8,), rank=1, align='<', look=lambda problem, _: problem.severity),
    ListColumn('host', lambda problem, _: problem.host, 'HOST', sizes=(8, 28), align='<'),
    ListColumn('gpu', lambda problem, _: problem.gpu, 'GPU', sizes=(4,)),
    ListColumn('finding', lambda problem, _: problem.words, 'PROBLEM', sizes=(10, 0), align='<'),
    ListColumn('advice', lambda problem, _: problem.advice),
)
VIEWS = {
    'hosts': View(_HOST_COLUMNS, lambda fleet: fleet.hosts, 'free_gpus', 'No host matches'),
    # Free GPUs first.
    'gpus': View(_GPU_COLUMNS, lambda fleet: sorted(((host, gpu) for host in fleet.hosts for gpu in host.gpus), key=lambda pair: not pair[1].is_free), 'state', 'No GPU matches'),
    'users': View(_USER_COLUMNS, lambda fleet: fleet.users, 'gpus', 'No users are reported; of exporters, "nvitop exporter" reports them'),
    'jobs': View(_JOB_COLUMNS, lambda fleet: fleet.jobs, 'gpus', 'No jobs are reported; of exporters, "nvitop exporter --owners" reports them, and dcgm-exporter can'),
    'problems': View(_PROBLEM_COLUMNS, lambda fleet: fleet.problems, 'severity', 'Nothing wrong is known'),
}
# fmt: on


def _state_look(gpu: FleetGpu) -> Look:
    if gpu.state in ('lost', 'timed out', 'error'):
        return 'critical'
    return 'good' if gpu.is_free else 'warning' if gpu.state == 'held' else ''


def _other_problems(gpu: FleetGpu) -> str:
    """Return what is wrong with a GPU besides its state."""
    state = _STATES.get(gpu.state, gpu.state)
    return ', '.join(finding.words for finding in gpu.findings if finding.words != state)


def _unknown_users(gpus: Sequence[FleetGpu]) -> str:
    """Return ``'N/A'`` if some of the GPUs are in use and their users are unknown."""
    return 'N/A' if any(gpu.state in ('busy', 'in use', 'held') for gpu in gpus) else ''


def _users_look(users: Sequence[str]) -> Look:
    return '' if users else 'dim'


def problems_of(host: FleetHost, now: float) -> list[str]:
    """Return what is wrong with a host, and since when it has no values, or how old they are."""
    age, words = host.age(now), [problem.text for problem in host.problems]
    if age is None or age < LATE_SECONDS:
        return words
    if host.is_silent:
        return [f'{", ".join(words)} for {age_text(age)}']
    return [*words, f'values {age_text(age)} old']


def rounded(value: float | None, digits: int = 0) -> float | int | None:
    """Return a value with few digits, a whole number if there are none."""
    if value is None:
        return None
    return round(value, digits) if digits else round(value)


def sorted_rows(view: View, rows: Sequence[Any], order: str, now: float) -> list[Any]:
    """Return rows sorted by a column: names ascending, numbers descending.

    Without a column they keep their order. Rows without a value are last.
    """
    column = next((column for column in view.columns if column.name == order), None)
    if column is None:
        return list(rows)
    values = [(column.value(row, now), row) for row in rows]
    known = [pair for pair in values if pair[0] is not None]
    if any(isinstance(value, str) for value, _ in known):
        known.sort(key=lambda pair: natural(pair[0]))
    else:
        known.sort(key=lambda pair: -_size(pair[0]))
    return [row for _, row in known] + [row for value, row in values if value is None]


def _size(value: Any) -> float:
    """Return a number, or the length of a list."""
    return float(len(value) if isinstance(value, list) else value)


def fleet_text(
    fleet: Fleet,
    kind: str,
    name: str = 'hosts',
    order: str = '',
    *,
    is_simulated: bool = False,
) -> str:
    """Return one of :data:`VIEWS` in one of :data:`FORMATS`, sorted by a column."""
    view, now = VIEWS[name], fleet.timestamp
    rows = sorted_rows(view, view.rows(fleet), order, now)
    if kind == 'table':
        return _table(fleet, name, rows, is_simulated=is_simulated)
    table = [[column.value(row, now) for column in view.columns] for row in rows]
    names = [column.name for column in view.columns]
    if kind == 'json':
        return _json(fleet, name, [dict(zip(names, values)) for values in table])
    return csv_text([names, *table])


def _json(fleet: Fleet, name: str, rows: list[dict[str, Any]]) -> str:
    sums = totals(fleet.hosts, fleet.timestamp)
    document: dict[str, Any] = {
        'schema': SCHEMA,
        'timestamp': round(fleet.timestamp, 3),
        'totals': {
            key: rounded(value, 1 if key.endswith(('percent', 'watts', 'seconds')) else 0)
            for key, value in sums._asdict().items()
        },
        'warnings': list(fleet.warnings),
    }
    return json.dumps({**document, name: rows}, indent=2) + '\n'


def _table(fleet: Fleet, name: str, rows: Sequence[Any], *, is_simulated: bool) -> str:
    """Return a table without colors that cuts nothing."""
    view, now = VIEWS[name], fleet.timestamp
    free = free_ranges(fleet.hosts)
    free = free if len(free) <= _MOST_RANGES else [*free[:_MOST_RANGES], '..']
    sums = totals_texts(totals(fleet.hosts, now), free=free)
    answer = [sums.pop(key) for key in ('free', 'held', 'problems') if key in sums]
    head = [f'NVITOP {__version__.partition("+")[0]}', time.ctime(now)]
    head += [*(['SIMULATED'] if is_simulated else []), *sums.values()]
    shown = titled_columns(name, 0)
    cells = [[column.title for column in shown]]
    cells += [[column.shown(row, now) for column in shown] for row in rows]
    left = {at for at, column in enumerate(shown) if column.align == '<'}
    text = aligned(cells, left) if rows else f'{view.empty}\n'
    return f'{"  ".join(answer)}\n{"  ".join(head)}\n{text}'


def titled_columns(name: str, width: int) -> list[ListColumn]:
    """Return the columns of table and screen."""
    shown = [column for column in VIEWS[name].columns if column.title]
    if name == 'hosts' and 0 < width < _WITH_USERS:
        shown = [c._replace(sizes=(8,)) if c.name == 'users' else c for c in shown]
    return shown


def no_hosts(scope: Scope) -> str:
    """Return why the server may have returned no host."""
    if scope.match:
        return f'no series of GPUs match {{{printable(scope.match)}}}'
    return 'the server has no series of GPUs; does it scrape an exporter for GPUs?'


# Texts of values


def _runs(hosts: Iterable[FleetHost], key: Callable[[FleetHost], Any]) -> list[list[FleetHost]]:
    """Group neighbors with consecutive numbers and the same key."""
    runs: list[list[FleetHost]] = []
    for host in hosts:
        if runs and key(host) == key(runs[-1][-1]):
            stem, number = _parts(host.name)
            before = _parts(runs[-1][-1].name)
            if number and before[1] and stem == before[0] and int(number) == int(before[1]) + 1:
                runs[-1].append(host)
                continue
        runs.append([host])
    return runs


def _parts(name: str) -> tuple[str, str]:
    stem = name.rstrip('0123456789')
    return stem, name[len(stem) :][:18]


def _run_name(run: Sequence[FleetHost]) -> str:
    """Return the name of a group: ``'gpu0017-0020'``."""
    last = f'-{_parts(run[-1].name)[1]}' if len(run) > 1 else ''
    return printable(f'{run[0].name}{last}')


def free_ranges(hosts: Sequence[FleetHost]) -> list[str]:
    """Return the hosts with free GPUs, most of them first: ``['gpu0017-0020', 'gpu0009']``."""
    free = [host for host in hosts if host.free]
    free.sort(key=lambda host: (-host.free, natural(host.name)))
    return [_run_name(run) for run in _runs(free, lambda host: host.free)]


def folded(hosts: Sequence[FleetHost], now: float) -> list[FleetHost]:
    """Return one line for neighbors whose GPUs are all free, equal and without findings; most free first."""

    def key(host: FleetHost) -> object:
        is_free = host.free == len(host.gpus) > 0 and not problems_of(host, now)
        return (len(host.gpus), host.gpus[0].model) if is_free else host.name

    lines = []
    for run in _runs(hosts, key):
        if len(run) > 1:
            gpus = tuple(gpu for host in run for gpu in host.gpus)
            measured = min(available(host.measured for host in run), default=None)
            line = run[0]._replace(
                name=_run_name(run), gpus=gpus, measured=measured, members=tuple(run)
            )
            lines.append(line)
        else:
            lines += run
    return sorted(lines, key=lambda line: -line.free)


def totals_texts(
    sums: Totals, everything: Totals | None = None, free: Sequence[str] = ()
) -> dict[str, str]:
    """Return the sums over hosts, and what a filter hides; ``free`` names hosts with free GPUs."""
    hidden = 0 if everything is None else everything.problems - sums.problems
    hosts = counted(sums.hosts, 'host')
    if everything is not None and everything.hosts > sums.hosts:
        hosts = f'{sums.hosts:,} of {counted(everything.hosts, "host")}'
    where = f': {", ".join(free)}' if free else ''
    texts = {
        'free': f'{sums.free_gpus:,} free{where}',
        'held': f'{sums.held_gpus:,} held',
        'problems': f'{counted(sums.problems, "problem")} ({sums.critical_problems:,} critical)'
        if sums.problems
        else 'no problems',
        'hidden': f'{counted(hidden, "problem")} hidden' if hidden > 0 else '',
        'hosts': hosts,
        'gpus': counted(sums.gpus, 'GPU'),
        'utilization': f'util {percent_text(sums.utilization_percent)}',
        'memory': f'mem {percent_text(sums.memory_percent)}',
        'power': power_text(sums.power_watts),
        'age': f'age {age_text(sums.age_seconds)}'
        if (sums.age_seconds or 0.0) >= LATE_SECONDS
        else '',
    }
    return {name: text for name, text in texts.items() if text}


def percent_text(percent: float | None) -> str:
    """Return a percentage: ``'98%'``."""
    return 'N/A' if percent is None else f'{percent:.0f}%'


def memory_text(used: float | None, total: float | None, digits: int = 0) -> str:
    """Return GiB in use and in total: ``'611/640'``."""
    if used is None:
        return 'N/A'
    text = f'{used / (1 << 30):.{digits}f}'
    return text if total is None else f'{text}/{total / (1 << 30):.0f}'


def power_text(watts: float | None) -> str:
    """Return the power of all hosts: ``'97.3 kW'``."""
    if watts is None:
        return 'N/A'
    scale, unit, digits = (1.0, 'W', 0) if watts < 1000 else (1e3, 'kW', 1)
    if watts >= 1e6:
        scale, unit, digits = 1e6, 'MW', 2
    return f'{watts / scale:.{digits}f} {unit}'


def temperature_text(celsius: float | None) -> str:
    """Return a temperature: ``'71°C'``."""
    return 'N/A' if celsius is None else f'{celsius:.0f}°C'


def age_text(seconds: float | None) -> str:
    """Return an age: ``'9s'``, ``'3m'``, ``'2h'``, ``'5d'``."""
    return 'N/A' if seconds is None else format_duration(seconds)


def users_text(users: Sequence[str]) -> str:
    """Return users in a short form: ``'bob +2'``."""
    if not users:
        return ''
    return users[0] if len(users) == 1 else f'{users[0]} +{len(users) - 1}'


def names_text(names: Sequence[str]) -> str:
    """Return the names of hosts with ranges: ``'gpu0001, gpu0003-0004'``."""
    hosts = [FleetHost(name) for name in names]
    return ', '.join(_run_name(run) for run in _runs(hosts, lambda host: None))


#: Prefixes of the filter.
PREFIXES = ('host', 'gpu', 'user', 'job', 'model', 'free')


def parse_filter(text: str) -> tuple[tuple[str, str], ...]:
    """Parse the words of a filter: ``host: gpu: user: job: model: free:``, or the name of a host.

    ``user:"al"``, ``job:"slurm 42"`` and ``host:"n1"`` match whole names.
    """
    parts = []
    for word in filter_words(text):
        prefix, _, rest = split_word(word)
        is_number = rest.isdecimal() or not rest
        if prefix not in PREFIXES or (prefix == 'free' and not is_number):
            parts.append(('host', word))
        elif rest not in ('', '"', '""'):
            parts.append((prefix, rest))
    return tuple(parts)


def select(fleet: Fleet, filters: Iterable[tuple[str, str]]) -> Fleet:
    """Return the hosts that match all words, with only the GPUs that match them."""
    of_hosts = [part for part in filters if part[0] in ('host', 'free')]
    of_gpus = [part for part in filters if part[0] not in ('host', 'free')]
    hosts = []
    for host in fleet.hosts:
        if all(
            host.free >= int(word[:9]) if prefix == 'free' else is_named(host.name, word)
            for prefix, word in of_hosts
        ):
            if of_gpus:
                gpus = [gpu for gpu in host.gpus if all(_gpu_matches(gpu, *p) for p in of_gpus)]
                host = host._replace(gpus=tuple(gpus))
            if host.gpus or not of_gpus:
                hosts.append(host)
    return fleet._replace(hosts=tuple(hosts))


def _gpu_matches(gpu: FleetGpu, prefix: str, word: str) -> bool:
    if prefix == 'gpu':
        return word in (gpu.label, gpu.label.partition(':')[0])
    if prefix == 'user':
        return any(is_named(user, word) for user in gpu.users)
    if prefix == 'model':
        return contains(gpu.model, word)
    layers = [owner.layer for owner in gpu.owners]
    name = name_in_quotes(word)
    if name is not None:
        return name in map(str, layers)
    return any(layer.id == word or contains(layer.name or '', word) for layer in layers)
