# SPDX-License-Identifier: Apache-2.0
"""Clock speeds, fans, temperatures, power and energy of a device, and their limits."""

from __future__ import annotations

import enum
from typing import NamedTuple

from nvitop.api import libnvml
from nvitop.api.device.base import (
    MAX_ULONGLONG,
    DeviceBase,
    a_text,
    an_int,
    documented,
    once_in_oneshot,
)
from nvitop.basics.units import NA, NaType

# Numbers and scopes of NVML_FI_DEV_…; fields of a group are queried in one call.
_SW_POWER_CAP, _SYNC_BOOST = (74, 0), (76, 0)
_SW_THERMAL, _HW_THERMAL, _HW_POWER_BRAKE = (269, 0), (270, 0), (271, 0)
_EVENT_TIMES = (_SW_POWER_CAP, _SYNC_BOOST, _SW_THERMAL, _HW_THERMAL, _HW_POWER_BRAKE)
_THERMAL, _BOARD_LIMIT, _LOW_UTILIZATION = (75, 0), (77, 0), (78, 0)
_RELIABILITY, _APPLICATION_CLOCKS, _BASE_CLOCKS = (79, 0), (80, 0), (81, 0)
_POLICY_TIMES = (
    *(_THERMAL, _BOARD_LIMIT, _LOW_UTILIZATION),
    *(_RELIABILITY, _APPLICATION_CLOCKS, _BASE_CLOCKS),
)
_GRAPHICS, _SM, _MEMORY, _VIDEO = range(4)
_CURRENT, _MAX = 'nvmlDeviceGetClockInfo', 'nvmlDeviceGetMaxClockInfo'
_APPLICATIONS, _DEFAULT = 'nvmlDeviceGetApplicationsClock', 'nvmlDeviceGetDefaultApplicationsClock'


class ClockEventReasons(enum.IntFlag):
    """Reasons that limit the clocks: a set of flags, with the names of nvidia-smi."""

    GPU_IDLE = 0x1
    APPLICATIONS_CLOCKS_SETTING = 0x2
    SW_POWER_CAP = 0x4
    HW_SLOWDOWN = 0x8
    SYNC_BOOST = 0x10
    SW_THERMAL_SLOWDOWN = 0x20
    HW_THERMAL_SLOWDOWN = 0x40
    HW_POWER_BRAKE_SLOWDOWN = 0x80
    DISPLAY_CLOCK_SETTING = 0x100
    BOARD_LIMIT = 0x200
    RELIABILITY = 0x400

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the flags that are set, such as ``('sw_power_cap',)``.

        Flags of newer drivers that have no name here are hexadecimal numbers, such as ``'0x800'``.
        """
        bits = (1 << shift for shift in range(int(self).bit_length()))
        return tuple(_REASON_NAMES.get(bit, hex(bit)) for bit in bits if self & bit)


_REASON_NAMES = {
    int(reason): name.lower() for name, reason in ClockEventReasons.__members__.items()
}


class ClockInfos(NamedTuple):
    """Clock speeds in MHz, each ``NA`` if unknown."""

    graphics: int | NaType = NA
    sm: int | NaType = NA
    memory: int | NaType = NA
    video: int | NaType = NA


class ClockSpeedInfos(NamedTuple):
    """Current and maximum clock speeds in MHz."""

    current: ClockInfos
    max: ClockInfos


class SupportedClocks(NamedTuple):
    """A pair of clocks in MHz that can be set together."""

    memory: int
    graphics: int


@documented
class ClockMixin(DeviceBase):
    """Clock speeds in MHz; times in µs since the driver was loaded."""

    @once_in_oneshot
    def clock_infos(self) -> ClockInfos:
        """Current graphics, SM, memory and video clocks in MHz, each ``NA`` if unknown.

        NVML: ``nvmlDeviceGetClockInfo`` · nvidia-smi: ``clocks.current.*``
        """
        return ClockInfos(
            self.graphics_clock(), self.sm_clock(), self.memory_clock(), self.video_clock()
        )

    clocks = clock_infos

    @once_in_oneshot
    def max_clock_infos(self) -> ClockInfos:
        """Maximum graphics, SM, memory and video clocks in MHz, each ``NA`` if unknown. Queried once.

        NVML: ``nvmlDeviceGetMaxClockInfo`` · nvidia-smi: ``clocks.max.*``
        """
        return ClockInfos(
            self.max_graphics_clock(),
            self.max_sm_clock(),
            self.max_memory_clock(),
            self.max_video_clock(),
        )

    max_clocks = max_clock_infos

    def clock_speed_infos(self) -> ClockSpeedInfos:
        """Current and maximum clocks in MHz: :meth:`clock_infos` and :meth:`max_clock_infos`."""
        return ClockSpeedInfos(self.clock_infos(), self.max_clock_infos())

    graphics_clock = an_int('_number', _CURRENT, _GRAPHICS, unit='MHz')
    sm_clock = an_int('_number', _CURRENT, _SM, unit='MHz')
    memory_clock = an_int('_number', _CURRENT, _MEMORY, unit='MHz')
    video_clock = an_int('_number', _CURRENT, _VIDEO, unit='MHz')
    max_graphics_clock = an_int('_number', _MAX, _GRAPHICS, static=True, unit='MHz')
    max_sm_clock = an_int('_number', _MAX, _SM, static=True, unit='MHz')
    max_memory_clock = an_int('_number', _MAX, _MEMORY, static=True, unit='MHz')
    max_video_clock = an_int('_number', _MAX, _VIDEO, static=True, unit='MHz')

    def clock_event_reasons(self) -> ClockEventReasons | NaType:
        """Reasons that limit the clocks, as a set of flags; ``names`` gives them as text.

        >>> device.clock_event_reasons().names
        ('sw_power_cap', 'sw_thermal_slowdown')
        """
        return self._clock_reasons(
            'nvmlDeviceGetCurrentClocksEventReasons',
            'nvmlDeviceGetCurrentClocksThrottleReasons',
        )

    application_graphics_clock = an_int('_number', _APPLICATIONS, _GRAPHICS, unit='MHz')
    application_memory_clock = an_int('_number', _APPLICATIONS, _MEMORY, unit='MHz')
    default_application_graphics_clock = an_int(
        '_number', _DEFAULT, _GRAPHICS, static=True, unit='MHz'
    )
    default_application_memory_clock = an_int('_number', _DEFAULT, _MEMORY, static=True, unit='MHz')

    def supported_clocks(self) -> list[SupportedClocks]:
        """Pairs of clocks that can be set for applications, the fastest first.

        The list is empty if none can be set (GeForce).
        """
        memory_clocks = self._query('nvmlDeviceGetSupportedMemoryClocks')
        if memory_clocks is NA:
            return []
        pairs = []
        for memory in memory_clocks:
            clocks = self._query('nvmlDeviceGetSupportedGraphicsClocks', memory)
            if clocks is not NA:
                pairs += [SupportedClocks(memory, graphics) for graphics in clocks]
        return pairs

    def supported_clock_event_reasons(self) -> ClockEventReasons | NaType:
        """Clock event reasons that the GPU can report, as a set of flags."""
        return self._clock_reasons(
            'nvmlDeviceGetSupportedClocksEventReasons',
            'nvmlDeviceGetSupportedClocksThrottleReasons',
        )

    def _limited_time(self, field: tuple[int, int]) -> int | NaType:
        fields = _EVENT_TIMES if field in _EVENT_TIMES else _POLICY_TIMES
        nanoseconds = self._grouped_field(fields, field, MAX_ULONGLONG)
        return nanoseconds // 1000 if isinstance(nanoseconds, int) else NA

    sw_power_cap_time = an_int('_limited_time', _SW_POWER_CAP)
    sync_boost_time = an_int('_limited_time', _SYNC_BOOST)
    sw_thermal_slowdown_time = an_int('_limited_time', _SW_THERMAL)
    hw_thermal_slowdown_time = an_int('_limited_time', _HW_THERMAL)
    hw_power_brake_slowdown_time = an_int('_limited_time', _HW_POWER_BRAKE)
    thermal_violation_time = an_int('_limited_time', _THERMAL)
    board_limit_violation_time = an_int('_limited_time', _BOARD_LIMIT)
    low_utilization_violation_time = an_int('_limited_time', _LOW_UTILIZATION)
    reliability_violation_time = an_int('_limited_time', _RELIABILITY)
    application_clocks_violation_time = an_int('_limited_time', _APPLICATION_CLOCKS)
    base_clocks_violation_time = an_int('_limited_time', _BASE_CLOCKS)

    def _clock_reasons(self, function: str, older_function: str) -> ClockEventReasons | NaType:
        """Query flags with the first function that the driver has."""
        answer, error = self._answer(function)
        if isinstance(error, libnvml.NVMLError_FunctionNotFound):
            answer = self._query(older_function)
        return ClockEventReasons(answer) if isinstance(answer, int) else NA


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
        from nvitop.platforms.nvidia import short_bus_id

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
