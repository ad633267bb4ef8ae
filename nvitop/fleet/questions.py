# SPDX-License-Identifier: Apache-2.0
"""What screens ask a server, and how often. Each question is one request."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Callable, NamedTuple, Protocol

from nvitop.fleet.queries import (
    Scope,
    gpus_query,
    history_query,
    host_query,
    hosts_query,
    users_query,
)
from nvitop.fleet.reading import read_fleet, read_users
from nvitop.fleet.types import Fleet, FleetHost

if TYPE_CHECKING:
    from typing import Literal

    from nvitop.fleet.response import CurrentValues, PastValues

    Kind = Literal['hosts', 'gpus', 'users', 'host', 'history']

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
    """What a screen asks the server."""

    kind: Kind = 'hosts'
    scope: Scope = Scope()
    #: Metric of the heat map.
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
        return users_query(self.scope) if self.kind == 'users' else hosts_query(self.scope)


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
    """Return the hosts or users of a response.

    Raises:
        FleetError: There is no valid response.
    """
    started = clock()
    response, size = server.query(question)
    now = clock()
    read = read_users if question.kind == 'users' else read_fleet
    fleet = read(response.series, question.scope, now)
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
        # Too long a period would skip values without a sign of it.
        step = sorted(steps)[len(steps) // 2]
        return pace._replace(scrape_interval=min(step, 60.0))
