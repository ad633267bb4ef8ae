# SPDX-License-Identifier: Apache-2.0
"""GPU performance monitoring (GPM): metrics over the interval between two samples."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple

from nvitop.api.libnvml._errors import INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS
from nvitop.api.libnvml._query import address_of
from nvitop.simulation.abi import (
    DriverError,
    check_version,
    fill_handle,
    number,
    target,
)
from nvitop.simulation.driver.symbols import GPU, NODE, SYSTEM, Symbols
from nvitop.simulation.physics import bytes_moved
from nvitop.simulation.world import Node, World

SYMBOLS = Symbols()
MIB = 2**20


class Interval(NamedTuple):
    """Two samples of one node."""

    node: Node
    start: float
    stop: float

    @property
    def sm(self) -> float:
        """Mean SM utilization in percent, of the GPU or of the slices of a MIG device."""
        node = self.node
        if self.stop > self.start:
            load = node.sm_integral(self.start, self.stop) / (self.stop - self.start)
        else:
            load = node.sm(self.stop)
        if node.mig is not None:
            load *= 7 / node.mig.compute_slices
        return min(100.0, load)

    def mib_per_second(self, name: str) -> float:
        """Mean traffic in MiB/s."""
        if self.stop <= self.start:
            return float(self.node.read(name)) / MIB
        first = bytes_moved(self.node, name, self.start)
        last = bytes_moved(self.node, name, self.stop)
        if first is None or last is None:
            raise DriverError(NOT_SUPPORTED)
        return (last - first) / (self.stop - self.start) / MIB


def _part_of_sm(factor: float) -> Callable[[Interval], float]:
    return lambda interval: factor * interval.sm


def _nvlink(name: str) -> Callable[[Interval], float]:
    def read(interval: Interval) -> float:
        links = interval.node.read('nvlink_count') - interval.node.read('nvlink_down')
        if links <= 0:
            raise DriverError(NOT_SUPPORTED)
        return float(links * interval.mib_per_second(name))

    return read


def _pcie(name: str) -> Callable[[Interval], float]:
    return lambda interval: interval.mib_per_second(name)


#: Number of a metric → its name and unit in NVML, and a function that computes it.
METRICS: Mapping[int, tuple[str, str, Callable[[Interval], float]]] = {
    1: ('graphics_util', '%', _part_of_sm(1.0)),
    2: ('sm_util', '%', _part_of_sm(0.93)),
    3: ('sm_occupancy', '%', _part_of_sm(0.46)),
    4: ('integer_util', '%', _part_of_sm(0.11)),
    5: ('any_tensor_util', '%', _part_of_sm(0.57)),
    6: ('dfma_tensor_util', '%', _part_of_sm(0.0)),
    7: ('hmma_tensor_util', '%', _part_of_sm(0.57)),
    9: ('imma_tensor_util', '%', _part_of_sm(0.0)),
    10: ('dram_bw_util', '%', _part_of_sm(0.48)),
    11: ('fp64_util', '%', _part_of_sm(0.0)),
    12: ('fp32_util', '%', _part_of_sm(0.16)),
    13: ('fp16_util', '%', _part_of_sm(0.08)),
    20: ('pcie_tx_per_sec', 'MiB/s', _pcie('pcie_tx')),
    21: ('pcie_rx_per_sec', 'MiB/s', _pcie('pcie_rx')),
    60: ('nvlink_total_rx_per_sec', 'MiB/s', _nvlink('nvlink_rx')),
    61: ('nvlink_total_tx_per_sec', 'MiB/s', _nvlink('nvlink_tx')),
}


@SYMBOLS.add(NODE)
def nvmlGpmQueryDeviceSupport(node: Node, support: object) -> None:
    """``(device, versioned struct *)``."""
    struct = target(support)
    check_version(struct, 1)
    struct.isSupportedDevice = bool(node.gpu.value('gpm'))


@SYMBOLS.add(SYSTEM)
def nvmlGpmSampleAlloc(world: World, sample: object) -> None:
    """``(handle *)``."""
    handle = next(world.new_handles)
    world.gpm_samples[handle] = None
    fill_handle(sample, handle)


@SYMBOLS.add(SYSTEM)
def nvmlGpmSampleFree(world: World, sample: object) -> None:
    """``(handle)``."""
    try:
        del world.gpm_samples[address_of(sample)]
    except KeyError:
        raise DriverError(INVALID_ARGUMENT) from None


def _take(node: Node, sample: object) -> None:
    samples = node.world.gpm_samples
    handle = address_of(sample)
    if not node.gpu.value('gpm'):
        raise DriverError(NOT_SUPPORTED)
    if handle not in samples:
        raise DriverError(INVALID_ARGUMENT)
    samples[handle] = (node, node.world.seconds())


@SYMBOLS.add(NODE)
def nvmlGpmSampleGet(node: Node, sample: object) -> None:
    """``(device, handle)``."""
    _take(node, sample)


@SYMBOLS.add(GPU)
def nvmlGpmMigSampleGet(node: Node, instance: object, sample: object) -> None:
    """``(device, GPU instance id, handle)``."""
    t = node.world.seconds()
    for mig in node.migs:
        if mig.mig is not None and mig.mig.gpu_instance == number(instance) and mig.exists(t):
            _take(mig, sample)
            return
    raise DriverError(INVALID_ARGUMENT)


@SYMBOLS.add(SYSTEM)
def nvmlGpmMetricsGet(world: World, metrics: object) -> None:
    """``(versioned struct *)``."""
    struct = target(metrics)
    check_version(struct, 1)
    first = world.gpm_samples.get(address_of(struct.sample1))
    second = world.gpm_samples.get(address_of(struct.sample2))
    if first is None or second is None or first[0] is not second[0]:
        raise DriverError(INVALID_ARGUMENT)
    interval = Interval(*first, second[1])
    for i in range(min(struct.numMetrics, len(struct.metrics))):
        _measure(interval, struct.metrics[i])


def _measure(interval: Interval, out: Any) -> None:
    if out.metricId not in METRICS:
        out.nvmlReturn = NOT_SUPPORTED
        return
    name, unit, read = METRICS[out.metricId]
    out.metricInfo.shortName = out.metricInfo.longName = name.encode()
    out.metricInfo.unit = unit.encode()
    try:
        out.value = read(interval)
        out.nvmlReturn = SUCCESS
    except DriverError as error:
        out.nvmlReturn = error.code
