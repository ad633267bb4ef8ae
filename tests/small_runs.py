"""Small long runs, in a process that does nothing else: blocks of memory and threads are counted there,
which in the process of the tests other tests would move.

``python -m tests.small_runs`` writes, as one object of JSON, what was counted in each run.
"""

from __future__ import annotations

import json
import threading
from typing import Callable, NamedTuple

from benchmarks.soak.machine import CYCLE, Machine
from benchmarks.soak.steadiness import FEWEST_CYCLES, Counts
from benchmarks.soak.subjects import Script
from nvitop import Device

#: No fewer can be judged.
CYCLES = 2 * FEWEST_CYCLES
#: Seconds by which one that waits after its work is later at each tick.
LATE = 0.01


class SmallRun(NamedTuple):
    """What came of a run."""

    counts: Counts
    ticks_missed: float
    #: Tick of a cycle → whether the GPU answered then.
    answered: dict[int, bool]

    def to_json(self) -> list[object]:
        """For another process."""
        counts = {name: list(values) for name, values in vars(self.counts).items()}
        return [counts, self.ticks_missed, list(self.answered.items())]

    @staticmethod
    def from_json(counts: dict[str, list[float]], missed: float, answered: object) -> SmallRun:
        """What another process wrote."""
        taken = Counts()
        for name, values in counts.items():
            getattr(taken, name).extend(values)
        assert isinstance(answered, list)
        return SmallRun(taken, missed, dict(answered))


def run(
    act: Callable[[int], object], *, cycles: int = CYCLES, seconds_late: float = 0.0
) -> tuple[Counts, float]:
    """A GPU is lost and comes back, and at each tick ``act`` is done; what was counted and missed."""
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


def ask_a_gpu() -> SmallRun:
    """It is lost and comes back, and is asked at each tick."""
    answered = dict.fromkeys(range(CYCLE), False)

    def ask(tick: int) -> None:
        answered[tick % CYCLE] = bool(Device(1).memory_used())

    # Until Python 3.10 the 1024th call of a function allocates a cache of what its names mean: the
    # half that is judged must not be the one in which most functions are called so often.
    return SmallRun(*run(ask, cycles=2 * CYCLES), answered)


def keep(every: int) -> SmallRun:
    """Keep an object every so many ticks."""
    kept: list[object] = []
    return SmallRun(*run(lambda tick: kept.append(object()) if tick % every == 0 else None), {})


def come_late() -> SmallRun:
    """Wait after the work instead of by the clock."""
    return SmallRun(*run(lambda tick: None, seconds_late=LATE), {})


def start_a_thread() -> SmallRun:
    """Towards the end, one that stays."""
    end = threading.Event()

    def act(tick: int) -> None:
        if tick == (CYCLES - 3) * CYCLE:
            threading.Thread(target=end.wait).start()

    try:
        return SmallRun(*run(act), {})
    finally:
        end.set()


RUNS: dict[str, Callable[[], SmallRun]] = {
    'ask a GPU': ask_a_gpu,
    'keep an object at each tick': lambda: keep(1),
    'keep an object in each cycle': lambda: keep(CYCLE),
    'come late': come_late,
    'start a thread': start_a_thread,
}


if __name__ == '__main__':
    print(json.dumps({name: once().to_json() for name, once in RUNS.items()}))
