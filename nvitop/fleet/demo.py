# SPDX-License-Identifier: Apache-2.0
"""A simulated cluster: the series of its exporters, and a server that queries them."""

from __future__ import annotations

import functools
import math
import re
import time
from typing import Callable, Iterable, Iterator, NamedTuple

from nvitop.exporter.families import bare_uuid
from nvitop.fleet.queries import HEAT_METRICS
from nvitop.fleet.series import (
    HOST_LABELS,
    INSTANCE,
    OWNER_SERIES,
    ROW,
    USER_MEMORY,
    USER_SERIES,
    XID,
    containing,
    literal,
    meanings,
    names_of,
    series_of_metrics,
)
from nvitop.fleet.source import GRAPH_METRICS, Question
from nvitop.fleet.types import CurrentValues, PastValues, Series
from nvitop.health import BUSY_PERCENT

#: Exporters of the simulated machines, in turn.
MIXED = ('own', 'dcgm', 'nvitop-exporter')
#: Number of GPUs of each machine.
GPUS = 8
_USERS = ('alice', 'bob', 'carol', 'dave', 'erin', 'frank')
_MODEL = 'NVIDIA H100 80GB HBM3'
_GIB = 1 << 30
_PORTS = {'own': 9101, 'dcgm': 9400, 'nvitop-exporter': 8000}


class _Load(NamedTuple):
    """Work of a GPU."""

    user: str
    percent: float
    used_bytes: float


class Cluster:
    """Machines with their exporters. Everything is a function of the time.

    Args:
        hosts: Number of machines.
        dialects: Exporters of the machines, in turn.
    """

    def __init__(self, hosts: int = 40, dialects: tuple[str, ...] = ('own',)) -> None:
        self.hosts = hosts
        self._dialects = dialects

    def name(self, host: int) -> str:
        """Return the name of a machine."""
        return f'gpu{host + 1:04d}'

    def dialect(self, host: int) -> str:
        """Return the exporter of a machine."""
        return self._dialects[host % len(self._dialects)]

    def series(
        self, now: float, hosts: Iterable[int] | None = None, *, processes: bool = False
    ) -> Iterator[Series]:
        """Yield the series of some or all machines, with those of processes if wanted."""
        for host in range(self.hosts) if hosts is None else hosts:
            # One machine restarts, for one minute in three.
            is_gone = self.hosts > 10 and host == 10 and now % 180 >= 120
            for gpu in () if is_gone else range(GPUS):
                yield from self._series_of_gpu(host, gpu, now, processes=processes)

    def _load(self, host: int, gpu: int, now: float) -> _Load:
        job = host * 7919 % 101
        user = _USERS[job % len(_USERS)]
        if job % 9 == 4:  # nothing runs
            return _Load('', 0.0, 0.6 * _GIB)
        if job % 11 == 5 and gpu >= GPUS // 2:  # memory is held, and nothing runs
            return _Load(user, 0.0, 40.0 * _GIB)
        if job % 7 == 3 and gpu % 2:
            user = _USERS[(job + 1) % len(_USERS)]
        wave = math.sin(now / (37 + job % 23) + gpu * (job % 3) / 4 + job)
        percent = max(6.0, min(100.0, 62 + job % 31 + 18 * wave))
        return _Load(user, float(round(percent)), (30 + job % 45 + 2 * wave) * _GIB)

    def _series_of_gpu(
        self, host: int, gpu: int, now: float, *, processes: bool
    ) -> Iterator[Series]:
        name, load = self.dialect(host), self._load(host, gpu, now)
        labels = self._labels(name, host, gpu)
        if name == 'dcgm' and load.user:
            labels.update(namespace=load.user, pod=f'train-{host * 7919 % 101}')
        if name == 'own':
            is_up = host % 97 != 6 or gpu != 3
            yield Series('nvitop_gpu_up', labels, float(is_up))
            if not is_up:
                return
            about = {'name': _MODEL, 'driver_version': '580.65.06', 'cuda_version': '13.0'}
            yield Series('nvitop_gpu_info', {**labels, **about}, 1.0)
        elif name == 'dcgm':
            xid = 79.0 if host % 89 == 21 and gpu == 1 else 0.0
            yield Series(XID, labels, xid)
        for metric, value in _values(load, host, gpu).items():
            for series, scale in _series_of(name, metric):
                yield Series(series, labels, value * scale)
        if load.user:
            pid = 1000 + 10 * host + gpu
            yield from _series_of_processes(name, labels, load, pid)
            if name == 'own':
                yield Series(OWNER_SERIES, {**labels, **_owner(host, load)}, 1.0)
            if processes and name == 'own':
                about = {'pid': str(pid), 'user': load.user, 'name': 'python', 'type': 'C'}
                process = {**labels, 'pid': str(pid)}
                yield Series('nvitop_process_info', {**labels, **about, 'status': 'running'}, 1.0)
                yield Series('nvitop_process_gpu_memory_bytes', process, load.used_bytes)
                yield Series('nvitop_process_gpu_sm_utilization_ratio', process, load.percent / 100)

    def _labels(self, name: str, host: int, gpu: int) -> dict[str, str]:
        hostname, uuid = self.name(host), f'GPU-{host:08x}-0000-4000-8000-{gpu:012x}'
        labels = {INSTANCE: f'{hostname}:{_PORTS[name]}', 'job': name}
        if name == 'own':
            return {**labels, 'gpu': str(gpu), 'uuid': uuid, 'hostname': hostname}
        if name == 'dcgm':
            more = {'UUID': uuid, 'device': f'nvidia{gpu}', 'modelName': _MODEL}
            return {**labels, 'gpu': str(gpu), 'Hostname': hostname, **more}
        more = {'index': str(gpu), 'devicename': _MODEL}
        return {**labels, 'hostname': hostname, **more, 'uuid': uuid}


def _owner(host: int, load: _Load) -> dict[str, str]:
    """Return the labels of a job of four hosts, or of a notebook if it only holds memory."""
    if load.percent:
        number = str(41000 + host // 4 * 10 + len(load.user))
        owner = {'owner_kind': 'slurm', 'owner_id': number, 'owner_name': ''}
    else:
        owner = {'owner_kind': 'jupyter', 'owner_id': str(host), 'owner_name': 'work/try.ipynb'}
    return {'user': load.user, **owner}


@functools.lru_cache(maxsize=None)
def _series_of(dialect: str, metric: str) -> tuple[tuple[str, float], ...]:
    """Return name and scale of the series of a metric; empty if the dialect has none."""
    if (dialect, metric) == ('dcgm', 'memory_total'):
        return ()  # as dcgm-exporter up to 4.8
    names = names_of(metric).get(dialect, ())[:1]
    return tuple((name, 1 / meanings()[name].factor) for name in names)


def _values(load: _Load, host: int, gpu: int) -> dict[str, float]:
    """Return the metrics of a GPU in their units."""
    total = 80.0 * _GIB
    return {
        'gpu_utilization': load.percent,
        'memory_used': load.used_bytes,
        'memory_total': total,
        'memory_free': total - load.used_bytes,
        'power_usage': round(75 + 6.2 * load.percent),
        'power_limit': 700.0,
        'temperature': round(31 + 0.38 * load.percent + (host + gpu) % 5),
        'memory_utilization': round(0.6 * load.percent),
        'sm_clock': 1980.0 if load.percent else 345.0,
        'memory_clock': 2619.0,
        'memory_percent': 100 * load.used_bytes / total,
    }


def _series_of_processes(
    name: str, labels: dict[str, str], load: _Load, pid: int
) -> Iterator[Series]:
    if name == 'own':
        user = {**labels, 'user': load.user}
        yield Series('nvitop_user_gpu_processes', user, 1.0)
        yield Series('nvitop_user_gpu_memory_bytes', user, load.used_bytes)
    elif name == 'nvitop-exporter':
        process = {**labels, 'pid': str(pid), 'username': load.user}
        yield Series('process_gpu_memory_MiB', process, load.used_bytes / (1 << 20))


class DemoServer:
    """Answers the questions of screens from a simulated cluster.

    It does not understand PromQL.
    """

    def __init__(self, cluster: Cluster, clock: Callable[[], float] = time.time) -> None:
        self._cluster = cluster
        self._clock = clock

    def query(self, question: Question) -> tuple[CurrentValues, int]:
        """Return the response; its size is not known."""
        now = self._clock()
        if question.kind == 'host':
            own = [*self._cluster.series(now, self._places(question), processes=True)]
            seen = [Series('', {ROW: 'time'}, now - now % 5)] if own else []
            return CurrentValues(iter((*own, *seen))), 0
        measured = now - now % 5
        return CurrentValues(iter(evaluate(self._cluster.series(now), question, measured))), 0

    def query_range(
        self, question: Question, start: float, end: float, step: float
    ) -> list[PastValues]:
        """Return the values of the graphs of a host."""
        wanted = series_of_metrics(GRAPH_METRICS)
        found: dict[tuple[str, str], tuple[Series, list[tuple[float, float]]]] = {}
        places = self._places(question)
        moment = start
        while moment <= end:
            for one in self._cluster.series(moment, places):
                if one.name in wanted:
                    gpu = one.labels.get('UUID') or one.labels['uuid']
                    found.setdefault((one.name, gpu), (one, []))[1].append((moment, one.value))
            moment += step
        return [
            PastValues(one.name, dict(one.labels), tuple(points)) for one, points in found.values()
        ]

    def _places(self, question: Question) -> list[int]:
        """Return the numbers of the machines with the name of the host."""
        name = question.host.name
        return [host for host in range(self._cluster.hosts) if self._cluster.name(host) == name]

    def cancel(self) -> None:
        """Do nothing: responses are immediate."""

    def close(self) -> None:
        """Do nothing: there is no connection."""


_HOSTS = (*HOST_LABELS, INSTANCE)
_USER_NAMES = frozenset(name for name, _ in USER_SERIES.values())
_USAGE = series_of_metrics(['gpu_utilization'])
#: Metrics that the query of hosts adds over the GPUs of a host.
_SUMS = ('memory_total', 'memory_free', 'memory_reserved', 'power_usage', 'power_limit')


def evaluate(series: Iterable[Series], question: Question, measured: float) -> list[Series]:
    """Return the series that a server returns for a question about hosts, GPUs or users."""
    found = _filtered(list(series), question.scope.filters)
    if question.kind == 'users':
        return _rows_of_users(found)
    if question.kind == 'jobs':
        return _rows_of_jobs(found)
    hosts = {_host_labels(one): None for one in found}
    times = [Series('', {**dict(labels), ROW: 'time'}, measured) for labels in hosts]
    down = [_marked(one, 'down') for one in found if one.name == 'nvitop_gpu_up' and not one.value]
    if question.kind == 'gpus':
        keys = [question.metric] if question.metric else [*HEAT_METRICS]
        wanted = series_of_metrics(metric for key in keys for metric in HEAT_METRICS[key][1])
        users = (
            []
            if question.metric
            else [_marked(one, 'user') for one in found if one.name in _USER_NAMES]
        )
        return [*(one for one in found if one.name in wanted), *down, *users, *times]
    return [*_rows_of_hosts(found), *down, *times]


def _marked(one: Series, mark: str) -> Series:
    return one._replace(labels={**one.labels, ROW: mark})


def _host_labels(one: Series) -> tuple[tuple[str, str], ...]:
    return tuple((label, one.labels[label]) for label in _HOSTS if label in one.labels)


def _rows_of_hosts(found: list[Series]) -> Iterator[Series]:
    metrics = {name: meaning.metric for name, meaning in meanings().items()}
    sums: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    users: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for one in found:
        metric, key = metrics.get(one.name, ''), (one.name, _host_labels(one))
        if metric in ('gpu_utilization', 'memory_used'):
            yield one
        elif metric in _SUMS:
            sums[key] = sums.get(key, 0.0) + one.value
        elif metric == 'temperature':
            sums[key] = max(sums.get(key, 0.0), one.value)
        elif one.name == XID and one.value:
            yield _marked(one, 'xid')
        elif one.name in _USER_NAMES:
            user = [(name, one.labels[name]) for name in ('user', 'username') if name in one.labels]
            key = one.name, (*_host_labels(one), *user)
            users[key] = users.get(key, 0.0) + 1
    for rows, mark in ((sums, 'sum'), (users, 'user')):
        for (name, labels), value in rows.items():
            yield Series(name, {**dict(labels), ROW: mark}, value)


def _rows_of_users(found: list[Series]) -> list[Series]:
    rows = []
    for one in found:
        if one.name in _USAGE and _is_idle(one):
            rows.append(_marked(one, 'idle'))
        if one.name in _USER_NAMES:
            rows.append(_marked(one, 'processes'))
            rows.append(_marked(one._replace(value=1.0), 'count'))
        if one.name in USER_MEMORY:
            rows.append(_marked(one, 'memory'))
    return rows


def _rows_of_jobs(found: list[Series]) -> list[Series]:
    usage = [one for one in found if one.name in _USAGE]
    owners = [_marked(one, 'owner') for one in found if one.name == OWNER_SERIES]
    owners += [_marked(one, 'owner') for one in usage if 'pod' in one.labels]
    idle = [_marked(one, 'idle') for one in usage if _is_idle(one)]
    return [*owners, *idle, *usage]


def _is_idle(one: Series) -> bool:
    return one.value * meanings()[one.name].factor < BUSY_PERCENT


def _filtered(found: list[Series], filters: tuple[tuple[str, str], ...]) -> list[Series]:
    """Return the series of the GPUs that match the filter."""
    for prefix, word in filters:
        labels = {
            'host': _HOSTS,
            'user': ('user', 'username'),
            'job': ('owner_id', 'owner_name', 'pod'),
            'gpu': ('gpu', 'index'),
            'model': ('name', 'modelName', 'devicename'),
        }[prefix]
        if prefix == 'job':
            word = word.rpartition('/')[2]
        pattern = re.compile(literal(word) if prefix == 'gpu' else containing(word))
        gpus = {
            _gpu_of(one)
            for one in found
            if any(pattern.fullmatch(one.labels[label]) for label in labels if label in one.labels)
        }
        found = [one for one in found if _gpu_of(one) in gpus]
    return found


def _gpu_of(one: Series) -> str:
    return bare_uuid(one.labels.get('UUID') or one.labels.get('uuid', ''))
