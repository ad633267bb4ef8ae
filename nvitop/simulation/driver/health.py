# SPDX-License-Identifier: Apache-2.0
"""ECC errors, retired pages, remapped rows."""

from __future__ import annotations

from nvitop.api.libnvml._errors import INVALID_ARGUMENT, NOT_SUPPORTED
from nvitop.simulation.abi import DriverError, number
from nvitop.simulation.driver.symbols import GPU, NODE, Symbols
from nvitop.simulation.schema import ARCHITECTURES
from nvitop.simulation.world import Node

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
RETIRED = {0: 'retired_pages_single_bit_ecc', 1: 'retired_pages_double_bit_ecc'}

SYMBOLS.add_values(
    GPU,
    {
        'nvmlDeviceGetRemappedRows': (
            'remapped_rows_correctable remapped_rows_uncorrectable remapped_rows_pending remapped_rows_failure'
        ),
        'nvmlDeviceGetRemappedRows_v2': {
            'corrActiveRemaps': 'remapped_rows_correctable',
            'uncActiveRemaps': 'remapped_rows_uncorrectable',
            'bPending': 'remapped_rows_pending',
            'bfailureOccurred': 'remapped_rows_failure',
        },
    },
)


def ecc_errors(node: Node, kind: str, *names: str) -> int:
    """Number of errors of a kind, in one location or in total. Since Turing there are two locations."""
    counts = node.gpu.value('ecc_counts')
    if counts is None:
        if not node.gpu.value('ecc'):
            raise DriverError(NOT_SUPPORTED)
        is_new = node.gpu.value('architecture') >= ARCHITECTURES['turing']
        if names and is_new and not {'device_memory', 'sram'}.intersection(names):
            raise DriverError(NOT_SUPPORTED)
        error, period = kind.split('.')
        total = int(node.gpu.read(f'total_{period}_{error}_ecc_errors'))
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
def nvmlDeviceGetTotalEccErrors(node: Node, error: object, counter: object) -> int:
    return ecc_errors(node, _kind(error, counter))


@SYMBOLS.add(NODE)
def nvmlDeviceGetMemoryErrorCounter(
    node: Node, error: object, counter: object, location: object
) -> int:
    names = LOCATIONS.get(number(location), ('unknown',))
    kind = _kind(error, counter)
    if node.mig is None:
        return ecc_errors(node, kind, *names)
    counts = node.value('ecc_counts') or {}
    if f'{kind}.{names[0]}' not in counts:
        raise DriverError(INVALID_ARGUMENT)
    return int(counts[f'{kind}.{names[0]}'])


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
def nvmlDeviceGetSramEccErrorStatus(node: Node) -> dict[str, int]:
    """``(device, versioned struct *)``: unless counted, parity errors in the L2 cache only."""
    counts = node.value('ecc_counts')
    if counts is None:
        errors = node.read('sram_errors')
        return {
            'version': SRAM_ECC_STATUS_V1,
            'aggregateUncParity': errors,
            'aggregateUncBucketL2': errors,
            'bThresholdExceeded': errors > MOST_SRAM_ERRORS,
        }
    if not any('.sram.' in name for name in counts):
        raise DriverError(NOT_SUPPORTED)
    fields = {field: counts.get(name, 0) for field, name in SRAM.items()}
    return {'version': SRAM_ECC_STATUS_V1, **fields}


@SYMBOLS.add(GPU, 'nvmlDeviceGetRetiredPages', 'nvmlDeviceGetRetiredPages_v2')
def retired_pages(node: Node, cause: object) -> list[tuple[int, int]]:
    """``(device, cause, unsigned *, addresses[], times[])``."""
    key = RETIRED.get(number(cause))
    if key is None:
        raise DriverError(INVALID_ARGUMENT)
    return [(0x10000 * (i + 1), 1_700_000_000_000_000 + i) for i in range(node.read(key))]


@SYMBOLS.add(GPU)
def nvmlDeviceGetRowRemapperHistogram(node: Node) -> dict[str, int]:
    """``(device, struct *)``: number of banks by availability of spare rows."""
    names = ('max', 'high', 'partial', 'low', 'none')
    banks = node.value('remapping_banks')
    if banks is None:
        used = node.read('remapped_rows_correctable') + node.read('remapped_rows_uncorrectable')
        banks = {'max': node.read('memory_banks') - used, 'high': used}
    return {name: banks.get(name, 0) for name in names}
