# SPDX-License-Identifier: Apache-2.0
"""One host of a fleet as a source of samples for the ordinary screens."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Callable

from nvitop.fleet.host import read_history, read_host
from nvitop.fleet.output import age_text
from nvitop.fleet.queries import Scope
from nvitop.fleet.questions import Pace, Question
from nvitop.fleet.types import LATE_SECONDS, FleetError
from nvitop.sampling.types import EMPTY_SAMPLE, Origin, Problem, Sample

if TYPE_CHECKING:
    from nvitop.fleet.questions import Server
    from nvitop.fleet.types import FleetHost
    from nvitop.sampling.types import Demand

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
