"""Lower bounds of the cost: bare calls of the binding and bare reads of ``/proc``.

These are the calls and files of nvitop, without processing the results.
"""

from __future__ import annotations

import os
import time
from typing import Callable, Iterable, Sequence

import pynvml

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
#: Additional queries of a snapshot of a device.
OF_SNAPSHOTS: Calls = (
    ('nvmlDeviceGetEncoderUtilization',),
    ('nvmlDeviceGetDecoderUtilization',),
    ('nvmlDeviceGetClockInfo', pynvml.NVML_CLOCK_GRAPHICS),
    ('nvmlDeviceGetClockInfo', pynvml.NVML_CLOCK_VIDEO),
    ('nvmlDeviceGetFieldValues', [197, 198]),  # bytes over PCIe, from and to the GPU
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
    fast, lists, slow = (
        sum(nvml_seconds(handles, calls) for _ in range(20)) / 20
        for calls in (FAST, PROCESSES, SLOW)
    )
    reads = sum(proc_seconds(pids) for _ in range(20)) / 20
    return fast + (lists + reads) / 2 + slow / 5


def mean(measure: Callable[[], float], times: int = 50) -> float:
    """Return the mean of many measurements."""
    return sum(measure() for _ in range(times)) / times
