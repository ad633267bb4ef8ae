# SPDX-License-Identifier: Apache-2.0
"""PCI Express, NVLink, its fabric, and the place in the chassis."""

from __future__ import annotations

from nvitop.api.libnvml._errors import INVALID_ARGUMENT, NOT_SUPPORTED
from nvitop.simulation.abi import DriverError, check_version, fill_number, number, target
from nvitop.simulation.driver.symbols import GPU, Symbols
from nvitop.simulation.world import Node

SYMBOLS = Symbols()
FABRIC_INFO_V2 = 0x02000024
PLATFORM_INFO_V2 = 0x0200002C
COMPLETED = 3
#: What the driver stores for a number of the platform that it does not know.
UNKNOWN_NUMBER = 255
PLATFORM_NUMBERS = {
    'slotNumber': 'slot_number',
    'trayIndex': 'tray_index',
    'hostId': 'host_id',
    'peerType': 'peer_type',
    'moduleId': 'module_id',
}

SYMBOLS.add_numbers(
    GPU,
    {
        'nvmlDeviceGetCurrPcieLinkGeneration': 'pcie_generation',
        'nvmlDeviceGetMaxPcieLinkGeneration': 'max_pcie_generation',
        'nvmlDeviceGetGpuMaxPcieLinkGeneration': 'gpu_max_pcie_generation',
        'nvmlDeviceGetCurrPcieLinkWidth': 'pcie_width',
        'nvmlDeviceGetMaxPcieLinkWidth': 'max_pcie_width',
        'nvmlDeviceGetPcieReplayCounter': 'pcie_replays',
    },
)


@SYMBOLS.add(GPU)
def nvmlDeviceGetPcieThroughput(node: Node, counter: object, throughput: object) -> None:
    """``(device, direction, unsigned *)``: KiB/s. A real driver measures for 20 ms."""
    which = number(counter)
    if which not in (0, 1):
        raise DriverError(INVALID_ARGUMENT)
    rate = node.read('pcie_rx' if which else 'pcie_tx')
    seconds = node.world.scenario.pcie_throughput_seconds
    if seconds:
        node.world.sleep(seconds)
    fill_number(throughput, rate >> 10)


def link_count(node: Node) -> int:
    """Number of NVLinks of a GPU; raises *not supported* if there are none."""
    count = int(node.read('nvlink_count'))
    if count == 0:
        raise DriverError(NOT_SUPPORTED)
    return count


def check_link(node: Node, link: object) -> int:
    """The number of a link; raises *invalid argument* if the GPU does not have it."""
    which = number(link)
    if not 0 <= which < link_count(node):
        raise DriverError(INVALID_ARGUMENT)
    return which


def is_link_active(node: Node, link: int) -> bool:
    """Whether a link is up. The links with the highest numbers are down first."""
    return bool(link < node.read('nvlink_count') - node.read('nvlink_down'))


@SYMBOLS.add(GPU)
def nvmlDeviceGetNvLinkState(node: Node, link: object, active: object) -> None:
    """``(device, link, unsigned *)``."""
    fill_number(active, is_link_active(node, check_link(node, link)))


@SYMBOLS.add(GPU)
def nvmlDeviceGetGpuFabricInfoV(node: Node, info: object) -> None:
    """``(device, versioned struct *)``: the cluster UUID is empty: the fabric is this machine alone."""
    state = node.read('fabric_state')
    struct = target(info)
    check_version(struct, FABRIC_INFO_V2)
    struct.state = state
    if state == COMPLETED:
        struct.status = 0
        struct.cliqueId = node.read('fabric_clique')
        struct.healthMask = node.read('fabric_health')
        cluster = (node.value('fabric_cluster') or '').replace('-', '')
        struct.clusterUuid[:] = bytes.fromhex(f'{cluster:0>32}')


@SYMBOLS.add(GPU)
def nvmlDeviceGetPlatformInfo(node: Node, info: object) -> None:
    """``(device, versioned struct *)``."""
    serial = node.read('chassis_serial')
    struct = target(info)
    check_version(struct, PLATFORM_INFO_V2)
    struct.chassisSerialNumber = serial.encode()
    for field, key in PLATFORM_NUMBERS.items():
        value = node.value(key)
        setattr(struct, field, UNKNOWN_NUMBER if value is None else value)
    struct.ibGuid[:8] = int(node.read('fabric_guid'), 16).to_bytes(8, 'big')
