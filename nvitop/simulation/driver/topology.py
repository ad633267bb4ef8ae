# SPDX-License-Identifier: Apache-2.0
"""How GPUs are connected to CPUs and to each other."""

from __future__ import annotations

import os

from nvitop.api.libnvml._errors import INVALID_ARGUMENT
from nvitop.api.libnvml._query import address_of
from nvitop.simulation.abi import DriverError, number, target
from nvitop.simulation.driver.sensors import is_link_active
from nvitop.simulation.driver.symbols import GPU, Symbols
from nvitop.simulation.world import Node

SYMBOLS = Symbols()
#: Bits of a word of an affinity mask.
_WORD = 64
#: Number of the capabilities of an NVLink, and the one that none has: SLI bridge.
_LINK_CAPABILITIES, _SLI_BRIDGE = 6, 4
#: Number of ways of peer-to-peer access, the one by NVLink, and the status of one that is impossible.
_PEER_WAYS, _BY_NVLINK, _NOT_SUPPORTED = 6, 2, 5


def _store_mask(bits: int, size: object, words: object) -> None:
    count = number(size)
    if count < 1:
        raise DriverError(INVALID_ARGUMENT)
    for place in range(count):
        target(words)[place] = bits >> _WORD * place & (1 << _WORD) - 1


@SYMBOLS.add(GPU)
def nvmlDeviceGetCpuAffinity(node: Node, size: object, words: object) -> None:
    """``(device, number of words, unsigned long[])``: all CPUs."""
    _store_mask((1 << (os.cpu_count() or 1)) - 1, size, words)


@SYMBOLS.add(GPU)
def nvmlDeviceGetCpuAffinityWithinScope(
    node: Node, size: object, words: object, scope: object
) -> None:
    """``(device, number of words, unsigned long[], scope)``: all CPUs."""
    nvmlDeviceGetCpuAffinity(node, size, words)


@SYMBOLS.add(GPU)
def nvmlDeviceGetMemoryAffinity(node: Node, size: object, words: object, scope: object) -> None:
    """``(device, number of words, unsigned long[], scope)``: the NUMA node."""
    _store_mask(1 << (node.value('numa_node') or 0), size, words)


@SYMBOLS.add(GPU)
def nvmlDeviceGetNvLinkVersion(node: Node, link: object) -> int:
    """``(device, link, unsigned *)``."""
    is_link_active(node, link)  # the GPU has this link
    return int(node.read('nvlink_version'))


@SYMBOLS.add(GPU)
def nvmlDeviceGetNvLinkCapability(node: Node, link: object, capability: object) -> int:
    """``(device, link, capability, unsigned *)``."""
    is_link_active(node, link)
    if not 0 <= number(capability) < _LINK_CAPABILITIES:
        raise DriverError(INVALID_ARGUMENT)
    return int(number(capability) != _SLI_BRIDGE)


@SYMBOLS.add(GPU)
def nvmlDeviceGetP2PStatus(node: Node, peer: object, way: object) -> int:
    """``(device, device, way, unsigned *)``: 0 is possible."""
    other = node.world.by_address.get(address_of(peer))
    if other is None or other.mig is not None or not 0 <= number(way) < _PEER_WAYS:
        raise DriverError(INVALID_ARGUMENT)
    is_linked = bool(node.value('nvlink_link_count') and other.value('nvlink_link_count'))
    return 0 if is_linked or number(way) != _BY_NVLINK else _NOT_SUPPORTED
