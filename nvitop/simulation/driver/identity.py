# SPDX-License-Identifier: Apache-2.0
"""A GPU itself: identity, PCI location, memory, modes, place in a fabric, MIG devices; its errors."""

from __future__ import annotations

from nvitop.api.libnvml._errors import CORRUPTED_INFOROM, INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED
from nvitop.simulation.abi import (
    UNKNOWN_MEMORY,
    DriverError,
    Handle,
    fill_struct,
    known,
    number,
    target,
)
from nvitop.simulation.driver import GPU, NODE, SYSTEM, add_symbol, add_values
from nvitop.simulation.scenario import Mig
from nvitop.simulation.schema import ARCHITECTURES
from nvitop.simulation.world import Node, World

#: Number of an InfoROM object in NVML → key.
INFOROM_PARTS = {0: 'inforom_oem_version', 1: 'inforom_ecc_version', 2: 'inforom_power_version'}
MEMORY_V2 = 0x02000028
FABRIC_INFO_V2, FABRIC_INFO_V3 = 0x02000024, 0x03000028
PLATFORM_INFO_V2 = 0x0200002C
FABRIC_COMPLETED = 3
#: What the driver stores for a number of the platform that it does not know.
UNKNOWN_NUMBER = 255
PLATFORM_NUMBERS = {
    'slotNumber': 'slot_number',
    'trayIndex': 'tray_index',
    'hostId': 'host_id',
    'peerType': 'peer_type',
    'moduleId': 'platform_module_id',
}

add_values(
    GPU,
    {
        'nvmlDeviceGetAddressingMode': {'value': 'memory_addressing'},
        'nvmlDeviceGetC2cModeInfoV': {'isC2cEnabled': 'c2c_mode'},
        # The current and the pending mode.
        'nvmlDeviceGetDriverModel': 'current_driver_model driver_model_pending',
        'nvmlDeviceGetDriverModel_v2': 'current_driver_model driver_model_pending',
        'nvmlDeviceGetMigMode': 'mig_mode mig_mode_pending',
        'nvmlDeviceGetGpuOperationMode': 'operation_mode operation_mode',
        'nvmlDeviceGetGspFirmwareMode': 'gsp_mode gsp_mode_default',
        'nvmlDeviceGetEccMode': 'ecc ecc_pending',
    },
)


@add_symbol(GPU)
def nvmlDeviceGetInforomVersion(node: Node, part: object) -> str:
    """``(device, part, char *, length)``: parts OEM, ECC and power."""
    node.read('inforom_image_version')
    if number(part) not in INFOROM_PARTS:
        raise DriverError(INVALID_ARGUMENT)
    return node.value(INFOROM_PARTS[number(part)]) or 'N/A'


@add_symbol(GPU)
def nvmlDeviceValidateInforom(node: Node) -> None:
    """``(device)``: the InfoROM is valid if there is one."""
    node.read('inforom_image_version')
    if not node.read('inforom_checksum_validation'):
        raise DriverError(CORRUPTED_INFOROM)


@add_symbol(NODE)
def nvmlDeviceGetCudaComputeCapability(node: Node) -> tuple[int, ...]:
    """``(device, int *, int *)``: major and minor version."""
    return tuple(map(int, node.gpu.read('cuda_compute_capability').split('.')))


@add_symbol(GPU)
def nvmlDeviceGetPciInfo_v3(node: Node) -> dict[str, object]:
    bus_id = node.read('bus_id')
    domain, bus, place = bus_id.split(':')
    return {
        'busId': bus_id.encode(),
        'busIdLegacy': bus_id[4:].encode(),
        'domain': int(domain, 16),
        'bus': int(bus, 16),
        'device': int(place.split('.')[0], 16),
        'pciDeviceId': node.value('pci_device_id') or 0,
        'pciSubSystemId': node.value('pci_subsystem_id') or 0,
    }


@add_symbol(GPU)
def nvmlDeviceGetPciInfoExt(node: Node) -> dict[str, object]:
    classes = {'baseClass': node.read('pci_base_class'), 'subClass': node.read('pci_subclass')}
    return {**nvmlDeviceGetPciInfo_v3(node), **classes}


def _amounts(node: Node) -> dict[str, int]:
    """Total, reserved, used and free bytes; *used* excludes the reserved ones."""
    if node.gpu.value('unified_memory'):
        raise DriverError(NOT_SUPPORTED)
    values = {name: node.value(f'memory_{name}') for name in ('total', 'reserved', 'used', 'free')}
    return {name: UNKNOWN_MEMORY if size is None else size for name, size in values.items()}


@add_symbol(NODE)
def nvmlDeviceGetMemoryInfo(node: Node) -> dict[str, int]:
    """``(device, struct *)``: *used* includes reserved memory."""
    sizes = _amounts(node)
    reserved = sizes.pop('reserved')
    if UNKNOWN_MEMORY not in (sizes['used'], reserved):
        sizes['used'] += reserved
    return sizes


@add_symbol(NODE)
def nvmlDeviceGetMemoryInfo_v2(node: Node) -> dict[str, int]:
    """``(device, versioned struct *)``: reserved memory separately."""
    return {'version': MEMORY_V2, **_amounts(node)}


@add_symbol(NODE)
def nvmlDeviceGetBAR1MemoryInfo(node: Node) -> dict[str, int]:
    total, used = node.read('bar1_memory_total'), node.read('bar1_memory_used')
    return {'bar1Total': total, 'bar1Used': used, 'bar1Free': max(0, total - used)}


@add_symbol(GPU)
def nvmlDeviceGetConfComputeProtectedMemoryUsage(node: Node) -> dict[str, int]:
    """``(device, struct *)``: protected memory is allocated first."""
    total = node.read('protected_memory_total')
    used = min(total, node.read('memory_used'))
    return {'total': total, 'used': used, 'free': total - used}


@add_symbol(GPU)
def nvmlDeviceGetDramEncryptionMode(node: Node, current: object, pending: object) -> None:
    target(current).encryptionState = target(pending).encryptionState = node.read('dram_encryption')


@add_symbol(GPU)
def nvmlDeviceGetVgpuCapabilities(node: Node, capability: object) -> bool:
    """``(device, capability, unsigned *)``: even capabilities are supported."""
    return node.read('vgpu_host') and number(capability) % 2 == 0


@add_symbol(SYSTEM)
def nvmlGetVgpuDriverCapabilities(world: World, capability: object) -> bool:
    """``(capability, unsigned *)``: even capabilities are supported if a GPU is a vGPU host."""
    if not any(node.value('vgpu_host') for node in world.present()):
        raise DriverError(NOT_SUPPORTED)
    return number(capability) % 2 == 0


@add_symbol(GPU)
def nvmlDeviceGetGpuFabricInfoV(node: Node, info: object) -> None:
    """``(device, versioned struct *)``: without a cluster, the fabric is this machine alone."""
    is_newer = target(info).version == FABRIC_INFO_V3
    fields = {
        'version': FABRIC_INFO_V3 if is_newer else FABRIC_INFO_V2,
        'state': node.read('fabric_state'),
    }
    if fields['state'] != FABRIC_COMPLETED:
        fill_struct(info, fields)
        return
    cluster = (node.value('fabric_cluster_uuid') or '').replace('-', '')
    completed = {
        'status': 0,
        'cliqueId': node.read('fabric_clique_id'),
        'healthMask': node.read('fabric_health'),
        'healthSummary': node.value('fabric_health_summary') or 0,
        'clusterUuid': bytes.fromhex(f'{cluster:0>32}'),
    }
    fill_struct(info, {**fields, **completed})


@add_symbol(GPU)
def nvmlDeviceGetPlatformInfo(node: Node) -> dict[str, object]:
    serial = node.read('chassis_serial_number')
    numbers = {field: node.value(key) for field, key in PLATFORM_NUMBERS.items()}
    return {
        'version': PLATFORM_INFO_V2,
        'chassisSerialNumber': serial.encode(),
        **{field: UNKNOWN_NUMBER if n is None else n for field, n in numbers.items()},
        'ibGuid': int(node.read('gpu_fabric_guid'), 16).to_bytes(8, 'big'),
    }


# MIG


add_symbol(NODE, 'nvmlDeviceIsMigDeviceHandle')(lambda node: node.mig is not None)
add_symbol(NODE, 'nvmlDeviceGetGpuInstanceId')(lambda node: known(node.mig).gpu_instance_id)
add_symbol(NODE, 'nvmlDeviceGetComputeInstanceId')(lambda node: known(node.mig).compute_instance_id)


@add_symbol(GPU)
def nvmlDeviceGetMaxMigDeviceCount(node: Node) -> int:
    """``(device, unsigned *)``: 0 if the GPU does not support MIG."""
    return 0 if node.value('mig_mode') is None else node.read('max_mig_devices')


@add_symbol(GPU)
def nvmlDeviceGetMigDeviceHandleByIndex(node: Node, index: object) -> Handle:
    """``(device, index, handle *)``: *not found* for an index without a device, since indices have gaps."""
    node.read('mig_mode')
    wanted = number(index)
    if not 0 <= wanted < node.read('max_mig_devices'):
        raise DriverError(INVALID_ARGUMENT)
    t = node.world.seconds()
    for mig in node.migs:
        if mig.index() == wanted and mig.exists(t):
            return Handle(mig.address)
    raise DriverError(NOT_FOUND)


@add_symbol(NODE)
def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(node: Node) -> Handle:
    if node.mig is None:
        raise DriverError(INVALID_ARGUMENT)
    return Handle(node.gpu.address)


@add_symbol(NODE, 'nvmlDeviceGetAttributes', 'nvmlDeviceGetAttributes_v2')
def attributes(node: Node) -> dict[str, int]:
    """``(MIG device, struct *)``: the resources of its profile."""
    mig = known(node.mig)
    engines = mig.engines or _engines(node, mig)
    return {
        'multiprocessorCount': engines.get('multiprocessor', 0),
        'sharedCopyEngineCount': engines.get('copy', 0),
        'sharedDecoderCount': engines.get('decoder', 0),
        'sharedEncoderCount': engines.get('encoder', 0),
        'sharedJpegCount': engines.get('jpeg', 0),
        'sharedOfaCount': engines.get('ofa', 0),
        'gpuInstanceSliceCount': mig.gpu_slices,
        'computeInstanceSliceCount': mig.compute_slices,
        'memorySizeMB': node.read('memory_total') >> 20,
    }


def _engines(node: Node, mig: Mig) -> dict[str, int]:
    """Number of units of a profile, by its slices."""
    return {
        'multiprocessor': (node.gpu.value('multiprocessors') or 0) // 7 * mig.compute_slices,
        'copy': mig.gpu_slices,
        'decoder': mig.gpu_slices,
        'jpeg': mig.gpu_slices,
        'ofa': int(mig.gpu_slices == 7),
    }


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

add_values(
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
    for name in names or ('total',):
        if f'{kind}.{name}' in counts:
            return int(counts[f'{kind}.{name}'])
    raise DriverError(NOT_SUPPORTED)


def _kind(error: object, counter: object) -> str:
    kind = ECC.get((number(error), number(counter)))
    if kind is None:
        raise DriverError(INVALID_ARGUMENT)
    return kind


@add_symbol(NODE)
def nvmlDeviceGetTotalEccErrors(node: Node, error: object, counter: object) -> int:
    return ecc_errors(node, _kind(error, counter))


@add_symbol(NODE)
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


@add_symbol(GPU)
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


@add_symbol(GPU, 'nvmlDeviceGetRetiredPages', 'nvmlDeviceGetRetiredPages_v2')
def retired_pages(node: Node, cause: object) -> list[tuple[int, int]]:
    key = RETIRED.get(number(cause))
    if key is None:
        raise DriverError(INVALID_ARGUMENT)
    return [(0x10000 * (i + 1), 1_700_000_000_000_000 + i) for i in range(node.read(key))]


@add_symbol(GPU)
def nvmlDeviceGetRowRemapperHistogram(node: Node) -> dict[str, int]:
    """``(device, struct *)``: number of banks by availability of spare rows."""
    names = ('max', 'high', 'partial', 'low', 'none')
    banks = node.value('remapping_banks')
    if banks is None:
        used = node.read('remapped_rows_correctable') + node.read('remapped_rows_uncorrectable')
        banks = {'max': node.read('memory_banks') - used, 'high': used}
    return {name: banks.get(name, 0) for name in names}
