# SPDX-License-Identifier: Apache-2.0
"""Asking the driver: which GPUs there are, and each of them, none holding up the others."""

from __future__ import annotations

import functools
import math
import time
from typing import Callable, Hashable

from nvitop.api import libnvml
from nvitop.api.device import Device
from nvitop.api.libnvml._errors import IN_USE
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.gpu import GpuReader, GpuReading, ProcessRecord, lost_reading
from nvitop.sampling.plan import Due
from nvitop.sampling.selection import DeviceSelection
from nvitop.sampling.types import DeviceInfo, DeviceKey, DeviceSample, Problem
from nvitop.sampling.value import known_value
from nvitop.sampling.watchdog import StepOutcome, Watchdog

#: First and longest pause before NVML is started anew because of GPUs that are lost.
FIRST_RESTART_SECONDS = 10.0
LAST_RESTART_SECONDS = 60.0

#: A GPU is slow that takes longer than this for what it is asked each time, …
SLOW_SECONDS = 0.25
#: … and does so this many times in a row: once means nothing.
SLOW_TIMES = 3

_DRIVER = 'driver'
_VERSION_FUNCTIONS = {
    'driver_version': 'nvmlSystemGetDriverVersion',
    'cuda_driver_version': 'nvmlSystemGetCudaDriverVersion',
}


class DriverFacts(NamedTuple):
    """What is known of the driver itself."""

    gpu_count: int = 0
    driver_version: str | None = None
    cuda_driver_version: str | None = None
    #: Why there is no driver, ``''`` where there is one.
    error: str = ''
    #: What it does not tell of itself, and why.
    problems: tuple[Problem, ...] = ()


def read_driver_facts(before: DriverFacts | None, *, restart: bool) -> DriverFacts:
    """Ask the driver; its versions only if they are not known from ``before``.

    With ``restart``, NVML is shut down and initialised: GPUs that came back, and a driver that was
    loaded anew, are seen only then.
    """
    try:
        if restart:
            _restart()
        count = int(libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False))
        is_known = before is not None and not before.error and not before.problems
        if before is not None and is_known and not restart:
            return before._replace(gpu_count=count)
        driver, cuda = Device.driver_version(), Device.cuda_driver_version()
        problems = (*_gap('driver_version', driver), *_gap('cuda_driver_version', cuda))
        return DriverFacts(count, known_value(driver), known_value(cuda), problems=problems)
    except (libnvml.NVMLError, AttributeError) as error:  # the latter from a broken binding
        return DriverFacts(error=str(error))


def _gap(what: str, answer: str) -> tuple[Problem, ...]:
    """Why the driver does not tell one of its versions, where it does not."""
    if known_value(answer) is not None:
        return ()
    error = libnvml.last_error(_VERSION_FUNCTIONS[what])
    reason = 'the driver gives no value' if error is None else str(error)
    return (Problem('driver', what, reason),)


def _restart() -> None:
    try:
        libnvml.restart_nvml()
    except libnvml.NVMLError as error:
        if error.value != IN_USE:
            raise
        # A thread is inside the driver: it goes on as it is.


class _TimedReading(NamedTuple):
    """What a GPU answered, and in how many seconds; ``None`` where it was asked little."""

    reading: GpuReading
    seconds: float | None


class DriverReader:
    """The driver and its GPUs, as they come and go."""

    def __init__(
        self,
        selection: DeviceSelection,
        lane: Watchdog,
        *,
        limit: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._selection = selection
        self._lane = lane
        self._limit = limit
        self._clock = clock
        self.facts = DriverFacts()
        self._is_known = False
        self._silent_seconds = 0.0
        self._gpus: dict[int, GpuReader] = {}
        self._readings: dict[int, GpuReading] = {}
        #: What a GPU is to be asked next: more than is due now where it is asked beside the others.
        self._due: dict[int, Due] = {}
        #: How long the last answers of a GPU took.
        self._seconds: dict[int, tuple[float, ...]] = {}
        #: GPUs that were lost and are not even listed any more.
        self._missing: list[GpuReading] = []
        self._restart_at = math.inf
        self._restart_pause = FIRST_RESTART_SECONDS

    @property
    def devices(self) -> tuple[DeviceSample, ...]:
        """All devices in natural order."""
        return tuple(
            sorted((s for r in self._all() for s in r.devices), key=lambda sample: sample.key)
        )

    @property
    def processes(self) -> tuple[ProcessRecord, ...]:
        """What the devices say of processes."""
        return tuple(row for reading in self._all() for row in reading.processes)

    @property
    def begun(self) -> frozenset[str]:
        """Metrics that are measured between two readings, of which the first was just taken."""
        return frozenset(name for reading in self._all() for name in reading.begun)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why something is missing."""
        problems = [problem for reading in self._all() for problem in reading.problems]
        problems += [p for index in sorted(self._slow()) for p in self._slowness(index)]
        problems[:0] = self.facts.problems
        if self.facts.error:
            problems.insert(0, Problem('driver', 'nvmlInit', self.facts.error, 'error'))
        if self._silent_seconds:
            reason = silence(self._silent_seconds)
            problems.insert(0, Problem('driver', 'nvmlDeviceGetCount', reason, 'timed out'))
        return tuple(problems)

    def _all(self) -> list[GpuReading]:
        return [*(self._readings[index] for index in sorted(self._readings)), *self._missing]

    def read(self, due: Due) -> None:
        """Ask what is due. Nothing raises and nothing waits much longer than the limit."""
        if due.slow or not self._is_known:
            self._read_facts()
        if self.facts.error:
            return
        before = list(self._readings.values())
        for index in self._gpus:
            self._due[index] = merged(self._due.get(index), due)
        # NVML can be started anew only while nobody is inside.
        waits = due.metrics is not None or self._clock() >= self._restart_at
        outcomes = self._lane.run(
            {
                index: functools.partial(self._ask, index, gpu, due)
                for index, gpu in self._gpus.items()
            },
            limit=self._limit,
            beside=() if waits else self._slow(),
        )
        for index, outcome in outcomes.items():
            self._readings[index] = self._reading(index, outcome)
        self._find_missing(before)
        self._plan_restart()

    def _ask(self, index: int, gpu: GpuReader, due: Due) -> _TimedReading:
        due = self._due.pop(index, due)
        started = self._clock()
        reading = gpu.read(due)
        return _TimedReading(reading, self._clock() - started if due.fast else None)

    def _slow(self) -> frozenset[int]:
        """The GPUs that answer, but slowly."""
        return frozenset(
            index
            for index, seconds in self._seconds.items()
            if len(seconds) == SLOW_TIMES and min(seconds) >= SLOW_SECONDS
        )

    def _slowness(self, index: int) -> list[Problem]:
        """That a GPU is slow, where it is shown."""
        reason = f'slow: takes {self._seconds[index][-1]:.1f} s to answer'
        keys = [sample.key for sample in self._readings[index].devices]
        return [Problem(f'device {key.label}', 'status', reason, 'slow', key) for key in keys]

    def _reading(self, index: int, outcome: StepOutcome[_TimedReading]) -> GpuReading:
        if outcome.value is not None:
            reading, seconds = outcome.value
            if seconds is not None:
                self._seconds[index] = (*self._seconds.get(index, ()), seconds)[-SLOW_TIMES:]
            return reading
        if not outcome.timed_out and outcome.error is None:  # it is still being asked
            return self._last(index)._replace(begun=frozenset())
        self._seconds.pop(index, None)
        if outcome.timed_out:
            # A thread may still be inside with the old reader.
            self._gpus[index] = self._gpus[index].renewed()
            return lost_reading(self._last(index), 'timed out', silence(outcome.silent_seconds))
        reason = f'{type(outcome.error).__name__}: {outcome.error}'
        return lost_reading(self._last(index), 'error', reason)

    def _last(self, index: int) -> GpuReading:
        """The rows of a GPU as they were the last time."""
        known = self._readings.get(index)
        if known is not None or not self._selection.wants_gpu(index, ''):
            return known or GpuReading()
        info = self._gpus[index].info or DeviceInfo(DeviceKey(index), index, 'ERROR: no answer')
        return GpuReading((DeviceSample(info.key, info),))

    def _read_facts(self) -> None:
        restart = self._clock() >= self._restart_at and self._lane.threads_inside == 0
        before = self.facts if self._is_known else None
        step = functools.partial(read_driver_facts, before, restart=restart)
        steps: dict[Hashable, Callable[[], DriverFacts]] = {_DRIVER: step}
        outcome = self._lane.run(steps, limit=self._limit)[_DRIVER]
        self._silent_seconds = outcome.silent_seconds
        if outcome.timed_out:
            return
        if restart:
            self._restart_pause = min(2 * self._restart_pause, LAST_RESTART_SECONDS)
            self._restart_at = self._clock() + self._restart_pause
        self.facts = outcome.value or DriverFacts(error=str(outcome.error))
        self._is_known = True
        if self.facts.error:
            self._seconds.clear()
            for index, reading in self._readings.items():
                self._readings[index] = lost_reading(reading, 'lost', self.facts.error)
            self._plan_restart()
        elif restart or before is None or before.error or before.gpu_count != self.facts.gpu_count:
            self._find_gpus()

    def _find_gpus(self) -> None:
        """Have a reader for each GPU; who was there already looks whether it is still the same."""
        indices = [i for i in range(self.facts.gpu_count) if self._selection.may_want(i)]
        for index in set(self._gpus) - set(indices):
            del self._gpus[index]
            self._lane.forget(index)
            self._due.pop(index, None)
            self._seconds.pop(index, None)
        for index in indices:
            gpu = self._gpus.setdefault(index, GpuReader(index, self._selection))
            gpu.close()

    def _find_missing(self, before: list[GpuReading]) -> None:
        """Keep the rows of lost GPUs that the driver does not list any more."""
        self._readings = {i: r for i, r in self._readings.items() if i in self._gpus}
        present = {s.key.uuid for r in self._readings.values() for s in r.devices}
        self._missing = [
            reading
            for reading in (*self._missing, *before)
            if reading.devices
            and reading.devices[0].status == 'lost'
            and reading.devices[0].key.uuid not in {'', *present}
        ]

    def _plan_restart(self) -> None:
        """Start NVML anew some time after something was lost, ever more seldom while it stays so."""
        statuses = {sample.status for reading in self._all() for sample in reading.devices}
        if not self.facts.error and 'lost' not in statuses:
            self._restart_at, self._restart_pause = math.inf, FIRST_RESTART_SECONDS
        elif math.isinf(self._restart_at):
            self._restart_at = self._clock() + self._restart_pause


def merged(before: Due | None, due: Due) -> Due:
    """What is due now and what was before and has not been asked."""
    if before is None or due.metrics is not None:
        return due
    return due._replace(
        fast=before.fast or due.fast,
        slow=before.slow or due.slow,
        # Once all that is shown is asked, nothing else is shown any more.
        shown=due.shown if due.fast else tuple(dict.fromkeys(before.shown + due.shown)),
        processes=before.processes or due.processes,
        skips_process_utilization=(
            before.skips_process_utilization and due.skips_process_utilization
        ),
    )


def silence(seconds: float) -> str:
    """In words: how long there has been no answer."""
    return f'no answer for {seconds:.0f} s'
