# SPDX-License-Identifier: Apache-2.0
"""Clocks that were set for applications, and for how long clocks were held down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.api.device.extended.facts import ExtendedValues
from nvitop.api.utils import NA, ULONGLONG_MAX, NaType
from nvitop.namedtuple import NamedTuple

if TYPE_CHECKING:
    from nvitop.api.device.clock_reasons import ClockEventReasons

_GRAPHICS, _MEMORY = 0, 2
# Numbers of NVML_FI_DEV_CLOCKS_EVENT_REASON_…, which older bindings do not name.
_FIELD_SW_POWER_CAP, _FIELD_SYNC_BOOST = 74, 76
_FIELD_SW_THERMAL, _FIELD_HW_THERMAL, _FIELD_HW_POWER_BRAKE = 269, 270, 271


class SupportedClocks(NamedTuple):
    """A pair of clocks in MHz that can be set together."""

    memory: int
    graphics: int


class ClockFacts(ExtendedValues):
    """Clocks in MHz; times in µs since the driver was loaded."""

    def application_graphics_clock(self) -> int | NaType:
        """Graphics clock in MHz that was set for applications; ``NA`` for boards without (GeForce).

        NVML: ``nvmlDeviceGetApplicationsClock`` · nvidia-smi: ``clocks.applications.graphics``
        """
        return self._int('nvmlDeviceGetApplicationsClock', _GRAPHICS)

    def application_memory_clock(self) -> int | NaType:
        """Memory clock in MHz that was set for applications; ``NA`` for boards without (GeForce).

        NVML: ``nvmlDeviceGetApplicationsClock`` · nvidia-smi: ``clocks.applications.memory``
        """
        return self._int('nvmlDeviceGetApplicationsClock', _MEMORY)

    def default_application_graphics_clock(self) -> int | NaType:
        """Graphics clock in MHz for applications after the driver was loaded; asked once.

        NVML: ``nvmlDeviceGetDefaultApplicationsClock``
        · nvidia-smi: ``clocks.default_applications.graphics``
        """
        return self._int_fact('nvmlDeviceGetDefaultApplicationsClock', _GRAPHICS)

    def default_application_memory_clock(self) -> int | NaType:
        """Memory clock in MHz for applications after the driver was loaded; asked once.

        NVML: ``nvmlDeviceGetDefaultApplicationsClock``
        · nvidia-smi: ``clocks.default_applications.memory``
        """
        return self._int_fact('nvmlDeviceGetDefaultApplicationsClock', _MEMORY)

    def supported_clocks(self) -> list[SupportedClocks]:
        """The pairs of clocks that can be set for applications, the fastest first.

        An empty list where none can (GeForce).

        NVML: ``nvmlDeviceGetSupportedMemoryClocks`` ``nvmlDeviceGetSupportedGraphicsClocks``
        · nvidia-smi: ``--query-supported-clocks``
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
        """The reasons that this GPU can tell, as a set of flags; its ``names`` are text.

        NVML: ``nvmlDeviceGetSupportedClocksEventReasons``, before R535
        ``nvmlDeviceGetSupportedClocksThrottleReasons`` · nvidia-smi: ``clocks_event_reasons.supported``
        """
        reasons = self._first(
            'nvmlDeviceGetSupportedClocksEventReasons',
            'nvmlDeviceGetSupportedClocksThrottleReasons',
        )
        if not isinstance(reasons, int):
            return NA
        from nvitop.api.device.clock_reasons import ClockEventReasons  # flags are slow to make

        return ClockEventReasons(reasons)

    def _time_lowered(self, field: int) -> int | NaType:
        ((nanoseconds, _),) = self._read_fields([(field, 0)])
        known = self._in_range(nanoseconds, most=ULONGLONG_MAX - 1)
        return known // 1000 if isinstance(known, int) else NA

    def sw_power_cap_time(self) -> int | NaType:
        """Time in µs for which the power limit held the clocks down.

        NVML: ``NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP``
        · nvidia-smi: ``clocks_event_reasons_counters.sw_power_cap``
        """
        return self._time_lowered(_FIELD_SW_POWER_CAP)

    def sync_boost_time(self) -> int | NaType:
        """Time in µs for which the clocks of another GPU held them down.

        NVML: ``NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST``
        · nvidia-smi: ``clocks_event_reasons_counters.sync_boost``
        """
        return self._time_lowered(_FIELD_SYNC_BOOST)

    def sw_thermal_slowdown_time(self) -> int | NaType:
        """Time in µs for which the driver held the clocks down for heat; ``NA`` before R570.

        NVML: ``NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN``
        · nvidia-smi: ``clocks_event_reasons_counters.sw_thermal_slowdown``
        """
        return self._time_lowered(_FIELD_SW_THERMAL)

    def hw_thermal_slowdown_time(self) -> int | NaType:
        """Time in µs for which the hardware held the clocks down for heat; ``NA`` before R570.

        NVML: ``NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN``
        · nvidia-smi: ``clocks_event_reasons_counters.hw_thermal_slowdown``
        """
        return self._time_lowered(_FIELD_HW_THERMAL)

    def hw_power_brake_slowdown_time(self) -> int | NaType:
        """Time in µs for which the power supply held the clocks down; ``NA`` before R570.

        NVML: ``NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN``
        · nvidia-smi: ``clocks_event_reasons_counters.hw_power_brake_slowdown``
        """
        return self._time_lowered(_FIELD_HW_POWER_BRAKE)
