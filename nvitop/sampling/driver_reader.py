# SPDX-License-Identifier: Apache-2.0
"""Reads the driver and its GPUs; a GPU that hangs does not block the others."""

from __future__ import annotations

import functools
import math
import operator
import time
from typing import Callable, Iterable, NamedTuple

from nvitop.api import libnvml
from nvitop.api.device import Device
from nvitop.api.device.handles import sleeping_gpus, start_nvml
from nvitop.api.libnvml import _errors
from nvitop.api.libnvml._session import SESSION
from nvitop.api.system import system
from nvitop.platforms import stuck_calls
from nvitop.platforms.nvidia import short_bus_id
from nvitop.sampling.device_reader import ListedProcess, known_value, outdated
from nvitop.sampling.events import EventWatcher
from nvitop.sampling.gpu_reader import (
    GpuReader,
    GpuReading,
    SleepWatch,
    lost_reading,
    unread_sample,
)
from nvitop.sampling.plan import DeviceSelection, Due
from nvitop.sampling.threads import StepOutcome, Watchdog, silence
from nvitop.sampling.types import STATUS, DeviceEvent, DeviceKey, DeviceSample, Problem

#: First and longest pause (seconds) before NVML is restarted because of lost GPUs.
FIRST_RESTART_SECONDS = 10.0
LAST_RESTART_SECONDS = 60.0

#: A GPU counts as slow if its regular reading takes longer than this …
SLOW_SECONDS = 0.25
#: … this many times in a row.
SLOW_TIMES = 3

NO_EVENTS = 'not received on a machine with a GPU that may sleep, because that would keep it awake'

_DRIVER = 'driver'
_VERSION_FUNCTIONS = {
    'driver_version': 'nvmlSystemGetDriverVersion',
    'cuda_driver_version': 'nvmlSystemGetCudaDriverVersion',
}


class DriverInfo(NamedTuple):
    """The state of the driver itself."""

    device_count: int = 0
    driver_version: str | None = None
    cuda_driver_version: str | None = None
    #: Why the driver cannot be used, ``''`` if it can.
    error: str = ''
    #: Whether the reason is that there is no driver: no kernel module or no library.
    is_absent: bool = False
    #: Why a version is missing.
    problems: tuple[Problem, ...] = ()
    #: Whether it is from files of the kernel: all GPUs sleep, and NVML is not initialized.
    is_from_files: bool = False


def read_driver_info(
    before: DriverInfo | None, *, restart: bool, wake: str = 'never', lets_sleep: bool = False
) -> DriverInfo:
    """Read the number of devices, and the versions if ``before`` does not have them.

    With ``restart``, NVML is shut down and initialized again. Only then does it see GPUs that came
    back and a driver that was reloaded.
    """
    asleep = sleeping_gpus(wake) if lets_sleep and not restart else 0
    if asleep:
        return DriverInfo(asleep, system().driver_version() or None, is_from_files=True)
    try:
        with stuck_calls.calling(stuck_calls.DRIVER):
            if restart:
                _restart()
            elif not SESSION.ready:
                start_nvml(wake)
            count = int(libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False))
        is_known = before is not None and not before.error and not before.problems
        if before is not None and is_known and not restart:
            return before._replace(device_count=count)
        driver, cuda = Device.driver_version(), Device.cuda_driver_version()
        problems = (*_gap('driver_version', driver), *_gap('cuda_driver_version', cuda))
        return DriverInfo(count, known_value(driver), known_value(cuda), problems=problems)
    except (libnvml.NVMLError, AttributeError, TimeoutError) as error:  # or a broken binding
        return DriverInfo(error=str(error), is_absent=_errors.is_without_driver(error))


def _gap(what: str, version: str) -> tuple[Problem, ...]:
    if known_value(version) is not None:
        return ()
    error = libnvml.last_error(_VERSION_FUNCTIONS[what])
    reason = 'not reported by the driver' if error is None else str(error)
    return (Problem('driver', what, reason),)


def _restart() -> None:
    try:
        libnvml.restart_nvml()
    except libnvml.NVMLError as error:
        if error.value != libnvml.NVML_ERROR_IN_USE:
            raise
        # A thread is inside the driver: continue without a restart.


class DriverReader:
    """Reads the GPUs as they come and go."""

    def __init__(
        self,
        selection: DeviceSelection,
        watchdog: Watchdog,
        *,
        limit: float,
        clock: Callable[[], float] = time.monotonic,
        wake: str = 'never',
    ) -> None:
        self._selection = selection
        self._watchdog = watchdog
        self._limit = limit
        self._clock = clock
        self._wake = wake
        self._sleep = SleepWatch(selection, wake, clock=clock)
        self.info = DriverInfo()
        self._is_known = False
        self._silent_seconds = 0.0
        self._gpus: dict[int, GpuReader] = {}
        self._readings: dict[int, GpuReading] = {}
        #: Groups that are due for each GPU. They add up while a slow GPU is being read.
        self._due: dict[int, Due] = {}
        #: How long (seconds) the last regular readings of each GPU took.
        self._seconds: dict[int, tuple[float, ...]] = {}
        #: Lost GPUs that the driver no longer lists.
        self._missing: list[GpuReading] = []
        self._restart_at = math.inf
        self._restart_pause = FIRST_RESTART_SECONDS
        #: Receives errors that the driver announces, from the first reading on.
        self.watcher: EventWatcher | None = None
        #: PCI bus IDs of the GPUs that the driver should list.
        self.expected_gpus: tuple[str, ...] = ()

    @property
    def devices(self) -> tuple[DeviceSample, ...]:
        """All devices in natural order."""
        samples = [sample for reading in self._all() for sample in reading.devices]
        return tuple(sorted(samples, key=operator.attrgetter('key')))

    @property
    def processes(self) -> tuple[ListedProcess, ...]:
        return tuple([record for reading in self._all() for record in reading.processes])

    def events(self) -> tuple[DeviceEvent, ...]:
        """Return the errors that the driver has announced, the newest last."""
        # Waiting for events would keep all GPUs awake.
        if self.watcher is None or not self._is_known or self.info.error or self._sleep.is_on:
            return ()
        self.watcher.start()
        return self.watcher.log.observe(self.devices)

    @property
    def missing_gpus(self) -> tuple[str, ...]:
        """PCI bus IDs of GPUs that the driver should list and does not, ``''`` if unknown."""
        count = len(self.expected_gpus) - self.info.device_count
        if count <= 0 or self.info.error or not self._is_known:
            return ()
        listed = {short_bus_id(sample.info.bus_id or '') for sample in self.devices}
        missing = [bus_id for bus_id in self.expected_gpus if short_bus_id(bus_id) not in listed]
        # A lost GPU that is no longer listed still has its row. Rows may lack a bus ID.
        return tuple(missing) if len(missing) <= count else ('',) * count

    @property
    def begun(self) -> frozenset[str]:
        """Metrics measured between two readings that have had their first one."""
        return frozenset().union(*[reading.begun for reading in self._all()])

    @property
    def problems(self) -> tuple[Problem, ...]:
        problems = [problem for reading in self._all() for problem in reading.problems]
        problems += [p for index in sorted(self._slow()) for p in self._slowness(index)]
        problems += self._sleep.problems
        problems[:0] = self.info.problems
        if self.watcher is not None and self._sleep.is_on:
            problems.append(Problem('driver', 'events', NO_EVENTS))
        if self.watcher is not None and self.watcher.problem:
            problems.append(Problem('driver', 'events', self.watcher.problem))
        if self.info.error:
            problems.insert(0, Problem('driver', 'initialization', self.info.error, 'error'))
        if self._silent_seconds:
            reason = silence(self._silent_seconds)
            problems.insert(0, Problem('driver', 'device_count', reason, 'timed out'))
        return tuple(problems)

    def refresh(self) -> None:
        """Query GPUs that are only left alone; see :meth:`SleepWatch.refresh`."""
        self._sleep.refresh()

    def _all(self) -> list[GpuReading]:
        return [*(self._readings[index] for index in sorted(self._readings)), *self._missing]

    def read(self, due: Due) -> None:
        """Measure what is due. Raises nothing and does not wait much longer than the limit."""
        is_quiet = self._sleep.is_quiet and not self._sleep.must_release
        if not self._is_known or self._sleep.must_release or (due.slow and not is_quiet):
            self._read_info()
        asleep = self._sleep.rows() if self._sleep.is_on and not self.info.error else {}
        if self.info.is_from_files and len(asleep) < len(self._gpus):
            self._read_info(lets_sleep=False)
        if self.info.error:
            return
        before = list(self._readings.values())
        for index, gpu in self._gpus.items():
            if index in asleep:
                gpu.close()
                is_wanted = self._selection.wants_gpu(index, asleep[index].devices[0].key.uuid)
                self._readings[index] = asleep[index] if is_wanted else GpuReading()
            else:
                self._due[index] = merged(self._due.get(index), due)
        # NVML can be restarted only while no thread is inside, so then wait for slow GPUs too.
        waits = due.metrics is not None or self._clock() >= self._restart_at
        steps = {
            index: functools.partial(self._read_gpu, index, gpu, due)
            for index, gpu in self._gpus.items()
            if index not in asleep
        }
        detached = () if waits else self._slow()
        outcomes = self._watchdog.run(steps, limit=self._limit, detached=detached)
        for index, outcome in outcomes.items():
            last = self._last(index)
            self._readings[index] = keep_processes(self._reading(index, outcome), last)
            self._sleep.observe(index, self._readings[index], due)
        self._find_missing(before)
        self._plan_restart()

    def _read_gpu(self, index: int, gpu: GpuReader, due: Due) -> GpuReading:
        with stuck_calls.calling(index):
            return gpu.read(self._due.pop(index, due))

    def _slow(self) -> frozenset[int]:
        return frozenset(
            index
            for index, seconds in self._seconds.items()
            if len(seconds) == SLOW_TIMES and min(seconds) >= SLOW_SECONDS
        )

    def _slowness(self, index: int) -> list[Problem]:
        reason = f'takes {self._seconds[index][-1]:.1f} s to respond'
        devices = self._readings[index].devices
        return [Problem(sample.key, STATUS, reason, 'slow') for sample in devices]

    def _reading(self, index: int, outcome: StepOutcome) -> GpuReading:
        reading: GpuReading | None = outcome.value
        if reading is not None:
            if reading.is_regular:
                seconds = (*self._seconds.get(index, ()), outcome.seconds)
                self._seconds[index] = seconds[-SLOW_TIMES:]
            return reading
        if not outcome.timed_out and outcome.error is None:  # it is still being read
            return self._last(index)._replace(begun=frozenset())
        self._seconds.pop(index, None)
        if outcome.timed_out:
            # A thread may still be inside the old reader.
            self._gpus[index] = self._gpus[index].renewed()
            return lost_reading(self._last(index), 'timed out', silence(outcome.silent_seconds))
        if isinstance(outcome.error, TimeoutError):  # another process hangs there
            return lost_reading(self._last(index), 'timed out', str(outcome.error))
        reason = f'{type(outcome.error).__name__}: {outcome.error}'
        return lost_reading(self._last(index), 'error', reason)

    def _last(self, index: int) -> GpuReading:
        known = self._readings.get(index)
        if known is not None or not self._selection.wants_gpu(index, ''):
            return known or GpuReading()
        return GpuReading((unread_sample(index, self._gpus[index].info),))

    def _read_info(self, *, lets_sleep: bool = True) -> None:
        restart = self._clock() >= self._restart_at or self._sleep.must_release
        restart = restart and self._watchdog.threads_inside == 0
        if self.watcher is not None and restart:
            restart = self.watcher.pause()  # otherwise the next time
        elif self.watcher is not None:
            self.watcher.resume()
        before = self.info if self._is_known and not self.info.is_from_files else None
        step = functools.partial(
            read_driver_info,
            before,
            restart=restart,
            wake=self._wake,
            lets_sleep=lets_sleep and self._selection.wants_all,
        )
        outcome = self._watchdog.run({_DRIVER: step}, limit=self._limit)[_DRIVER]
        self._silent_seconds = outcome.silent_seconds
        if restart and self.watcher is not None:
            self.watcher.resume()
        if outcome.timed_out:
            return
        if restart:
            self._sleep.released()
            self._restart_pause = min(2 * self._restart_pause, LAST_RESTART_SECONDS)
            self._restart_at = self._clock() + self._restart_pause
        self.info = outcome.value or DriverInfo(error=str(outcome.error))
        self._is_known = True
        if self.info.error:
            self._seconds.clear()
            for index, reading in self._readings.items():
                lost = lost_reading(reading, 'lost', self.info.error)
                self._readings[index] = keep_processes(lost, reading)
            self._plan_restart()
        elif (
            restart
            or before is None
            or before.error
            or before.device_count != self.info.device_count
        ):
            self._find_gpus()

    def _find_gpus(self) -> None:
        """Have a reader for each GPU; existing ones check whether it is still the same GPU."""
        if self._selection.wants_all:
            self.expected_gpus = system().expected_gpus()
        self._sleep.find(self.info.device_count)
        indices = [i for i in range(self.info.device_count) if self._selection.may_want(i)]
        for index in set(self._gpus) - set(indices):
            del self._gpus[index]
            self._watchdog.forget(index)
            self._due.pop(index, None)
            self._seconds.pop(index, None)
        for index in indices:
            gpu = self._gpus.setdefault(index, GpuReader(index, self._selection))
            gpu.bus_id = self._sleep.bus_id(index)
            gpu.close()

    def _find_missing(self, before: list[GpuReading]) -> None:
        """Keep the devices of lost GPUs that the driver no longer lists."""
        self._readings = {i: r for i, r in self._readings.items() if i in self._gpus}
        lost = [r for r in (*self._missing, *before) if r.devices and r.devices[0].status == 'lost']
        present = {s.key.uuid for r in self._readings.values() for s in r.devices} if lost else ()
        self._missing = [r for r in lost if r.devices[0].key.uuid not in {'', *present}]

    def _plan_restart(self) -> None:
        """Restart NVML some time after a device is lost, with growing pauses while it stays lost."""
        statuses = {sample.status for reading in self._all() for sample in reading.devices}
        if not self.info.error and 'lost' not in statuses:
            self._restart_at, self._restart_pause = math.inf, FIRST_RESTART_SECONDS
        elif math.isinf(self._restart_at):
            self._restart_at = self._clock() + self._restart_pause


def keep_processes(reading: GpuReading, last: GpuReading) -> GpuReading:
    """Return a reading with the processes that were last on devices that do not respond now."""
    silent = {sample.key for sample in reading.devices if sample.status != 'ok'}
    if not silent:
        return reading
    listed = [record for record in reading.processes if record.device not in silent]
    kept = outdated(record for record in last.processes if record.device in silent)
    return reading._replace(processes=(*listed, *kept))


def merged(before: Due | None, due: Due) -> Due:
    """Return what is due now together with what was due before and has not been measured."""
    if before is None or before == due or due.metrics is not None:
        return due
    return due._replace(
        fast=before.fast or due.fast,
        slow=before.slow or due.slow,
        # A regular reading covers all that is shown now; what was shown before is not needed.
        shown=due.shown if due.fast else tuple(dict.fromkeys(before.shown + due.shown)),
        processes=before.processes or due.processes,
        skips_process_utilization=(
            before.skips_process_utilization and due.skips_process_utilization
        ),
    )


class EnergyCounters:
    """Drops the energy counters that jump by more than a GPU can use."""

    def __init__(self) -> None:
        #: Counter when last read, and when that was.
        self._read: dict[DeviceKey, tuple[float, float]] = {}

    def check(
        self, devices: Iterable[DeviceSample], now: float
    ) -> tuple[tuple[DeviceSample, ...], list[Problem]]:
        """Return the devices without impossible counters, and what was dropped.

        ``now``: time on the monotonic clock. The counter is believed again at its next reading.
        """
        checked, problems = [], []
        for device in devices:
            counter = device.total_energy_joules
            if counter is not None:
                before, then = self._read.get(device.key, (counter, now))
                self._read[device.key] = counter, now
                if counter - before > device.most_joules(now - then):
                    reason = f'{counter - before:,.0f} J in {now - then:.1f} s is implausible'
                    problems.append(Problem(device.key, 'total_energy', reason, 'impossible'))
                    device = device._replace(total_energy_joules=None)
            checked.append(device)
        return tuple(checked), problems
