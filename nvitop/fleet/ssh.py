# SPDX-License-Identifier: Apache-2.0
"""Machines that are read over ssh, without a server: each has a thread and a connection of its own."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Sequence

from nvitop.basics.printable import printable
from nvitop.fleet.source import SAMPLE_SECONDS
from nvitop.fleet.types import (
    SIMULATED,
    Fleet,
    FleetError,
    FleetFinding,
    FleetGpu,
    FleetHost,
    FleetOwner,
    FleetUse,
)
from nvitop.health import KINDS, device_states, findings
from nvitop.owner.types import Layer
from nvitop.remote.source import RemoteError, RemoteSource
from nvitop.sampling.types import Demand, Sample
from nvitop.sampling.watchdog import start_daemon

if TYPE_CHECKING:
    from nvitop.fleet.types import FaultSeverity
    from nvitop.remote.hosts import RemoteHost
    from nvitop.sampling.types import DeviceKey, ProcessSample

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
                problem = (FleetFinding(f'no answer for {seconds:.0f} s', severity),)
            return FleetHost(self.host.name, 'ssh', findings=problem, is_gone=True)
        measured = now - (time.monotonic() - self.sample.monotonic)
        host = host_of_sample(self.host.name, self.sample, measured)
        return host._replace(kind=self._kind, findings=(*host.findings, *problem))


class SshSource:
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

    def past(self, host: FleetHost, sample: Sample) -> list[tuple[float, Sample]]:
        """Return no samples: graphs begin now."""
        return []

    def close(self) -> None:
        """Close the connections; wait a moment for machines that do not react."""
        self.is_closed = True
        with self._news:
            machines = self._machines.values()
            self._news.wait_for(lambda: not any(m.is_running for m in machines), CLOSE_SECONDS)


def host_of_sample(name: str, sample: Sample, measured: float) -> FleetHost:
    """Return the row of a machine from its sample. MIG devices count instead of their GPU."""
    divided = {device.key.physical_index for device in sample.devices if device.key.is_mig}
    gpus = {d.key.physical_index: d for d in sample.devices if not d.key.is_mig}
    states = device_states(sample)
    wrong: dict[int, dict[FleetFinding, None]] = {}
    for finding in findings(sample):
        if finding.severity in ('warning', 'critical'):
            words = FleetFinding(KINDS[finding.kind].counted, finding.severity)
            wrong.setdefault(finding.device.physical_index, {})[words] = None
    processes: dict[DeviceKey, list[ProcessSample]] = {}
    for process in sample.processes:
        processes.setdefault(process.key.device, []).append(process)
    rows = []
    for device in sample.devices:
        index = device.key.physical_index
        if index in divided and not device.key.is_mig:
            continue
        whole = gpus.get(index, device)
        watts = whole.power_usage_mw
        limit = whole.power_limit_mw
        rows.append(
            FleetGpu(
                device.key.uuid or f'{name}#{device.key.label}',
                device.key.label,
                whole.key.uuid or f'{name}#{index}',
                printable(device.info.name or ''),
                states[device.key].word,
                device.gpu_utilization_percent,
                device.memory_used_bytes,
                device.info.memory_total_bytes,
                None if watts is None else watts / 1000,
                None if limit is None else limit / 1000,
                whole.temperature_celsius,
                tuple(wrong.get(index, ())),
                _uses(processes.get(device.key, [])),
                _owners(processes.get(device.key, [])),
            )
        )
    marks = (SIMULATED,) if sample.simulated else ()
    return FleetHost(name, 'ssh', tuple(rows), findings=marks, measured=measured)


def _uses(processes: Sequence[ProcessSample]) -> tuple[FleetUse, ...]:
    pids: dict[str, set[int]] = {}
    memory: dict[str, float] = {}
    for process in processes:
        user = printable(process.username or '')
        if user:
            pids.setdefault(user, set()).add(process.key.pid)
            memory[user] = memory.get(user, 0.0) + (process.gpu_memory_bytes or 0)
    return tuple(FleetUse(user, memory[user], len(pids[user])) for user in sorted(pids))


def _owners(processes: Sequence[ProcessSample]) -> tuple[FleetOwner, ...]:
    owners: dict[FleetOwner, None] = {}
    for process in processes:
        owner = process.owner
        if owner is not None and owner.kind:
            name = printable(owner.name) if owner.name else None
            layer = Layer(printable(owner.kind), printable(owner.id), name)
            owners[FleetOwner(printable(process.username or ''), layer)] = None
    return tuple(owners)
