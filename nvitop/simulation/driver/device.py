# SPDX-License-Identifier: Apache-2.0
"""A GPU itself: identity, PCI location, memory, modes, MIG devices."""

from __future__ import annotations

from typing import Callable

from nvitop.api.libnvml._errors import (
    CORRUPTED_INFOROM,
    INVALID_ARGUMENT,
    NOT_FOUND,
    NOT_SUPPORTED,
)
from nvitop.simulation.abi import (
    UNKNOWN_MEMORY,
    DriverError,
    check_version,
    fill_handle,
    fill_number,
    fill_text,
    number,
    target,
)
from nvitop.simulation.driver.symbols import GPU, NODE, SYSTEM, Symbols
from nvitop.simulation.scenario import Mig
from nvitop.simulation.world import Node, World

SYMBOLS = Symbols()
#: Number of an InfoROM object in NVML → key.
INFOROM_PARTS = {0: 'inforom_oem', 1: 'inforom_ecc', 2: 'inforom_power'}
SYMBOLS.add_numbers(
    GPU,
    {
        'nvmlDeviceGetMinorNumber': 'minor_number',
        'nvmlDeviceGetBoardId': 'board_id',
        'nvmlDeviceGetMultiGpuBoard': 'multi_gpu_board',
        'nvmlDeviceGetNumGpuCores': 'cores',
        'nvmlDeviceGetMemoryBusWidth': 'memory_bus_width',
        'nvmlDeviceGetBrand': 'brand',
        'nvmlDeviceGetArchitecture': 'architecture',
        'nvmlDeviceGetNumaNodeId': 'numa_node',
    },
)


def _text(key: str) -> Callable[[Node, object, object], None]:
    def read(node: Node, text: object, length: object) -> None:
        fill_text(text, length, node.read(key))

    return read


SYMBOLS.add(NODE, 'nvmlDeviceGetName')(_text('name'))
SYMBOLS.add(NODE, 'nvmlDeviceGetUUID')(_text('uuid'))
SYMBOLS.add(GPU, 'nvmlDeviceGetSerial')(_text('serial'))
SYMBOLS.add(GPU, 'nvmlDeviceGetVbiosVersion')(_text('vbios_version'))
SYMBOLS.add(GPU, 'nvmlDeviceGetBoardPartNumber')(_text('board_part_number'))
SYMBOLS.add(GPU, 'nvmlDeviceGetInforomImageVersion')(_text('inforom_version'))


@SYMBOLS.add(GPU)
def nvmlDeviceGetInforomVersion(node: Node, part: object, text: object, length: object) -> None:
    """``(device, part, char *, length)``: parts OEM, ECC and power."""
    node.read('inforom_version')
    if number(part) not in INFOROM_PARTS:
        raise DriverError(INVALID_ARGUMENT)
    fill_text(text, length, node.value(INFOROM_PARTS[number(part)]) or 'N/A')


@SYMBOLS.add(GPU)
def nvmlDeviceValidateInforom(node: Node) -> None:
    """``(device)``: the InfoROM is valid if there is one."""
    node.read('inforom_version')
    if not node.read('inforom_valid'):
        raise DriverError(CORRUPTED_INFOROM)


@SYMBOLS.add(NODE)
def nvmlDeviceGetCudaComputeCapability(node: Node, major: object, minor: object) -> None:
    """``(device, int *, int *)``."""
    first, second = node.gpu.read('compute_capability').split('.')
    fill_number(major, int(first))
    fill_number(minor, int(second))


@SYMBOLS.add(GPU, 'nvmlDeviceGetPciInfo', 'nvmlDeviceGetPciInfo_v2', 'nvmlDeviceGetPciInfo_v3')
def pci_info(node: Node, info: object) -> None:
    """``(device, struct *)``: fills the fields of the caller's struct."""
    struct = target(info)
    bus_id = node.read('bus_id')
    domain, bus, place = bus_id.split(':')
    fields = {
        'busId': bus_id.encode(),
        'busIdLegacy': bus_id[4:].encode(),
        'domain': int(domain, 16),
        'bus': int(bus, 16),
        'device': int(place.split('.')[0], 16),
        'pciDeviceId': node.value('pci_device_id') or 0,
        'pciSubSystemId': node.value('pci_subsystem_id') or 0,
    }
    names = [field[0] for field in struct._fields_]
    if 'busIdLegacy' not in names:  # the struct before R396 only has room for the short form
        fields['busId'] = fields['busIdLegacy']
    for name in names:
        if name in fields:
            setattr(struct, name, fields[name])


@SYMBOLS.add(GPU)
def nvmlDeviceGetPciInfoExt(node: Node, info: object) -> None:
    """``(device, versioned struct *)``."""
    struct = target(info)
    pci_info(node, struct)
    struct.baseClass, struct.subClass = node.read('pci_base_class'), node.read('pci_subclass')


@SYMBOLS.add(GPU)
def nvmlDeviceGetBridgeChipInfo(node: Node, hierarchy: object) -> None:
    """``(device, struct *)``: no bridge chips."""
    target(hierarchy).bridgeCount = 0


MEMORY_V2 = 0x02000028


def _amounts(node: Node) -> tuple[int, int, int, int]:
    """Total, reserved, used and free bytes; *used* excludes the reserved ones."""
    if node.gpu.value('unified_memory'):
        raise DriverError(NOT_SUPPORTED)
    names = ('memory_total', 'memory_reserved', 'memory_used', 'memory_free')
    values = (node.value(name) for name in names)
    total, reserved, used, free = (UNKNOWN_MEMORY if value is None else value for value in values)
    return total, reserved, used, free


@SYMBOLS.add(NODE)
def nvmlDeviceGetMemoryInfo(node: Node, info: object) -> None:
    """``(device, struct *)``: *used* includes reserved memory."""
    struct = target(info)
    total, reserved, used, free = _amounts(node)
    struct.total = total
    is_known = UNKNOWN_MEMORY not in (used, reserved)
    struct.used = reserved + used if is_known else used
    struct.free = free


@SYMBOLS.add(NODE)
def nvmlDeviceGetMemoryInfo_v2(node: Node, info: object) -> None:
    """``(device, versioned struct *)``: reserved memory separately."""
    struct = target(info)
    check_version(struct, MEMORY_V2)
    total, reserved, used, free = _amounts(node)
    struct.total = total
    struct.reserved = reserved
    struct.used = used
    struct.free = free


@SYMBOLS.add(NODE)
def nvmlDeviceGetBAR1MemoryInfo(node: Node, info: object) -> None:
    """``(device, struct *)``."""
    struct = target(info)
    struct.bar1Total = total = node.read('bar1_total')
    struct.bar1Used = used = node.read('bar1_used')
    struct.bar1Free = max(0, total - used)


@SYMBOLS.add(GPU)
def nvmlDeviceGetConfComputeProtectedMemoryUsage(node: Node, info: object) -> None:
    """``(device, struct *)``: protected memory is allocated first."""
    struct = target(info)
    struct.total = total = node.read('protected_memory')
    struct.used = used = min(total, node.read('memory_used'))
    struct.free = total - used


SYMBOLS.add_numbers(
    GPU,
    {
        'nvmlDeviceGetDisplayMode': 'display_mode',
        'nvmlDeviceGetDisplayActive': 'display_active',
        'nvmlDeviceGetPersistenceMode': 'persistence_mode',
        'nvmlDeviceGetComputeMode': 'compute_mode',
        'nvmlDeviceGetAccountingBufferSize': 'accounting_buffer_size',
        'nvmlDeviceGetAccountingMode': 'accounting_mode',
        # The current and the pending mode.
        'nvmlDeviceGetDriverModel': 'driver_model driver_model_pending',
        'nvmlDeviceGetDriverModel_v2': 'driver_model driver_model_pending',
        'nvmlDeviceGetMigMode': 'mig_mode mig_mode_pending',
        'nvmlDeviceGetGpuOperationMode': 'gpu_operation_mode gpu_operation_mode',
        'nvmlDeviceGetGspFirmwareMode': 'gsp_mode gsp_mode_default',
        'nvmlDeviceGetEccMode': 'ecc_mode ecc_mode_pending',
    },
)
SYMBOLS.add_structs(
    GPU,
    {
        'nvmlDeviceGetAddressingMode': {'value': 'addressing_mode'},
        'nvmlDeviceGetC2cModeInfoV': {'isC2cEnabled': 'c2c_mode'},
    },
)


@SYMBOLS.add(GPU)
def nvmlDeviceGetDramEncryptionMode(node: Node, current: object, pending: object) -> None:
    """``(device, versioned struct *, versioned struct *)``."""
    target(current).encryptionState = target(pending).encryptionState = node.read('dram_encryption')


@SYMBOLS.add(GPU)
def nvmlDeviceGetVgpuCapabilities(node: Node, capability: object, out: object) -> None:
    """``(device, capability, unsigned *)``: even capabilities are supported."""
    fill_number(out, node.read('vgpu_host') and number(capability) % 2 == 0)


@SYMBOLS.add(SYSTEM)
def nvmlGetVgpuDriverCapabilities(world: World, capability: object, out: object) -> None:
    """``(capability, unsigned *)``: even capabilities are supported if a GPU is a vGPU host."""
    if not any(node.value('vgpu_host') for node in world.present()):
        raise DriverError(NOT_SUPPORTED)
    fill_number(out, number(capability) % 2 == 0)


# MIG


@SYMBOLS.add(NODE)
def nvmlDeviceIsMigDeviceHandle(node: Node, is_mig: object) -> None:
    """``(device, unsigned *)``."""
    fill_number(is_mig, node.mig is not None)


@SYMBOLS.add(GPU)
def nvmlDeviceGetMaxMigDeviceCount(node: Node, count: object) -> None:
    """``(device, unsigned *)``: 0 if the GPU does not support MIG."""
    supported = node.value('mig_mode') is not None
    fill_number(count, node.read('max_mig_devices') if supported else 0)


@SYMBOLS.add(GPU)
def nvmlDeviceGetMigDeviceHandleByIndex(node: Node, index: object, device: object) -> None:
    """``(device, index, handle *)``: *not found* for an index without a device, since indices have gaps."""
    if node.value('mig_mode') is None:
        raise DriverError(NOT_SUPPORTED)
    wanted = number(index)
    if not 0 <= wanted < node.read('max_mig_devices'):
        raise DriverError(INVALID_ARGUMENT)
    t = node.world.seconds()
    for mig in node.migs:
        if mig.index() == wanted and mig.exists(t):
            fill_handle(device, mig.address)
            return
    raise DriverError(NOT_FOUND)


@SYMBOLS.add(NODE)
def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(node: Node, device: object) -> None:
    """``(MIG device, handle *)``."""
    if node.mig is None:
        raise DriverError(INVALID_ARGUMENT)
    fill_handle(device, node.gpu.address)


def _mig_of(node: Node) -> Mig:
    if node.mig is None:
        raise DriverError(NOT_SUPPORTED)
    return node.mig


@SYMBOLS.add(NODE)
def nvmlDeviceGetGpuInstanceId(node: Node, instance: object) -> None:
    """``(MIG device, unsigned *)``."""
    fill_number(instance, _mig_of(node).gpu_instance)


@SYMBOLS.add(NODE)
def nvmlDeviceGetComputeInstanceId(node: Node, instance: object) -> None:
    """``(MIG device, unsigned *)``."""
    fill_number(instance, _mig_of(node).compute_instance)


@SYMBOLS.add(NODE, 'nvmlDeviceGetAttributes', 'nvmlDeviceGetAttributes_v2')
def attributes(node: Node, out: object) -> None:
    """``(MIG device, struct *)``: the resources of its profile."""
    mig, struct = _mig_of(node), target(out)
    compute, gpu = mig.compute_slices, mig.gpu_slices
    engines = mig.engines or {
        'multiprocessor': (node.gpu.value('multiprocessors') or 0) // 7 * compute,
        'copy': gpu,
        'decoder': gpu,
        'jpeg': gpu,
        'ofa': int(gpu == 7),
    }
    struct.multiprocessorCount = engines.get('multiprocessor', 0)
    struct.sharedCopyEngineCount = engines.get('copy', 0)
    struct.sharedDecoderCount = engines.get('decoder', 0)
    struct.sharedEncoderCount = engines.get('encoder', 0)
    struct.sharedJpegCount = engines.get('jpeg', 0)
    struct.sharedOfaCount = engines.get('ofa', 0)
    struct.gpuInstanceSliceCount = gpu
    struct.computeInstanceSliceCount = compute
    struct.memorySizeMB = node.read('memory_total') >> 20
