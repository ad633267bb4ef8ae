# SPDX-License-Identifier: Apache-2.0
"""NVML's protocol for lists: a call with size 0 returns the size, a second one fills the array."""

from __future__ import annotations

from typing import Sequence

from nvitop.simulation.abi import INSUFFICIENT_SIZE, DriverError, fill_number, target


def room_for(count: object, array: object, wanted: int) -> bool:
    """Store the size of a list in *count*, and return whether to fill the array.

    Raises *insufficient size* if the array is too short. An empty list always succeeds.
    """
    given = target(count).value
    fill_number(count, wanted)
    if wanted == 0:
        return False
    if array is None or given < wanted:
        raise DriverError(INSUFFICIENT_SIZE)
    return True


def answer_list(count: object, array: object, numbers: Sequence[int]) -> None:
    """Return a list of numbers."""
    if room_for(count, array, len(numbers)):
        room = target(array)
        for i, value in enumerate(numbers):
            room[i] = value
