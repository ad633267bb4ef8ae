"""What is counted in a long run, and whether it stayed as it was.

A long run is a script that is repeated: in each cycle everything happens that can happen. The counts
are taken at the end of each cycle, always at the same place of the script, after a collection of
garbage. So what leaks anything at any event leaves at least one block a cycle.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import threading
from array import array
from typing import NamedTuple, Sequence

#: The first cycles fill caches and rings: growth is counted from here on.
WARM_UP = 0.1
#: Half of what the smallest leak leaves: one block in each cycle.
MOST_BLOCKS_PER_CYCLE = 0.5
MOST_GROWTH_MIB = 3.0
MOST_TICKS_MISSED = 1.0
#: Fewer cycles in the second half say nothing about a slope.
FEWEST_CYCLES = 12


class Counts:
    """What was counted at the end of each cycle.

    In arrays, which are a block each: what counts must not count itself.
    """

    def __init__(self) -> None:
        self.blocks = array('d')
        self.resident_mib = array('d')
        self.threads = array('d')
        self.descriptors = array('d')

    def take(self) -> None:
        """Count now."""
        gc.collect()
        self.blocks.append(sys.getallocatedblocks())
        self.resident_mib.append(resident_mib())
        self.threads.append(threading.active_count())
        self.descriptors.append(len(os.listdir('/proc/self/fd')))


def resident_mib() -> float:
    """Resident memory of this process."""
    # Not as text: each file that is opened so lets CPython keep a block, some hundred in all.
    descriptor = os.open('/proc/self/statm', os.O_RDONLY)
    try:
        pages = int(os.read(descriptor, 256).split()[1])
    finally:
        os.close(descriptor)
    return pages * os.sysconf('SC_PAGE_SIZE') / 2**20


class Slope(NamedTuple):
    """How steep a line through values one step apart is, by Theil and Sen: the median of the
    slopes of all pairs of them, which values that stick out (a third of them) do not move."""

    per_step: float
    #: It is not less than this, with a certainty of 99 %.
    at_least: float


def slope_of(values: Sequence[float]) -> Slope:
    """The slope of at least three values."""
    n = len(values)
    slopes = sorted((values[j] - values[i]) / (j - i) for i in range(n) for j in range(i + 1, n))
    # Sen: the number of pairs that rise less the number that fall has this deviation by chance.
    deviation = (n * (n - 1) * (2 * n + 5) / 18) ** 0.5
    lowest = round((len(slopes) - 2.326 * deviation) / 2)
    return Slope(statistics.median(slopes), slopes[max(0, lowest)])


class Verdict(NamedTuple):
    """What a long run was like."""

    #: Text for people, one line each.
    lines: tuple[str, ...]
    #: What was not as it must be, in words; none: all is well.
    faults: tuple[str, ...]


def judge(counts: Counts, *, ticks_missed: float) -> Verdict:
    """Hold the counts against the limits."""
    n = len(counts.blocks)
    warm = max(1, round(n * WARM_UP))
    half = counts.blocks[n // 2 :]
    if n < 2 * FEWEST_CYCLES:
        return Verdict((), (f'{n} cycles are too few: {2 * FEWEST_CYCLES} are needed',))
    slope = slope_of(half)
    growth = max(counts.resident_mib[warm:]) - counts.resident_mib[warm]
    lines = [
        f'allocated blocks   {half[-1]:9.0f}  {slope.per_step:+.2f} a cycle, at least {slope.at_least:+.2f}',
        f'resident memory    {counts.resident_mib[-1]:9.1f}  MiB, {growth:+.2f} since the warm-up',
        f'ticks missed       {ticks_missed:9.1f}',
    ]
    faults = []
    if slope.at_least > MOST_BLOCKS_PER_CYCLE:  # what may be chance is no slope
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
