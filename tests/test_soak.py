"""The judge of the long runs: what leaks is found, what does not is not accused."""

from __future__ import annotations

import random
import threading
from typing import Callable

import pytest

from benchmarks.soak.machine import CYCLE, Machine
from benchmarks.soak.steadiness import FEWEST_CYCLES, Counts, judge, slope_of
from benchmarks.soak.subjects import Script
from nvitop import Device

CYCLES = 2 * FEWEST_CYCLES
#: How many blocks more or less there are by chance at the end of a cycle, in the long runs.
NOISE = 12.0


def counted(
    blocks: Callable[[int], float] = lambda cycle: 0.0,
    *,
    cycles: int = 100,
    seed: int = 1,
    resident: Callable[[int], float] = lambda cycle: 30.0,
) -> Counts:
    """Counts as a long run has them, with noise."""
    chance = random.Random(seed)
    counts = Counts()
    for cycle in range(cycles):
        counts.blocks.append(100_000 + blocks(cycle) + chance.gauss(0, NOISE))
        counts.resident_mib.append(resident(cycle))
        counts.threads.append(3)
        counts.descriptors.append(8)
    return counts


def test_the_slope_of_a_line_is_its_slope_whatever_sticks_out() -> None:
    values = [3.0 * i for i in range(30)]
    values[7] = values[20] = 9e9
    slope = slope_of(values)
    assert slope.per_step == pytest.approx(3.0)
    assert 2.0 < slope.at_least <= 3.0


@pytest.mark.parametrize('cycles', [40, 200])
def test_noise_is_no_leak(cycles: int) -> None:
    accused = [
        seed
        for seed in range(50)
        if judge(counted(cycles=cycles, seed=seed), ticks_missed=0).faults
    ]
    assert len(accused) <= 1


@pytest.mark.parametrize('seed', range(20))
def test_one_block_in_each_cycle_is_a_leak_however_noisy_the_rest(seed: int) -> None:
    """That is one in a hundred ticks."""
    counts = counted(float, cycles=200, seed=seed)
    assert 'leaks' in judge(counts, ticks_missed=0).faults[0]


@pytest.mark.parametrize('seed', range(20))
def test_one_block_in_each_tick_is_a_leak_in_the_shortest_run(seed: int) -> None:
    counts = counted(lambda cycle: float(CYCLE * cycle), cycles=CYCLES, seed=seed)
    assert 'leaks' in judge(counts, ticks_missed=0).faults[0]


def test_a_cache_that_fills_up_in_the_first_half_is_no_leak() -> None:
    counts = counted(lambda cycle: min(cycle, 45) * 200.0)
    assert not judge(counts, ticks_missed=0).faults


def test_memory_threads_and_files_that_grow_and_late_ticks_are_faults() -> None:
    grown = judge(counted(resident=lambda cycle: 30.0 + 0.05 * cycle), ticks_missed=0)
    assert 'MiB' in grown.faults[0]
    counts = counted()
    counts.threads[-1] = 4
    counts.descriptors[60] = 9
    faults = judge(counts, ticks_missed=3.0).faults
    assert ['ticks' in faults[0], 'threads' in faults[1], 'descriptors' in faults[2]] == [True] * 3
    assert len(faults) == 3


def test_too_few_cycles_are_a_fault() -> None:
    assert 'too few' in judge(counted(cycles=CYCLES - 1), ticks_missed=0).faults[0]


def run(act: Callable[[int], object], *, seconds_late: float = 0.0) -> tuple[Counts, Script]:
    """A small long run: a GPU is asked at each tick, is lost and comes back, and ``act`` is done."""
    counts = Counts()
    with Machine(workers=0) as machine:
        script = Script(machine, CYCLES * CYCLE, counts)
        ticks, due = 0, machine.clock()
        while script.happen():
            act(ticks)
            ticks += 1
            due += 1.0 + seconds_late
            machine.clock.wait(due - machine.clock())
    return counts, script


def test_what_asks_a_gpu_that_is_lost_and_comes_back_does_not_leak() -> None:
    answered: dict[int, bool] = {}
    counts, script = run(
        lambda tick: answered.update({tick % CYCLE: bool(Device(1).memory_used())})
    )
    verdict = judge(counts, ticks_missed=script.missed)
    assert not verdict.faults
    assert len(verdict.lines) == 5
    assert [answered[tick] for tick in (10, 30, 47, 60)] == [True, False, False, True]


@pytest.mark.parametrize('every', [1, CYCLE])
def test_what_keeps_an_object_at_each_tick_or_in_each_cycle_is_found(every: int) -> None:
    kept: list[object] = []
    counts, _ = run(lambda tick: kept.append(object()) if tick % every == 0 else None)
    faults = judge(counts, ticks_missed=0).faults
    assert len(faults) == 1
    assert 'leaks' in faults[0]


def test_what_waits_after_its_work_instead_of_by_the_clock_is_late() -> None:
    _, script = run(lambda tick: None, seconds_late=0.01)
    assert script.missed == pytest.approx(0.01 * CYCLES * CYCLE, abs=2)


def test_threads_are_counted() -> None:
    end = threading.Event()
    started: list[threading.Thread] = []

    def act(tick: int) -> None:
        if tick == (CYCLES - 3) * CYCLE:
            started.append(threading.Thread(target=end.wait))
            started[0].start()

    try:
        counts, _ = run(act)
    finally:
        end.set()
        started[0].join()
    assert any('threads' in fault for fault in judge(counts, ticks_missed=0).faults)
