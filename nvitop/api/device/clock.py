# SPDX-License-Identifier: Apache-2.0
"""Clock speeds of a device, and what limits them."""

from __future__ import annotations

from nvitop.api.device.base import DeviceBase, once_in_oneshot
from nvitop.api.device.clock_reasons import ClockEventReasons, query_clock_reasons
from nvitop.api.utils import NA, NaType
from nvitop.namedtuple import NamedTuple

_GRAPHICS, _SM, _MEMORY, _VIDEO = range(4)


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


class ClockMixin(DeviceBase):
    """Clock speeds in MHz."""

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

    def graphics_clock(self) -> int | NaType:
        """Current graphics (shader) clock in MHz.

        NVML: ``nvmlDeviceGetClockInfo`` · nvidia-smi: ``clocks.current.graphics``
        """
        return self._number('nvmlDeviceGetClockInfo', _GRAPHICS)

    def sm_clock(self) -> int | NaType:
        """Current clock of the streaming multiprocessors in MHz.

        NVML: ``nvmlDeviceGetClockInfo`` · nvidia-smi: ``clocks.current.sm``
        """
        return self._number('nvmlDeviceGetClockInfo', _SM)

    def memory_clock(self) -> int | NaType:
        """Current memory clock in MHz.

        NVML: ``nvmlDeviceGetClockInfo`` · nvidia-smi: ``clocks.current.memory``
        """
        return self._number('nvmlDeviceGetClockInfo', _MEMORY)

    def video_clock(self) -> int | NaType:
        """Current clock of the video engines in MHz.

        NVML: ``nvmlDeviceGetClockInfo`` · nvidia-smi: ``clocks.current.video``
        """
        return self._number('nvmlDeviceGetClockInfo', _VIDEO)

    def max_graphics_clock(self) -> int | NaType:
        """Maximum graphics (shader) clock in MHz. Queried once.

        NVML: ``nvmlDeviceGetMaxClockInfo`` · nvidia-smi: ``clocks.max.graphics``
        """
        return self._number('nvmlDeviceGetMaxClockInfo', _GRAPHICS, static=True)

    def max_sm_clock(self) -> int | NaType:
        """Maximum clock of the streaming multiprocessors in MHz. Queried once.

        NVML: ``nvmlDeviceGetMaxClockInfo`` · nvidia-smi: ``clocks.max.sm``
        """
        return self._number('nvmlDeviceGetMaxClockInfo', _SM, static=True)

    def max_memory_clock(self) -> int | NaType:
        """Maximum memory clock in MHz. Queried once.

        NVML: ``nvmlDeviceGetMaxClockInfo`` · nvidia-smi: ``clocks.max.memory``
        """
        return self._number('nvmlDeviceGetMaxClockInfo', _MEMORY, static=True)

    def max_video_clock(self) -> int | NaType:
        """Maximum clock of the video engines in MHz. Queried once.

        NVML: ``nvmlDeviceGetMaxClockInfo``
        """
        return self._number('nvmlDeviceGetMaxClockInfo', _VIDEO, static=True)

    def clock_event_reasons(self) -> ClockEventReasons | NaType:
        """Reasons that limit the clocks, as a set of flags; ``names`` gives them as text.

        >>> device.clock_event_reasons().names
        ('sw_power_cap', 'sw_thermal_slowdown')

        NVML: ``nvmlDeviceGetCurrentClocksEventReasons``, before R535
        ``nvmlDeviceGetCurrentClocksThrottleReasons`` · nvidia-smi: ``clocks_event_reasons.active``
        """
        return query_clock_reasons(
            self,
            'nvmlDeviceGetCurrentClocksEventReasons',
            'nvmlDeviceGetCurrentClocksThrottleReasons',
        )
