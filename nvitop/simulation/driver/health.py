# SPDX-License-Identifier: Apache-2.0
"""ECC errors, retired pages, remapped rows; accounting."""

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
from nvitop.simulation.schema import ARCHITECTURES
from nvitop.simulation.world import Node, Task

SYMBOLS = Symbols()
#: (error type, counter type) of NVML → its name.
ECC = {
    (0, 0): 'corrected.volatile',
    (1, 0): 'uncorrected.volatile',
    (0, 1): 'corrected.aggregate',
    (1, 1): 'uncorrected.aggregate',
}
#: Number of a memory location in NVML → its names.
LOCATIONS = {
    0: ('l1_cache',),
    1: ('l2_cache',),
    2: ('device_memory', 'dram'),
    3: ('register_file',),
    4: ('texture_memory',),
    6: ('cbu',),
    7: ('sram',),
}
SRAM_ECC_STATUS_V1 = 0x01000068
#: A board with more errors than this should be replaced.
MOST_SRAM_ERRORS = 4
RETIRED = {0: 'retired_single_bit', 1: 'retired_double_bit'}

SYMBOLS.add_numbers(
    GPU,
    {
        'nvmlDeviceGetEncoderStats': 'encoder_sessions encoder_fps encoder_latency',
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


def ecc_errors(node: Node, kind: str, *names: str) -> int:
    """Number of errors of a kind, in one location or in total. Since Turing there are two locations."""
    counts = node.gpu.value('ecc_counts')
    if counts is None:
        if not node.gpu.value('ecc_mode'):
            raise DriverError(NOT_SUPPORTED)
        is_new = node.gpu.value('architecture') >= ARCHITECTURES['turing']
        if names and is_new and not {'device_memory', 'sram'}.intersection(names):
            raise DriverError(NOT_SUPPORTED)
        total = int(node.gpu.read(f'ecc_{kind.replace(".", "_")}'))
        return total if not names or 'device_memory' in names else 0
    found = [counts[f'{kind}.{name}'] for name in names or ('total',) if f'{kind}.{name}' in counts]
    if not found:
        raise DriverError(NOT_SUPPORTED)
    return int(found[0])


def _kind(error: object, counter: object) -> str:
    kind = ECC.get((number(error), number(counter)))
    if kind is None:
        raise DriverError(INVALID_ARGUMENT)
    return kind


@SYMBOLS.add(NODE)
def nvmlDeviceGetTotalEccErrors(node: Node, error: object, counter: object, out: object) -> None:
    """``(device, error type, counter type, unsigned long long *)``."""
    fill_number(out, ecc_errors(node, _kind(error, counter)))


@SYMBOLS.add(GPU)
def nvmlDeviceGetMemoryErrorCounter(
    node: Node, error: object, counter: object, location: object, out: object
) -> None:
    """``(device, error type, counter type, location, unsigned long long *)``."""
    names = LOCATIONS.get(number(location), ('unknown',))
    fill_number(out, ecc_errors(node, _kind(error, counter), *names))


#: Field of the status of the SRAM → name of the count.
SRAM = {
    'aggregateUncParity': 'uncorrected.aggregate.sram.parity',
    'aggregateUncSecDed': 'uncorrected.aggregate.sram.secded',
    'aggregateCor': 'corrected.aggregate.sram',
    'volatileUncParity': 'uncorrected.volatile.sram.parity',
    'volatileUncSecDed': 'uncorrected.volatile.sram.secded',
    'volatileCor': 'corrected.volatile.sram',
    'aggregateUncBucketL2': 'uncorrected.aggregate.sram.l2',
    'aggregateUncBucketSm': 'uncorrected.aggregate.sram.sm',
    'aggregateUncBucketPcie': 'uncorrected.aggregate.sram.pcie',
    'aggregateUncBucketMcu': 'uncorrected.aggregate.sram.mcu',
    'aggregateUncBucketOther': 'uncorrected.aggregate.sram.other',
    'bThresholdExceeded': 'uncorrected.aggregate.sram.thresholdExceeded',
}


@SYMBOLS.add(GPU)
def nvmlDeviceGetSramEccErrorStatus(node: Node, status: object) -> None:
    """``(device, versioned struct *)``: unless counted, parity errors in the L2 cache only."""
    struct, counts = target(status), node.value('ecc_counts')
    check_version(struct, SRAM_ECC_STATUS_V1)
    if counts is not None:
        if not any('.sram.' in name for name in counts):
            raise DriverError(NOT_SUPPORTED)
        for field, name in SRAM.items():
            setattr(struct, field, counts.get(name, 0))
        return
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
    struct, banks = target(values), node.value('remapping_banks')
    if banks is not None:
        for name in ('max', 'high', 'partial', 'low', 'none'):
            setattr(struct, name, banks.get(name, 0))
        return
    used = node.read('remapped_correctable') + node.read('remapped_uncorrectable')
    struct.max = node.read('memory_banks') - used
    struct.high = used
    struct.partial = struct.low = 0
    struct.none = 0


# Accounting


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
