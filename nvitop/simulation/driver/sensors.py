# SPDX-License-Identifier: Apache-2.0
"""Utilization, clocks, temperature, fans, power, energy."""

from __future__ import annotations

from typing import Callable

from nvitop.api.libnvml._errors import INVALID_ARGUMENT, NOT_SUPPORTED
from nvitop.simulation.abi import (
    DriverError,
    answer_list,
    check_version,
    fill_number,
    number,
    target,
)
from nvitop.simulation.driver.symbols import GPU, NODE, Symbols
from nvitop.simulation.physics import energy_mj
from nvitop.simulation.world import Node

SYMBOLS = Symbols()
#: In the order of nvmlClockType_t.
CLOCKS = ('graphics_clock', 'sm_clock', 'memory_clock', 'video_clock')
SAMPLING_MICROSECONDS = 167000

SYMBOLS.add_numbers(
    GPU,
    {
        'nvmlDeviceGetCurrentClocksThrottleReasons': 'clock_event_reasons',
        'nvmlDeviceGetCurrentClocksEventReasons': 'clock_event_reasons',
        'nvmlDeviceGetSupportedClocksThrottleReasons': 'supported_clock_event_reasons',
        'nvmlDeviceGetSupportedClocksEventReasons': 'supported_clock_event_reasons',
        'nvmlDeviceGetPerformanceState': 'performance_state',
        'nvmlDeviceGetPowerState': 'performance_state',
    },
)
SYMBOLS.add_structs(
    NODE,
    {
        'nvmlDeviceGetUtilizationRates': {
            'gpu': 'gpu_utilization',
            'memory': 'memory_utilization',
        },
    },
)


def _engine(key: str) -> Callable[[Node, object, object], None]:
    def read(node: Node, utilization: object, period: object) -> None:
        fill_number(utilization, node.read(key))
        fill_number(period, SAMPLING_MICROSECONDS)

    return read


SYMBOLS.add(NODE, 'nvmlDeviceGetEncoderUtilization')(_engine('encoder_utilization'))
SYMBOLS.add(NODE, 'nvmlDeviceGetDecoderUtilization')(_engine('decoder_utilization'))
SYMBOLS.add(NODE, 'nvmlDeviceGetJpgUtilization')(_engine('jpeg_utilization'))
SYMBOLS.add(NODE, 'nvmlDeviceGetOfaUtilization')(_engine('ofa_utilization'))


def _clock_key(kind: object) -> str:
    which = number(kind)
    if not 0 <= which < len(CLOCKS):
        raise DriverError(INVALID_ARGUMENT)
    return CLOCKS[which]


def _clock(prefix: str) -> Callable[[Node, object, object], None]:
    """``(device, clock type, unsigned *)``: MHz."""

    def read(node: Node, kind: object, clock: object) -> None:
        fill_number(clock, node.read(prefix + _clock_key(kind)))

    return read


SYMBOLS.add(GPU, 'nvmlDeviceGetMaxClockInfo')(_clock('max_'))
SYMBOLS.add(GPU, 'nvmlDeviceGetClockInfo')(_clock(''))
SYMBOLS.add(GPU, 'nvmlDeviceGetApplicationsClock')(_clock('application_'))
SYMBOLS.add(GPU, 'nvmlDeviceGetDefaultApplicationsClock')(_clock('default_application_'))


@SYMBOLS.add(GPU)
def nvmlDeviceGetSupportedMemoryClocks(node: Node, count: object, clocks: object) -> None:
    """``(device, unsigned *, unsigned[])``: MHz, highest first."""
    supported = {node.read('max_memory_clock'), node.value('idle_memory_clock')}
    answer_list(count, clocks, sorted((clock for clock in supported if clock), reverse=True))


@SYMBOLS.add(GPU)
def nvmlDeviceGetSupportedGraphicsClocks(
    node: Node, memory_clock: object, count: object, clocks: object
) -> None:
    """``(device, memory clock, unsigned *, unsigned[])``: MHz in steps of 15, highest first."""
    top, low = node.read('max_graphics_clock'), node.read('idle_clock')
    answer_list(count, clocks, list(range(top, low - 1, -15)))


@SYMBOLS.add(GPU)
def nvmlDeviceGetAutoBoostedClocksEnabled(node: Node, enabled: object, default: object) -> None:
    """``(device, unsigned *, unsigned *)``: boards before Pascal only."""
    if node.read('architecture') > 3:
        raise DriverError(NOT_SUPPORTED)
    fill_number(enabled, 1)
    fill_number(default, 1)


TEMPERATURE_V1 = 0x0100000C
MARGIN_V1 = 0x01000008
#: Threshold number of NVML → key.
THRESHOLDS = {
    0: 'temperature_shutdown',
    1: 'temperature_slowdown',
    2: 'temperature_memory_max',
    3: 'temperature_gpu_max',
}

SYMBOLS.add_numbers(
    GPU,
    {
        'nvmlDeviceGetPowerUsage': 'power_usage',
        'nvmlDeviceGetPowerManagementLimit': 'power_limit',
        'nvmlDeviceGetEnforcedPowerLimit': 'enforced_power_limit',
        'nvmlDeviceGetPowerManagementDefaultLimit': 'default_power_limit',
        'nvmlDeviceGetPowerManagementLimitConstraints': 'min_power_limit max_power_limit',
        'nvmlDeviceGetFanSpeed': 'fan_speed',
        'nvmlDeviceGetNumFans': 'fan_count',
    },
)


@SYMBOLS.add(GPU)
def nvmlDeviceGetTemperature(node: Node, sensor: object, temperature: object) -> None:
    """``(device, sensor, unsigned *)``: °C; the die is the only sensor."""
    if number(sensor) != 0:
        raise DriverError(INVALID_ARGUMENT)
    fill_number(temperature, node.read('temperature'))


@SYMBOLS.add(GPU)
def nvmlDeviceGetTemperatureV(node: Node, temperature: object) -> None:
    """``(device, versioned struct *)``: °C."""
    struct = target(temperature)
    check_version(struct, TEMPERATURE_V1)
    if struct.sensorType != 0:
        raise DriverError(INVALID_ARGUMENT)
    struct.temperature = node.read('temperature')


@SYMBOLS.add(GPU)
def nvmlDeviceGetTemperatureThreshold(node: Node, threshold: object, out: object) -> None:
    """``(device, threshold, unsigned *)``: °C."""
    which = number(threshold)
    if not 0 <= which < 8:
        raise DriverError(INVALID_ARGUMENT)
    if which not in THRESHOLDS:
        raise DriverError(NOT_SUPPORTED)
    fill_number(out, node.read(THRESHOLDS[which]))


@SYMBOLS.add(GPU)
def nvmlDeviceGetMarginTemperature(node: Node, margin: object) -> None:
    """``(device, versioned struct *)``: °C below the slowdown threshold."""
    struct = target(margin)
    check_version(struct, MARGIN_V1)
    struct.marginTemperature = node.read('temperature_margin')


def _check_fan(node: Node, fan: object) -> None:
    count = node.read('fan_count')
    if count == 0:
        raise DriverError(NOT_SUPPORTED)
    if not 0 <= number(fan) < count:
        raise DriverError(INVALID_ARGUMENT)


@SYMBOLS.add(GPU, 'nvmlDeviceGetFanSpeed_v2', 'nvmlDeviceGetTargetFanSpeed')
def fan_speed(node: Node, fan: object, speed: object) -> None:
    """``(device, fan, unsigned *)``: percent."""
    _check_fan(node, fan)
    fill_number(speed, node.read('fan_speed'))


@SYMBOLS.add(GPU)
def nvmlDeviceGetPowerManagementMode(node: Node, mode: object) -> None:
    """``(device, unsigned *)``: whether there is a power limit."""
    node.read('power_limit')
    fill_number(mode, 1)


@SYMBOLS.add(GPU)
def nvmlDeviceGetTotalEnergyConsumption(node: Node, energy: object) -> None:
    """``(device, unsigned long long *)``: mJ."""
    fill_number(energy, total_energy(node))


def total_energy(node: Node) -> int:
    """Energy in mJ; raises *not supported* if it is not available."""
    energy = energy_mj(node, node.world.seconds())
    if energy is None:
        raise DriverError(NOT_SUPPORTED)
    return energy
