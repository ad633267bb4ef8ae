"""The checks of the long runs find leaks and accept steady programs."""

from __future__ import annotations

import random
from typing import Callable

import pytest

from tests.soak import CYCLE, FEWEST_CYCLES, Counts, judge

#: Number of cycles that a run needs for a verdict.
CYCLES = 2 * FEWEST_CYCLES
#: Standard deviation of the number of blocks at the end of a cycle, as in long runs.
NOISE = 12.0


def counted(
    blocks: Callable[[int], float] = lambda cycle: 0.0,
    *,
    cycles: int = 100,
    seed: int = 1,
    resident: Callable[[int], float] = lambda cycle: 30.0,
) -> Counts:
    """Counts of a long run with noise."""
    chance = random.Random(seed)
    counts = Counts()
    for cycle in range(cycles):
        counts.blocks.append(100_000 + blocks(cycle) + chance.gauss(0, NOISE))
        counts.resident_mib.append(resident(cycle))
        counts.threads.append(3)
        counts.descriptors.append(8)
    return counts


@pytest.mark.parametrize('cycles', [40, 200])
def test_noise_is_not_a_leak(cycles: int) -> None:
    verdicts = [judge(counted(cycles=cycles, seed=seed), ticks_missed=0) for seed in range(20)]
    assert sum(bool(verdict.faults) for verdict in verdicts) <= 1


def test_small_leak_is_found_despite_noise_and_outliers() -> None:
    for seed in range(5):
        per_cycle = counted(float, cycles=200, seed=seed)
        per_tick = counted(lambda cycle: float(CYCLE * cycle), cycles=CYCLES, seed=seed)
        per_tick.blocks[7] = 9e9
        for counts in (per_cycle, per_tick):
            assert 'leaks' in judge(counts, ticks_missed=0).faults[0]


def test_cache_that_fills_in_the_first_half_is_not_a_leak() -> None:
    counts = counted(lambda cycle: min(cycle, 45) * 200.0)
    assert not judge(counts, ticks_missed=0).faults


def test_growth_of_memory_threads_and_files_and_late_ticks_fail() -> None:
    grown = judge(counted(resident=lambda cycle: 30.0 + 0.05 * cycle), ticks_missed=0)
    assert 'MiB' in grown.faults[0]
    counts = counted()
    for cycle in range(100):
        counts.threads[cycle] += cycle // 9
        counts.descriptors[cycle] += cycle
    faults = judge(counts, ticks_missed=3.0).faults
    assert ['ticks' in faults[0], 'threads' in faults[1], 'descriptors' in faults[2]] == [True] * 3
    assert len(faults) == 3


def test_a_thread_at_work_is_not_a_leak() -> None:
    counts = counted()
    counts.threads[60] = counts.descriptors[60] = 9
    counts.threads[-1] = counts.descriptors[-1] = 9
    assert not judge(counts, ticks_missed=0).faults


def test_a_thread_that_starts_late_is_not_a_leak() -> None:
    counts = counted()
    for cycle in range(55, 100):
        counts.threads[cycle] += 1
    assert not judge(counts, ticks_missed=0).faults


def test_too_few_cycles_fail() -> None:
    assert 'too few' in judge(counted(cycles=CYCLES - 1), ticks_missed=0).faults[0]
