# SPDX-License-Identifier: Apache-2.0
"""Calls that may never return, made where they can be left behind.

Steps run one after another in one daemon thread, so a healthy round costs one hop whatever the
number of GPUs. A step that takes too long is left behind *with its thread*; the others go on in
new ones, and the subject is tried again on the side, with back-off, until it answers in time.
A subject that is known to be slow can be asked beside the round, which does not wait for it.
"""

from __future__ import annotations

import collections
import functools
import threading
import time
from typing import Any, Callable, Container, Generic, Hashable, Iterable, Mapping, TypeVar, cast

from nvitop.api import libnvml

S = TypeVar('S', bound=Hashable)
T = TypeVar('T')

#: How long the driver may take to start before it is said that it does not answer, …
START_SECONDS = 10.0
#: … and to tell what CUDA programs see, for which CUDA itself may have to be asked.
VISIBLE_SECONDS = 30.0
#: First and longest pause before a subject that timed out is tried again, in seconds.
FIRST_RETRY_SECONDS = 5.0
LAST_RETRY_SECONDS = 60.0
#: How long a thread that has nothing to do waits for the next round. A new one costs a
#: millisecond, a quarter of what a round of eight GPUs does.
SPARE_SECONDS = 5.0
#: In so many waits a round waits for a step: how long each of them takes tells whether this process ran.
_WAITS = 10
#: How many threads one subject may keep inside calls that do not return.
MAX_THREADS_INSIDE = 3


def start_daemon(name: str, target: Callable[[], None]) -> None:
    """Start a daemon thread: it ends with the process, wherever it is."""
    threading.Thread(target=target, name=name, daemon=True).start()


class StepOutcome(Generic[T]):
    """What became of a step: a value, an error, silence, or nothing yet."""

    __slots__ = ('error', 'silent_seconds', 'value')

    def __init__(
        self, value: T | None = None, error: Exception | None = None, silent_seconds: float = 0.0
    ) -> None:
        #: What the step returned, ``None`` after an error and in silence.
        self.value = value
        #: What it raised.
        self.error = error
        #: For how long the subject has not answered, 0.0 where it did.
        self.silent_seconds = silent_seconds

    @property
    def timed_out(self) -> bool:
        """Whether the subject does not answer."""
        return self.silent_seconds > 0.0


class _Worker(Generic[S, T]):
    """A thread of a round: what it still has to do, and what it is inside."""

    def __init__(
        self, steps: Iterable[tuple[S, Callable[[], T]]], outcomes: dict[S, StepOutcome[T]]
    ) -> None:
        self.steps = collections.deque(steps)
        #: Where it puts what it brings back.
        self.outcomes = outcomes
        #: The step it is inside, and since when.
        self.step: tuple[S, Callable[[], T]] | None = None
        self.since = 0.0
        self.is_done = False
        #: Set when it was left behind: whatever it brings back is not used any more.
        self.silence: _Silence | None = None


class _Silence:
    """A subject that did not answer in time."""

    def __init__(self, since: float, retry_at: float) -> None:
        self.since = since
        self.retry_at = retry_at
        self.pause = FIRST_RETRY_SECONDS
        #: Threads left behind inside a step of this subject.
        self.inside = 1
        #: Whether a trial was answered in time: the next round includes the subject again.
        self.healed = False


class Watchdog:
    """Runs steps that may hang; see the module.

    One caller at a time. ``clock``, ``start_thread``, ``condition`` and ``spare_seconds`` are there
    for tests: a clock that is turned by hand has to notify the condition.
    """

    def __init__(
        self,
        name: str = 'nvitop-lane',
        *,
        clock: Callable[[], float] = time.monotonic,
        start_thread: Callable[[str, Callable[[], None]], None] = start_daemon,
        condition: threading.Condition | None = None,
        spare_seconds: float = SPARE_SECONDS,
    ) -> None:
        self._name = name
        self._clock = clock
        self._start_thread = start_thread
        self._condition = condition or threading.Condition()
        self._spare_seconds = spare_seconds
        #: Whether a thread waits for work, and what it is given.
        self._has_spare = False
        self._given: Callable[[], bool] | None = None
        self._silent: dict[Hashable, _Silence] = {}
        #: Those that ask a slow subject beside the rounds.
        self._beside: dict[Hashable, _Worker[Any, Any]] = {}
        self._inside = 0

    @property
    def threads_inside(self) -> int:
        """How many threads are inside a step now; leaving the process must not wait for them."""
        with self._condition:
            return self._inside

    def forget(self, subject: Hashable) -> None:
        """Do not hold its silence against a subject any longer."""
        with self._condition:
            self._silent.pop(subject, None)
            self._beside.pop(subject, None)

    def run(
        self,
        steps: Mapping[S, Callable[[], T]],
        *,
        limit: float,
        beside: Container[S] = (),
        while_waiting: Callable[[], None] | None = None,
    ) -> dict[S, StepOutcome[T]]:
        """Run the steps in order; each is waited for ``limit`` seconds.

        ``while_waiting`` is called now and then, first after a tenth of that time.

        Returns an outcome for every subject. The step of a subject that is silent already is not
        run, but for a trial now and then, whose result is not used. So a step must share no state
        with a step that an earlier round was given for a subject that was silent then.

        The subjects in ``beside`` are asked in threads of their own, and nobody waits for them: what
        they answer is an outcome of a later round, and until then ``None``. While one of them is
        inside a step, no other step of it is run.
        """
        with self._condition:
            outcomes: dict[S, StepOutcome[T]] = {}
            workers = self._begin(steps, outcomes, limit, beside)
            try:
                while workers:
                    self._wait(workers, limit)
                    workers = self._look_after(workers, limit)
                    if workers and while_waiting is not None:
                        while_waiting()
            finally:
                for worker in workers:  # after Ctrl-C: they end with their present step
                    worker.steps.clear()
            now = self._clock()
            for subject in steps:
                if subject not in outcomes:
                    silence = self._silent.get(subject)
                    silent = 0.0 if silence is None else max(now - silence.since, 1e-9)
                    outcomes[subject] = StepOutcome(silent_seconds=silent)
            return outcomes

    def _begin(
        self,
        steps: Mapping[S, Callable[[], T]],
        outcomes: dict[S, StepOutcome[T]],
        limit: float,
        beside: Container[S],
    ) -> list[_Worker[S, T]]:
        """Start a round; returns the workers to wait for."""
        todo: list[tuple[S, Callable[[], T]]] = []
        workers: list[_Worker[S, T]] = []
        for subject, step in steps.items():
            worker = self._beside.pop(subject, None)
            if worker is not None and worker.is_done:
                outcomes.update(worker.outcomes)
            elif worker is not None:
                if subject in beside and self._clock() - worker.since < limit:
                    self._beside[subject] = worker
                else:  # it is wanted now, or has had its time
                    outcomes.update(worker.outcomes)
                    worker.outcomes = outcomes
                    workers.append(worker)
                continue
            if self._is_silent(subject, step, limit):
                continue
            if subject in beside:
                self._beside[subject] = _Worker([(subject, step)], {})
                self._start(self._beside[subject])
            else:
                todo.append((subject, step))
        if todo:
            workers.append(_Worker(todo, outcomes))
            self._start(workers[-1])
        return workers

    def _wait(self, workers: list[_Worker[S, T]], limit: float) -> None:
        """Wait until something happens, or for a while.

        While this process itself stands still (Ctrl-Z, a machine that is paused or has no time
        for it), nobody is silent: a wait that was much too long does not count.
        """
        if any(worker.is_done for worker in workers):
            return
        began = self._clock()
        remaining = min(w.since for w in workers) + limit - began
        seconds = max(0.01, min(remaining, limit / _WAITS))
        if self._condition.wait(seconds):
            return
        too_long = self._clock() - began - seconds
        if too_long > seconds:
            for worker in workers:
                worker.since += too_long

    def _look_after(self, workers: list[_Worker[S, T]], limit: float) -> list[_Worker[S, T]]:
        """Leave behind who takes too long; returns the workers still to wait for."""
        now = self._clock()
        left = [w for w in workers if w.step is not None and now - w.since >= limit]
        for worker in left:
            workers.remove(worker)
            # One that hangs seldom comes alone: the others shall not wait for one another.
            others = [_Worker([step], worker.outcomes) for step in self._leave_behind(worker)]
            for other in others:
                self._start(other)
            workers += others
        return [worker for worker in workers if not worker.is_done]

    def _start(self, worker: _Worker[S, T]) -> None:
        worker.since = self._clock()
        work = functools.partial(self._work, worker)
        if self._has_spare:
            self._has_spare = False
            self._given = work
            self._condition.notify_all()
            return
        try:
            self._start_thread(self._name, functools.partial(self._serve, work))
        except RuntimeError:  # the system has no more: better without than not at all
            work()
            self._has_spare = False

    def _serve(self, work: Callable[[], bool]) -> None:
        """Do the work, and wait for more."""
        while work():
            with self._condition:
                if not self._condition.wait_for(lambda: self._given, self._spare_seconds):
                    self._has_spare = False
                    return
                assert self._given is not None
                work, self._given = self._given, None

    def _work(self, worker: _Worker[S, T]) -> bool:
        """Run the steps of a worker; whether this thread may do more."""
        while True:
            with self._condition:
                worker.step = None
                if not worker.steps:
                    worker.is_done = True
                    self._condition.notify_all()
                    if self._has_spare or self._given is not None:
                        return False
                    self._has_spare = True
                    return True
                subject, step = worker.step = worker.steps.popleft()
                worker.since = self._clock()
                self._inside += 1
            outcome = _attempt(step)
            with self._condition:
                self._inside -= 1
                if worker.silence is not None:
                    worker.silence.inside -= 1
                    worker.silence.retry_at = self._clock()
                    return False
                worker.outcomes[subject] = outcome

    def _leave_behind(self, worker: _Worker[S, T]) -> list[tuple[S, Callable[[], T]]]:
        """Give a worker up; returns the steps it did not come to."""
        assert worker.step is not None
        now = self._clock()
        worker.silence = _Silence(worker.since, now + FIRST_RETRY_SECONDS)
        self._silent[worker.step[0]] = worker.silence
        others = list(worker.steps)
        worker.steps.clear()
        return others

    def _is_silent(self, subject: Hashable, step: Callable[[], T], limit: float) -> bool:
        silence = self._silent.get(subject)
        if silence is None:
            return False
        if silence.healed:
            del self._silent[subject]
            return False
        now = self._clock()
        if now >= silence.retry_at and silence.inside < MAX_THREADS_INSIDE:
            silence.inside += 1
            self._inside += 1
            silence.retry_at = now + silence.pause
            silence.pause = min(2 * silence.pause, LAST_RETRY_SECONDS)
            try:
                self._start_thread(f'{self._name}-trial', lambda: self._try(silence, step, limit))
            except RuntimeError:  # some other time
                silence.inside -= 1
                self._inside -= 1
        return True

    def _try(self, silence: _Silence, step: Callable[[], T], limit: float) -> None:
        """Find out, in a thread of its own, whether a silent subject answers again."""
        started = self._clock()
        _attempt(step)
        with self._condition:
            self._inside -= 1
            silence.inside -= 1
            silence.healed = self._clock() - started <= limit


def _attempt(step: Callable[[], T]) -> StepOutcome[T]:
    try:
        return StepOutcome(value=step())
    except Exception as error:
        return StepOutcome(error=error)


def ask_at_start(
    question: Callable[[], T],
    limit: float | None = None,
    *,
    while_waiting: Callable[[], None] | None = None,
) -> T:
    """The answer to a question that leads to the first calls of the driver, or what it raises.

    ``while_waiting`` is called now and then, first after a tenth of the limit.

    Raises:
        TimeoutError: There is none within :data:`START_SECONDS`, or within the ``limit`` in
            seconds; the text tells the user what to do.
    """
    seconds = START_SECONDS if limit is None else limit
    lane, steps = Watchdog('nvitop-start'), {'driver': question}
    outcome = lane.run(steps, limit=seconds, while_waiting=while_waiting)['driver']
    if outcome.timed_out:
        raise TimeoutError(libnvml.explain_silence(seconds))
    if outcome.error is not None:
        raise outcome.error
    return cast(T, outcome.value)
