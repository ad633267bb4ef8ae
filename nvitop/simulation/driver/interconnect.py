# SPDX-License-Identifier: Apache-2.0
"""PCI Express, NVLink, its fabric, and the place in the chassis."""

from __future__ import annotations

from nvitop.simulation.abi import (
    INVALID_ARGUMENT,
    NOT_SUPPORTED,
    DriverError,
    check_version,
    fill_number,
    number,
    target,
)
from nvitop.simulation.driver.symbols import GPU, Symbols
from nvitop.simulation.world import Node

SYMBOLS = Symbols()
FABRIC_INFO_V2 = 0x02000024
PLATFORM_INFO_V2 = 0x0200002C
COMPLETED = 3
#: Two bits each for degraded bandwidth, recovery, unhealthy routes and timeouts; 2 means "no".
HEALTHY = 0b10_10_10_10

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
        struct.healthMask = HEALTHY


@SYMBOLS.add(GPU)
def nvmlDeviceGetPlatformInfo(node: Node, info: object) -> None:
    """``(device, versioned struct *)``."""
    serial = node.read('chassis_serial')
    struct = target(info)
    check_version(struct, PLATFORM_INFO_V2)
    struct.chassisSerialNumber = serial.encode()
    struct.slotNumber = node.read('slot_number')
    struct.trayIndex, struct.hostId, struct.peerType = 0, 1, 1
    struct.moduleId = node.spec.position + 1
    struct.ibGuid[0], struct.ibGuid[7] = 0x48, node.spec.position + 1
