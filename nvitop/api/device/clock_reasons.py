# SPDX-License-Identifier: Apache-2.0
"""Why the clocks of a device are where they are."""

from __future__ import annotations

import enum


class ClockEventReasons(enum.IntFlag):
    """Why the clocks are where they are: a set of flags, called as nvidia-smi calls them."""

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
        """Names of the flags that are set: ``('sw_power_cap',)``.

        A flag that a newer driver sets and that has no name here is given as a number: ``'0x800'``.
        """
        bits = (1 << shift for shift in range(int(self).bit_length()))
        return tuple(_REASON_NAMES.get(bit, hex(bit)) for bit in bits if self & bit)


_REASON_NAMES = {
    int(reason): name.lower() for name, reason in ClockEventReasons.__members__.items()
}

# Where users find it is where it says it is, in reprs, pickles and documents.
ClockEventReasons.__module__ = 'nvitop.api.device'
