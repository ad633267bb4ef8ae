"""The checks of the long runs find leaks and accept steady programs."""

from __future__ import annotations

import random
from array import array

import pytest

from tests.soak import FEWEST_CYCLES, Counts, faults_of


def counted(cycles: int = 200, *, seed: int = 1) -> Counts:
    """Return counts of a long run without a leak, with the noise of real ones."""
    chance = random.Random(seed)
    blocks = array('d', [100_000 + chance.gauss(0, 12) for _ in range(cycles)])
    return Counts(blocks, *(array('d', [count] * cycles) for count in (30, 3, 8)))


@pytest.mark.parametrize('seed', range(20))
def test_leak_of_one_block_per_cycle_is_found_and_noise_is_none(seed: int) -> None:
    counts = counted(seed=seed)
    counts.blocks[7] = counts.blocks[180] = 9e9
    counts.threads[60] = counts.descriptors[-1] = 9
    for cycle in range(155, 200):  # a thread that starts late
        counts.threads[cycle] += 1
    for cycle in range(90):  # a cache that fills
        counts.blocks[cycle] -= 200 * (90 - cycle)
    assert faults_of(counts, ticks_missed=0) == []
    for cycle in range(200):
        counts.blocks[cycle] += cycle
    (fault,) = faults_of(counts, ticks_missed=0)
    assert 'leaks' in fault


def test_growth_of_memory_threads_and_files_and_late_ticks_fail() -> None:
    counts = counted()
    for cycle in range(200):
        counts.resident_mib[cycle] += 0.05 * cycle
        counts.threads[cycle] += cycle // 9
        counts.descriptors[cycle] += cycle
    faults = faults_of(counts, ticks_missed=3.0)
    words = ('MiB', 'ticks', 'threads', 'descriptors')
    assert [word in fault for word, fault in zip(words, faults)] == [True] * 4
    (few,) = faults_of(counted(FEWEST_CYCLES - 1), ticks_missed=0)
    assert 'too few' in few
