"""Short soak runs in a separate process, where other tests do not affect the counts.

``python -m tests.small_runs`` prints the counts of all runs as JSON.
"""

from __future__ import annotations

import json
import threading
from typing import Callable, NamedTuple

from benchmarks.soak.machine import CYCLE, Machine
from benchmarks.soak.steadiness import FEWEST_CYCLES, Counts
from benchmarks.soak.subjects import Script
from nvitop import Device

#: Minimum number of cycles.
CYCLES = 2 * FEWEST_CYCLES
#: Delay (seconds) per tick of a loop that drifts.
LATE = 0.01


class SmallRun(NamedTuple):
    counts: Counts
    ticks_missed: float
    #: Tick of a cycle → whether the GPU responded.
    responded: dict[int, bool]

    def to_json(self) -> list[object]:
        counts = {name: list(values) for name, values in vars(self.counts).items()}
        return [counts, self.ticks_missed, list(self.responded.items())]

    @staticmethod
    def from_json(counts: dict[str, list[float]], missed: float, responded: object) -> SmallRun:
        taken = Counts()
        for name, values in counts.items():
            getattr(taken, name).extend(values)
        assert isinstance(responded, list)
        return SmallRun(taken, missed, dict(responded))


def run(
    act: Callable[[int], object], *, cycles: int = CYCLES, seconds_late: float = 0.0
) -> tuple[Counts, float]:
    """Call ``act`` at each tick while a GPU is lost and returns. Returns counts and missed ticks."""
    counts = Counts()
    with Machine(workers=0) as machine:
        script = Script(machine, cycles * CYCLE, counts)
        ticks, due = 0, machine.clock()
        while script.happen():
            act(ticks)
            ticks += 1
            due += 1.0 + seconds_late
            machine.clock.wait(due - machine.clock())
    return counts, script.missed


def query_gpu() -> SmallRun:
    responded = dict.fromkeys(range(CYCLE), False)

    def query(tick: int) -> None:
        responded[tick % CYCLE] = bool(Device(1).memory_used())

    # Until Python 3.10, the 1024th call of a function allocates a cache for its global names. Twice
    # the cycles keep most of these calls out of the second half, which is checked.
    return SmallRun(*run(query, cycles=2 * CYCLES), responded)


def keep(every: int) -> SmallRun:
    kept: list[object] = []
    return SmallRun(*run(lambda tick: kept.append(object()) if tick % every == 0 else None), {})


def drift() -> SmallRun:
    """Wait for a fixed time after each tick."""
    return SmallRun(*run(lambda tick: None, seconds_late=LATE), {})


def start_a_thread() -> SmallRun:
    end = threading.Event()

    def act(tick: int) -> None:
        if tick == (CYCLES - 3) * CYCLE:
            threading.Thread(target=end.wait).start()

    try:
        return SmallRun(*run(act), {})
    finally:
        end.set()


RUNS: dict[str, Callable[[], SmallRun]] = {
    'query a GPU': query_gpu,
    'keep an object at each tick': lambda: keep(1),
    'keep an object in each cycle': lambda: keep(CYCLE),
    'drift': drift,
    'start a thread': start_a_thread,
}


if __name__ == '__main__':
    print(json.dumps({name: once().to_json() for name, once in RUNS.items()}))
