# SPDX-License-Identifier: Apache-2.0
"""How fast the parts of a device are clocked, and what holds the clocks down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.api.device.base import DeviceBase, once_in_oneshot
from nvitop.api.utils import NA, NaType
from nvitop.namedtuple import NamedTuple

if TYPE_CHECKING:
    from nvitop.api.device.clock_reasons import ClockEventReasons

_GRAPHICS, _SM, _MEMORY, _VIDEO = range(4)


class ClockInfos(NamedTuple):
    """Clocks in MHz, each ``NA`` where unknown."""

    graphics: int | NaType = NA
    sm: int | NaType = NA
    memory: int | NaType = NA
    video: int | NaType = NA


class ClockSpeedInfos(NamedTuple):
    """Current and highest clocks in MHz."""

    current: ClockInfos
    max: ClockInfos


class ClockMixin(DeviceBase):
    """Clocks, in MHz."""

    @once_in_oneshot
    def clock_infos(self) -> ClockInfos:
        """Current graphics, SM, memory and video clock in MHz, each ``NA`` where unknown.

        NVML: ``nvmlDeviceGetClockInfo`` · nvidia-smi: ``clocks.current.*``
        """
        return ClockInfos(
            self.graphics_clock(), self.sm_clock(), self.memory_clock(), self.video_clock()
        )

    clocks = clock_infos

    @once_in_oneshot
    def max_clock_infos(self) -> ClockInfos:
        """Highest graphics, SM, memory and video clock in MHz, each ``NA`` where unknown; asked once.

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
        """Current and highest clocks: :meth:`clock_infos` and :meth:`max_clock_infos`."""
        return ClockSpeedInfos(self.clock_infos(), self.max_clock_infos())

    def graphics_clock(self) -> int | NaType:
        """Current graphics (shader) clock in MHz.

        NVML: ``nvmlDeviceGetClockInfo`` · nvidia-smi: ``clocks.current.graphics``
        """
        return self._int('nvmlDeviceGetClockInfo', _GRAPHICS)

    def sm_clock(self) -> int | NaType:
        """Current clock of the streaming multiprocessors in MHz.

        NVML: ``nvmlDeviceGetClockInfo`` · nvidia-smi: ``clocks.current.sm``
        """
        return self._int('nvmlDeviceGetClockInfo', _SM)

    def memory_clock(self) -> int | NaType:
        """Current memory clock in MHz.

        NVML: ``nvmlDeviceGetClockInfo`` · nvidia-smi: ``clocks.current.memory``
        """
        return self._int('nvmlDeviceGetClockInfo', _MEMORY)

    def video_clock(self) -> int | NaType:
        """Current clock of the video engines in MHz.

        NVML: ``nvmlDeviceGetClockInfo`` · nvidia-smi: ``clocks.current.video``
        """
        return self._int('nvmlDeviceGetClockInfo', _VIDEO)

    def max_graphics_clock(self) -> int | NaType:
        """Highest graphics (shader) clock in MHz, asked once.

        NVML: ``nvmlDeviceGetMaxClockInfo`` · nvidia-smi: ``clocks.max.graphics``
        """
        return self._int_fact('nvmlDeviceGetMaxClockInfo', _GRAPHICS)

    def max_sm_clock(self) -> int | NaType:
        """Highest clock of the streaming multiprocessors in MHz, asked once.

        NVML: ``nvmlDeviceGetMaxClockInfo`` · nvidia-smi: ``clocks.max.sm``
        """
        return self._int_fact('nvmlDeviceGetMaxClockInfo', _SM)

    def max_memory_clock(self) -> int | NaType:
        """Highest memory clock in MHz, asked once.

        NVML: ``nvmlDeviceGetMaxClockInfo`` · nvidia-smi: ``clocks.max.memory``
        """
        return self._int_fact('nvmlDeviceGetMaxClockInfo', _MEMORY)

    def max_video_clock(self) -> int | NaType:
        """Highest clock of the video engines in MHz, asked once. NVML: ``nvmlDeviceGetMaxClockInfo``."""
        return self._int_fact('nvmlDeviceGetMaxClockInfo', _VIDEO)

    def clock_event_reasons(self) -> ClockEventReasons | NaType:
        """Why the clocks are where they are, as a set of flags; its ``names`` are text.

        >>> device.clock_event_reasons().names
        ('sw_power_cap', 'sw_thermal_slowdown')

        NVML: ``nvmlDeviceGetCurrentClocksEventReasons``, before R535
        ``nvmlDeviceGetCurrentClocksThrottleReasons`` · nvidia-smi: ``clocks_event_reasons.active``
        """
        reasons = self._first(
            'nvmlDeviceGetCurrentClocksEventReasons', 'nvmlDeviceGetCurrentClocksThrottleReasons'
        )
        if not isinstance(reasons, int):
            return NA
        from nvitop.api.device.clock_reasons import ClockEventReasons  # flags are slow to make

        return ClockEventReasons(reasons)
