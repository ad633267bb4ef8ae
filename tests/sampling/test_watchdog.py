from __future__ import annotations

import threading
from typing import Iterator

import pytest

from nvitop.sampling import threads
from nvitop.sampling.threads import Watchdog
from tests.clock import Clock
from tests.waiting import PATIENCE, Threads

LIMIT = 2.0


class Bench:
    """A watchdog on a manual clock, and steps that hang until they are let go."""

    def __init__(self) -> None:
        self.clock = Clock()
        self._threads = Threads()
        self.threads, self.start = self._threads.started, self._threads.start
        self.watchdog = Watchdog(
            clock=self.clock, start_thread=self.start, condition=self.clock.condition
        )
        self.let_go = threading.Event()

    def hang(self, seconds: float = LIMIT) -> str:
        """A call that does not return: time passes, then it blocks."""
        self.clock.turn(seconds)
        assert self.let_go.wait(PATIENCE)
        return 'late'

    def run(self, *hanging: str, names: str = 'abc') -> dict[object, str]:
        outcomes = self.watchdog.run(
            {name: (self.hang if name in hanging else name.upper) for name in names}, limit=LIMIT
        )
        return {
            name: 'timed out' if outcome.timed_out else str(outcome.value)
            for name, outcome in outcomes.items()
        }

    def join(self) -> None:
        self.let_go.set()
        self._threads.join()


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.join()


@pytest.mark.parametrize('hanging', ['b', 'c', 'ab'])
def test_the_other_steps_run_when_some_hang(bench: Bench, hanging: str) -> None:
    outcomes = {name: 'timed out' if name in hanging else name.upper() for name in 'abc'}
    assert bench.run(*hanging) == outcomes
    assert bench.watchdog.threads_inside == len(hanging)
    assert bench.run(*hanging) == outcomes  # also while they hang


def test_nothing_times_out_while_the_process_is_suspended(bench: Bench) -> None:
    inside = threading.Event()
    stops = iter([60.0, 60.0])

    class Stopped(threading.Condition):
        """Suspends the process during a wait, like Ctrl-Z and fg."""

        def wait(self, timeout: float | None = None) -> bool:
            seconds = next(stops, None) if inside.is_set() else 0.0
            if not seconds:
                if seconds is None:
                    bench.let_go.set()
                return super().wait(timeout)
            assert timeout is not None
            bench.clock.now += timeout + seconds
            return False

    def step() -> bool:
        inside.set()
        return bench.let_go.wait(PATIENCE)

    dog = Watchdog(clock=bench.clock, start_thread=bench.start, condition=Stopped())
    outcome = dog.run({'a': step}, limit=LIMIT)['a']
    assert outcome.value is True


def test_a_subject_that_hangs_has_a_limited_number_of_trials(bench: Bench) -> None:
    bench.run('b')
    silent_from = bench.clock.now
    trials = []
    for _ in range(40):
        bench.clock.now += 1.0
        before = len(bench.threads)
        bench.watchdog.run({'b': lambda: bench.let_go.wait(PATIENCE)}, limit=LIMIT)
        trials += [bench.clock.now - silent_from] * (len(bench.threads) - before)
    retry = threads.RETRY_SECONDS
    assert trials == [retry, retry + LIMIT + retry]
    assert bench.watchdog.threads_inside == threads.MAX_THREADS_INSIDE == 3


def test_a_subject_whose_trials_are_late_stays_silent_and_is_tried_again(bench: Bench) -> None:
    bench.run('b')
    bench.join()
    steps = {'b': lambda: bench.clock.turn(LIMIT + 0.1)}
    for _ in range(12):
        before = len(bench.threads)
        assert bench.watchdog.run(steps, limit=LIMIT)['b'].timed_out
        assert len(bench.threads) == before + 1
        bench.join()


def test_no_step_begins_after_an_interrupt() -> None:
    class Interrupted(threading.Condition):
        is_armed = True

        def wait(self, timeout: float | None = None) -> bool:
            if self.is_armed:
                self.is_armed = False
                raise KeyboardInterrupt
            return super().wait(timeout)

    dog, begun = Watchdog(condition=Interrupted()), []
    with pytest.raises(KeyboardInterrupt):
        dog.run({'a': lambda: begun.append('a')}, limit=PATIENCE)
    dog.run({'b': lambda: begun.append('b')}, limit=PATIENCE)
    assert begun == ['b']
