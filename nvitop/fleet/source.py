# SPDX-License-Identifier: Apache-2.0
"""Where a fleet comes from, the pause between requests, and one host as a source of samples.

Machines that are read over ssh, without a server, have a thread and a connection each.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Sequence

from nvitop.basics.text import printable
from nvitop.basics.units import format_duration
from nvitop.fleet.reading import host_of_sample, read_fleet
from nvitop.fleet.series import (
    Scope,
    fleet_query,
    history_query,
    host_query,
    read_history,
    read_host,
)
from nvitop.fleet.types import NOT_RESPONDING, Fleet, FleetError, FleetFinding, FleetHost
from nvitop.health import BUSY_PERCENT, HELD_SECONDS
from nvitop.sampling.threads import start_daemon
from nvitop.sampling.types import EMPTY_SAMPLE, STALE_SECONDS, Demand, Origin, Problem, Sample

if TYPE_CHECKING:
    from nvitop.fleet.client import Client
    from nvitop.remote.hosts import RemoteHost
    from nvitop.remote.source import RemoteSource

#: Pause between requests as a multiple of their duration: one viewer uses at most 5 % of a server.
SHARE = 20
#: Seconds between two samples of a machine over ssh.
SAMPLE_SECONDS = 2.0
#: Length and resolution (seconds) of the history for graphs.
PAST_SECONDS, PAST_STEP = 3600.0, 15.0
#: Added to monotonic times of samples: those of the past are positive soon after a start too.
_SHIFT = 2 * PAST_SECONDS
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


def period(interval: float, seconds: float) -> float:
    """Return the time (seconds) from one request to the next, given the duration of the last one."""
    return max(interval, SHARE * seconds)


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
        #: GPUs that the list has seen held. One sample alone does not show it.
        self._held = {gpu.id for gpu in host.gpus if gpu.state == 'held'}
        self._interval = interval
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
            is_silent = False
        else:
            is_silent = not sample.devices
            self._trouble = 'not responding' if is_silent else ''
            sample = self._last if is_silent and self._last.devices else self._with_held(sample)
        age = max(0.0, time.time() - sample.timestamp)
        is_old = age >= STALE_SECONDS
        if is_old and not self._trouble:
            self._trouble = f'values {format_duration(age)} old'
        ended = time.monotonic()
        self._due = started + period(self._interval, ended - started)
        measured = ended - age + _SHIFT
        self._last = sample._replace(
            monotonic=measured,
            processes_monotonic=measured,
            sequence=self._sequence,
            is_late=is_silent or is_old,
        )
        return self._last

    def _with_held(self, sample: Sample) -> Sample:
        busy = [d for d in sample.devices if (d.gpu_utilization_percent or 0) >= BUSY_PERCENT]
        self._held -= {device.key.uuid for device in busy}
        return sample._replace(
            devices=tuple(
                d._replace(idle_seconds=HELD_SECONDS) if d.key.uuid in self._held else d
                for d in sample.devices
            )
        )

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
            sample._replace(monotonic=monotonic + _SHIFT - (now - moment))
            for moment, sample in history
            if moment <= self._last.timestamp  # a server repeats old values for minutes
        )


#: Maximum number of machines to which connections are opened at the same time.
MAX_STARTING = 8
#: Maximum time (seconds) that a machine keeps others from starting.
START_SECONDS = 10.0
#: Time (seconds) that the first list waits for machines: on the screen, and in scripts.
SCREEN_SECONDS, ONCE_SECONDS = 1.0, 20.0
#: Maximum time (seconds) that closing takes: ssh is killed after one second.
CLOSE_SECONDS = 1.5
#: Maximum number of GPUs and MIG devices of a machine: the time for its row grows with their square.
MAX_DEVICES = 1024
#: Maximum length of an error of a machine.
MAX_TROUBLE = 200
_DEMAND = Demand(owners=True)
_CONNECTING = FleetFinding('connecting', 'warning')
#: More arguments; tests simulate machines with them.
DEMO: tuple[str, ...] = ()


class _WatchedMachine:
    """The newest sample of a machine, or why there is none."""

    def __init__(self, host: RemoteHost, source: SshSource) -> None:
        self.host = host
        self._fleet = source
        self.sample: Sample | None = None
        self.trouble = ''
        self.is_running = False
        self._kind = 'ssh'
        self._started = time.monotonic()

    @property
    def is_known(self) -> bool:
        """Whether it has answered or failed."""
        return self.sample is not None or bool(self.trouble)

    def run(self) -> None:
        """Read samples until the fleet is closed."""
        from nvitop.remote.source import RemoteError  # it needs the NVML binding

        self.is_running = True
        try:
            self._run()
        except Exception as error:
            text = f'{type(error).__name__}: {error}'
            text = str(error) if isinstance(error, RemoteError) else text
            self._fleet.set(self, self.sample, text)
        self.is_running = False
        self._fleet.set(self, self.sample, self.trouble)

    def _run(self) -> None:
        from nvitop.remote.source import RemoteSource

        arguments = ['query', '--samples', '-l', f'{SAMPLE_SECONDS:g}', *DEMO]
        source = RemoteSource(
            self.host.destination, arguments, interval=SAMPLE_SECONDS, or_smi=True
        )
        try:
            with self._fleet.starting:
                started = time.monotonic()
                while not (self.is_known or self._fleet.is_closed) and (
                    time.monotonic() - started < START_SECONDS
                ):
                    self._take(source)
            while not self._fleet.is_closed:
                self._take(source)
        finally:
            source.close()

    def _take(self, source: RemoteSource) -> None:
        from nvitop.remote.source import RemoteError

        sample = source.sample(_DEMAND)
        if len(sample.devices) > MAX_DEVICES:
            count = len(sample.devices)
            raise RemoteError(f'reports {count} GPUs; not more than {MAX_DEVICES} are shown')
        self._kind = 'nvidia-smi' if source.is_smi else 'ssh'
        self._fleet.set(self, sample if sample.sequence else None, source.origin.trouble)

    def fleet_host(self) -> FleetHost:
        """Return its row."""
        words = printable(' '.join(self.trouble.split()))[:MAX_TROUBLE]
        problem = (FleetFinding(words),) if words else ()
        if self.sample is None:
            if not words:  # a check must not take a machine that hangs for a good one
                seconds = time.monotonic() - self._started
                problem = (NOT_RESPONDING if seconds > START_SECONDS else _CONNECTING,)
            return FleetHost(self.host.name, 'ssh', findings=problem, is_silent=True)
        age = time.monotonic() - self.sample.monotonic
        host = host_of_sample(self.host.name, self.sample, age)
        return host._replace(kind=self._kind, findings=(*host.findings, *problem))


class SshSource(FleetSource):
    """The machines of a fleet over ssh. A machine that hangs delays no other.

    Args:
        hosts: The machines.
        patience: Time (seconds) that the first list waits for machines that have not answered.
    """

    def __init__(self, hosts: Sequence[RemoteHost], patience: float) -> None:
        self.starting = threading.BoundedSemaphore(MAX_STARTING)
        self.is_closed = False
        self._patience = patience
        self._news = threading.Condition()
        self._machines = {host.name: _WatchedMachine(host, self) for host in hosts}
        self._is_started = False

    def set(self, machine: _WatchedMachine, sample: Sample | None, trouble: str) -> None:
        """Take what a machine has answered."""
        with self._news:
            machine.sample, machine.trouble = sample, trouble
            self._news.notify_all()

    def read(self) -> Fleet:
        """Return all machines. The first call waits a moment for them. Raises FleetError."""
        machines = self._machines.values()
        if not self._is_started:
            self._is_started = True
            try:
                for machine in machines:
                    start_daemon(f'nvitop-{machine.host.name}', machine.run)
            except RuntimeError as error:
                raise FleetError(f'no thread can be started: {error}') from None
            with self._news:
                self._news.wait_for(
                    lambda: all(machine.is_known for machine in machines), self._patience
                )
        with self._news:
            return Fleet(tuple(machine.fleet_host() for machine in machines), time.time())

    def sample(self, host: FleetHost) -> Sample:
        """Return the newest sample of a machine. Raises FleetError."""
        machine = self._machines[host.name]
        if machine.sample is None:
            raise FleetError(machine.trouble or f'{host.name} has not answered yet')
        age = time.monotonic() - machine.sample.monotonic
        return machine.sample._replace(timestamp=time.time() - age)

    def close(self) -> None:
        """Close the connections; wait a moment for machines that do not react."""
        self.is_closed = True
        with self._news:
            machines = self._machines.values()
            self._news.wait_for(lambda: not any(m.is_running for m in machines), CLOSE_SECONDS)
