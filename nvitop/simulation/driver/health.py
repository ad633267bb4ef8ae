# SPDX-License-Identifier: Apache-2.0
"""ECC errors, retired pages, remapped rows; accounting and other records."""

from __future__ import annotations

from nvitop.api.libnvml._errors import INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED
from nvitop.simulation.abi import (
    UNKNOWN_MEMORY,
    DriverError,
    answer_list,
    check_version,
    fill_number,
    number,
    room_for,
    target,
)
from nvitop.simulation.driver.symbols import GPU, NODE, Symbols
from nvitop.simulation.world import Node, Task

SYMBOLS = Symbols()
#: (error type, counter type) of NVML → key.
ECC = {
    (0, 0): 'ecc_corrected_volatile',
    (1, 0): 'ecc_uncorrected_volatile',
    (0, 1): 'ecc_corrected_aggregate',
    (1, 1): 'ecc_uncorrected_aggregate',
}
DEVICE_MEMORY = 2
SRAM_ECC_STATUS_V1 = 0x01000068
#: A board with more errors than this should be replaced.
MOST_SRAM_ERRORS = 4
RETIRED = {0: 'retired_single_bit', 1: 'retired_double_bit'}

SYMBOLS.add_numbers(
    GPU,
    {
        'nvmlDeviceGetDefaultEccMode': 'ecc_mode',
        'nvmlDeviceGetRetiredPagesPendingStatus': 'retired_pending',
        'nvmlDeviceGetRemappedRows': (
            'remapped_correctable remapped_uncorrectable remapped_pending remapped_failure'
        ),
    },
)
SYMBOLS.add_structs(
    GPU,
    {
        'nvmlDeviceGetRemappedRows_v2': {
            'corrActiveRemaps': 'remapped_correctable',
            'uncActiveRemaps': 'remapped_uncorrectable',
            'bPending': 'remapped_pending',
            'bfailureOccurred': 'remapped_failure',
        },
    },
)


def _ecc_errors(node: Node, error: object, counter: object) -> int:
    key = ECC.get((number(error), number(counter)))
    if key is None:
        raise DriverError(INVALID_ARGUMENT)
    if not node.gpu.value('ecc_mode'):
        raise DriverError(NOT_SUPPORTED)
    return int(node.gpu.read(key))


@SYMBOLS.add(NODE)
def nvmlDeviceGetTotalEccErrors(node: Node, error: object, counter: object, out: object) -> None:
    """``(device, error type, counter type, unsigned long long *)``."""
    fill_number(out, _ecc_errors(node, error, counter))


@SYMBOLS.add(GPU)
def nvmlDeviceGetMemoryErrorCounter(
    node: Node, error: object, counter: object, location: object, out: object
) -> None:
    """``(device, error type, counter type, location, unsigned long long *)``."""
    errors = _ecc_errors(node, error, counter)
    fill_number(out, errors if number(location) == DEVICE_MEMORY else 0)


@SYMBOLS.add(GPU)
def nvmlDeviceGetDetailedEccErrors(node: Node, error: object, counter: object, out: object) -> None:
    """``(device, error type, counter type, struct *)``: errors in the device memory only."""
    struct = target(out)
    struct.l1Cache = struct.l2Cache = struct.registerFile = 0
    struct.deviceMemory = _ecc_errors(node, error, counter)


@SYMBOLS.add(GPU)
def nvmlDeviceGetSramEccErrorStatus(node: Node, status: object) -> None:
    """``(device, versioned struct *)``: parity errors in the L2 cache only."""
    if not node.value('ecc_mode'):
        raise DriverError(NOT_SUPPORTED)
    struct = target(status)
    check_version(struct, SRAM_ECC_STATUS_V1)
    struct.aggregateUncParity = struct.aggregateUncBucketL2 = errors = node.read('sram_errors')
    struct.bThresholdExceeded = errors > MOST_SRAM_ERRORS


@SYMBOLS.add(GPU, 'nvmlDeviceGetRetiredPages', 'nvmlDeviceGetRetiredPages_v2')
def retired_pages(
    node: Node, cause: object, count: object, pages: object, times: object = None
) -> None:
    """``(device, cause, unsigned *, addresses[], times[])``."""
    key = RETIRED.get(number(cause))
    if key is None:
        raise DriverError(INVALID_ARGUMENT)
    retired = node.read(key)
    if room_for(count, pages, retired):
        for i in range(retired):
            target(pages)[i] = 0x10000 * (i + 1)
            if times is not None:
                target(times)[i] = 1_700_000_000_000_000 + i


@SYMBOLS.add(GPU)
def nvmlDeviceGetRowRemapperHistogram(node: Node, values: object) -> None:
    """``(device, struct *)``: number of banks by availability of spare rows."""
    struct = target(values)
    used = node.read('remapped_correctable') + node.read('remapped_uncorrectable')
    struct.max = 640 - used
    struct.high = used
    struct.partial = struct.low = 0
    struct.none = 0


# Accounting


@SYMBOLS.add(GPU)
def nvmlDeviceGetAccountingBufferSize(node: Node, size: object) -> None:
    """``(device, unsigned *)``."""
    node.read('accounting_mode')
    fill_number(size, 4000)


def _accounted(node: Node) -> dict[int, Task]:
    """Running processes by PID if accounting is on, else no processes."""
    t = node.world.seconds()
    tasks = node.tasks if node.read('accounting_mode') else []
    found = {node.world.pid_of(task): task for task in tasks if task.runs(t)}
    return {pid: task for pid, task in found.items() if pid is not None}


@SYMBOLS.add(GPU)
def nvmlDeviceGetAccountingPids(node: Node, count: object, pids: object) -> None:
    """``(device, unsigned *, unsigned[])``."""
    answer_list(count, pids, list(_accounted(node)))


@SYMBOLS.add(GPU)
def nvmlDeviceGetAccountingStats(node: Node, pid: object, stats: object) -> None:
    """``(device, pid, struct *)``: the current utilization."""
    if not node.read('accounting_mode'):
        raise DriverError(NOT_SUPPORTED)
    task = _accounted(node).get(number(pid))
    if task is None:
        raise DriverError(NOT_FOUND)
    t, struct = node.world.seconds(), target(stats)
    memory = task.memory(t)
    struct.gpuUtilization, struct.memoryUtilization = (
        round(task.sm(t)),
        round(task.memory_utilization(t)),
    )
    struct.maxMemoryUsage = UNKNOWN_MEMORY if memory is None else memory
    struct.time = 0  # NVML reports the time after the process has exited
    struct.startTime = int((node.world.epoch() - t + max(0.0, task.spec.start)) * 1e6)
    struct.isRunning = 1


# Sessions


@SYMBOLS.add(GPU)
def nvmlDeviceGetEncoderStats(node: Node, sessions: object, fps: object, latency: object) -> None:
    """``(device, unsigned *, unsigned *, unsigned *)``: one session if the encoder is busy."""
    works = bool(node.read('encoder_utilization'))
    fill_number(sessions, works)
    fill_number(fps, 60 if works else 0)
    fill_number(latency, 2100 if works else 0)


@SYMBOLS.add(GPU)
def nvmlDeviceGetEncoderCapacity(node: Node, kind: object, capacity: object) -> None:
    """``(device, codec, unsigned *)``: remaining capacity in percent."""
    if not 0 <= number(kind) < 3:
        raise DriverError(INVALID_ARGUMENT)
    fill_number(capacity, 100 - node.read('encoder_utilization'))


@SYMBOLS.add(GPU)
def nvmlDeviceGetFBCStats(node: Node, stats: object) -> None:
    """``(device, struct *)``: no frame buffer capture."""
    struct = target(stats)
    struct.sessionsCount = struct.averageFPS = struct.averageLatency = 0


@SYMBOLS.add(GPU, 'nvmlDeviceGetEncoderSessions', 'nvmlDeviceGetFBCSessions')
def sessions(node: Node, count: object, infos: object) -> None:
    """``(device, unsigned *, struct[])``: sessions are never listed."""
    fill_number(count, 0)
