# SPDX-License-Identifier: Apache-2.0
"""Memory and BAR1 memory."""

from __future__ import annotations

from nvitop.api.libnvml._errors import NOT_SUPPORTED
from nvitop.simulation.abi import DriverError, check_version, target
from nvitop.simulation.driver.symbols import GPU, NODE, Symbols
from nvitop.simulation.world import Node

SYMBOLS = Symbols()
MEMORY_V2 = 0x02000028


def _amounts(node: Node) -> tuple[int, int, int, int]:
    """Total, reserved, used and free bytes; *used* excludes the reserved ones."""
    if node.gpu.value('unified_memory'):
        raise DriverError(NOT_SUPPORTED)
    total, reserved = node.read('memory_total'), node.value('memory_reserved') or 0
    used, free = node.read('memory_used'), node.value('memory_free')
    return total, reserved, used, max(0, total - reserved - used) if free is None else free


@SYMBOLS.add(NODE)
def nvmlDeviceGetMemoryInfo(node: Node, info: object) -> None:
    """``(device, struct *)``: *used* includes reserved memory."""
    struct = target(info)
    total, reserved, used, free = _amounts(node)
    struct.total = total
    struct.used = reserved + used
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
def nvmlDeviceGetConfComputeMemSizeInfo(node: Node, info: object) -> None:
    """``(device, struct *)``: all memory is unprotected. nvitop only checks that the symbol exists."""
    struct = target(info)
    struct.protectedMemSizeKib = 0
    struct.unprotectedMemSizeKib = node.read('memory_total') >> 10


@SYMBOLS.add(GPU)
def nvmlDeviceGetConfComputeProtectedMemoryUsage(node: Node, info: object) -> None:
    """``(device, struct *)``: protected memory is allocated first."""
    struct = target(info)
    struct.total = total = node.read('protected_memory')
    struct.used = used = min(total, node.read('memory_used'))
    struct.free = total - used
