# SPDX-License-Identifier: Apache-2.0
"""The lists of a fleet: their filter, their rows, and their columns in CSV and JSON. Pure."""

from __future__ import annotations

import itertools
import json
import re
from operator import attrgetter, itemgetter
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
from nvitop.fleet.types import available, totals
from nvitop.sampling.types import STALE_SECONDS

if TYPE_CHECKING:
    from nvitop.fleet.series import Scope
    from nvitop.fleet.types import Fleet, FleetGpu, FleetHost

FORMATS = ('table', 'json', 'csv')
#: Version of the JSON structure; increased by changes that would break programs.
SCHEMA = 1


class View(NamedTuple):
    """A list. A GPU is listed as its host with this GPU alone."""

    #: Name of a column in CSV, JSON and ``--sort`` → its value.
    columns: Mapping[str, Callable[[Any], Any]]
    #: Its rows, in the order of one of the columns.
    rows: Callable[[Fleet], Sequence[Any]]
    order: str
    #: Shown instead of an empty list.
    empty: str
    #: Rows below the others on a screen, whatever they are sorted by.
    below: Callable[[Fleet], Sequence[Any]] = lambda _: ()

    def value(self, name: str, row: Any) -> Any:
        """Return the value of a column: a list, a text, a number with few digits, or ``None``."""
        return _plain(name, self.columns[name](row))

    def sort_value(self, name: str, row: Any) -> Any:
        """Return what a column is sorted by: a text, a number, or that of items; ``None``: unknown."""
        value = self.columns[name](row)
        if name in TEXTS:
            text = value if isinstance(value, str) else ' '.join(value)
            return natural(text) if text else None
        return len(value) if isinstance(value, (tuple, list)) else value


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 1) if name.endswith(('percent', 'watts', 'seconds')) else round(value)
    return list(value) if isinstance(value, tuple) else value


def _attributes(*names: str) -> dict[str, Callable[[Any], Any]]:
    return {name: attrgetter(name) for name in names}


def _of_gpu(name: str) -> Callable[[FleetHost], Any]:
    return lambda row: getattr(row.gpus[0], name)


#: Columns that are sorted from A to Z; others have the highest value first.
TEXTS = frozenset(
    (
        *('host', 'gpu', 'uuid', 'state', 'models', 'user', 'users', 'job', 'jobs', 'names'),
        *('severity', 'finding', 'advice'),
    )
)
_USAGE = _attributes(
    *('utilization_percent', 'memory_used_bytes', 'memory_total_bytes'),
    *('power_watts', 'temperature_celsius'),
)
VIEWS = {
    'hosts': View(
        {
            'host': attrgetter('name'),
            'gpus': lambda host: len(host.gpus),
            **_USAGE,
            'free_gpus': attrgetter('free'),
            'held_gpus': attrgetter('held'),
            **_attributes('age_seconds', 'models', 'users'),
            'findings': lambda host: [problem.text for problem in host.problems],
            'gpu_utilization_percent': lambda host: [
                _plain('percent', gpu.utilization_percent) for gpu in host.gpus
            ],
            'names': lambda host: '' if host.is_silent else host.kind,
        },
        # Of those without free GPUs, the ones that need attention are first.
        lambda fleet: sorted(fleet.hosts, key=lambda host: (-host.free, -len(host.problems))),
        'free_gpus',
        'No host matches',
    ),
    'gpus': View(
        {
            'host': attrgetter('name'),
            'gpu': _of_gpu('label'),
            'uuid': _of_gpu('id'),
            'state': _of_gpu('word'),
            **_USAGE,
            'users': _of_gpu('users'),
            'jobs': _of_gpu('jobs'),
            'findings': lambda row: [finding.words for finding in row.gpus[0].findings],
        },
        lambda fleet: sorted(
            (row for host in fleet.hosts for row in one_by_one(host)),
            key=lambda row: (
                not row.free or row.gpus[0].severity is not None,
                row.gpus[0].severity is None,
                not row.held,
            ),
        ),
        'state',
        'No GPU matches',
    ),
    'users': View(
        {
            'user': attrgetter('name'),
            **_attributes('gpus', 'held_gpus', 'utilization_percent'),
            **_attributes('processes', 'memory_bytes', 'hosts'),
        },
        lambda fleet: fleet.users,
        'gpus',
        'No users are reported; of exporters, "nvitop exporter" reports them',
        lambda fleet: fleet.without_users,
    ),
    'jobs': View(
        {
            'job': attrgetter('name'),
            **_attributes('gpus', 'held_gpus', 'utilization_percent', 'users', 'hosts'),
        },
        lambda fleet: fleet.jobs,
        'gpus',
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
        'severity',
        'Nothing wrong is known',
    ),
}


def one_by_one(host: FleetHost) -> list[FleetHost]:
    """Return the rows of the GPUs of a host."""
    return [host._replace(gpus=(gpu,)) for gpu in host.gpus]


def problems_of(host: FleetHost) -> list[str]:
    """Return what is wrong with a host, and since when it has no values, or how old they are."""
    words, age = [problem.text for problem in host.problems], host.age_seconds
    if not host.is_silent or age is None or age < STALE_SECONDS:
        return words
    return [f'{", ".join(words)} for {format_duration(age)}']


def sorted_rows(view: View, rows: Sequence[Any], order: str) -> list[Any]:
    """Return rows sorted by a column: texts from A to Z, highest numbers first.

    Without a column they keep their order. Rows without a value are last.
    """
    if not order:
        return list(rows)
    values = [(view.sort_value(order, row), row) for row in rows]
    known = [pair for pair in values if pair[0] is not None]
    known.sort(key=itemgetter(0), reverse=order not in TEXTS)
    return [row for _, row in known] + [row for value, row in values if value is None]


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


# Rows that differ in their hosts only


def folded_hosts(hosts: Sequence[FleetHost]) -> list[FleetHost]:
    """Return one row for hosts with consecutive names whose GPUs are all free, equal and without findings."""

    def key(host: FleetHost) -> object:
        is_free = host.free == len(host.gpus) > 0 and not problems_of(host)
        return (len(host.gpus), host.gpus[0].model) if is_free else host.name

    return sorted(_folded(hosts, key), key=lambda row: -row.free)


def folded_gpus(rows: Iterable[FleetHost]) -> list[FleetHost]:
    """Return one row for the GPUs of a host with the same state, users and jobs, and no findings."""
    groups: dict[object, list[FleetHost]] = {}
    for row in rows:
        groups.setdefault((row.name, _kind(row)), []).append(row)
    return [
        group[0]._replace(gpus=tuple(gpu for row in group for gpu in row.gpus))
        for group in groups.values()
    ]


def folded_neighbors(rows: Iterable[FleetHost]) -> list[FleetHost]:
    """Return one row for such GPUs of hosts with consecutive names, too."""
    return _folded(
        folded_gpus(rows), lambda row: (_kind(row), tuple(gpu.label for gpu in row.gpus))
    )


def _kind(row: FleetHost) -> object:
    gpu = row.gpus[0]
    shown = (gpu.word, gpu.model, gpu.users, gpu.owners and gpu.jobs, row.is_old)
    return gpu.id if gpu.severity else shown


def _folded(hosts: Iterable[FleetHost], kind: Callable[[FleetHost], object]) -> list[FleetHost]:
    """Return one row for hosts with consecutive names and the same kind, where the first one is."""
    runs: list[list[FleetHost]] = []
    last: dict[object, list[FleetHost]] = {}
    for host in hosts:
        run = last.get(kind(host))
        if run is not None and len(ranges_of((run[-1].name, host.name))) == 1:
            run.append(host)
        else:
            last[kind(host)] = run = [host]
            runs.append(run)
    return [
        run[0]._replace(
            name=names_text(host.name for host in run),
            gpus=tuple(gpu for host in run for gpu in host.gpus),
            age_seconds=max(available(host.age_seconds for host in run), default=None),
            members=tuple(run),
        )
        if len(run) > 1
        else run[0]
        for run in runs
    ]


def ranges_of(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return names of hosts, consecutive ones as a range: what they begin with, and their numbers.

    >>> ranges_of(['gpu0001', 'gpu0003', 'gpu0004', 'login'])
    [('gpu', '0001'), ('gpu', '0003-0004'), ('login', '')]
    """
    ranges: list[tuple[str, str]] = []
    for name in names:
        stem = name.rstrip('0123456789')
        number = name[len(stem) :]
        first, _, last = ranges[-1][1].partition('-') if ranges else ('', '', '')
        if ranges and ranges[-1][0] == stem and _is_next(number, last or first):
            ranges[-1] = (stem, f'{first}-{number}')
        else:
            ranges.append((stem, number))
    return ranges


def _is_next(number: str, before: str) -> bool:
    """Whether numbers in names are consecutive: ``'10'`` follows ``'9'`` and ``'09'``."""
    return (
        before[:1].isdecimal()
        and len(number) < 18
        and number == str(int(before) + 1).zfill(len(before))
    )


def ranges_text(ranges: Iterable[tuple[str, str]]) -> str:
    """Return ranges as ``nvitop fleet`` and Slurm read them: ``'gpu[0001,0003-0004], login'``."""
    texts = []
    for stem, group in itertools.groupby(ranges, key=itemgetter(0)):
        numbers = ','.join(numbers for _, numbers in group)
        texts.append(f'{stem}[{numbers}]' if re.search('[,-]', numbers) else stem + numbers)
    return printable(', '.join(texts))


def names_text(names: Iterable[str]) -> str:
    """Return names of hosts with ranges: ``'gpu[0001,0003-0004], login'``."""
    return ranges_text(ranges_of(names))


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
        return word == gpu.no_user or any(is_named(user, word) for user in gpu.users)
    if prefix == 'model':
        return contains(gpu.model, word)
    layers = [owner.layer for owner in gpu.owners]
    name = name_in_quotes(word)
    if name is not None:
        return name in map(str, layers)
    return any(layer.id == word or contains(layer.name or '', word) for layer in layers)
