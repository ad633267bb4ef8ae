# SPDX-License-Identifier: Apache-2.0
"""Clock speeds of a device, clocks of applications, and what limits them."""

from __future__ import annotations

import enum
from typing import NamedTuple

from nvitop.api import libnvml
from nvitop.api.device.base import MAX_ULONGLONG, DeviceBase, an_int, documented, once_in_oneshot
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
