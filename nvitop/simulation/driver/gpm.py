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


class GpmMetric(NamedTuple):
    """A GPM metric: name and unit in NVML, and a function that computes it."""

    name: str
    unit: str
    read: Callable[[Interval], float]


def _pcie(name: str) -> Callable[[Interval], float]:
    return lambda interval: interval.mib_per_second(name)


METRICS: Mapping[int, GpmMetric] = {
    1: GpmMetric('graphics_util', '%', _part_of_sm(1.0)),
    2: GpmMetric('sm_util', '%', _part_of_sm(0.93)),
    3: GpmMetric('sm_occupancy', '%', _part_of_sm(0.46)),
    4: GpmMetric('integer_util', '%', _part_of_sm(0.11)),
    5: GpmMetric('any_tensor_util', '%', _part_of_sm(0.57)),
    6: GpmMetric('dfma_tensor_util', '%', _part_of_sm(0.0)),
    7: GpmMetric('hmma_tensor_util', '%', _part_of_sm(0.57)),
    9: GpmMetric('imma_tensor_util', '%', _part_of_sm(0.0)),
    10: GpmMetric('dram_bw_util', '%', _part_of_sm(0.48)),
    11: GpmMetric('fp64_util', '%', _part_of_sm(0.0)),
    12: GpmMetric('fp32_util', '%', _part_of_sm(0.16)),
    13: GpmMetric('fp16_util', '%', _part_of_sm(0.08)),
    20: GpmMetric('pcie_tx_per_sec', 'MiB/s', _pcie('pcie_tx')),
    21: GpmMetric('pcie_rx_per_sec', 'MiB/s', _pcie('pcie_rx')),
    60: GpmMetric('nvlink_total_rx_per_sec', 'MiB/s', _nvlink('nvlink_rx')),
    61: GpmMetric('nvlink_total_tx_per_sec', 'MiB/s', _nvlink('nvlink_tx')),
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
    fill_handle(sample, world.new_gpm_sample())


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
    metric = METRICS.get(out.metricId)
    try:
        if metric is None:
            raise DriverError(NOT_SUPPORTED)
        out.value = metric.read(interval)
        out.nvmlReturn = SUCCESS
    except DriverError as error:
        out.nvmlReturn = error.code
    if metric is not None:
        out.metricInfo.shortName = out.metricInfo.longName = metric.name.encode()
        out.metricInfo.unit = metric.unit.encode()
