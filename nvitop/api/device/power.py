# SPDX-License-Identifier: Apache-2.0
"""Heat and power: fans, temperatures, power, energy, and their limits."""

from __future__ import annotations

from nvitop.api.device.base import DeviceBase
from nvitop.api.utils import NA, ULONGLONG_MAX, NaType

_TEMPERATURE_GPU = 0
_THRESHOLD_SHUTDOWN, _THRESHOLD_SLOWDOWN, _THRESHOLD_MEMORY_MAX, _THRESHOLD_GPU_MAX = range(4)
#: ``NVML_FI_DEV_MEMORY_TEMP``, which the oldest bindings do not name.
_FIELD_MEMORY_TEMPERATURE = 82


class PowerMixin(DeviceBase):
    """Heat in °C, power in mW, energy in J."""

    def fan_speed(self) -> int | NaType:
        """Intended fan speed in percent of the maximum, may exceed 100; ``NA`` without a fan.

        NVML: ``nvmlDeviceGetFanSpeed`` · nvidia-smi: ``fan.speed``
        """
        return self._int('nvmlDeviceGetFanSpeed')

    def fan_count(self) -> int | NaType:
        """Number of fans that the driver controls. NVML: ``nvmlDeviceGetNumFans``."""
        return self._int_fact('nvmlDeviceGetNumFans')

    def temperature(self) -> int | NaType:
        """Temperature of the GPU die in °C.

        NVML: ``nvmlDeviceGetTemperatureV``, before R570 ``nvmlDeviceGetTemperature``
        · nvidia-smi: ``temperature.gpu``
        """
        return self._int('nvmlDeviceGetTemperature', _TEMPERATURE_GPU)

    def memory_temperature(self) -> int | NaType:
        """Temperature of the memory in °C; ``NA`` where it has no sensor (most GeForce boards).

        NVML: ``NVML_FI_DEV_MEMORY_TEMP`` · nvidia-smi: ``temperature.memory``
        """
        ((value, _),) = self._read_fields([(_FIELD_MEMORY_TEMPERATURE, 0)])
        return value if isinstance(value, int) and value > 0 else NA

    def temperature_slowdown_threshold(self) -> int | NaType:
        """Temperature in °C at which the hardware lowers the clocks; asked once.

        NVML: ``nvmlDeviceGetTemperatureThreshold`` · nvidia-smi -q: GPU Slowdown Temp
        """
        return self._int_fact('nvmlDeviceGetTemperatureThreshold', _THRESHOLD_SLOWDOWN)

    def temperature_shutdown_threshold(self) -> int | NaType:
        """Temperature in °C at which the GPU shuts down; asked once.

        NVML: ``nvmlDeviceGetTemperatureThreshold`` · nvidia-smi -q: GPU Shutdown Temp
        """
        return self._int_fact('nvmlDeviceGetTemperatureThreshold', _THRESHOLD_SHUTDOWN)

    def max_temperature_threshold(self) -> int | NaType:
        """Temperature in °C up to which the GPU may work at full clocks; asked once.

        NVML: ``nvmlDeviceGetTemperatureThreshold`` · nvidia-smi -q: GPU Max Operating Temp
        """
        return self._int_fact('nvmlDeviceGetTemperatureThreshold', _THRESHOLD_GPU_MAX)

    def max_memory_temperature_threshold(self) -> int | NaType:
        """Temperature in °C up to which the memory may work at full clocks; asked once.

        NVML: ``nvmlDeviceGetTemperatureThreshold`` · nvidia-smi -q: Memory Max Operating Temp
        """
        return self._int_fact('nvmlDeviceGetTemperatureThreshold', _THRESHOLD_MEMORY_MAX)

    def power_usage(self) -> int | NaType:
        """Power in mW drawn by the board (on some, by the GPU), averaged over a second since Ampere.

        NVML: ``nvmlDeviceGetPowerUsage`` · nvidia-smi: ``power.draw``
        """
        return self._int('nvmlDeviceGetPowerUsage')

    power_draw = power_usage

    def power_limit(self) -> int | NaType:
        """Power limit in mW set by management (``nvidia-smi -pl``).

        NVML: ``nvmlDeviceGetPowerManagementLimit`` · nvidia-smi: ``power.limit``
        """
        return self._int('nvmlDeviceGetPowerManagementLimit')

    def enforced_power_limit(self) -> int | NaType:
        """Power limit in mW in force: the lowest of all, of management and of others.

        NVML: ``nvmlDeviceGetEnforcedPowerLimit`` · nvidia-smi: ``enforced.power.limit``
        """
        return self._int('nvmlDeviceGetEnforcedPowerLimit')

    def default_power_limit(self) -> int | NaType:
        """Power limit in mW after the driver was loaded; asked once.

        NVML: ``nvmlDeviceGetPowerManagementDefaultLimit`` · nvidia-smi: ``power.default_limit``
        """
        return self._int_fact('nvmlDeviceGetPowerManagementDefaultLimit')

    def _power_limit_constraint(self, which: int) -> int | NaType:
        answer = self._fact('nvmlDeviceGetPowerManagementLimitConstraints')
        return int(answer[which]) if answer is not NA else NA

    def min_power_limit(self) -> int | NaType:
        """Lowest power limit in mW that can be set; asked once.

        NVML: ``nvmlDeviceGetPowerManagementLimitConstraints`` · nvidia-smi: ``power.min_limit``
        """
        return self._power_limit_constraint(0)

    def max_power_limit(self) -> int | NaType:
        """Highest power limit in mW that can be set; asked once.

        NVML: ``nvmlDeviceGetPowerManagementLimitConstraints`` · nvidia-smi: ``power.max_limit``
        """
        return self._power_limit_constraint(1)

    def power_status(self) -> str:
        """Power and its limit as text, in W: ``'30W / 250W'``; ``NA`` where both are unknown."""
        usage, limit = (
            f'{round(value / 1000)}W' if isinstance(value, int) else NA
            for value in (self.power_usage(), self.power_limit())
        )
        return f'{usage} / {limit}' if (usage, limit) != (NA, NA) else NA

    def total_energy(self) -> float | NaType:
        """Energy in J used since the driver was loaded; ``NA`` before Volta.

        NVML: ``nvmlDeviceGetTotalEnergyConsumption``
        """
        energy = self._int('nvmlDeviceGetTotalEnergyConsumption', most=ULONGLONG_MAX - 1)
        return energy / 1000 if isinstance(energy, int) else NA
