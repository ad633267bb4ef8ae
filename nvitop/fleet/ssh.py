# SPDX-License-Identifier: Apache-2.0
"""Machines that are read over ssh, without a server: each has a thread and a connection of its own."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Sequence

from nvitop.basics.text import printable
from nvitop.basics.units import format_duration
from nvitop.fleet.reading import host_of_sample
from nvitop.fleet.source import SAMPLE_SECONDS, FleetSource
from nvitop.fleet.types import Fleet, FleetError, FleetFinding, FleetHost
from nvitop.remote.source import RemoteError, RemoteSource
from nvitop.sampling.threads import start_daemon
from nvitop.sampling.types import Demand, Sample

if TYPE_CHECKING:
    from nvitop.fleet.types import FaultSeverity
    from nvitop.remote.hosts import RemoteHost

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
        sample = source.sample(_DEMAND)
        if len(sample.devices) > MAX_DEVICES:
            count = len(sample.devices)
            raise RemoteError(f'reports {count} GPUs; not more than {MAX_DEVICES} are shown')
        self._kind = 'nvidia-smi' if source.is_smi else 'ssh'
        self._fleet.set(self, sample if sample.sequence else None, source.origin.trouble)

    def fleet_host(self, now: float) -> FleetHost:
        """Return its row at a time."""
        words = printable(' '.join(self.trouble.split()))[:MAX_TROUBLE]
        problem = (FleetFinding(words),) if words else ()
        if self.sample is None:
            seconds = time.monotonic() - self._started
            if not words:  # a check must not take a machine that hangs for a good one
                severity: FaultSeverity = 'critical' if seconds > START_SECONDS else 'warning'
                problem = (
                    FleetFinding(f'no answer for {format_duration(round(seconds))}', severity),
                )
            return FleetHost(self.host.name, 'ssh', findings=problem, is_gone=True)
        measured = now - (time.monotonic() - self.sample.monotonic)
        host = host_of_sample(self.host.name, self.sample, measured)
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
        now = time.time()
        with self._news:
            return Fleet(tuple(machine.fleet_host(now) for machine in machines), now)

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
