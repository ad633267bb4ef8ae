# SPDX-License-Identifier: Apache-2.0
"""Sources of samples; :class:`LiveSource` is the only path from live objects to samples."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Callable, Collection, Hashable, Iterable

from nvitop.api import libnvml
from nvitop.api.device.handles import start_nvml
from nvitop.api.system import system
from nvitop.api.timing import SHORTEST_CPU_SECONDS
from nvitop.basics.metrics import EXTENDED_METRICS, LISTS, METRICS
from nvitop.basics.toml import unknown
from nvitop.claims.records import read_claims
from nvitop.platforms.nvidia import minor_numbers
from nvitop.sampling.driver_reader import DriverReader, EnergyCounters
from nvitop.sampling.events import EventWatcher
from nvitop.sampling.history import past_processes
from nvitop.sampling.host_reader import HostReader, ProcessTreeReader, read_host_io
from nvitop.sampling.plan import DeviceSelection, DeviceSelector, Due, Intervals, Plan
from nvitop.sampling.process_reader import (
    LONGEST_CPU_SECONDS,
    IdleTimes,
    ProcessReader,
    ProcessReading,
    without_measurements,
)
from nvitop.sampling.threads import StepOutcome, Watchdog, call_with_limit, silence, time_limit
from nvitop.sampling.types import (
    LIVE,
    PROCESSES,
    ClaimSample,
    Cost,
    Demand,
    HostIo,
    JobSample,
    Origin,
    Problem,
    ProcessKey,
    ProcessSample,
    Sample,
)

if TYPE_CHECKING:
    from nvitop.owner.names import SlurmJobs
    from nvitop.sampling.owner_reader import OwnerReader

#: Metrics read together with the processes: the memory they are a part of, and where they run.
_FIRST_METRICS = {'mig_mode', 'memory_percent'} | {
    metric.name for metric in METRICS if metric.name.startswith('memory_') and metric.unit == 'B'
}
#: Metrics that are measured between two readings.
_BEGUN_METRICS = frozenset(metric.name for metric in METRICS if metric.begin)


class LiveSource:
    """This machine: its GPUs through NVML, its host and processes through psutil.

    No call of the driver can block :meth:`sample` for long: a GPU that does not respond within
    max(2 s, interval) gets the status ``'timed out'`` and is not queried until it responds again, see
    :class:`~nvitop.sampling.threads.Watchdog`. Nothing raises: failures are in
    :attr:`Sample.problems`.

    Args:
        intervals: How often each part is measured.
        only: The GPUs and MIG devices to include: indices, (GPU, MIG device) pairs, UUIDs. GPUs
            include their MIG devices. ``None``: all, whenever they appear.
        mig_devices: Whether GPUs include their MIG devices, and the processes on them.
        clock: Monotonic seconds.
        wall_clock: Seconds since the epoch.
        sleep: How :meth:`complete_sample` waits.
        watchdog: Runs the calls that may not return.
        owner_names: How to look up names of containers: ``'files'``, ``'sockets'`` or ``'none'``.
        on_the_second: Measure when a second of the wall clock begins, after the first sample.
        wake: Whether GPUs that sleep are woken: ``'never'``, ``'ask'`` (by :meth:`refresh`) or
            ``'always'``. Those in ``only`` are woken anyway.
    """

    def __init__(
        self,
        intervals: Intervals | None = None,
        *,
        only: Iterable[DeviceSelector] | None = None,
        mig_devices: bool = True,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        watchdog: Watchdog | None = None,
        owner_names: str = 'files',
        on_the_second: bool = False,
        wake: str = 'never',
    ) -> None:
        self._clock = clock
        self._wall_clock = wall_clock
        self._sleep = sleep
        phase = clock() - wall_clock() if on_the_second else None
        self._plan = Plan(intervals, clock=clock, phase=phase)
        every = self._plan.intervals
        self._limit = time_limit(every.devices)
        self._watchdog = watchdog or Watchdog('nvitop-driver', clock=clock)
        selection = DeviceSelection(only, mig_devices=mig_devices)
        self._driver = DriverReader(
            selection, self._watchdog, limit=self._limit, clock=clock, wake=wake
        )
        self._host = HostReader(clock=clock)
        longest = max(LONGEST_CPU_SECONDS, 3 * every.processes)
        self._processes = ProcessReader(longest=longest, clock=clock)
        #: Made on first use.
        self._tree_reader: ProcessTreeReader | None = None
        self._idle_times = IdleTimes(2 * every.processes)
        self._processes_monotonic = 0.0
        self._process_reading = ProcessReading()
        #: Why the processes could not be read the last time.
        self._process_failures: tuple[Problem, ...] = ()
        self._stuck_readers = 0
        self._owner_names = owner_names
        #: Made on first use.
        self._owners: OwnerReader | None = None
        self._host_io = HostIo()
        self._host_io_failures: tuple[Problem, ...] = ()
        self._claims: tuple[ClaimSample, ...] = ()
        #: Made on first use.
        self._jobs: SlurmJobs | None = None
        self._minors: dict[str, int] = {}
        self._sequence = 0
        self._energy = EnergyCounters()

    @property
    def origin(self) -> Origin:
        """This machine."""
        return LIVE

    @property
    def threads_inside(self) -> int:
        """Number of threads inside calls now; unless it is 0, leave the process by ``os._exit``."""
        return self._watchdog.threads_inside

    def watch_events(self, on_event: Callable[[], None] | None) -> None:
        """Receive errors that the driver announces after the next sample; ``None``: no longer.

        ``on_event`` is also called when the driver can be restarted: until then, events are missed.
        """
        if self._driver.watcher is not None:
            self._driver.watcher.stop()
        self._driver.watcher = None
        if on_event is not None:
            self._driver.watcher = EventWatcher(
                lambda _: on_event(), on_pause=on_event, wall_clock=self._wall_clock
            )

    def next_due(self) -> float:
        """Return when something falls due next, on the monotonic clock."""
        return self._plan.next_due()

    def refresh(self) -> None:
        """Make everything due now."""
        self._plan.refresh()
        self._driver.refresh()

    def sample(self, demand: Demand) -> Sample:
        """Measure what is due for this demand; the rest of the sample is as before."""
        return self._measure(demand, self._plan.due(demand), is_planned=True)

    def complete_sample(
        self,
        demand: Demand | None = None,
        *,
        metrics: Collection[str] | None = None,
        host: bool = True,
        process_cpu: bool = True,
        process_utilization: bool = True,
    ) -> Sample:
        """Return a sample measured now as a whole, as for a report.

        CPU % is measured since the last complete sample, or over 0.1 s for new processes; the devices
        are read in that time.

        Args:
            demand: What is needed of processes; its ``shown_metrics`` are measured, too.
            metrics: The metrics to measure, by name; ``None``: all except those of tier *shown*.
                With ``'processes'``, the driver lists its processes even if the demand has none.
            host: Whether to measure CPU % of the host.
            process_cpu: Whether to measure CPU % of processes, if the demand includes processes.
                Without CPU % there is no wait.
            process_utilization: Whether to measure the engine utilization of processes.
        """
        demand = Demand() if demand is None else demand
        if metrics is None:
            metrics = [metric.name for metric in METRICS if metric.tier != 'shown']
        wanted = {*metrics, *demand.shown_metrics} - {PROCESSES}
        started, calls = self._clock(), libnvml.call_count()
        first = wanted & _FIRST_METRICS
        begun = wanted & _BEGUN_METRICS
        sample = self._measure(
            demand,
            Due(
                metrics=frozenset(first | begun),
                slow=True,
                processes=demand.processes or PROCESSES in metrics,
                skips_process_utilization=not process_utilization,
                host=host,
            ),
        )
        started_cpu = self._clock()
        if wanted - first:
            sample = self._measure(demand, Due(metrics=frozenset(wanted - first)))
        keys = self._begun_processes() if demand.processes and process_cpu else frozenset()
        host = host and sample.host.cpu_percent is None
        if host or keys:
            remaining = started_cpu + SHORTEST_CPU_SECONDS + 0.005 - self._clock()
            if remaining > 0:
                self._sleep(remaining)
            sample = self._measure(demand, Due(new_processes=keys, host=host))
        if demand.owners:
            sample = sample._replace(processes=self._with_owners(demand, wait=True))
        cost = self._cost(started, calls)
        return sample._replace(cost=cost)

    def _measure(self, demand: Demand, due: Due, *, is_planned: bool = False) -> Sample:
        """Measure what is due; if it was planned, plan the second readings it needs."""
        started, calls = self._clock(), libnvml.call_count()
        if due.devices or due.processes:
            self._driver.read(due)
            if self._driver.begun and is_planned:
                self._plan.add_second_reading(shown=self._driver.begun)
        if due.slow or due.fast:
            self._read_claims()
        if due.host:
            self._host.read(cores=demand.cpu_cores)
            self._read_host_io(demand)
        has_processes = demand.processes and (due.processes or due.new_processes)
        if has_processes or due.host_processes:
            reading = self._read_processes(demand, due, is_planned=is_planned)
            if reading.begun and is_planned:
                self._plan.add_second_reading(self._begun_processes(), tree=due.host_processes)
        if not demand.processes:
            self._process_reading = ProcessReading()
        processes = self._with_owners(demand)
        now = self._clock()
        self._sequence += 1
        driver, reading = self._driver.info, self._process_reading
        devices, energy_problems = self._energy.check(self._driver.devices, now)
        return Sample(
            timestamp=self._wall_clock(),
            monotonic=now,
            sequence=self._sequence,
            driver_version=driver.driver_version,
            cuda_driver_version=driver.cuda_driver_version,
            simulated=system().scenario,
            host=self._host.sample._replace(io=self._host_io),
            devices=devices,
            processes=processes,
            host_processes=reading.host_processes if demand.host_processes else (),
            problems=(
                *self._driver.problems,
                *energy_problems,
                *self._process_failures,
                *reading.problems,
                *self._host.problems,
                *self._host_io_failures,
                *(self._owners.problems if demand.owners and self._owners is not None else ()),
            ),
            cost=self._cost(started, calls),
            processes_monotonic=self._processes_monotonic,
            missing_gpus=self._driver.missing_gpus,
            events=self._driver.events(),
            claims=self._claims,
            jobs=self._read_jobs(processes) if demand.jobs else (),
        )

    def _cost(self, started: float, calls: int) -> Cost:
        spent = self._clock() - started
        return Cost(spent, libnvml.call_count() - calls, time.process_time())

    def _read_claims(self) -> None:
        """Read the claims of the devices, without waiting long for a directory that hangs."""
        outcome = self._watchdog.run({'claims': read_claims}, limit=self._limit)['claims']
        known = {device.key.uuid for device in self._driver.devices}
        self._claims = tuple(
            ClaimSample(uuid, claim.username, claim.process.pid, claim.since, claim.command)
            for uuid, claim in sorted((outcome.value or {}).items())
            if uuid in known
        )

    def _read_jobs(self, processes: Iterable[ProcessSample]) -> tuple[JobSample, ...]:
        if system().scenario:
            return ()
        if self._jobs is None:
            from nvitop.owner.names import SlurmJobs  # loaded only if jobs are shown

            self._jobs = SlurmJobs(system().hostname())
            self._minors = minor_numbers()
        owners = [process.owner for process in processes if process.owner is not None]
        running = {str(owner.id) for owner in owners if owner.kind == 'slurm'}
        # Slurm counts GPUs by their device files.
        gpus: dict[int, int] = {}
        for device in self._driver.devices:
            bus_id = (device.info.bus_id or '').lower()
            minor = next((n for bus, n in self._minors.items() if bus_id.endswith(bus)), None)
            index = device.key.physical_index
            gpus[index if minor is None else minor] = index
        return tuple(
            JobSample(
                *('slurm', job.id, job.user, job.account, job.partition),
                tuple(sorted({gpus[number] for number in job.gpus if number in gpus})),
            )
            for job in self._jobs.read(running)
        )

    def _read_host_io(self, demand: Demand) -> None:
        """Read input and output of the host, without waiting long for a file system that hangs."""
        self._host_io, self._host_io_failures = HostIo(), ()
        if not demand.host_io:
            return
        outcome = self._watchdog.run({'host io': read_host_io}, limit=self._limit)['host io']
        self._host_io = outcome.value or self._host_io
        self._host_io_failures = _failures('io', outcome)

    def _read_processes(self, demand: Demand, due: Due, *, is_planned: bool) -> ProcessReading:
        """Read the processes; return nothing if the system does not respond."""
        visible = demand.visible_processes
        reader, own = self._processes, self._host.sample
        detailed = demand.detailed_process
        if detailed is not None and self._tree_reader is None:
            self._tree_reader = ProcessTreeReader(self._clock, self._wall_clock)
        tree_reader = self._tree_reader
        records = self._driver.processes

        def read() -> ProcessReading:
            reading = reader.read(
                records,
                None if visible is None else frozenset(visible),
                own,
                measure=None if due.processes else due.new_processes,
                tree=due.host_processes,
            )
            if detailed is None or tree_reader is None:
                return reading
            processes = tree_reader.add_to(reading.processes, detailed, is_due=due.processes)
            return reading._replace(processes=processes)

        # Reading a command line blocks while its process hangs in the kernel, often in a driver.
        subject: Hashable = f'processes {self._stuck_readers}'
        outcome = self._watchdog.run({subject: read}, limit=self._limit)[subject]
        self._process_failures = _failures(PROCESSES, outcome)
        if outcome.timed_out:
            self._processes, self._tree_reader = reader.renewed(), None
            self._watchdog.forget(subject)
            self._stuck_readers += 1
        if outcome.value is None:
            self._process_reading = without_measurements(self._process_reading)
            return ProcessReading()
        reading: ProcessReading = outcome.value
        if due.processes:
            self._observe_idle_times(reading.processes, has_past=is_planned)
        reading = reading._replace(processes=self._idle_times.add_to(reading.processes))
        if not due.host_processes:
            reading = reading._replace(host_processes=self._process_reading.host_processes)
        self._process_reading = reading
        self._processes_monotonic = self._clock()
        return reading

    def _observe_idle_times(self, processes: tuple[ProcessSample, ...], *, has_past: bool) -> None:
        now = self._clock()
        if self._idle_times.now is None and has_past:
            for seconds, past in past_processes(processes):
                self._idle_times.observe(past, now - seconds)
        self._idle_times.observe(processes, now)

    def _with_owners(self, demand: Demand, *, wait: bool = False) -> tuple[ProcessSample, ...]:
        processes, visible = self._process_reading.processes, demand.visible_processes
        if not demand.owners:
            return processes
        if self._owners is None:
            from nvitop.sampling.owner_reader import OwnerReader  # loaded only if owners are shown

            self._owners = OwnerReader(self._watchdog, names=self._owner_names, clock=self._clock)
        return self._owners.read(
            processes,
            None if visible is None else frozenset(visible),
            wait=wait,
            is_brief=not demand.owner_details,
        )

    def _begun_processes(self) -> frozenset[ProcessKey]:
        reading = self._process_reading
        return frozenset(s.key for s in reading.processes if s.key.pid in reading.begun)


def _failures(what: str, outcome: StepOutcome) -> tuple[Problem, ...]:
    """Return the problem of a step for the host that failed or did not return; empty if neither."""
    if outcome.timed_out:
        return (Problem('host', what, silence(outcome.silent_seconds), 'timed out'),)
    if outcome.error is None:
        return ()
    reason = f'{type(outcome.error).__name__}: {outcome.error}'
    return (Problem('host', what, reason, 'error'),)


def take_sample(*, metrics: Collection[str] | None = None) -> Sample:
    """Return a sample of this machine, measured now.

    >>> sample = take_sample()
    >>> for device in sample.devices:
    ...     print(device.key.label, device.status, device.temperature_celsius)

    Args:
        metrics: The metrics to measure, by name; ``'processes'`` lists the processes. ``None``: the
            host, the processes, and all metrics except those that are expensive. CPU % of the host
            and of processes takes 0.1 s.

    Raises:
        ValueError: There is no metric of this name.
        NVMLError: The driver does not work.
        TimeoutError: It does not respond.
    """
    known = [PROCESSES, *(metric.name for metric in (*METRICS, *EXTENDED_METRICS, *LISTS))]
    for name in () if metrics is None else metrics:
        if name not in known:
            raise ValueError(unknown('metric', name, known))
    call_with_limit(start_nvml)
    is_all = metrics is None
    demand = Demand(processes=is_all or PROCESSES in (metrics or ()))
    return LiveSource().complete_sample(demand, metrics=metrics, host=is_all)
