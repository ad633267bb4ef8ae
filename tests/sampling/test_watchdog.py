from __future__ import annotations

import os
import signal
import threading
from typing import Callable, Iterator

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
            clock=self.clock,
            start_thread=self.start,
            condition=self.clock.condition,
            spare_seconds=0.0,
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
        """Let everything go and wait for the threads."""
        self.let_go.set()
        self._threads.join()


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.join()


def test_steps_run_in_order_in_one_other_thread(bench: Bench) -> None:
    seen: list[tuple[str, int]] = []
    steps = {name: (lambda n=name: seen.append((n, threading.get_ident()))) for name in 'abc'}
    bench.watchdog.run(steps, limit=LIMIT)
    assert [name for name, _ in seen] == ['a', 'b', 'c']
    assert len({ident for _, ident in seen}) == 1
    assert seen[0][1] != threading.get_ident()
    assert len(bench.threads) == 1


def test_rounds_share_a_thread() -> None:
    started = []

    def start(name: str, target: Callable[[], None]) -> None:
        started.append(name)
        threads.start_daemon(name, target)

    dog = Watchdog(start_thread=start, spare_seconds=PATIENCE)
    for _ in range(50):
        outcomes = dog.run({'a': threading.get_ident, 'b': threading.get_ident}, limit=PATIENCE)
        assert outcomes['a'].value == outcomes['b'].value
    assert len(started) == 1


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

    dog = Watchdog(
        clock=bench.clock, start_thread=bench.start, condition=Stopped(), spare_seconds=0.0
    )
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


def test_a_subject_whose_trial_returns_recovers(bench: Bench) -> None:
    bench.run('b')
    bench.clock.now += threads.RETRY_SECONDS
    *_, stuck = bench.threads
    assert bench.run()['b'] == 'timed out'
    for thread in bench.threads[bench.threads.index(stuck) + 1 :]:
        thread.join(PATIENCE)
    assert bench.run() == {'a': 'A', 'b': 'B', 'c': 'C'}


def test_a_subject_whose_hung_call_returns_is_tried_at_once(bench: Bench) -> None:
    bench.run('b')
    bench.join()
    assert bench.watchdog.threads_inside == 0
    assert bench.run()['b'] == 'timed out'
    bench.join()
    assert bench.run()['b'] == 'B'


def test_a_subject_whose_trials_are_late_stays_silent_and_is_tried_again(bench: Bench) -> None:
    bench.run('b')
    bench.join()
    steps = {'b': lambda: bench.clock.turn(LIMIT + 0.1)}
    for _ in range(12):
        before = len(bench.threads)
        assert bench.watchdog.run(steps, limit=LIMIT)['b'].timed_out
        assert len(bench.threads) == before + 1
        bench.join()


def test_a_forgotten_subject_runs_again(bench: Bench) -> None:
    bench.run('b')
    bench.watchdog.forget('b')
    assert bench.run()['b'] == 'B'


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
@pytest.mark.filterwarnings('ignore:.*fork:DeprecationWarning')
def test_a_forked_child_has_no_threads_of_its_parent() -> None:
    dog = Watchdog(spare_seconds=PATIENCE)
    let_go = threading.Event()
    dog.run({'a': os.getpid}, limit=PATIENCE)  # an idle thread stays
    dog.run({'b': lambda: let_go.wait(PATIENCE)}, limit=0.01)  # a thread hangs
    child = os.fork()
    if child == 0:
        signal.alarm(int(PATIENCE))
        outcomes = dog.run({'a': os.getpid, 'b': os.getpid}, limit=PATIENCE)
        is_right = {outcome.value for outcome in outcomes.values()} == {os.getpid()}
        os._exit(0 if is_right and dog.threads_inside == 0 else 1)
    assert os.waitpid(child, 0)[1] == 0
    let_go.set()


def test_an_interrupt_ends_the_round_after_the_current_step(bench: Bench) -> None:
    class Interrupted(threading.Condition):
        def wait(self, timeout: float | None = None) -> bool:
            if threading.current_thread() is threading.main_thread():
                raise KeyboardInterrupt
            return super().wait(timeout)

    dog = Watchdog(
        clock=bench.clock, start_thread=bench.start, condition=Interrupted(), spare_seconds=0.0
    )
    done = []

    def first() -> None:
        bench.let_go.wait(PATIENCE)

    with pytest.raises(KeyboardInterrupt):
        dog.run({'a': first, 'b': lambda: done.append('b')}, limit=LIMIT)
    bench.join()
    assert done == []


def test_an_interrupt_leaves_the_spare_thread_ready_for_the_next_round() -> None:
    class Interrupted(threading.Condition):
        is_armed = False

        def wait(self, timeout: float | None = None) -> bool:
            if self.is_armed and threading.current_thread() is threading.main_thread():
                self.is_armed = False
                raise KeyboardInterrupt
            return super().wait(timeout)

    condition, started = Interrupted(), []

    def start(name: str, target: Callable[[], None]) -> None:
        started.append(name)
        threads.start_daemon(name, target)

    dog = Watchdog(start_thread=start, condition=condition, spare_seconds=PATIENCE)
    steps = {'a': threading.get_ident}
    thread = dog.run(steps, limit=PATIENCE)['a'].value
    with condition:  # the spare thread waits, and is given the next round
        condition.is_armed = True
    with pytest.raises(KeyboardInterrupt):
        dog.run(steps, limit=PATIENCE)
    assert dog.run(steps, limit=PATIENCE)['a'].value == thread
    assert len(started) == 1
