# SPDX-License-Identifier: Apache-2.0
"""Where samples come from: the only door between live objects and samples."""

from __future__ import annotations

import sys
import time
from typing import Callable, Collection, Hashable, Iterable, Protocol

from nvitop.api import libnvml
from nvitop.api.metrics import METRICS
from nvitop.sampling.driver import DriverReader, silence
from nvitop.sampling.host import HostReader
from nvitop.sampling.plan import Due, Intervals, Plan
from nvitop.sampling.process import (
    LONGEST_CPU_SECONDS,
    SHORTEST_CPU_SECONDS,
    ProcessReader,
    ProcessReading,
    without_measurements,
)
from nvitop.sampling.selection import DeviceSelection, DeviceSelector
from nvitop.sampling.types import Cost, Demand, Problem, ProcessKey, Sample
from nvitop.sampling.watchdog import Watchdog

#: Asked together with the processes: what their memory is a part of, and where they run.
_FIRST_METRICS = frozenset(
    {
        'mig_mode',
        *(
            metric.name
            for metric in METRICS
            if metric.name.startswith('memory_') and metric.unit == 'B'
        ),
        'memory_percent',
    }
)
#: Metrics that are measured between two readings.
_BEGUN_METRICS = frozenset(metric.name for metric in METRICS if metric.begin)
#: A call that takes longer than this, and than the interval, has timed out.
SHORTEST_LIMIT_SECONDS = 2.0


class Source(Protocol):
    """Where samples come from: the live machine, a recording, a test.

    A source is used by one thread at a time.
    """

    def sample(self, demand: Demand) -> Sample:
        """Measure what is due now for this demand; the rest of the sample is as it was.

        A source should answer within seconds, whatever the driver does, and put failures into
        :attr:`Sample.problems`.
        """

    def next_due(self) -> float:
        """When something falls due next, on the monotonic clock."""

    def refresh(self) -> None:
        """Make everything due at once."""


class LiveSource:
    """This machine: its GPUs through NVML, its host and processes through psutil.

    No call of the driver can hold :meth:`sample` up for long: a GPU that does not answer within
    max(2 s, interval) has the status ``'timed out'`` and is left alone until it answers again, see
    :class:`~nvitop.sampling.watchdog.Watchdog`. Nothing raises: what fails is in :attr:`Sample.problems`.

    Args:
        intervals: How often what is measured.
        only: The GPUs and MIG devices that are wanted: indices, (GPU, MIG device) pairs, UUIDs. A
            GPU comes with its MIG devices. ``None``: all there are, whenever they appear.
        mig_devices: Whether it does. Without, processes on MIG devices are not found either.
        clock: Monotonic seconds.
        wall_clock: Seconds since the epoch.
        sleep: How :meth:`complete_sample` waits.
        lane: Where calls are made that may not return.
        on_the_second: Measure when a second of the wall clock begins, after the first sample.
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
        lane: Watchdog | None = None,
        on_the_second: bool = False,
    ) -> None:
        self._clock = clock
        self._wall_clock = wall_clock
        self._sleep = sleep
        phase = clock() - wall_clock() if on_the_second else None
        self._plan = Plan(intervals, clock=clock, phase=phase)
        every = self._plan.intervals
        self._limit = max(SHORTEST_LIMIT_SECONDS, every.devices)
        self._lane = lane or Watchdog('nvitop-driver', clock=clock)
        selection = DeviceSelection(only, mig_devices=mig_devices)
        self._driver = DriverReader(selection, self._lane, limit=self._limit, clock=clock)
        self._host = HostReader(clock=clock)
        self._processes = ProcessReader(
            longest=max(LONGEST_CPU_SECONDS, 3 * every.processes),
            clock=clock,
        )
        self._processes_monotonic = 0.0
        self._process_reading = ProcessReading()
        #: Why processes could not be read at all the last time.
        self._process_troubles: tuple[Problem, ...] = ()
        self._stuck_readers = 0
        self._sequence = 0

    @property
    def threads_inside(self) -> int:
        """How many threads are inside calls now; where any is, leave the process by ``os._exit``."""
        return self._lane.threads_inside

    def next_due(self) -> float:
        """When something falls due next, on the monotonic clock."""
        return self._plan.next_due()

    def refresh(self) -> None:
        """Make everything due at once."""
        self._plan.refresh()

    def sample(self, demand: Demand) -> Sample:
        """Measure what is due now for this demand; the rest of the sample is as it was."""
        return self._measure(demand, self._plan.due(demand), is_planned=True)

    def complete_sample(
        self,
        demand: Demand | None = None,
        *,
        metrics: Collection[str] | None = None,
        host: bool = True,
        process_cpu: bool = True,
        process_loads: bool = True,
    ) -> Sample:
        """One sample that stands for itself, measured now, as for a report.

        CPU % is measured since the complete sample before. What is new is measured over 0.1 s, in
        which the devices are asked; it is waited only for what is left of it then.

        Args:
            demand: What is wanted of processes; its ``shown_metrics`` count as wanted metrics.
            metrics: The metrics that are wanted, by name; ``None``: all but those of tier *shown*.
            host: Whether the CPU % of the host is wanted.
            process_cpu: Whether the CPU % of processes is wanted, if processes are. Where neither
                CPU % is, nothing is waited for.
            process_loads: Whether the loads of processes on the engines are wanted.
        """
        demand = Demand() if demand is None else demand
        if metrics is None:
            metrics = [metric.name for metric in METRICS if metric.tier != 'shown']
        wanted = {*metrics, *demand.shown_metrics}
        started, calls = self._clock(), libnvml.call_count()
        first = wanted & _FIRST_METRICS
        begun = wanted & _BEGUN_METRICS
        sample = self._measure(
            demand,
            Due(
                metrics=frozenset(first | begun),
                slow=True,
                processes=demand.processes,
                skips_process_utilization=not process_loads,
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
        cost = self._cost(started, calls)
        return sample._replace(cost=cost)

    def _measure(self, demand: Demand, due: Due, *, is_planned: bool = False) -> Sample:
        """Measure this; what has to be read twice is planned once more, if it was planned at all."""
        started, calls = self._clock(), libnvml.call_count()
        if due.devices or due.processes:
            self._driver.read(due)
            if self._driver.begun and is_planned:
                self._plan.add_second_reading(shown=self._driver.begun)
        if due.host:
            self._host.read()
        if due.processes or due.new_processes or due.host_processes:
            reading = self._read_processes(demand, due)
            if reading.begun and is_planned:
                is_tree = due.host_processes and len(reading.host_processes) > 0
                self._plan.add_second_reading(self._begun_processes(), tree=is_tree)
        if not demand.processes:
            self._process_reading = ProcessReading()
        now = self._clock()
        self._sequence += 1
        facts, reading = self._driver.facts, self._process_reading
        return Sample(
            timestamp=self._wall_clock(),
            monotonic=now,
            sequence=self._sequence,
            driver_version=facts.driver_version,
            cuda_driver_version=facts.cuda_driver_version,
            simulated=_simulated(),
            host=self._host.sample,
            devices=self._driver.devices,
            processes=reading.processes,
            host_processes=reading.host_processes if demand.host_processes else (),
            problems=(
                *self._driver.problems,
                *self._process_troubles,
                *reading.problems,
                *self._host.problems,
            ),
            cost=self._cost(started, calls),
            processes_monotonic=self._processes_monotonic,
        )

    def _cost(self, started: float, calls: int) -> Cost:
        """What was spent since then."""
        spent = self._clock() - started
        return Cost(spent, libnvml.call_count() - calls, time.process_time())

    def _read_processes(self, demand: Demand, due: Due) -> ProcessReading:
        """Read them; what was read, nothing where the system does not answer."""
        visible = demand.visible_processes
        reader, own = self._processes, self._host.sample
        rows = self._driver.processes

        def read() -> ProcessReading:
            return reader.read(
                rows,
                None if visible is None else frozenset(visible),
                own,
                measure=None if due.processes else due.new_processes,
                tree=due.host_processes,
                are_real=not _simulated(),
            )

        # A command line cannot be read while its process hangs in the kernel, often in a driver.
        subject: Hashable = f'processes {self._stuck_readers}'
        outcome = self._lane.run({subject: read}, limit=self._limit)[subject]
        self._process_troubles = ()
        if outcome.timed_out:
            self._processes = reader.renewed()
            self._lane.forget(subject)
            self._stuck_readers += 1
            reason = silence(outcome.silent_seconds)
            self._process_troubles = (Problem('host', 'processes', reason, 'timed out'),)
        elif outcome.error is not None:
            reason = f'{type(outcome.error).__name__}: {outcome.error}'
            self._process_troubles = (Problem('host', 'processes', reason, 'error'),)
        if outcome.value is None:
            self._process_reading = without_measurements(self._process_reading)
            return ProcessReading()
        reading = outcome.value
        if not due.host_processes:
            reading = reading._replace(host_processes=self._process_reading.host_processes)
        self._process_reading = reading
        self._processes_monotonic = self._clock()
        return reading

    def _begun_processes(self) -> frozenset[ProcessKey]:
        """The processes of which there is a CPU % once they are read again."""
        reading = self._process_reading
        return frozenset(s.key for s in reading.processes if s.key.pid in reading.begun)


def _simulated() -> str:
    """Name of the scenario, without loading the simulation where there is none."""
    simulation = sys.modules.get('nvitop.simulation')
    return str(simulation.simulated()) if simulation is not None else ''
