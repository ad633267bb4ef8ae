"""Counts of memory, threads and descriptors in a long run, and checks for growth.

A long run repeats a cycle of events. The counts are taken at the end of each cycle after a garbage
collection, so any leak at any event leaves at least one block per cycle.
"""

from __future__ import annotations

import functools
import gc
import os
import statistics
import sys
import threading
from array import array
from typing import NamedTuple, Sequence

#: Fraction of the cycles that fill caches; growth is measured after them.
WARM_UP = 0.1
#: Half of the smallest leak, which is one block per cycle.
MOST_BLOCKS_PER_CYCLE = 0.5
MOST_GROWTH_MIB = 3.0
MOST_TICKS_MISSED = 1.0
#: Minimum number of cycles in the second half to estimate a slope.
FEWEST_CYCLES = 12


class Counts:
    """Counts at the end of each cycle, in arrays of one block each so that they do not count themselves."""

    def __init__(self) -> None:
        self.blocks = array('d')
        self.resident_mib = array('d')
        self.threads = array('d')
        self.descriptors = array('d')

    def take(self) -> None:
        """Add the current counts, without what caches of limited size hold."""
        gc.collect()
        for found in gc.get_objects():
            if isinstance(found, functools._lru_cache_wrapper) and found.cache_info().maxsize:
                found.cache_clear()
        self.blocks.append(sys.getallocatedblocks())
        self.resident_mib.append(resident_mib())
        self.threads.append(threading.active_count())
        self.descriptors.append(len(os.listdir('/proc/self/fd')))


def resident_mib() -> float:
    """Resident memory of this process in MiB."""
    # open() would let CPython keep up to some hundred blocks.
    descriptor = os.open('/proc/self/statm', os.O_RDONLY)
    try:
        pages = int(os.read(descriptor, 256).split()[1])
    finally:
        os.close(descriptor)
    return pages * os.sysconf('SC_PAGE_SIZE') / 2**20


class Slope(NamedTuple):
    """Slope by Theil and Sen: the median slope of all pairs of values. It tolerates 29 % outliers."""

    per_step: float
    #: Lower bound with a confidence of 99 %.
    at_least: float


def slope_of(values: Sequence[float]) -> Slope:
    """Return the slope of at least three values."""
    n = len(values)
    slopes = sorted((values[j] - values[i]) / (j - i) for i in range(n) for j in range(i + 1, n))
    # Standard deviation of (rising pairs - falling pairs) without a trend, by Sen.
    deviation = (n * (n - 1) * (2 * n + 5) / 18) ** 0.5
    lowest = round((len(slopes) - 2.326 * deviation) / 2)
    return Slope(statistics.median(slopes), slopes[max(0, lowest)])


class Verdict(NamedTuple):
    """Result of a long run."""

    #: Text for people, one line each.
    lines: tuple[str, ...]
    #: Failed checks.
    faults: tuple[str, ...]


def judge(counts: Counts, *, ticks_missed: float) -> Verdict:
    """Check the counts."""
    n = len(counts.blocks)
    warm = max(1, round(n * WARM_UP))
    half = counts.blocks[n // 2 :]
    if n < 2 * FEWEST_CYCLES:
        return Verdict((), (f'{n} cycles are too few: {2 * FEWEST_CYCLES} are needed',))
    slope = slope_of(half)
    growth = max(counts.resident_mib[warm:]) - counts.resident_mib[warm]
    lines = [
        f'allocated blocks   {half[-1]:9.0f}  {slope.per_step:+.2f} per cycle, at least {slope.at_least:+.2f}',
        f'resident memory    {counts.resident_mib[-1]:9.1f}  MiB, {growth:+.2f} since the warm-up',
        f'ticks missed       {ticks_missed:9.1f}',
    ]
    faults = []
    if slope.at_least > MOST_BLOCKS_PER_CYCLE:  # the slope is significant
        faults.append(f'leaks {slope.per_step:.1f} blocks of memory in each cycle')
    if growth >= MOST_GROWTH_MIB:
        faults.append(f'grows by {growth:.1f} MiB, more than {MOST_GROWTH_MIB:g}')
    if ticks_missed > MOST_TICKS_MISSED:
        faults.append(f'is {ticks_missed:.1f} ticks late at the end')
    for what, values in (('threads', counts.threads), ('descriptors', counts.descriptors)):
        before, after = max(values[warm : n // 2]), max(values[n // 2 :])
        lines.append(f'{what:18} {after:9.0f}')
        if after > before:
            faults.append(f'has {after:.0f} {what} at last, {before:.0f} before')
    return Verdict(tuple(lines), tuple(faults))
