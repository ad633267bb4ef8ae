# SPDX-License-Identifier: Apache-2.0
"""Field values: many values by number in one call, each with its own return code."""

from __future__ import annotations

from typing import Any, Callable

from nvitop.api.libnvml._errors import INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS
from nvitop.simulation.abi import DriverError, number, target
from nvitop.simulation.driver.availability import is_field_known
from nvitop.simulation.driver.interconnect import check_link, is_link_active, link_count
from nvitop.simulation.driver.symbols import NODE, Symbols
from nvitop.simulation.physics import bytes_moved
from nvitop.simulation.world import Node

SYMBOLS = Symbols()
ALL_LINKS = 0xFFFFFFFF
#: Value types of NVML → member of the union.
UNSIGNED_INT, UNSIGNED_LONG_LONG = (1, 'uiVal'), (3, 'ullVal')

Reader = Callable[[Node, int], int]


def _key(name: str) -> Reader:
    return lambda node, scope: int(node.read(name))


def _moved(name: str) -> Callable[[Node], float]:
    def read(node: Node) -> float:
        moved = bytes_moved(node, name, node.world.seconds())
        if moved is None:
            raise DriverError(NOT_SUPPORTED)
        return moved

    return read


def _pcie_bytes(name: str) -> Reader:
    moved = _moved(name)

    def read(node: Node, scope: int) -> int:
        if not node.value('pcie_counters'):
            raise DriverError(NOT_SUPPORTED)
        return int(moved(node))

    return read


def _nvlink_kib(name: str) -> Reader:
    moved = _moved(name)

    def read(node: Node, scope: int) -> int:
        if scope == ALL_LINKS:
            links = link_count(node) - int(node.read('nvlink_down'))
        elif is_link_active(node, check_link(node, scope)):
            links = 1
        else:
            raise DriverError(NOT_SUPPORTED)
        return int(links * moved(node)) >> 10

    return read


def _link(name: str) -> Reader:
    def read(node: Node, scope: int) -> int:
        check_link(node, scope)
        return int(node.read(name))

    return read


def _all_links(name: str) -> Reader:
    def read(node: Node, scope: int) -> int:
        link_count(node)
        return int(node.read(name))

    return read


def _link_state(node: Node, scope: int) -> int:
    return int(is_link_active(node, check_link(node, scope)))


def _power(name: str, module: str) -> Reader:
    """Power of the GPU (scope 0), or of the module of GPU and CPU (scope 1)."""

    def read(node: Node, scope: int) -> int:
        if scope > 1:
            raise DriverError(INVALID_ARGUMENT)
        return int(node.read(module if scope else name))

    return read


def _throttled(reason: str) -> Reader:
    """Time (ns) for which a reason has lowered the clocks."""

    def read(node: Node, scope: int) -> int:
        times = node.value('clock_event_times')
        if times is None:
            return int(node.read('throttled_time'))
        if reason not in times:
            raise DriverError(NOT_SUPPORTED)
        return 1000 * int(times[reason])

    return read


#: Field id → (type, reader), for the fields that nvitop queries.
FIELDS: dict[int, tuple[tuple[int, str], Reader]] = {
    **dict.fromkeys((38, 45, 52, 59), (UNSIGNED_LONG_LONG, _all_links('nvlink_errors'))),
    74: (UNSIGNED_LONG_LONG, _throttled('sw_power_cap')),
    75: (UNSIGNED_LONG_LONG, _throttled('thermal')),
    76: (UNSIGNED_LONG_LONG, _throttled('sync_boost')),
    77: (UNSIGNED_LONG_LONG, _throttled('board_limit')),
    78: (UNSIGNED_LONG_LONG, _throttled('low_utilization')),
    79: (UNSIGNED_LONG_LONG, _throttled('reliability')),
    80: (UNSIGNED_LONG_LONG, _throttled('application_clocks')),
    81: (UNSIGNED_LONG_LONG, _throttled('base_clocks')),
    82: (UNSIGNED_INT, _key('memory_temperature')),
    90: (UNSIGNED_INT, _all_links('nvlink_speed')),
    91: (UNSIGNED_INT, _key('nvlink_count')),
    138: (UNSIGNED_LONG_LONG, _nvlink_kib('nvlink_tx')),
    139: (UNSIGNED_LONG_LONG, _nvlink_kib('nvlink_rx')),
    144: (UNSIGNED_INT, _key('remapped_pending')),
    145: (UNSIGNED_INT, _key('remapped_failure')),
    164: (UNSIGNED_INT, _link('nvlink_speed')),
    165: (UNSIGNED_INT, _link_state),
    166: (UNSIGNED_INT, _link('nvlink_version')),
    185: (UNSIGNED_INT, _power('average_power', 'module_power')),
    186: (UNSIGNED_INT, _power('instant_power', 'module_power')),
    187: (UNSIGNED_INT, _power('min_power_limit', 'module_power_limit')),
    188: (UNSIGNED_INT, _power('max_power_limit', 'module_power_limit')),
    189: (UNSIGNED_INT, _power('default_power_limit', 'module_power_limit')),
    190: (UNSIGNED_INT, _power('enforced_power_limit', 'module_power_limit')),
    192: (UNSIGNED_INT, _power('power_limit', 'module_power_limit')),
    197: (UNSIGNED_LONG_LONG, _pcie_bytes('pcie_tx')),
    198: (UNSIGNED_LONG_LONG, _pcie_bytes('pcie_rx')),
    226: (UNSIGNED_INT, _key('reset_required')),
    227: (UNSIGNED_INT, _key('drain_and_reset_recommended')),
    230: (UNSIGNED_INT, _key('recovery_action')),
    269: (UNSIGNED_LONG_LONG, _throttled('sw_thermal_slowdown')),
    270: (UNSIGNED_LONG_LONG, _throttled('hw_thermal_slowdown')),
    271: (UNSIGNED_LONG_LONG, _throttled('hw_power_brake_slowdown')),
    274: (UNSIGNED_INT, _key('edpp_multiplier')),
    301: (UNSIGNED_INT, _key('inactive_remapped_correctable')),
    302: (UNSIGNED_INT, _key('inactive_remapped_uncorrectable')),
}


@SYMBOLS.add(NODE)
def nvmlDeviceGetFieldValues(node: Node, count: object, values: object) -> None:
    """``(device, count, struct[])``."""
    wanted = number(count)
    entries = target(values)
    if wanted <= 0:
        raise DriverError(INVALID_ARGUMENT)
    for i in range(wanted):
        _answer(node, entries[i])


def _answer(node: Node, entry: Any) -> None:
    # The oldest bindings call the scope "unused".
    scope = entry.scopeId if hasattr(entry, 'scopeId') else entry.unused
    entry.timestamp = int(node.world.epoch() * 1e6)
    entry.latencyUsec = 1
    known = FIELDS.get(entry.fieldId)
    try:
        scenario = node.world.scenario
        is_known = is_field_known(entry.fieldId, scenario.driver_version)
        if not is_known and not scenario.complete:
            raise DriverError(INVALID_ARGUMENT)
        if known is None or node.mig is not None:
            raise DriverError(NOT_SUPPORTED)
        (kind, member), read = known
        setattr(entry.value, member, read(node, scope))
        entry.valueType = kind
        entry.nvmlReturn = SUCCESS
    except DriverError as error:
        entry.nvmlReturn = error.code
