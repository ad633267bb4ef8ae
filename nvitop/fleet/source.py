# SPDX-License-Identifier: Apache-2.0
"""Where a fleet comes from, the pause between requests, and one host as a source of samples."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from nvitop.fleet.host import read_history, read_host
from nvitop.fleet.lists import age_text
from nvitop.fleet.queries import Scope, fleet_query, history_query, host_query
from nvitop.fleet.reading import read_fleet
from nvitop.fleet.types import LATE_SECONDS, Fleet, FleetError, FleetHost
from nvitop.sampling.types import EMPTY_SAMPLE, Demand, Origin, Problem, Sample

if TYPE_CHECKING:
    from nvitop.fleet.client import Client

#: Pause between requests as a multiple of their duration: one viewer uses at most 5 % of a server.
SHARE = 20
#: Seconds between two samples of a machine over ssh.
SAMPLE_SECONDS = 2.0
#: Length and resolution (seconds) of the history for graphs.
PAST_SECONDS, PAST_STEP = 3600.0, 15.0
NO_SIGNALS = 'Not available: the processes run on another machine'


class FleetSource:
    """All hosts of a fleet, and the samples of one of them. All that reads raises FleetError."""

    def read(self) -> Fleet:
        """Return all hosts."""
        raise NotImplementedError

    def sample(self, host: FleetHost) -> Sample:
        """Return the sample of one host."""
        raise NotImplementedError

    def past(self, host: FleetHost, sample: Sample) -> list[tuple[float, Sample]]:
        """Return samples of the last hour with their times, oldest first; ``[]``: graphs begin now."""
        return []

    def close(self) -> None:
        """End what runs in the background."""


class PrometheusSource(FleetSource):
    """The hosts that a server with the API of Prometheus knows."""

    def __init__(self, client: Client, scope: Scope) -> None:
        self._client = client
        self._scope = scope

    def read(self) -> Fleet:
        """Return all hosts."""
        started = time.time()
        response = self._client.query(fleet_query(self._scope))
        now = time.time()
        fleet = read_fleet(response.series, self._scope, now)
        return fleet._replace(
            warnings=response.warnings, seconds=now - started, size_bytes=response.size_bytes
        )

    def sample(self, host: FleetHost) -> Sample:
        """Return the sample of one host."""
        response = self._client.query(host_query(host, self._scope))
        sample = read_host(response.series, host, time.time())
        notes = [Problem('monitor', 'source', note, 'na') for note in response.warnings]
        return sample._replace(problems=(*sample.problems, *notes))

    def past(self, host: FleetHost, sample: Sample) -> list[tuple[float, Sample]]:
        """Return samples of the last hour with their times, oldest first."""
        now = time.time()
        query = history_query(host, self._scope)
        values = self._client.values_over_time(query, now - PAST_SECONDS, now, PAST_STEP)
        return read_history(values, host, sample)


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


class HostSource:
    """The samples of one host for the monitor. Each refresh is one request.

    Args:
        source: The fleet.
        host: The host, from the last list.
        interval: Minimum time (seconds) between requests.
    """

    def __init__(self, source: FleetSource, host: FleetHost, *, interval: float = 5.0) -> None:
        self._source = source
        self._host = host
        self._pace = Pace(interval)
        self._last = EMPTY_SAMPLE
        self._due = 0.0
        self._trouble = ''
        self._sequence = 0
        self._has_past = False

    @property
    def origin(self) -> Origin:
        """The host, and why there are no new samples."""
        return Origin(
            no_signals=NO_SIGNALS, host=self._host.name, trouble=self._trouble, is_chosen=True
        )

    def next_due(self) -> float:
        """Return when the next request is due, on the monotonic clock."""
        return self._due

    def refresh(self) -> None:
        """Make the next request due now."""
        self._due = 0.0

    def sample(self, demand: Demand) -> Sample:
        """Send a request if one is due; otherwise return the last sample again."""
        started = time.monotonic()
        if started < self._due:
            return self._last
        self._sequence += 1
        try:
            sample = self._source.sample(self._host)
        except FleetError as error:
            problem = Problem('monitor', 'source', error.line, 'error')
            timestamp = self._last.timestamp or time.time()
            sample = self._last._replace(problems=(problem,), timestamp=timestamp)
            self._trouble = str(error)
        else:
            self._trouble = _trouble(sample, time.time())
        ended = time.monotonic()
        self._pace = self._pace._replace(seconds=ended - started)
        self._due = started + self._pace.period
        self._last = sample._replace(
            monotonic=ended, processes_monotonic=ended, sequence=self._sequence
        )
        return self._last

    def past(self) -> tuple[Sample, ...]:
        """Return samples of the last hour for graphs, oldest first, once; ``()`` if there are none."""
        if self._has_past or not self._last.devices:
            return ()
        self._has_past = True
        now, monotonic = time.time(), time.monotonic()
        try:
            history = self._source.past(self._host, self._last)
        except FleetError:
            return ()  # graphs begin now
        return tuple(
            sample._replace(monotonic=monotonic - (now - moment))
            for moment, sample in history
            if monotonic - (now - moment) > 0
        )


def _trouble(sample: Sample, now: float) -> str:
    """Return why a sample is not up to date, ``''`` if it is."""
    if not sample.devices:
        return 'no values'
    age = now - sample.timestamp
    return '' if age < LATE_SECONDS else f'{age_text(age)} old'
