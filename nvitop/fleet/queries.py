# SPDX-License-Identifier: Apache-2.0
"""The query of each screen: one request for only the series that it shows. Pure."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from nvitop.exporter.dialects import dialect
from nvitop.fleet.host import series_names
from nvitop.fleet.series import (
    HOST_LABELS,
    INSTANCE,
    JOB_LABEL,
    MIG_LABELS,
    OWNER_LABELS,
    OWNER_SERIES,
    POD_LABELS,
    PREFERENCE,
    USER_MEMORY,
    USER_SERIES,
    XID,
    Matcher,
    containing,
    identity_labels,
    index_labels,
    label_of,
    marked,
    meanings,
    names_of,
    vector,
)
from nvitop.health import BUSY_PERCENT, KINDS
from nvitop.health.states import HELD_SECONDS

if TYPE_CHECKING:
    from typing import Callable, Collection, Iterable, Iterator, List, Literal, Mapping, Tuple

    from nvitop.fleet.types import FleetHost

    #: Series with a property, and conditions of which one must match. No series: all have it.
    _Place = Tuple[Tuple[str, ...], List[Tuple[Matcher, ...]]]

#: Prefixes of the filter.
PREFIXES = ('host', 'gpu', 'user', 'job', 'model', 'free')
#: Metrics of the heat map: key, title, and the metrics it needs.
HEAT_METRICS: dict[str, tuple[str, tuple[str, ...]]] = {
    'utilization': ('GPU utilization', ('gpu_utilization',)),
    'memory': ('memory in use', ('memory_used', 'memory_total', 'memory_free', 'memory_reserved')),
    'temperature': ('temperature', ('temperature',)),
    'power': ('power', ('power_usage',)),
}
#: Parts of the memory of GPUs, for exporters that do not report the whole.
_MEMORY_PARTS = ('memory_free', 'memory_reserved')
#: Findings that are not queried: other series have those of GPUs that do not respond, and limits
#: are normal. Newer exporters may have kinds that are unknown here.
OMITTED_KINDS = ('lost', 'not_responding', 'failing', 'power_cap', 'thermal_cap')
assert set(OMITTED_KINDS) <= set(KINDS)


class Scope(NamedTuple):
    """The part of the fleet that a query covers."""

    #: Conditions that all series must match.
    match: tuple[Matcher, ...] = ()
    #: The label that names the host; ``''``: found automatically.
    host_label: str = ''
    #: Words of the filter with their prefixes.
    filters: tuple[tuple[str, str], ...] = ()
    #: The labels that name hosts in the last response, each with the dialect.
    used_labels: tuple[tuple[str, str], ...] = ()
    #: Time (seconds) without work after which memory in use counts as held.
    idle_seconds: float = HELD_SECONDS

    @property
    def host_labels(self) -> tuple[str, ...]:
        """The labels that may name the host, the most specific first."""
        own = (self.host_label,) if self.host_label else ()
        every = tuple(dict.fromkeys((*own, *HOST_LABELS, INSTANCE)))
        if not self.filters or not self.used_labels:
            return every
        # Filters make queries long, and servers limit their length.
        used = (*own, *(label for _, label in self.used_labels), INSTANCE)
        return tuple(label for label in every if label in used)

    @property
    def of_hosts(self) -> Scope:
        """The scope without filters for properties of GPUs and for users."""
        return self._replace(filters=tuple(part for part in self.filters if part[0] == 'host'))


def parse_filter(text: str) -> tuple[tuple[str, str], ...]:
    """Parse the words of a filter: ``host: gpu: user: job: model: free:``, or the name of a host."""
    parts = []
    for word in text.split():
        prefix, colon, rest = word.partition(':')
        prefix = prefix.lower()
        is_number = rest.isdecimal() or not rest
        if not colon or prefix not in PREFIXES or (prefix == 'free' and not is_number):
            parts.append(('host', word))
        elif rest:
            parts.append((prefix, rest))
    return tuple(parts)


def matches(host: FleetHost, filters: Iterable[tuple[str, str]]) -> bool:
    """Whether a host has these words in its name, and at least that number of free GPUs.

    Other words are left to the server.
    """
    for prefix, word in filters:
        name = host.name if word != word.lower() else host.name.lower()
        if prefix == 'host' and word not in name:
            return False
        if prefix == 'free' and host.free < int(word[:9]):
            return False
    return True


def of_server(filters: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the words of a filter that become conditions of queries."""
    return tuple(part for part in filters if part[0] != 'free')


def hosts_query(scope: Scope) -> str:
    """Return the query of the list of hosts."""
    hosts = _labels(scope)
    gpus = _labels(scope, gpus=True)
    # Rows of GPUs have no mark: they are most of the response, and marks cost time.
    instances = _labels(scope, gpus=True, instances=True)
    rows = _named('gpu_utilization', 'memory_used')
    memory = _named('memory_total', *_MEMORY_PARTS)
    power = _named('power_usage', 'power_limit')
    users = {name: (series,) for name, (series, _) in USER_SERIES.items()}
    user_labels = f'{hosts}, user, username'
    return ' or '.join(
        (
            *_states(scope, gpus),
            marked(f'max by ({hosts}) ({_select(_named("temperature"), scope)})', 'max'),
            marked(f'count by ({user_labels}) ({_select(users, scope, is_whole=False)})', 'user'),
            marked(f'sum by ({hosts}, job) ({_select(memory, scope)})', 'sum'),
            # Count a GPU with several series once.
            marked(f'sum by ({hosts}) (max by ({gpus}) ({_select(power, scope)}))', 'power'),
            # Last: a server evaluates the left side of each "or" again.
            f'max by ({instances}) ({_select(rows, scope)})',
        )
    )


def _states(scope: Scope, gpus: str) -> list[str]:
    """Return the findings about GPUs, which of them are silent or were busy, and ages of values."""
    up = {'own': (dialect('own').up,)}
    failed = {'dcgm': names_of('remapped_rows_failure')['dcgm']}
    xid = {'dcgm': (XID,)}
    kinds = Matcher('kind', '!~', '|'.join(OMITTED_KINDS))
    missing = _select({'own': ('nvitop_gpu_missing',)}, scope)
    hosts = _labels(scope)
    health = _select({'own': ('nvitop_gpu_health',)}, scope, (kinds,), is_whole=False)
    return [
        marked(f'max by ({gpus}) ({_select(up, scope)}) == 0', 'down'),
        _asleep(scope),
        marked(f'max by ({gpus}, kind) ({health} > 1)', 'health'),
        marked(f'max by ({hosts}, pci_bus_id) ({missing})', 'missing'),
        marked(f'max by ({gpus}) ({_select(xid, scope)} > 0)', 'xid'),
        marked(f'max by ({gpus}) ({_select(failed, scope)} > 0)', 'remap'),
        _silent(scope),
        *(marked(one, 'recent') for one in _idle(scope, 'busy')),
        _ages(scope),
    ]


def _asleep(scope: Scope) -> str:
    asleep = _select({'own': (dialect('own').asleep,)}, scope)
    return marked(f'max by ({_labels(scope, gpus=True)}) ({asleep})', 'asleep')


def _silent(scope: Scope) -> str:
    """Return the GPUs without a utilization, so that they count even without memory in use."""
    names = {
        name: (up,) if (up := dialect(name).up) else series
        for name, series in names_of('temperature').items()
    }
    values = _select(_named('gpu_utilization'), scope)
    others = f'{_select(names, scope)} unless on ({_joining(scope)}) {values}'
    return marked(f'max by ({_labels(scope, gpus=True)}) ({others})', 'silent')


def _idle(scope: Scope, before: Literal['busy', 'idle']) -> Iterator[str]:
    """Yield vectors of the GPUs that are idle and were busy, or idle, in the time before."""
    on = _joining(scope)
    groups: dict[tuple[int, float], dict[str, tuple[str, ...]]] = {}
    for name, several in names_of('gpu_utilization').items():
        # max_over_time drops names, so that two series of an exporter would look the same.
        for place, series in enumerate(several):
            limit = BUSY_PERCENT / meanings()[series].factor
            groups.setdefault((place, limit), {})[name] = (series,)
    comparison = '>=' if before == 'busy' else '<'
    for (_, limit), names in groups.items():
        times = ' or '.join(
            f'max_over_time({one}[{scope.idle_seconds:.0f}s])'
            for one in _vectors(names, scope.of_hosts)
        )
        past = f'max by ({on}) ({times}) {comparison} {limit:g}'
        now = f'{_select(names, scope)} < {limit:g}'
        yield f'max by ({_labels(scope, gpus=True)}) ({now} and on ({on}) ({past}))'


def _joining(scope: Scope) -> str:
    """Return the labels that identify a GPU, for series with different names."""
    return ', '.join((*scope.host_labels, *identity_labels(), *index_labels()))


def _ages(scope: Scope) -> str:
    """Return when the values of each host were measured."""
    hosts = ', '.join(scope.host_labels)
    # One GPU of each host is enough, if the exporter numbers them.
    first = (Matcher('gpu', '=~', '0|'), Matcher('index', '=~', '0|'))
    vectors = (_vectors(names, scope.of_hosts, first) for names in _age_names(PREFERENCE))
    times = _timestamps(itertools.chain.from_iterable(vectors))
    return marked(f'max by ({hosts}) ({times})', 'time')


def _timestamps(vectors: Iterable[str]) -> str:
    """Return when values were measured; ``timestamp`` needs plain selectors for that."""
    return ' or '.join(f'timestamp({one})' for one in vectors)


def _age_names(dialects: Iterable[str]) -> list[dict[str, tuple[str, ...]]]:
    """Return dialect → one series, for old and for new names.

    ``timestamp`` drops names, so that two series of an exporter would look the same.
    """
    known = {
        name: (up,) if (up := dialect(name).up) else names_of('gpu_utilization')[name]
        for name in dict.fromkeys(dialects)
    }
    old = {name: names[:1] for name, names in known.items()}
    new = {name: names[1:] for name, names in known.items() if names[1:]}
    return [old, new] if new else [old]


def gpus_query(scope: Scope, metric: str) -> str:
    """Return the query of the heat map of a metric, a key of :data:`HEAT_METRICS`.

    Without one, the query of the list of GPUs: all of these metrics, findings and users.
    """
    if not metric:
        return _list_query(scope)
    gpus = _labels(scope, gpus=True)
    expression = _select(_named(*HEAT_METRICS[metric][1]), scope)
    up = {'own': (dialect('own').up,)}
    instances = _labels(scope, gpus=True, instances=True)
    down = marked(f'max by ({gpus}) ({_select(up, scope)}) == 0', 'down')
    rows = f'max by ({instances}) ({expression})'
    return ' or '.join((down, _asleep(scope), _silent(scope), _ages(scope), rows))


def _list_query(scope: Scope) -> str:
    gpus = _labels(scope, gpus=True)
    metrics = (name for _, several in HEAT_METRICS.values() for name in several)
    values = _select(_named(*dict.fromkeys(metrics)), scope)
    users = _select({name: (one,) for name, (one, _) in USER_SERIES.items()}, scope, is_whole=False)
    return ' or '.join(
        (
            *_states(scope, gpus),
            marked(f'count by ({gpus}, user, username) ({users})', 'user'),
            f'max by ({_labels(scope, gpus=True, instances=True)}) ({values})',
        )
    )


def jobs_query(scope: Scope) -> str:
    """Return the query of the list of jobs."""
    gpus = _labels(scope, gpus=True)
    own = _select({'own': (OWNER_SERIES,)}, scope, is_whole=False)
    usage = _named('gpu_utilization')
    dcgm = {'dcgm': usage['dcgm']}
    names = (*(pod for _, pod in POD_LABELS), JOB_LABEL)
    pods = [one for name in names for one in _vectors(dcgm, scope, (Matcher(name, '!=', ''),))]
    labels = ', '.join((gpus, *itertools.chain(*POD_LABELS), JOB_LABEL))
    return ' or '.join(
        (
            marked(f'max by ({gpus}, {", ".join(OWNER_LABELS)}) ({own})', 'owner'),
            *(marked(f'max by ({labels}) ({one})', 'owner') for one in pods),
            *(marked(one, 'idle') for one in _idle(scope, 'idle')),
            f'max by ({gpus}) ({_select(usage, scope)})',
        )
    )


def users_query(scope: Scope) -> str:
    """Return the query of the list of users."""
    labels = f'{_labels(scope, gpus=True)}, user, username'
    names = {name: (series,) for name, (series, _) in USER_SERIES.items()}
    counts = _select(names, scope, is_whole=False)
    memory = _select(dict.fromkeys(('own', 'nvitop-exporter'), USER_MEMORY), scope, is_whole=False)
    return ' or '.join(
        (
            marked(f'sum by ({labels}) ({counts})', 'processes'),
            marked(f'count by ({labels}) ({counts})', 'count'),
            marked(f'sum by ({labels}) ({memory})', 'memory'),
            *(marked(one, 'idle') for one in _idle(scope, 'idle')),
        )
    )


def host_query(host: FleetHost, scope: Scope) -> str:
    """Return the query of everything that is known about one host."""
    vectors = _of_exporters(host, scope, series_names)
    labels = dict.fromkeys((one.label, one.value) for one in host.exporters)
    ages = [
        vector(itertools.chain(*names.values()), (*scope.match, Matcher(label, '=', value)))
        for names in _age_names(one.dialect for one in host.exporters)
        for label, value in labels
    ]
    seen = marked(f'max({_timestamps(ages)})', 'time')
    return ' or '.join((*vectors, seen))


def history_query(host: FleetHost, scope: Scope, metrics: Iterable[str]) -> str:
    """Return the query of a range of values of some metrics of one host."""
    series = [names_of(metric) for metric in metrics]
    return ' or '.join(
        _of_exporters(
            host, scope, lambda name: [one for names in series for one in names.get(name, ())]
        )
    )


# Parts


def _of_exporters(
    host: FleetHost, scope: Scope, names: Callable[[str], Collection[str]]
) -> list[str]:
    """Return the vector of each exporter of a host, with the series of its dialect."""
    return [
        vector(names(one.dialect), (*scope.match, Matcher(one.label, '=', one.value)))
        for one in dict.fromkeys(one._replace(instance='') for one in host.exporters)
        if names(one.dialect)
    ]


def _labels(scope: Scope, *, gpus: bool = False, instances: bool = False) -> str:
    return ', '.join(
        (
            '__name__',
            *scope.host_labels,
            *((*identity_labels(), *index_labels()) if gpus else ()),
            *(MIG_LABELS if instances else ()),
        )
    )


def _named(*metrics: str) -> dict[str, tuple[str, ...]]:
    """Return dialect → series of these metrics."""
    found: dict[str, tuple[str, ...]] = {}
    for metric in metrics:
        for name, series in names_of(metric).items():
            # dcgm-exporter up to 4.8 does not report the total memory.
            if metric not in _MEMORY_PARTS or name == 'dcgm':
                found[name] = (*found.get(name, ()), *series)
    return found


def _select(
    names: Mapping[str, Iterable[str]],
    scope: Scope,
    more: tuple[Matcher, ...] = (),
    *,
    is_whole: bool = True,
) -> str:
    """Return the vector of these series (dialect → names) within the scope.

    Without ``is_whole``, those of MIG devices are included.
    """
    found = _vectors(names, scope, more, is_whole=is_whole)
    if not found:
        return '(vector(0) > 0)'
    return found[0] if len(found) == 1 else f'({" or ".join(found)})'


def _vectors(
    names: Mapping[str, Iterable[str]],
    scope: Scope,
    more: tuple[Matcher, ...] = (),
    *,
    is_whole: bool = True,
) -> list[str]:
    # Only nvitop's own names have this label, and each condition costs time.
    whole_gpus = (Matcher('mig_uuid', '=', ''),) if 'own' in names and is_whole else ()
    base = (*scope.match, *whole_gpus, *more)
    others = [part for part in scope.filters if part[0] != 'host']
    if not others:
        every = [series for several in names.values() for series in several]
        return [vector(every, (*base, *hosts)) for hosts in _host_matchers(scope)]
    return [
        expression
        for name in PREFERENCE
        if name in names
        for hosts in _host_matchers(scope, name)
        for expression in _filtered(name, names[name], (*base, *hosts), others, scope)
    ]


def _host_matchers(scope: Scope, dialect_name: str = '') -> list[tuple[Matcher, ...]]:
    """Return the conditions of the filter for hosts, for each label that may name the host."""
    words = [word for prefix, word in scope.filters if prefix == 'host']
    if not words:
        return [()]
    used = {label for name, label in scope.used_labels if dialect_name in ('', name)}
    labels = [label for label in scope.host_labels if label in used] or [INSTANCE]
    return [
        (
            *(Matcher(earlier, '=', '') for earlier in labels[:place]),
            *(Matcher(label, '=~', containing(word)) for word in words),
        )
        for place, label in enumerate(labels)
    ]


def _filtered(
    name: str,
    series: Iterable[str],
    base: tuple[Matcher, ...],
    filters: Iterable[tuple[str, str]],
    scope: Scope,
) -> list[str]:
    """Return the vector of a dialect with the other filters; nothing if it lacks the property."""
    matchers, joins = list(base), []
    on = ', '.join((*scope.host_labels, *identity_labels(name)))
    for prefix, word in filters:
        place = _place(name, prefix, word)
        if place is None:
            return []
        others, alternatives = place
        if others:
            found = [vector(others, (*scope.match, *one)) for one in alternatives]
            joined = found[0] if len(found) == 1 else f'({" or ".join(found)})'
            joins.append(f' and on ({on}) {joined}')
        else:
            matchers.extend(alternatives[0])
    return [f'({vector(series, matchers)}{"".join(joins)})' if joins else vector(series, matchers)]


def _place(name: str, prefix: str, word: str) -> _Place | None:
    """Return where a dialect has the property of a filter; ``None`` if it lacks it."""
    if prefix == 'job':
        return _place_of_job(name, word)
    if prefix == 'user':
        if name not in USER_SERIES:
            return None
        users, label = USER_SERIES[name]
        return (users,), [(Matcher(label, '=~', containing(word)),)]
    place = label_of(name, ('index', 'label') if prefix == 'gpu' else ('name', 'gpu_name'))
    if place is None:
        return None
    info, label = place
    is_exact = prefix == 'gpu'
    condition = Matcher(label, '=' if is_exact else '=~', word if is_exact else containing(word))
    return (info,) if info else (), [(condition,)]


def _place_of_job(name: str, word: str) -> _Place | None:
    """Return where a dialect has jobs with this number, or with the word in their names."""
    if name == 'own':
        names = (Matcher('owner_name', '=~', containing(word)),)
        return (OWNER_SERIES,), [(Matcher('owner_id', '=', word),), names]
    if name != 'dcgm':
        return None
    namespace, _, pod = word.rpartition('/')
    renamed = POD_LABELS[1][1]
    conditions: list[tuple[Matcher, ...]] = [(Matcher(JOB_LABEL, '=', word),)]
    for labels in POD_LABELS:
        # If Prometheus renamed the labels, the others name the pod of the exporter.
        only = () if renamed in labels else (Matcher(renamed, '=', ''),)
        wanted = [pair for pair in zip(labels, (namespace, pod)) if pair[1]]
        pods = (Matcher(label, '=~', containing(text)) for label, text in wanted)
        conditions.append((*pods, *only))
    return names_of('gpu_utilization')[name], conditions
