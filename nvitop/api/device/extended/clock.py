# SPDX-License-Identifier: Apache-2.0
"""Application clocks, and the time during which clocks were limited."""

from __future__ import annotations

from nvitop.api.device.base import MAX_ULONGLONG, DeviceBase
from nvitop.api.device.clock_reasons import ClockEventReasons, query_clock_reasons
from nvitop.api.utils import NA, NaType
from nvitop.namedtuple import NamedTuple

_GRAPHICS, _MEMORY = 0, 2
# Numbers of NVML_FI_DEV_CLOCKS_EVENT_REASON_…; older bindings lack the names.
_FIELD_SW_POWER_CAP, _FIELD_SYNC_BOOST = 74, 76
_FIELD_SW_THERMAL, _FIELD_HW_THERMAL, _FIELD_HW_POWER_BRAKE = 269, 270, 271


class SupportedClocks(NamedTuple):
    """A pair of clocks in MHz that can be set together."""

    memory: int
    graphics: int


class ExtendedClockMixin(DeviceBase):
    """Clocks in MHz; times in µs since the driver was loaded."""

    def application_graphics_clock(self) -> int | NaType:
        """Graphics clock set for applications, in MHz; ``NA`` if it cannot be set (GeForce).

        NVML: ``nvmlDeviceGetApplicationsClock`` · nvidia-smi: ``clocks.applications.graphics``
        """
        return self._number('nvmlDeviceGetApplicationsClock', _GRAPHICS)

    def application_memory_clock(self) -> int | NaType:
        """Memory clock set for applications, in MHz; ``NA`` if it cannot be set (GeForce).

        NVML: ``nvmlDeviceGetApplicationsClock`` · nvidia-smi: ``clocks.applications.memory``
        """
        return self._number('nvmlDeviceGetApplicationsClock', _MEMORY)

    def default_application_graphics_clock(self) -> int | NaType:
        """Default graphics clock for applications, in MHz. Queried once.

        NVML: ``nvmlDeviceGetDefaultApplicationsClock``
        · nvidia-smi: ``clocks.default_applications.graphics``
        """
        return self._number('nvmlDeviceGetDefaultApplicationsClock', _GRAPHICS, static=True)

    def default_application_memory_clock(self) -> int | NaType:
        """Default memory clock for applications, in MHz. Queried once.

        NVML: ``nvmlDeviceGetDefaultApplicationsClock``
        · nvidia-smi: ``clocks.default_applications.memory``
        """
        return self._number('nvmlDeviceGetDefaultApplicationsClock', _MEMORY, static=True)

    def supported_clocks(self) -> list[SupportedClocks]:
        """Pairs of clocks that can be set for applications, the fastest first.

        The list is empty if none can be set (GeForce).

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
        """Clock event reasons that the GPU can report, as a set of flags.

        NVML: ``nvmlDeviceGetSupportedClocksEventReasons``, before R535
        ``nvmlDeviceGetSupportedClocksThrottleReasons`` · nvidia-smi: ``clocks_event_reasons.supported``
        """
        return query_clock_reasons(
            self,
            'nvmlDeviceGetSupportedClocksEventReasons',
            'nvmlDeviceGetSupportedClocksThrottleReasons',
        )

    def _limited_time(self, field: int) -> int | NaType:
        nanoseconds = self._field(field, maximum=MAX_ULONGLONG)
        return nanoseconds // 1000 if isinstance(nanoseconds, int) else NA

    def sw_power_cap_time(self) -> int | NaType:
        """Time during which the power limit lowered the clocks, in µs.

        NVML: ``NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP``
        · nvidia-smi: ``clocks_event_reasons_counters.sw_power_cap``
        """
        return self._limited_time(_FIELD_SW_POWER_CAP)

    def sync_boost_time(self) -> int | NaType:
        """Time during which the clocks of another GPU lowered the clocks, in µs.

        NVML: ``NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST``
        · nvidia-smi: ``clocks_event_reasons_counters.sync_boost``
        """
        return self._limited_time(_FIELD_SYNC_BOOST)

    def sw_thermal_slowdown_time(self) -> int | NaType:
        """Time during which the driver lowered the clocks because of heat, in µs; ``NA`` before R570.

        NVML: ``NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN``
        · nvidia-smi: ``clocks_event_reasons_counters.sw_thermal_slowdown``
        """
        return self._limited_time(_FIELD_SW_THERMAL)

    def hw_thermal_slowdown_time(self) -> int | NaType:
        """Time during which the hardware lowered the clocks because of heat, in µs; ``NA`` before R570.

        NVML: ``NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN``
        · nvidia-smi: ``clocks_event_reasons_counters.hw_thermal_slowdown``
        """
        return self._limited_time(_FIELD_HW_THERMAL)

    def hw_power_brake_slowdown_time(self) -> int | NaType:
        """Time during which the power supply lowered the clocks, in µs; ``NA`` before R570.

        NVML: ``NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN``
        · nvidia-smi: ``clocks_event_reasons_counters.hw_power_brake_slowdown``
        """
        return self._limited_time(_FIELD_HW_POWER_BRAKE)
