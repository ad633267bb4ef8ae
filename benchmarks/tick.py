"""What a tick costs: ``python -m benchmarks.tick`` in the repository, on the driver that is found.

Prints calls of NVML per GPU, milliseconds of CPU, and how many times that of the floor it is: the
same calls made by bare pynvml, with nothing done to the answers. ``NVITOP_DEMO=1`` simulates one.
"""

from __future__ import annotations

import argparse
import time
from typing import Callable, Sequence

import pynvml

from nvitop.api import libnvml
from nvitop.sampling import Demand, LiveSource

Calls = Sequence[Sequence[object]]

FAST: Calls = (
    ('nvmlDeviceGetMemoryInfo', pynvml.nvmlMemory_v2),
    ('nvmlDeviceGetUtilizationRates',),
    ('nvmlDeviceGetClockInfo', pynvml.NVML_CLOCK_SM),
    ('nvmlDeviceGetClockInfo', pynvml.NVML_CLOCK_MEM),
    ('nvmlDeviceGetTemperature', pynvml.NVML_TEMPERATURE_GPU),
    ('nvmlDeviceGetPowerUsage',),
)
PROCESSES: Calls = (
    ('nvmlDeviceGetComputeRunningProcesses',),
    ('nvmlDeviceGetGraphicsRunningProcesses',),
    ('nvmlDeviceGetMPSComputeRunningProcesses',),
    ('nvmlDeviceGetProcessUtilization', 0),
)
SLOW: Calls = (
    ('nvmlDeviceGetBAR1MemoryInfo',),
    ('nvmlDeviceGetFanSpeed',),
    ('nvmlDeviceGetPowerManagementLimit',),
    ('nvmlDeviceGetEnforcedPowerLimit',),
    ('nvmlDeviceGetCurrPcieLinkGeneration',),
    ('nvmlDeviceGetCurrPcieLinkWidth',),
    ('nvmlDeviceGetDisplayActive',),
    ('nvmlDeviceGetDisplayMode',),
    ('nvmlDeviceGetPersistenceMode',),
    ('nvmlDeviceGetPerformanceState',),
    ('nvmlDeviceGetComputeMode',),
    ('nvmlDeviceGetMigMode',),
    ('nvmlDeviceGetTotalEccErrors', pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, 0),
)


class Bench:
    """A source whose clock is turned by hand: ticks follow each other without a pause."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.source = LiveSource(clock=lambda: self.now, wall_clock=time.time)

    def tick(self, demand: Demand) -> tuple[float, float, int]:
        """CPU and wall seconds of a tick, and its calls of NVML."""
        self.now += 1.0
        cpu, wall = time.process_time(), time.perf_counter()
        calls = libnvml.call_count()
        self.source.sample(demand)
        return (
            time.process_time() - cpu,
            time.perf_counter() - wall,
            libnvml.call_count() - calls,
        )


def floor(handles: Sequence[object], calls: Calls) -> float:
    """CPU seconds that the calls take with nothing around them, for all GPUs."""
    started = time.process_time()
    for handle in handles:
        for name, *args in calls:
            try:
                getattr(pynvml, str(name))(handle, *args)
            except pynvml.NVMLError:
                continue
    return time.process_time() - started


def repeated(function: Callable[[], float], times: int) -> float:
    return sum(function() for _ in range(times)) / times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--ticks', type=int, default=120, help='how many ticks, one a second')
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
    handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(gpus)]
    floors = {
        'fast': repeated(lambda: floor(handles, FAST), 50),
        'processes': repeated(lambda: floor(handles, PROCESSES), 50),
        'slow': repeated(lambda: floor(handles, SLOW), 50),
    }
    print(f'{"":34} calls/GPU   CPU ms  wall ms    floor ms  ratio')

    def line(what: str, results: list[tuple[float, float, int]], bare: float) -> None:
        cpu, wall, calls = (sum(column) / len(results) for column in zip(*results))
        ratio = f'{cpu / bare:6.2f}' if bare else ''
        print(
            f'{what:34} {calls / gpus:9.2f} {cpu * 1e3:8.2f} {wall * 1e3:8.2f} '
            f'{bare * 1e3:11.2f} {ratio}'
        )

    line('first sample', [first], 0.0)
    line('second sample (other facts)', [second], 0.0)
    devices = Demand(processes=False)
    line(
        'devices (every 1 s, slow every 5 s)',
        [bench.tick(devices) for _ in range(ticks)],
        floors['fast'] + floors['slow'] / 5,
    )
    line(
        'all, 50 processes in view',
        [
            bench.tick(Demand(visible_processes=tuple(p.key for p in sample.processes[:50])))
            for _ in range(ticks)
        ],
        floors['fast'] + floors['processes'] / 2 + floors['slow'] / 5,
    )
    line(
        'all, all processes measured',
        [bench.tick(Demand()) for _ in range(ticks)],
        floors['fast'] + floors['processes'] / 2 + floors['slow'] / 5,
    )


if __name__ == '__main__':
    main()
