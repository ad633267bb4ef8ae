# SPDX-License-Identifier: Apache-2.0
"""NVML's protocol for lists: ask with size 0, get the size, ask again with room for it."""

from __future__ import annotations

from typing import Sequence

from nvitop.simulation.abi import INSUFFICIENT_SIZE, DriverError, fill_number, target


def room_for(count: object, array: object, wanted: int) -> bool:
    """Whether to fill the array: sets the count, and raises *insufficient size* where it is short.

    An empty list is a success with count 0, whatever the array.
    """
    given = target(count).value
    fill_number(count, wanted)
    if wanted == 0:
        return False
    if array is None or given < wanted:
        raise DriverError(INSUFFICIENT_SIZE)
    return True


def answer_list(count: object, array: object, numbers: Sequence[int]) -> None:
    """Answer with numbers."""
    if room_for(count, array, len(numbers)):
        room = target(array)
        for i, value in enumerate(numbers):
            room[i] = value
