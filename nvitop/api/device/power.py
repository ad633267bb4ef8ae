# SPDX-License-Identifier: Apache-2.0
"""Fans, temperatures, power and energy of a device, and their limits."""

from __future__ import annotations

from nvitop.api.device.base import MAX_ULONGLONG, DeviceBase, a_text, an_int, documented
from nvitop.basics.units import NA, NaType

# Numbers of NVML_FI_DEV_POWER_….
_AVERAGE, _INSTANT, _MIN_LIMIT, _MAX_LIMIT, _DEFAULT_LIMIT, _CURRENT_LIMIT = range(185, 191)
_REQUESTED_LIMIT, _FIELD_EDPP_MULTIPLIER = 192, 274
_GPU, _MODULE = 0, 1
_TEMPERATURE_GPU = 0
_THRESHOLD_SHUTDOWN, _THRESHOLD_SLOWDOWN, _THRESHOLD_MEMORY_MAX, _THRESHOLD_GPU_MAX = range(4)
#: ``NVML_FI_DEV_MEMORY_TEMP``; the oldest bindings lack the name.
_FIELD_MEMORY_TEMPERATURE = 82


@documented
class PowerMixin(DeviceBase):
    """Temperatures in °C, power in mW, energy in J.

    A module is a GPU with its CPU (Grace); its values are ``NA`` on other boards.
    """

    def power_management_state(self) -> str:
        """Runtime power management state: ``'active'``, ``'suspended'``, ``'resuming'``, ….

        Reading it does not wake the GPU, unlike most other getters. ``NA`` outside Linux, and where
        ``/sys`` has no such file (WSL, some containers). It is read at each call.

        Source: ``/sys/bus/pci/devices/<bus ID>/power/runtime_status``
        """
        from nvitop.api.system import system
        from nvitop.platforms.pci import short_bus_id

        pci = self._query('nvmlDeviceGetPciInfo', static=True)
        bus_id = getattr(pci, 'busId', b'')
        text = bus_id.decode('ascii', 'replace') if isinstance(bus_id, bytes) else str(bus_id)
        return system().runtime_status(short_bus_id(text)) or NA

    def fan_speed(self) -> int | NaType:
        """Intended fan speed in percent of the maximum; may exceed 100; ``NA`` without a fan."""
        return self._number('nvmlDeviceGetFanSpeed')

    fan_count = an_int('_number', 'nvmlDeviceGetNumFans', static=True)

    def temperature(self) -> int | NaType:
        """Temperature of the GPU die in °C."""
        return self._number('nvmlDeviceGetTemperature', _TEMPERATURE_GPU, unit='°C')

    def memory_temperature(self) -> int | NaType:
        """Temperature of the memory in °C; ``NA`` without a sensor (most GeForce boards)."""
        ((value, _),) = self._fields([(_FIELD_MEMORY_TEMPERATURE, 0)])
        return self._in_range(value, unit='°C') if value != 0 else NA

    temperature_slowdown_threshold = an_int('_threshold', _THRESHOLD_SLOWDOWN)
    temperature_shutdown_threshold = an_int('_threshold', _THRESHOLD_SHUTDOWN)
    max_temperature_threshold = an_int('_threshold', _THRESHOLD_GPU_MAX)
    max_memory_temperature_threshold = an_int('_threshold', _THRESHOLD_MEMORY_MAX)

    def _threshold(self, which: int) -> int | NaType:
        return self._number('nvmlDeviceGetTemperatureThreshold', which, static=True, unit='°C')

    def power_usage(self) -> int | NaType:
        """Power draw of the board (of the GPU on some boards) in mW; since Ampere a 1 s average."""
        return self._number('nvmlDeviceGetPowerUsage', unit='W')

    power_draw = power_usage

    power_limit = an_int('_number', 'nvmlDeviceGetPowerManagementLimit', unit='W')

    def enforced_power_limit(self) -> int | NaType:
        """Power limit in effect in mW: the lowest of the power limit and other limits."""
        return self._number('nvmlDeviceGetEnforcedPowerLimit', unit='W')

    default_power_limit = an_int(
        '_number', 'nvmlDeviceGetPowerManagementDefaultLimit', static=True, unit='W'
    )

    def _power_limit_constraint(self, which: int) -> int | NaType:
        answer = self._query('nvmlDeviceGetPowerManagementLimitConstraints', static=True)
        return self._in_range(answer[which], unit='W') if answer is not NA else NA

    min_power_limit = an_int('_power_limit_constraint', 0)
    max_power_limit = an_int('_power_limit_constraint', 1)

    def power_status(self) -> str:
        """Power draw and limit as text, in W: ``'30W / 250W'``, ``'N/A / N/A'`` if both are unknown.

        NVML: the functions of :meth:`power_usage` and :meth:`power_limit`
        """
        usage, limit = (
            f'{round(value / 1000)}W' if isinstance(value, int) else NA
            for value in (self.power_usage(), self.power_limit())
        )
        return f'{usage} / {limit}'

    def total_energy(self) -> float | NaType:
        """Energy used since the driver was loaded, in J; ``NA`` before Volta."""
        energy = self._number('nvmlDeviceGetTotalEnergyConsumption', maximum=MAX_ULONGLONG)
        return energy / 1000 if isinstance(energy, int) else NA

    def temperature_margin(self) -> int | NaType:
        """Temperature difference to the slowdown threshold in °C, negative above it; ``NA`` before R555."""
        margin = self._query('nvmlDeviceGetMarginTemperature')
        return margin if isinstance(margin, int) and abs(margin) < 1000 else NA

    power_management = a_text('_named', 'nvmlDeviceGetPowerManagementMode')
    edpp_multiplier = an_int('_field', _FIELD_EDPP_MULTIPLIER)
    average_power_usage = an_int('_field', _AVERAGE, _GPU, unit='W')
    instant_power_usage = an_int('_field', _INSTANT, _GPU, unit='W')
    module_average_power_usage = an_int('_field', _AVERAGE, _MODULE, unit='W')
    module_instant_power_usage = an_int('_field', _INSTANT, _MODULE, unit='W')
    module_power_limit = an_int('_field', _REQUESTED_LIMIT, _MODULE, unit='W')
    module_enforced_power_limit = an_int('_field', _CURRENT_LIMIT, _MODULE, unit='W')
    module_default_power_limit = an_int('_field', _DEFAULT_LIMIT, _MODULE, unit='W')
    module_min_power_limit = an_int('_field', _MIN_LIMIT, _MODULE, unit='W')
    module_max_power_limit = an_int('_field', _MAX_LIMIT, _MODULE, unit='W')
