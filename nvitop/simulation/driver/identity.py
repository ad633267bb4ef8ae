# SPDX-License-Identifier: Apache-2.0
"""Identity of a GPU: names, serial numbers, PCI location."""

from __future__ import annotations

from typing import Callable

from nvitop.api.libnvml._errors import CORRUPTED_INFOROM, INVALID_ARGUMENT
from nvitop.simulation.abi import DriverError, fill_number, fill_text, number, target
from nvitop.simulation.driver.symbols import GPU, NODE, Symbols
from nvitop.simulation.world import Node

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
def nvmlDeviceGetInforomConfigurationChecksum(node: Node, checksum: object) -> None:
    """``(device, unsigned *)``."""
    node.read('inforom_version')
    fill_number(checksum, 0x5EED0000 + node.spec.position)


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
def nvmlDeviceGetBusType(node: Node, bus: object) -> None:
    """``(device, unsigned *)``: PCI Express."""
    fill_number(bus, 2)


@SYMBOLS.add(GPU)
def nvmlDeviceGetBridgeChipInfo(node: Node, hierarchy: object) -> None:
    """``(device, struct *)``: no bridge chips."""
    target(hierarchy).bridgeCount = 0


@SYMBOLS.add(GPU)
def nvmlDeviceOnSameBoard(node: Node, other: object, same: object) -> None:
    """``(device, device, int *)``: no two GPUs share a board."""
    fill_number(same, 0)
