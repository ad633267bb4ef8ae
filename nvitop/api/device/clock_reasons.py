# SPDX-License-Identifier: Apache-2.0
"""Reasons that limit the clocks of a device."""

from __future__ import annotations

import enum

from nvitop.api import libnvml
from nvitop.api.utils import NA, NaType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nvitop.api.device.base import DeviceBase


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


def query_clock_reasons(
    device: DeviceBase, function: str, older_function: str
) -> ClockEventReasons | NaType:
    """Query flags with the first function that the driver has."""
    answer, error = device._answer(function)
    if isinstance(error, libnvml.NVMLError_FunctionNotFound):
        answer = device._query(older_function)
    return ClockEventReasons(answer) if isinstance(answer, int) else NA
