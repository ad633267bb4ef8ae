"""Short soak runs in a separate process, where other tests do not affect the counts.

``python -m tests.short_soak_runs`` prints the results of all runs as JSON.
"""

from __future__ import annotations

import json
import threading
from typing import Callable, NamedTuple, Sequence

from benchmarks.soak import CYCLE, FEWEST_CYCLES, Counts, Machine, Script, judge
from nvitop import Device

#: Minimum number of cycles.
CYCLES = 2 * FEWEST_CYCLES
#: Delay (seconds) per tick of a loop that drifts.
LATE = 0.01


class SmallRun(NamedTuple):
    #: Failed checks of the counts.
    faults: Sequence[str]
    ticks_missed: float
    #: Whether the GPU responded at each tick of the last cycle.
    responded: Sequence[bool]


def run(
    act: Callable[[int], object], *, cycles: int = CYCLES, seconds_late: float = 0.0
) -> SmallRun:
    """Call ``act`` at each tick while a GPU is lost and returns."""
    counts, responded = Counts(), [False] * CYCLE
    with Machine(workers=0) as machine:
        script = Script(machine, cycles * CYCLE, counts)
        ticks, due = 0, machine.clock()
        while script.happen():
            responded[ticks % CYCLE] = bool(act(ticks))
            ticks += 1
            due += 1.0 + seconds_late
            machine.clock.wait(due - machine.clock())
    return SmallRun(judge(counts, ticks_missed=0).faults, script.missed, responded)


def keep(every: int) -> SmallRun:
    kept: list[object] = []
    return run(lambda tick: kept.append(object()) if tick % every == 0 else None)


def start_a_thread() -> SmallRun:
    """Start a thread near the end that stays alive."""
    end = threading.Event()

    def act(tick: int) -> None:
        if tick == (CYCLES - 3) * CYCLE:
            threading.Thread(target=end.wait).start()

    try:
        return run(act)
    finally:
        end.set()


RUNS: dict[str, Callable[[], SmallRun]] = {
    # Until Python 3.10, the 1024th call of a function allocates a cache for its global names. Twice
    # the cycles keep most of these calls out of the second half, which is checked.
    'query a GPU': lambda: run(lambda tick: Device(1).memory_used(), cycles=2 * CYCLES),
    'keep an object at each tick': lambda: keep(1),
    'keep an object in each cycle': lambda: keep(CYCLE),
    'drift': lambda: run(lambda tick: None, seconds_late=LATE),
    'start a thread': start_a_thread,
}


if __name__ == '__main__':
    print(json.dumps({name: once() for name, once in RUNS.items()}))
