"""What nothing can be cheaper than: bare calls of the binding, and bare reads of ``/proc``.

The same calls and the same files as nvitop's, with nothing done to the answers.
"""

from __future__ import annotations

import os
import time
from typing import Callable, Iterable, Sequence

import pynvml

Calls = Sequence[Sequence[object]]

#: What the monitor asks of a GPU every second, …
FAST: Calls = (
    ('nvmlDeviceGetMemoryInfo', pynvml.nvmlMemory_v2),
    ('nvmlDeviceGetUtilizationRates',),
    ('nvmlDeviceGetClockInfo', pynvml.NVML_CLOCK_SM),
    ('nvmlDeviceGetClockInfo', pynvml.NVML_CLOCK_MEM),
    ('nvmlDeviceGetTemperature', pynvml.NVML_TEMPERATURE_GPU),
    ('nvmlDeviceGetPowerUsage',),
)
#: … every two seconds, …
PROCESSES: Calls = (
    ('nvmlDeviceGetComputeRunningProcesses',),
    ('nvmlDeviceGetGraphicsRunningProcesses',),
    ('nvmlDeviceGetMPSComputeRunningProcesses',),
    ('nvmlDeviceGetProcessUtilization', 0),
)
#: … and every five.
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
#: What is asked beside those for a snapshot of a device.
OF_SNAPSHOTS: Calls = (
    ('nvmlDeviceGetEncoderUtilization',),
    ('nvmlDeviceGetDecoderUtilization',),
    ('nvmlDeviceGetClockInfo', pynvml.NVML_CLOCK_GRAPHICS),
    ('nvmlDeviceGetClockInfo', pynvml.NVML_CLOCK_VIDEO),
    ('nvmlDeviceGetFieldValues', [197, 198]),  # bytes over PCIe, from and to the GPU
)
FILES = ('stat', 'cmdline', 'statm')


def nvml_seconds(handles: Iterable[object], calls: Calls) -> float:
    """CPU seconds that the calls take with nothing around them, for all GPUs."""
    started = time.process_time()
    for handle in handles:
        for name, *args in calls:
            try:
                getattr(pynvml, str(name))(handle, *args)
            except pynvml.NVMLError:
                continue
    return time.process_time() - started


def proc_seconds(pids: Iterable[int], files: Sequence[str] = FILES) -> float:
    """CPU seconds that it takes to read these files of the processes."""
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
    """All GPUs."""
    count = pynvml.nvmlDeviceGetCount()
    return [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]


def tick_seconds(handles: Sequence[object], pids: Iterable[int]) -> float:
    """CPU seconds of a tick of the monitor: processes every second time, the slow every fifth."""
    fast, lists, slow = (
        sum(nvml_seconds(handles, calls) for _ in range(20)) / 20
        for calls in (FAST, PROCESSES, SLOW)
    )
    reads = sum(proc_seconds(pids) for _ in range(20)) / 20
    return fast + (lists + reads) / 2 + slow / 5


def mean(measure: Callable[[], float], times: int = 50) -> float:
    """The mean of many measurements."""
    return sum(measure() for _ in range(times)) / times
