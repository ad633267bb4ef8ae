# SPDX-License-Identifier: Apache-2.0
"""Temperature, fans, power, energy."""

from __future__ import annotations

from nvitop.api.libnvml._errors import INVALID_ARGUMENT, NOT_SUPPORTED
from nvitop.simulation.abi import DriverError, check_version, fill_number, number, target
from nvitop.simulation.driver.symbols import GPU, Symbols
from nvitop.simulation.physics import energy_mj
from nvitop.simulation.world import Node

SYMBOLS = Symbols()
TEMPERATURE_V1 = 0x0100000C
MARGIN_V1 = 0x01000008
FAN_SPEED_INFO_V1 = 0x0100000C
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
def nvmlDeviceGetFanSpeedRPM(node: Node, info: object) -> None:
    """``(device, versioned struct *)``: revolutions per minute."""
    struct = target(info)
    check_version(struct, FAN_SPEED_INFO_V1)
    _check_fan(node, struct.fan)
    struct.speed = 32 * node.read('fan_speed')


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
