"""Cost of a tick of the monitor: ``python -m benchmarks.tick`` in the repository.

Uses the driver that the loader finds; ``NVITOP_DEMO=1`` simulates one. Prints NVML calls per GPU, CPU
milliseconds, and the ratio to the floor: the same calls made by bare pynvml and the same reads of
``/proc``, without processing the results.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Callable, Iterable, Sequence

import pynvml

from nvitop.api import libnvml
from nvitop.sampling import Demand, LiveSource

Calls = Sequence[Sequence[object]]

#: Queries of the monitor for each GPU every second.
FAST: Calls = (
    ('nvmlDeviceGetMemoryInfo', pynvml.nvmlMemory_v2),
    ('nvmlDeviceGetUtilizationRates',),
    ('nvmlDeviceGetClockInfo', pynvml.NVML_CLOCK_SM),
    ('nvmlDeviceGetClockInfo', pynvml.NVML_CLOCK_MEM),
    ('nvmlDeviceGetTemperature', pynvml.NVML_TEMPERATURE_GPU),
    ('nvmlDeviceGetPowerUsage',),
)
#: Queries of the monitor for each GPU every 2 s.
PROCESSES: Calls = (
    ('nvmlDeviceGetComputeRunningProcesses',),
    ('nvmlDeviceGetGraphicsRunningProcesses',),
    ('nvmlDeviceGetMPSComputeRunningProcesses',),
    ('nvmlDeviceGetProcessUtilization', 0),
)
#: Queries of the monitor for each GPU every 5 s.
SLOW: Calls = (
    ('nvmlDeviceGetBAR1MemoryInfo',),
    ('nvmlDeviceGetFanSpeed',),
    ('nvmlDeviceGetPowerManagementLimit',),
    ('nvmlDeviceGetEnforcedPowerLimit',),
    ('nvmlDeviceGetDisplayActive',),
    ('nvmlDeviceGetDisplayMode',),
    ('nvmlDeviceGetPersistenceMode',),
    ('nvmlDeviceGetPerformanceState',),
    ('nvmlDeviceGetComputeMode',),
    ('nvmlDeviceGetMigMode',),
    ('nvmlDeviceGetTotalEccErrors', pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, 0),
)
FILES = ('stat', 'cmdline', 'statm')


def nvml_seconds(handles: Iterable[object], calls: Calls) -> float:
    """Return the CPU seconds of bare calls for all GPUs."""
    started = time.process_time()
    for handle in handles:
        for name, *args in calls:
            try:
                getattr(pynvml, str(name))(handle, *args)
            except pynvml.NVMLError:
                continue
    return time.process_time() - started


def proc_seconds(pids: Iterable[int], files: Sequence[str] = FILES) -> float:
    """Return the CPU seconds of reading these files of the processes."""
    started = time.process_time()
    for pid in pids:
        for file in files:
            try:
                descriptor = os.open(f'/proc/{pid}/{file}', os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue
            os.read(descriptor, 4096)
            os.close(descriptor)
    return time.process_time() - started


def handles() -> list[object]:
    """Return the handles of all GPUs."""
    count = pynvml.nvmlDeviceGetCount()
    return [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]


def tick_seconds(handles: Sequence[object], pids: Iterable[int]) -> float:
    """Return the mean CPU seconds of a tick: processes every 2 ticks, slow queries every 5."""
    lists = mean(lambda: nvml_seconds(handles, PROCESSES))
    reads = mean(lambda: proc_seconds(pids))
    return device_seconds(handles) + (lists + reads) / 2


def device_seconds(handles: Sequence[object]) -> float:
    """Return the mean CPU seconds of a tick without processes."""
    fast = mean(lambda: nvml_seconds(handles, FAST))
    return fast + mean(lambda: nvml_seconds(handles, SLOW)) / 5


def mean(measure: Callable[[], float]) -> float:
    """Return the mean of many measurements."""
    return sum(measure() for _ in range(20)) / 20


class Bench:
    """A source on a manual clock: ticks follow each other without a pause."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.source = LiveSource(clock=lambda: self.now, wall_clock=time.time)

    def tick(self, demand: Demand) -> tuple[float, float, int]:
        """Return CPU seconds, wall seconds and NVML calls of a tick."""
        self.now += 1.0
        cpu, wall = time.process_time(), time.perf_counter()
        calls = libnvml.call_count()
        self.source.sample(demand)
        return (
            time.process_time() - cpu,
            time.perf_counter() - wall,
            libnvml.call_count() - calls,
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        '--ticks',
        type=int,
        default=120,
        help='number of ticks, one per second (default: %(default)s)',
    )
    ticks = parser.parse_args().ticks

    bench = Bench()
    first = bench.tick(Demand())
    second = bench.tick(Demand())
    sample = bench.source.sample(Demand())
    gpus = sum(not device.key.is_mig for device in sample.devices)
    print(
        f'{gpus} GPUs, {len(sample.devices) - gpus} MIG devices, {len(sample.processes)} rows of '
        f'processes, driver {sample.driver_version} {sample.simulated}'
    )
    if not gpus:
        for problem in sample.problems:
            print(f'{problem.subject}: {problem.what}: {problem.reason}')
        return
    found = handles()
    pids = {process.key.pid for process in sample.processes}
    in_view = tuple(process.key for process in sample.processes[:50])
    print(f'{"":34} calls/GPU   CPU ms  wall ms    floor ms  ratio')

    def line(what: str, results: list[tuple[float, float, int]], bare: float) -> None:
        cpu, wall, calls = (sum(column) / len(results) for column in zip(*results))
        ratio = f'{cpu / bare:6.2f}' if bare else ''
        print(
            f'{what:34} {calls / gpus:9.2f} {cpu * 1e3:8.2f} {wall * 1e3:8.2f} '
            f'{bare * 1e3:11.2f} {ratio}'
        )

    line('first sample', [first], 0.0)
    line('second sample (static metrics)', [second], 0.0)
    devices = Demand(processes=False)
    # Devices every second, processes every two seconds, slow metrics every five.
    line(
        'devices',
        [bench.tick(devices) for _ in range(ticks)],
        device_seconds(found),
    )
    line(
        f'all, {len(in_view)} processes in view',
        [bench.tick(Demand(visible_processes=in_view)) for _ in range(ticks)],
        tick_seconds(found, {key.pid for key in in_view}),
    )
    line(
        f'all, all {len(pids)} processes measured',
        [bench.tick(Demand()) for _ in range(ticks)],
        tick_seconds(found, pids),
    )


if __name__ == '__main__':
    main()
