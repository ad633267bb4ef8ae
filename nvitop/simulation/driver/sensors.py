# SPDX-License-Identifier: Apache-2.0
"""Utilization, clocks, temperature, fans, power, energy, PCI Express, NVLink."""

from __future__ import annotations

from typing import Callable

from nvitop.api.libnvml._errors import INVALID_ARGUMENT, NOT_SUPPORTED
from nvitop.simulation.abi import DriverError, fill_struct, known, number, target
from nvitop.simulation.driver.symbols import GPU, NODE, Symbols
from nvitop.simulation.physics import energy_mj
from nvitop.simulation.world import Node

SYMBOLS = Symbols()
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

SYMBOLS.add_values(
    GPU,
    {
        'nvmlDeviceGetPowerManagementLimitConstraints': 'min_power_limit max_power_limit',
        'nvmlDeviceGetEncoderStats': 'encoder_session_count encoder_average_fps encoder_average_latency',
    },
)
SYMBOLS.add_values(
    NODE,
    {
        'nvmlDeviceGetUtilizationRates': {
            'gpu': 'gpu_utilization',
            'memory': 'memory_utilization',
        },
    },
)


def _engine(key: str) -> Callable[[Node], tuple[int, int]]:
    """``(device, unsigned *, unsigned *)``: percent, and the sampling period."""
    return lambda node: (node.read(key), SAMPLING_MICROSECONDS)


SYMBOLS.add(NODE, 'nvmlDeviceGetEncoderUtilization')(_engine('encoder_utilization'))
SYMBOLS.add(NODE, 'nvmlDeviceGetDecoderUtilization')(_engine('decoder_utilization'))
SYMBOLS.add(NODE, 'nvmlDeviceGetJpgUtilization')(_engine('jpeg_utilization'))
SYMBOLS.add(NODE, 'nvmlDeviceGetOfaUtilization')(_engine('ofa_utilization'))


def _clock(prefix: str) -> Callable[[Node, object], int]:
    """``(device, clock type, unsigned *)``: MHz."""

    def read(node: Node, kind: object) -> int:
        which = number(kind)
        if not 0 <= which < len(CLOCKS):
            raise DriverError(INVALID_ARGUMENT)
        return int(node.read(prefix + CLOCKS[which]))

    return read


SYMBOLS.add(GPU, 'nvmlDeviceGetMaxClockInfo')(_clock('max_'))
SYMBOLS.add(GPU, 'nvmlDeviceGetClockInfo')(_clock(''))
SYMBOLS.add(GPU, 'nvmlDeviceGetApplicationsClock')(_clock('application_'))
SYMBOLS.add(GPU, 'nvmlDeviceGetDefaultApplicationsClock')(_clock('default_application_'))


@SYMBOLS.add(GPU)
def nvmlDeviceGetSupportedMemoryClocks(node: Node) -> list[int]:
    """``(device, unsigned *, unsigned[])``: MHz, highest first."""
    supported = {node.read('max_memory_clock'), node.value('idle_memory_clock')}
    return sorted((clock for clock in supported if clock), reverse=True)


@SYMBOLS.add(GPU)
def nvmlDeviceGetSupportedGraphicsClocks(node: Node, memory_clock: object) -> list[int]:
    """``(device, memory clock, unsigned *, unsigned[])``: MHz in steps of 15, highest first."""
    return list(range(node.read('max_graphics_clock'), node.read('idle_clock') - 1, -15))


@SYMBOLS.add(GPU)
def nvmlDeviceGetTemperature(node: Node, sensor: object) -> int:
    """``(device, sensor, unsigned *)``: °C; the die is the only sensor."""
    if number(sensor) != 0:
        raise DriverError(INVALID_ARGUMENT)
    return int(node.read('temperature'))


@SYMBOLS.add(GPU)
def nvmlDeviceGetTemperatureV(node: Node, temperature: object) -> None:
    """``(device, versioned struct *)``: °C."""
    struct = target(temperature)
    degrees = nvmlDeviceGetTemperature(node, struct.sensorType)
    fill_struct(struct, {'version': TEMPERATURE_V1, 'temperature': degrees})


@SYMBOLS.add(GPU)
def nvmlDeviceGetMarginTemperature(node: Node) -> dict[str, int]:
    """``(device, versioned struct *)``: °C below the slowdown threshold."""
    return {'version': MARGIN_V1, 'marginTemperature': node.read('temperature_margin')}


@SYMBOLS.add(GPU)
def nvmlDeviceGetTemperatureThreshold(node: Node, threshold: object) -> int:
    """``(device, threshold, unsigned *)``: °C."""
    which = number(threshold)
    if not 0 <= which < 8:
        raise DriverError(INVALID_ARGUMENT)
    if which not in THRESHOLDS:
        raise DriverError(NOT_SUPPORTED)
    return int(node.read(THRESHOLDS[which]))


@SYMBOLS.add(GPU)
def nvmlDeviceGetFanSpeed_v2(node: Node, fan: object) -> int:
    """``(device, fan, unsigned *)``: percent."""
    count = node.read('fan_count')
    if count == 0:
        raise DriverError(NOT_SUPPORTED)
    if not 0 <= number(fan) < count:
        raise DriverError(INVALID_ARGUMENT)
    return int(node.read('fan_speed'))


@SYMBOLS.add(GPU)
def nvmlDeviceGetPowerManagementMode(node: Node) -> int:
    """``(device, unsigned *)``: whether there is a power limit."""
    node.read('power_limit')
    return 1


@SYMBOLS.add(GPU)
def nvmlDeviceGetTotalEnergyConsumption(node: Node) -> int:
    """``(device, unsigned long long *)``: mJ."""
    return known(energy_mj(node, node.world.seconds()))


@SYMBOLS.add(GPU)
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


SYMBOLS.add(GPU, 'nvmlDeviceGetNvLinkState')(is_link_active)


@SYMBOLS.add(GPU)
def nvmlDeviceGetNvLinkVersion(node: Node, link: object) -> int:
    is_link_active(node, link)  # the GPU has this link
    return int(node.read('nvlink_version'))
