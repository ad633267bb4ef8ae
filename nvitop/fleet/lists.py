# SPDX-License-Identifier: Apache-2.0
"""The lists of a fleet: their filter, their rows, and their columns in CSV and JSON. Pure."""

from __future__ import annotations

import json
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from nvitop.basics.text import (
    contains,
    csv_text,
    filter_words,
    is_named,
    name_in_quotes,
    natural,
    printable,
    split_word,
)
from nvitop.basics.units import format_duration
from nvitop.fleet.types import LATE_SECONDS, FleetHost, available, totals

if TYPE_CHECKING:
    from nvitop.fleet.series import Scope
    from nvitop.fleet.types import Fleet, FleetGpu

FORMATS = ('table', 'json', 'csv')
#: Version of the JSON structure; increased by changes that would break programs.
SCHEMA = 1


class View(NamedTuple):
    """A list."""

    #: Name of a column in CSV, JSON and ``--sort`` → its value.
    columns: Mapping[str, Callable[[Any], Any]]
    rows: Callable[[Fleet], Sequence[Any]]
    #: Shown instead of an empty list.
    empty: str

    def value(self, name: str, row: Any) -> Any:
        """Return the value of a column: a list, a text, a number with few digits, or ``None``."""
        return _plain(name, self.columns[name](row))


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 1) if name.endswith(('percent', 'watts', 'seconds')) else round(value)
    return list(value) if isinstance(value, tuple) else value


def _attributes(*names: str, of: str = '') -> dict[str, Callable[[Any], Any]]:
    return {name: attrgetter(of + name) for name in names}


class HostGpu(NamedTuple):
    """A GPU in the list of all GPUs."""

    host: FleetHost
    gpu: FleetGpu


_USAGE = (
    *('utilization_percent', 'memory_used_bytes', 'memory_total_bytes'),
    *('power_watts', 'temperature_celsius'),
)
VIEWS = {
    'hosts': View(
        {
            'host': attrgetter('name'),
            'gpus': lambda host: len(host.gpus),
            **_attributes(*_USAGE),
            'free_gpus': attrgetter('free'),
            'held_gpus': attrgetter('held'),
            **_attributes('age_seconds', 'models', 'users'),
            'findings': lambda host: [problem.text for problem in host.problems],
            'gpu_utilization_percent': lambda host: [
                _plain('percent', gpu.utilization_percent) for gpu in host.gpus
            ],
            'names': lambda host: '' if host.is_silent else host.kind,
        },
        lambda fleet: fleet.hosts,
        'No host matches',
    ),
    'gpus': View(
        {
            'host': attrgetter('host.name'),
            'gpu': attrgetter('gpu.label'),
            'uuid': attrgetter('gpu.id'),
            'state': attrgetter('gpu.word'),
            **_attributes(*_USAGE, 'users', 'jobs', of='gpu.'),
            'findings': lambda row: [finding.words for finding in row.gpu.findings],
        },
        lambda fleet: sorted(
            (HostGpu(host, gpu) for host in fleet.hosts for gpu in host.gpus),
            key=lambda row: (not row.gpu.is_free, not row.gpu.severity, row.gpu.state != 'held'),
        ),
        'No GPU matches',
    ),
    'users': View(
        {
            'user': attrgetter('name'),
            **_attributes('gpus', 'held_gpus', 'utilization_percent'),
            **_attributes('processes', 'memory_bytes', 'hosts'),
        },
        lambda fleet: fleet.users,
        'No users are reported; of exporters, "nvitop exporter" reports them',
    ),
    'jobs': View(
        {
            'job': attrgetter('name'),
            **_attributes('gpus', 'held_gpus', 'utilization_percent', 'users', 'hosts'),
        },
        lambda fleet: fleet.jobs,
        'No jobs are reported; of exporters, "nvitop exporter --owners" reports them, '
        'and dcgm-exporter can',
    ),
    'problems': View(
        {
            **_attributes('severity', 'host', 'gpu'),
            'finding': attrgetter('words'),
            'advice': attrgetter('advice'),
        },
        lambda fleet: fleet.problems,
        'Nothing wrong is known',
    ),
}


def problems_of(host: FleetHost, late: float = 0.0) -> list[str]:
    """Return what is wrong with a host, and since when it has no values, or how old they are.

    ``late`` is the time (seconds) since the fleet was read.
    """
    host = host.later(late)
    words, age = [problem.text for problem in host.problems], host.age_seconds
    if not host.is_silent or age is None or age < LATE_SECONDS:
        return words
    return [f'{", ".join(words)} for {format_duration(age)}']


def sorted_rows(view: View, rows: Sequence[Any], order: str) -> list[Any]:
    """Return rows sorted by a column: names ascending, numbers descending.

    Without a column they keep their order. Rows without a value are last.
    """
    if not order:
        return list(rows)
    values = [(view.value(order, row), row) for row in rows]
    known = [pair for pair in values if pair[0] is not None]
    if any(isinstance(value, str) for value, _ in known):
        known.sort(key=lambda pair: natural(pair[0]))
    else:
        known.sort(key=lambda pair: -size(pair[0]))
    return [row for _, row in known] + [row for value, row in values if value is None]


def size(value: Any) -> float:
    """Return a number, or the length of a list."""
    return float(len(value) if isinstance(value, list) else value)


def fleet_text(fleet: Fleet, kind: str, name: str = 'hosts', order: str = '') -> str:
    """Return one of :data:`VIEWS` as CSV or JSON, sorted by a column."""
    view = VIEWS[name]
    rows = [
        {column: view.value(column, row) for column in view.columns}
        for row in sorted_rows(view, view.rows(fleet), order)
    ]
    if kind == 'csv':
        return csv_text([[*view.columns], *([*row.values()] for row in rows)])
    sums = totals(fleet.hosts)._asdict()
    document = {
        'schema': SCHEMA,
        'timestamp': round(fleet.timestamp, 3),
        'totals': {key: _plain(key, value) for key, value in sums.items()},
        'warnings': list(fleet.warnings),
        name: rows,
    }
    return json.dumps(document, indent=2) + '\n'


def no_hosts(scope: Scope) -> str:
    """Return why the server may have returned no host."""
    if scope.match:
        return f'no series of GPUs match {{{printable(scope.match)}}}'
    return 'the server has no series of GPUs; does it scrape an exporter for GPUs?'


# Names of hosts


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
    runs = _runs(free, lambda host: host.free)
    return [_run_name(run) for run in sorted(runs, key=lambda run: (-run[0].free, -len(run)))]


def folded(hosts: Sequence[FleetHost]) -> list[FleetHost]:
    """Return one line for neighbors whose GPUs are all free, equal and without findings; most free first."""

    def key(host: FleetHost) -> object:
        is_free = host.free == len(host.gpus) > 0 and not problems_of(host)
        return (len(host.gpus), host.gpus[0].model) if is_free else host.name

    lines = []
    for run in _runs(hosts, key):
        if len(run) > 1:
            gpus = tuple(gpu for host in run for gpu in host.gpus)
            age = max(available(host.age_seconds for host in run), default=None)
            line = run[0]._replace(name=_run_name(run), gpus=gpus, age_seconds=age)
            lines.append(line._replace(members=tuple(run)))
        else:
            lines += run
    return sorted(lines, key=lambda line: -line.free)


def names_text(names: Sequence[str]) -> str:
    """Return the names of hosts with ranges: ``'gpu0001, gpu0003-0004'``."""
    hosts = [FleetHost(name) for name in names]
    return ', '.join(_run_name(run) for run in _runs(hosts, lambda host: None))


def short_names(names: Sequence[str]) -> str:
    """Return the names of hosts, with numbers alone after the same letters: ``'gpu0007 0013'``."""
    stems = [_parts(name)[0] for name in names]
    texts = [
        name[len(stem) :] if stem == before else name
        for name, stem, before in zip(names, stems, ['', *stems])
    ]
    return printable(' '.join(texts))


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
