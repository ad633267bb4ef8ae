# SPDX-License-Identifier: Apache-2.0
"""Utilization, clocks, temperature, fans, power, energy, PCIe, NVLink; values by number."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple

from nvitop.api.libnvml._errors import INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS
from nvitop.api.libnvml._query import address_of
from nvitop.simulation.abi import DriverError, Handle, fill_struct, known, number, target
from nvitop.simulation.driver import GPU, NODE, SYSTEM, add_symbol, add_values, branch_of
from nvitop.simulation.physics import bytes_moved, energy_mj
from nvitop.simulation.world import MIB, Node, World

#: In the order of nvmlClockType_t.
CLOCKS = ('graphics_clock', 'sm_clock', 'memory_clock', 'video_clock')
SAMPLING_MICROSECONDS = 167000
TEMPERATURE_V1 = 0x0100000C
MARGIN_V1 = 0x01000008
#: Threshold number of NVML → key.
THRESHOLDS = {
    0: 'temperature_shutdown_threshold',
    1: 'temperature_slowdown_threshold',
    2: 'max_memory_temperature_threshold',
    3: 'max_temperature_threshold',
}

add_values(
    GPU,
    {
        'nvmlDeviceGetPowerManagementLimitConstraints': 'min_power_limit max_power_limit',
        'nvmlDeviceGetEncoderStats': 'encoder_session_count encoder_average_fps encoder_average_latency',
    },
)
add_values(
    NODE,
    {'nvmlDeviceGetUtilizationRates': {'gpu': 'gpu_utilization', 'memory': 'memory_utilization'}},
)


def _engine(key: str) -> Callable[[Node], tuple[int, int]]:
    """``(device, unsigned *, unsigned *)``: percent, and the sampling period."""
    return lambda node: (node.read(key), SAMPLING_MICROSECONDS)


add_symbol(NODE, 'nvmlDeviceGetEncoderUtilization')(_engine('encoder_utilization'))
add_symbol(NODE, 'nvmlDeviceGetDecoderUtilization')(_engine('decoder_utilization'))
add_symbol(NODE, 'nvmlDeviceGetJpgUtilization')(_engine('jpeg_utilization'))
add_symbol(NODE, 'nvmlDeviceGetOfaUtilization')(_engine('ofa_utilization'))


def _clock(prefix: str) -> Callable[[Node, object], int]:
    """``(device, clock type, unsigned *)``: MHz."""

    def read(node: Node, kind: object) -> int:
        which = number(kind)
        if not 0 <= which < len(CLOCKS):
            raise DriverError(INVALID_ARGUMENT)
        return int(node.read(prefix + CLOCKS[which]))

    return read


add_symbol(GPU, 'nvmlDeviceGetMaxClockInfo')(_clock('max_'))
add_symbol(GPU, 'nvmlDeviceGetClockInfo')(_clock(''))
add_symbol(GPU, 'nvmlDeviceGetApplicationsClock')(_clock('application_'))
add_symbol(GPU, 'nvmlDeviceGetDefaultApplicationsClock')(_clock('default_application_'))


@add_symbol(GPU)
def nvmlDeviceGetSupportedMemoryClocks(node: Node) -> list[int]:
    """``(device, unsigned *, unsigned[])``: MHz, highest first."""
    supported = {node.read('max_memory_clock'), node.value('idle_memory_clock')}
    return sorted((clock for clock in supported if clock), reverse=True)


@add_symbol(GPU)
def nvmlDeviceGetSupportedGraphicsClocks(node: Node, memory_clock: object) -> list[int]:
    """``(device, memory clock, unsigned *, unsigned[])``: MHz in steps of 15, highest first."""
    return list(range(node.read('max_graphics_clock'), node.read('idle_clock') - 1, -15))


@add_symbol(GPU)
def nvmlDeviceGetTemperature(node: Node, sensor: object) -> int:
    """``(device, sensor, unsigned *)``: °C; the die is the only sensor."""
    if number(sensor) != 0:
        raise DriverError(INVALID_ARGUMENT)
    return int(node.read('temperature'))


@add_symbol(GPU)
def nvmlDeviceGetTemperatureV(node: Node, temperature: object) -> None:
    struct = target(temperature)
    degrees = nvmlDeviceGetTemperature(node, struct.sensorType)
    fill_struct(struct, {'version': TEMPERATURE_V1, 'temperature': degrees})


@add_symbol(GPU)
def nvmlDeviceGetMarginTemperature(node: Node) -> dict[str, int]:
    """``(device, versioned struct *)``: °C below the slowdown threshold."""
    return {'version': MARGIN_V1, 'marginTemperature': node.read('temperature_margin')}


@add_symbol(GPU)
def nvmlDeviceGetTemperatureThreshold(node: Node, threshold: object) -> int:
    which = number(threshold)
    if not 0 <= which < 8:
        raise DriverError(INVALID_ARGUMENT)
    if which not in THRESHOLDS:
        raise DriverError(NOT_SUPPORTED)
    return int(node.read(THRESHOLDS[which]))


@add_symbol(GPU)
def nvmlDeviceGetFanSpeed_v2(node: Node, fan: object) -> int:
    count = node.read('fan_count')
    if count == 0:
        raise DriverError(NOT_SUPPORTED)
    if not 0 <= number(fan) < count:
        raise DriverError(INVALID_ARGUMENT)
    return int(node.read('fan_speed'))


@add_symbol(GPU)
def nvmlDeviceGetPowerManagementMode(node: Node) -> int:
    """``(device, unsigned *)``: whether there is a power limit."""
    node.read('power_limit')
    return 1


@add_symbol(GPU)
def nvmlDeviceGetTotalEnergyConsumption(node: Node) -> int:
    """``(device, unsigned long long *)``: mJ."""
    return known(energy_mj(node, node.world.seconds()))


@add_symbol(GPU)
def nvmlDeviceGetPcieThroughput(node: Node, counter: object) -> int:
    """``(device, direction, unsigned *)``: KB/s."""
    which = number(counter)
    if which not in (0, 1):
        raise DriverError(INVALID_ARGUMENT)
    rate = node.read('pcie_rx_throughput' if which else 'pcie_tx_throughput')
    return int(rate / 1000 + 0.5)


def link_count(node: Node) -> int:
    """Number of NVLinks of a GPU; raises *not supported* if there are none."""
    count = int(node.read('nvlink_link_count'))
    if count == 0:
        raise DriverError(NOT_SUPPORTED)
    return count


def is_link_active(node: Node, link: object) -> bool:
    """Whether a link is up; raises *invalid argument* if the GPU does not have it.

    The links with the highest numbers are down first.
    """
    which = number(link)
    count = link_count(node)
    if not 0 <= which < count:
        raise DriverError(INVALID_ARGUMENT)
    return bool(which < count - node.read('nvlink_down_count'))


add_symbol(GPU, 'nvmlDeviceGetNvLinkState')(is_link_active)


@add_symbol(GPU)
def nvmlDeviceGetNvLinkVersion(node: Node, link: object) -> int:
    is_link_active(node, link)  # the GPU has this link
    return int(node.read('nvlink_version'))


#: Driver branch → first field value that it introduced.
FIELDS_SINCE = {0: 1, 450: 138, 510: 164, 525: 185, 550: 197, 570: 228}
MAX_FIELD = 310
ALL_LINKS = 0xFFFFFFFF
#: Value types of NVML → member of the union.
UNSIGNED_INT, UNSIGNED_LONG_LONG = (1, 'uiVal'), (3, 'ullVal')


def _read(node: Node, scope: int, key: str) -> Any:
    return node.read(key)


def _moved(node: Node, key: str) -> float:
    return known(bytes_moved(node, key, node.world.seconds()))


def _pcie_bytes(node: Node, scope: int, key: str) -> int:
    return int(_moved(node, key)) % 2**32


def _nvlink_kib(node: Node, scope: int, key: str) -> int:
    if scope == ALL_LINKS:
        links = link_count(node) - node.read('nvlink_down_count')
    elif is_link_active(node, scope):
        links = 1
    else:
        raise DriverError(NOT_SUPPORTED)
    return int(links * _moved(node, key)) >> 10


def _link(node: Node, scope: int, key: str) -> Any:
    is_link_active(node, scope)  # the GPU has this link
    return node.read(key)


def _speed_of_link(node: Node, scope: int, key: str) -> Any:
    return _link(node, int(key), 'nvlink_speed')


def _all_links(node: Node, scope: int, key: str) -> Any:
    link_count(node)
    return node.read(key)


def _power(node: Node, scope: int, key: str) -> Any:
    """Power of the GPU (scope 0), or of the module of GPU and CPU (scope 1)."""
    if scope > 1:
        raise DriverError(INVALID_ARGUMENT)
    return node.read(f'module_{key}' if scope else key)


def _throttled(node: Node, scope: int, key: str) -> int:
    """Time (ns) for which a reason has lowered the clocks."""
    times = node.value('clock_event_times')
    if times is None:
        return int(node.read('throttled_time'))
    return 1000 * int(known(times.get(key)))


#: Field id → (type, reader, its argument), for the fields that nvitop queries.
FIELDS: dict[int, tuple[tuple[int, str], Callable[[Node, int, str], Any], str]] = {
    **dict.fromkeys((38, 45, 52, 59), (UNSIGNED_LONG_LONG, _all_links, 'nvlink_errors')),
    74: (UNSIGNED_LONG_LONG, _throttled, 'sw_power_cap'),
    75: (UNSIGNED_LONG_LONG, _throttled, 'thermal'),
    76: (UNSIGNED_LONG_LONG, _throttled, 'sync_boost'),
    77: (UNSIGNED_LONG_LONG, _throttled, 'board_limit'),
    78: (UNSIGNED_LONG_LONG, _throttled, 'low_utilization'),
    79: (UNSIGNED_LONG_LONG, _throttled, 'reliability'),
    80: (UNSIGNED_LONG_LONG, _throttled, 'application_clocks'),
    81: (UNSIGNED_LONG_LONG, _throttled, 'base_clocks'),
    82: (UNSIGNED_INT, _read, 'memory_temperature'),
    # The speed of each of twelve links.
    **{84 + link: (UNSIGNED_INT, _speed_of_link, str(link)) for link in range(6)},
    **{132 + link: (UNSIGNED_INT, _speed_of_link, str(6 + link)) for link in range(6)},
    90: (UNSIGNED_INT, _all_links, 'nvlink_speed'),
    91: (UNSIGNED_INT, _read, 'nvlink_link_count'),
    138: (UNSIGNED_LONG_LONG, _nvlink_kib, 'nvlink_tx'),
    139: (UNSIGNED_LONG_LONG, _nvlink_kib, 'nvlink_rx'),
    144: (UNSIGNED_INT, _read, 'remapped_rows_pending'),
    145: (UNSIGNED_INT, _read, 'remapped_rows_failure'),
    164: (UNSIGNED_INT, _link, 'nvlink_speed'),
    165: (UNSIGNED_INT, lambda node, scope, key: is_link_active(node, scope), ''),
    166: (UNSIGNED_INT, _link, 'nvlink_version'),
    185: (UNSIGNED_INT, _power, 'average_power_usage'),
    186: (UNSIGNED_INT, _power, 'instant_power_usage'),
    187: (UNSIGNED_INT, _power, 'min_power_limit'),
    188: (UNSIGNED_INT, _power, 'max_power_limit'),
    189: (UNSIGNED_INT, _power, 'default_power_limit'),
    190: (UNSIGNED_INT, _power, 'enforced_power_limit'),
    192: (UNSIGNED_INT, _power, 'power_limit'),
    197: (UNSIGNED_INT, _pcie_bytes, 'pcie_tx_throughput'),
    198: (UNSIGNED_INT, _pcie_bytes, 'pcie_rx_throughput'),
    226: (UNSIGNED_INT, _read, 'reset_required'),
    227: (UNSIGNED_INT, _read, 'drain_and_reset_recommended'),
    230: (UNSIGNED_INT, _read, 'recovery_action'),
    269: (UNSIGNED_LONG_LONG, _throttled, 'sw_thermal_slowdown'),
    270: (UNSIGNED_LONG_LONG, _throttled, 'hw_thermal_slowdown'),
    271: (UNSIGNED_LONG_LONG, _throttled, 'hw_power_brake_slowdown'),
    274: (UNSIGNED_INT, _read, 'edpp_multiplier'),
    301: (UNSIGNED_INT, _read, 'inactive_remapped_rows_correctable'),
    302: (UNSIGNED_INT, _read, 'inactive_remapped_rows_uncorrectable'),
}


@add_symbol(NODE)
def nvmlDeviceGetFieldValues(node: Node, count: object, values: object) -> None:
    """``(device, count, struct[])``: each value has its own return code."""
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
    scenario = node.world.scenario
    try:
        if not scenario.complete and not _is_known(entry.fieldId, scenario.driver_version):
            raise DriverError(INVALID_ARGUMENT)
        if node.mig is not None:
            raise DriverError(NOT_SUPPORTED)
        (kind, member), read, key = known(FIELDS.get(entry.fieldId))
        setattr(entry.value, member, int(read(node, scope, key)))
        entry.valueType = kind
        entry.nvmlReturn = SUCCESS
    except DriverError as error:
        entry.nvmlReturn = error.code


def _is_known(field: int, driver_version: str) -> bool:
    branch = branch_of(driver_version)
    newer = [first for since, first in FIELDS_SINCE.items() if since > branch]
    return 0 < field < min([*newer, MAX_FIELD])


class Interval(NamedTuple):
    """Two samples of one node."""

    node: Node
    start: float
    stop: float

    def part_of_sm(self, factor: float) -> float:
        """*factor* × mean SM utilization in percent, of the GPU or of the slices of a MIG device."""
        node = self.node
        if self.stop > self.start:
            load = node.sm_integral(self.start, self.stop) / (self.stop - self.start)
        else:
            load = node.sm(self.stop)
        if node.mig is not None:
            load *= 7 / node.mig.compute_slices
        return factor * min(100.0, load)

    def traffic(self, key: str) -> float:
        """Mean traffic in MiB/s."""
        if self.stop <= self.start:
            return float(self.node.read(key)) / MIB
        first, last = (known(bytes_moved(self.node, key, t)) for t in (self.start, self.stop))
        return (last - first) / (self.stop - self.start) / MIB

    def nvlink_traffic(self, key: str) -> float:
        """Mean traffic of all NVLinks in MiB/s."""
        links = self.node.read('nvlink_link_count') - self.node.read('nvlink_down_count')
        if links <= 0:
            raise DriverError(NOT_SUPPORTED)
        return float(links * self.traffic(key))


#: Number of a metric → its name and unit in NVML, a function that computes it, and its argument.
METRICS: Mapping[int, tuple[str, str, Callable[[Interval, Any], float], object]] = {
    1: ('graphics_util', '%', Interval.part_of_sm, 1.0),
    2: ('sm_util', '%', Interval.part_of_sm, 0.93),
    3: ('sm_occupancy', '%', Interval.part_of_sm, 0.46),
    4: ('integer_util', '%', Interval.part_of_sm, 0.11),
    5: ('any_tensor_util', '%', Interval.part_of_sm, 0.57),
    6: ('dfma_tensor_util', '%', Interval.part_of_sm, 0.0),
    7: ('hmma_tensor_util', '%', Interval.part_of_sm, 0.57),
    9: ('imma_tensor_util', '%', Interval.part_of_sm, 0.0),
    10: ('dram_bw_util', '%', Interval.part_of_sm, 0.48),
    11: ('fp64_util', '%', Interval.part_of_sm, 0.0),
    12: ('fp32_util', '%', Interval.part_of_sm, 0.16),
    13: ('fp16_util', '%', Interval.part_of_sm, 0.08),
    20: ('pcie_tx_per_sec', 'MiB/s', Interval.traffic, 'pcie_tx_throughput'),
    21: ('pcie_rx_per_sec', 'MiB/s', Interval.traffic, 'pcie_rx_throughput'),
    60: ('nvlink_total_rx_per_sec', 'MiB/s', Interval.nvlink_traffic, 'nvlink_rx'),
    61: ('nvlink_total_tx_per_sec', 'MiB/s', Interval.nvlink_traffic, 'nvlink_tx'),
}


@add_symbol(NODE)
def nvmlGpmQueryDeviceSupport(node: Node) -> dict[str, object]:
    return {'version': 1, 'isSupportedDevice': bool(node.gpu.value('gpm'))}


@add_symbol(SYSTEM)
def nvmlGpmSampleAlloc(world: World) -> Handle:
    handle = next(world.new_handles)
    world.gpm_samples[handle] = None
    return Handle(handle)


@add_symbol(SYSTEM)
def nvmlGpmSampleFree(world: World, sample: object) -> None:
    try:
        del world.gpm_samples[address_of(sample)]
    except KeyError:
        raise DriverError(INVALID_ARGUMENT) from None


@add_symbol(NODE)
def nvmlGpmSampleGet(node: Node, sample: object) -> None:
    samples = node.world.gpm_samples
    handle = address_of(sample)
    if not node.gpu.value('gpm'):
        raise DriverError(NOT_SUPPORTED)
    if handle not in samples:
        raise DriverError(INVALID_ARGUMENT)
    samples[handle] = (node, node.world.seconds())


@add_symbol(GPU)
def nvmlGpmMigSampleGet(node: Node, instance: object, sample: object) -> None:
    t = node.world.seconds()
    for mig in node.migs:
        if mig.mig is not None and mig.mig.gpu_instance_id == number(instance) and mig.exists(t):
            nvmlGpmSampleGet(mig, sample)
            return
    raise DriverError(INVALID_ARGUMENT)


@add_symbol(SYSTEM)
def nvmlGpmMetricsGet(world: World, metrics: object) -> None:
    struct = target(metrics)
    fill_struct(struct, {'version': 1})
    first = world.gpm_samples.get(address_of(struct.sample1))
    second = world.gpm_samples.get(address_of(struct.sample2))
    if first is None or second is None or first[0] is not second[0]:
        raise DriverError(INVALID_ARGUMENT)
    interval = Interval(*first, second[1])
    for i in range(min(struct.numMetrics, len(struct.metrics))):
        _measure(interval, struct.metrics[i])


def _measure(interval: Interval, out: Any) -> None:
    try:
        name, unit, read, argument = known(METRICS.get(out.metricId))
        out.metricInfo.shortName = out.metricInfo.longName = name.encode()
        out.metricInfo.unit = unit.encode()
        out.value = read(interval, argument)
        out.nvmlReturn = SUCCESS
    except DriverError as error:
        out.nvmlReturn = error.code
