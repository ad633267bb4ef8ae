# SPDX-License-Identifier: Apache-2.0
"""Readings with the time at which they were taken, from which rates are computed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    T = TypeVar('T')

#: Longest time, in seconds, between a counter and the clock that does not distort a rate.
_LONGEST_SECONDS = 0.1


def timed(read: Callable[[], T], clock: Callable[[], float] | None = None) -> tuple[T, float]:
    """Return what ``read`` returns, and the time just after.

    A slow reading is repeated once: the program may have been stopped (``Ctrl-Z``, a suspended
    machine) between the counter and the clock, so that the rate would be wrong.
    """
    clock = clock or time.monotonic
    began = clock()
    value, taken = read(), clock()
    if taken - began > _LONGEST_SECONDS:
        value, taken = read(), clock()
    return value, taken
