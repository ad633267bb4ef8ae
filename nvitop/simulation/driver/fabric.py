# SPDX-License-Identifier: Apache-2.0
"""NVLink fabric and platform information."""

from __future__ import annotations

from nvitop.simulation.abi import check_version, target
from nvitop.simulation.driver.symbols import GPU, Symbols
from nvitop.simulation.world import Node

SYMBOLS = Symbols()
FABRIC_INFO_V2 = 0x02000024
PLATFORM_INFO_V2 = 0x0200002C
COMPLETED = 3
#: Two bits each for degraded bandwidth, recovery, unhealthy routes and timeouts; 2 means "no".
HEALTHY = 0b10_10_10_10


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
