# SPDX-License-Identifier: Apache-2.0
"""Requests to a server, the pause between them, and one host as a source of samples."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Callable, NamedTuple, Protocol

from nvitop.fleet.host import read_history, read_host
from nvitop.fleet.output import age_text
from nvitop.fleet.queries import (
    Scope,
    gpus_query,
    history_query,
    host_query,
    hosts_query,
    jobs_query,
    users_query,
)
from nvitop.fleet.reading import read_fleet, read_jobs, read_users
from nvitop.fleet.types import LATE_SECONDS, Fleet, FleetError, FleetHost
from nvitop.sampling.types import EMPTY_SAMPLE, Demand, Origin, Problem, Sample

if TYPE_CHECKING:
    from nvitop.fleet.types import CurrentValues, Kind, PastValues

#: Metrics in the graphs of a host.
GRAPH_METRICS = (
    'gpu_utilization',
    'memory_used',
    'memory_total',
    'memory_free',
    'memory_reserved',
    'memory_percent',
    'memory_utilization',
    'power_usage',
    'temperature',
)

#: Pause between requests as a multiple of their duration: one viewer uses at most 5 % of a server.
SHARE = 20


class Question(NamedTuple):
    """A request of a screen to the server."""

    kind: Kind = 'hosts'
    scope: Scope = Scope()
    #: Metric of the heat map; ``''``: the list of GPUs.
    metric: str = 'utilization'
    #: The host, for ``'host'`` and ``'history'``.
    host: FleetHost = FleetHost('')

    @property
    def expression(self) -> str:
        """The query in PromQL."""
        if self.kind == 'host':
            return host_query(self.host, self.scope)
        if self.kind == 'history':
            return history_query(self.host, self.scope, GRAPH_METRICS)
        if self.kind == 'gpus':
            return gpus_query(self.scope, self.metric)
        queries = {'users': users_query, 'jobs': jobs_query}
        return queries.get(self.kind, hosts_query)(self.scope)


class Server(Protocol):
    """A server with the HTTP API of Prometheus, or a simulated one."""

    def query(self, question: Question) -> tuple[CurrentValues, int]:
        """Return the response, and its size in bytes. Raises FleetError."""

    def query_range(
        self, question: Question, start: float, end: float, step: float
    ) -> list[PastValues]:
        """Return the values of a range of time. Raises FleetError."""

    def cancel(self) -> None:
        """End the request in progress, if there is one. Any thread may call this."""

    def close(self) -> None:
        """Close the connection."""


def ask(server: Server, question: Question, *, clock: Callable[[], float] = time.time) -> Fleet:
    """Return the hosts, users or jobs of a response.

    Raises:
        FleetError: There is no valid response.
    """
    started = clock()
    response, size = server.query(question)
    now = clock()
    readers = {'users': read_users, 'jobs': read_jobs}
    fleet = readers.get(question.kind, read_fleet)(response.series, question.scope, now)
    return fleet._replace(warnings=response.warnings, seconds=now - started, size_bytes=size)


def used_labels(fleet: Fleet) -> tuple[tuple[str, str], ...]:
    """Return the labels that name the hosts of a response, each with the dialect."""
    pairs = {(one.dialect, one.label) for host in fleet.hosts for one in host.exporters}
    return tuple(sorted(pairs))


class Pace(NamedTuple):
    """Time between requests."""

    #: Minimum (seconds).
    interval: float = 5.0
    #: Time (seconds) between two values of a host; 0.0: not known yet.
    scrape_interval: float = 0.0
    #: Duration of the last request.
    seconds: float = 0.0

    @property
    def period(self) -> float:
        """Time (seconds) from one request to the next."""
        return max(self.interval, self.scrape_interval, SHARE * self.seconds)

    def after(self, before: Fleet, fleet: Fleet) -> Pace:
        """Return the pace after a response."""
        pace = self._replace(seconds=fleet.seconds)
        known = {host.name: host.measured for host in before.hosts}
        steps = []
        for host in fleet.hosts:
            last = known.get(host.name)
            if last is not None and host.measured is not None and host.measured > last:
                steps.append(host.measured - last)
        if not steps:
            return pace
        # A period that is too long would silently skip values.
        step = sorted(steps)[len(steps) // 2]
        return pace._replace(scrape_interval=min(step, 60.0))


#: Length and resolution (seconds) of the history that the server provides for graphs.
PAST_SECONDS, PAST_STEP = 3600.0, 15.0
NO_SIGNALS = 'Not available: the processes run on another machine'


class HostSource:
    """The samples of one host. Each refresh is one request.

    Args:
        server: The server.
        host: The host, from the last list.
        scope: Part of the fleet that is shown.
        interval: Minimum time (seconds) between requests.
        clock: Monotonic seconds.
        wall_clock: Seconds since the epoch.
    """

    def __init__(
        self,
        server: Server,
        host: FleetHost,
        scope: Scope,
        *,
        interval: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._server = server
        self._host = host
        self._scope = scope
        self._clock = clock
        self._wall_clock = wall_clock
        self._pace = Pace(interval)
        self._last = EMPTY_SAMPLE
        self._due = 0.0
        self._trouble = ''
        self._sequence = 0
        self._past: tuple[Sample, ...] | None = None

    @property
    def origin(self) -> Origin:
        """The host, and why there are no new samples."""
        return Origin(no_signals=NO_SIGNALS, host=self._host.name, trouble=self._trouble)

    def next_due(self) -> float:
        """Return when the next request is due, on the monotonic clock."""
        return self._due

    def refresh(self) -> None:
        """Make the next request due now."""
        self._due = 0.0

    def sample(self, demand: Demand) -> Sample:
        """Send a request if one is due; otherwise return the last sample again."""
        started = self._clock()
        if started < self._due:
            return self._last
        self._sequence += 1
        question = Question('host', self._scope, host=self._host)
        try:
            response, _ = self._server.query(question)
        except FleetError as error:
            problem = Problem('monitor', 'source', error.line, 'error')
            sample = self._last._replace(
                problems=(problem,), timestamp=self._last.timestamp or self._wall_clock()
            )
            self._trouble = str(error)
        else:
            now = self._wall_clock()
            sample = read_host(response.series, self._host, now)
            notes = [Problem('monitor', 'source', note, 'na') for note in response.warnings]
            sample = sample._replace(problems=(*sample.problems, *notes))
            self._trouble = _trouble(sample, now)
        ended = self._clock()
        self._pace = self._pace._replace(seconds=ended - started)
        self._due = started + self._pace.period
        self._last = sample._replace(
            monotonic=ended, processes_monotonic=ended, sequence=self._sequence
        )
        return self._last

    def past(self) -> tuple[Sample, ...]:
        """Return samples of the last hour for graphs, oldest first; ``()`` if there are none.

        The first call sends one request.
        """
        if self._past is None:
            self._past = ()
            now, monotonic = self._wall_clock(), self._clock()
            question = Question('history', self._scope, host=self._host)
            try:
                values = self._server.query_range(question, now - PAST_SECONDS, now, PAST_STEP)
            except FleetError:
                return self._past  # graphs begin now
            self._past = tuple(
                sample._replace(monotonic=monotonic - (now - moment))
                for moment, sample in read_history(values, self._last)
                if monotonic - (now - moment) > 0
            )
        return self._past


def _trouble(sample: Sample, now: float) -> str:
    """Return why a sample is not up to date, ``''`` if it is."""
    if not sample.devices:
        return 'no values'
    age = now - sample.timestamp
    return '' if age < LATE_SECONDS else f'{age_text(age)} old'
