# SPDX-License-Identifier: Apache-2.0
"""Runs calls that may never return, in threads that can be abandoned.

The steps of a round run one after another in one daemon thread, so a healthy round costs one thread
switch whatever the number of GPUs. A step that exceeds the limit is abandoned *with its thread*; the
remaining steps continue in new threads. A subject, such as a GPU, is in one of these states::

                       returned in time
              ┌───────────────────────────────────┐
              ▼                                   │
    idle ── run() ──▶ running ────────────────────┤
              ▲          │                        │
              │          │ limit exceeded:        │
              │          │ thread abandoned       │
              │          ▼                        │
          recovered    silent ──────────────▶ on trial
              ▲          ▲    pause is over,      │ │
              │          │    growing from        │ │ returned late,
              │          │    5 s to 60 s         │ │ or not at all
              │          └────────────────────────┘─┘
              └── trial returned in time

A silent subject is not run; it is tried now and then in a thread of its own, at most three at a time,
whose result is dropped. A slow subject can be *detached*: rounds do not wait for it and get its
result in a later round.

The condition guards all state, that of workers and the outcomes of a round included. Threads hold
it between steps, never during a step.
"""

from __future__ import annotations

import collections
import functools
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

from nvitop.api import libnvml

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Hashable, Iterable, Mapping

    S = TypeVar('S', bound=Hashable)
    T = TypeVar('T')

#: Time limit (seconds) for the start of the driver …
START_SECONDS = 10.0
#: … and for finding out which devices CUDA sees, which may start CUDA.
VISIBLE_SECONDS = 30.0
#: A call that takes longer than this (seconds), and than the interval, has timed out.
SHORTEST_LIMIT_SECONDS = 2.0
#: First and longest pause (seconds) between trials of a silent subject.
FIRST_RETRY_SECONDS = 5.0
LAST_RETRY_SECONDS = 60.0
#: Time (seconds) for which an idle thread waits for the next round. Starting a thread takes a
#: millisecond, a quarter of the time of a round of eight GPUs.
SPARE_SECONDS = 5.0
#: Number of waits into which the limit is split, to notice when this process was suspended.
_WAITS = 10
#: Maximum number of threads of one subject inside calls that do not return.
MAX_THREADS_INSIDE = 3


def time_limit(interval: float) -> float:
    """Return the time limit (seconds) of calls that are made at this interval."""
    return max(SHORTEST_LIMIT_SECONDS, interval)


def silence(seconds: float) -> str:
    """Return for how long there has been no response, for people."""
    return f'no response for {seconds:.0f} s'


def start_daemon(name: str, target: Callable[[], None]) -> None:
    """Start a daemon thread, which ends with the process wherever it is."""
    threading.Thread(target=target, name=name, daemon=True).start()


class StepOutcome:
    """Outcome of a step: a value, an error, silence, or nothing yet."""

    __slots__ = ('error', 'seconds', 'silent_seconds', 'value')

    def __init__(
        self,
        value: Any = None,
        error: Exception | None = None,
        *,
        seconds: float = 0.0,
        silent_seconds: float = 0.0,
    ) -> None:
        #: Return value of the step, ``None`` if it raised or did not return.
        self.value = value
        #: Exception raised by the step.
        self.error = error
        #: How long the step took.
        self.seconds = seconds
        #: For how long the subject has not responded, 0.0 if it responded.
        self.silent_seconds = silent_seconds

    @property
    def timed_out(self) -> bool:
        """Whether the subject does not respond."""
        return self.silent_seconds > 0.0


class _Silence:
    """A subject that did not respond in time."""

    def __init__(self, since: float, retry_at: float) -> None:
        self.since = since
        self.retry_at = retry_at
        self.pause = FIRST_RETRY_SECONDS
        #: Number of abandoned threads and trials inside a step of this subject.
        self.inside = 1
        self.has_recovered = False


class _Worker:
    """A thread of a round: its remaining steps and its current one."""

    def __init__(
        self, steps: Iterable[tuple[Any, Callable[[], Any]]], outcomes: dict[Any, StepOutcome]
    ) -> None:
        self.steps = collections.deque(steps)
        #: Where it puts its outcomes.
        self.outcomes = outcomes
        #: The step it is inside, and since when.
        self.step: tuple[Any, Callable[[], Any]] | None = None
        self.since = 0.0
        self.is_done = False
        #: Set when it was abandoned: its outcome is dropped.
        self.silence: _Silence | None = None


class Watchdog:
    """Runs steps that may hang, see the module.

    Used by one caller at a time. ``clock``, ``start_thread``, ``condition`` and ``spare_seconds`` are
    for tests; a manual clock must notify the condition.
    """

    def __init__(
        self,
        name: str = 'nvitop-watchdog',
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
        #: Whether an idle thread waits for work, and the work it is given.
        self._has_spare = False
        self._given: Callable[[], bool] | None = None
        self._silent: dict[Hashable, _Silence] = {}
        #: Workers of detached subjects.
        self._detached: dict[Hashable, _Worker] = {}
        self._inside = 0

    @property
    def threads_inside(self) -> int:
        """Number of threads inside a step now; the process must not wait for them when it exits."""
        with self._condition:
            return self._inside

    def forget(self, subject: Hashable) -> None:
        """Forget that a subject was silent or slow."""
        with self._condition:
            self._silent.pop(subject, None)
            self._detached.pop(subject, None)

    def run(
        self,
        steps: Mapping[S, Callable[[], T]],
        *,
        limit: float,
        detached: Container[S] = (),
        while_waiting: Callable[[], None] | None = None,
    ) -> dict[S, StepOutcome]:
        """Run the steps in order, waiting at most ``limit`` seconds for each.

        Returns an outcome for every subject. The step of a silent subject is not run, except for
        trials, whose result is dropped; so a step must not share state with a step of an earlier
        round in which its subject was silent. Subjects in ``detached`` are not waited for: their
        outcome is that of an earlier step, or has neither value nor error yet.

        Args:
            steps: A function for each subject.
            limit: Time limit in seconds.
            detached: Subjects that run in threads of their own, one step at a time.
            while_waiting: Called every now and then, first after a tenth of the limit.
        """
        with self._condition:
            outcomes: dict[S, StepOutcome] = {}
            workers = self._begin(steps, outcomes, limit, detached)
            try:
                while workers:
                    self._wait(workers, limit)
                    workers = self._abandon_late(workers, limit)
                    if workers and while_waiting is not None:
                        while_waiting()
            finally:
                for worker in workers:  # after Ctrl-C: they end with their current step
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
        outcomes: dict[S, StepOutcome],
        limit: float,
        detached: Container[S],
    ) -> list[_Worker]:
        """Start a round; return the workers to wait for."""
        todo: list[tuple[S, Callable[[], T]]] = []
        workers: list[_Worker] = []
        for subject, step in steps.items():
            worker = self._detached.pop(subject, None)
            if worker is not None and worker.is_done:
                outcomes.update(worker.outcomes)
            elif worker is not None:
                if subject in detached and self._clock() - worker.since < limit:
                    self._detached[subject] = worker
                else:  # it is needed now, or its time is up
                    outcomes.update(worker.outcomes)
                    worker.outcomes = outcomes
                    workers.append(worker)
                continue
            if self._is_silent(subject, step, limit):
                continue
            if subject in detached:
                self._detached[subject] = _Worker([(subject, step)], {})
                self._start(self._detached[subject])
            else:
                todo.append((subject, step))
        if todo:
            workers.append(_Worker(todo, outcomes))
            self._start(workers[-1])
        return workers

    def _wait(self, workers: list[_Worker], limit: float) -> None:
        """Wait until something happens, or for a while.

        A wait that took much longer than asked does not count: this process itself was suspended
        (Ctrl-Z, a paused machine) or got no CPU time.
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

    def _abandon_late(self, workers: list[_Worker], limit: float) -> list[_Worker]:
        """Abandon workers that exceed the limit; return the workers still to wait for."""
        now = self._clock()
        late = [w for w in workers if w.step is not None and now - w.since >= limit]
        for worker in late:
            workers.remove(worker)
            # Devices often hang together: run the others in parallel from now on.
            others = [_Worker([step], worker.outcomes) for step in self._abandon(worker)]
            for other in others:
                self._start(other)
            workers += others
        return [worker for worker in workers if not worker.is_done]

    def _start(self, worker: _Worker) -> None:
        worker.since = self._clock()
        work = functools.partial(self._work, worker)
        if self._has_spare:
            self._has_spare = False
            self._given = work
            self._condition.notify_all()
            return
        try:
            self._start_thread(self._name, functools.partial(self._serve, work))
        except RuntimeError:  # no more threads: run it here, without protection
            work()
            self._has_spare = False

    def _serve(self, work: Callable[[], bool]) -> None:
        """Do the work, then wait for more."""
        while work():
            with self._condition:
                if not self._condition.wait_for(lambda: self._given, self._spare_seconds):
                    self._has_spare = False
                    return
                assert self._given is not None
                work, self._given = self._given, None

    def _work(self, worker: _Worker) -> bool:
        """Run the steps of a worker; return whether this thread may do more."""
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
                worker.since = started = self._clock()
                self._inside += 1
            outcome = _attempt(step)
            with self._condition:
                self._inside -= 1
                if worker.silence is not None:
                    worker.silence.inside -= 1
                    worker.silence.retry_at = self._clock()
                    return False
                outcome.seconds = self._clock() - started
                worker.outcomes[subject] = outcome

    def _abandon(self, worker: _Worker) -> list[tuple[Any, Callable[[], Any]]]:
        """Abandon a worker; return its remaining steps."""
        assert worker.step is not None
        now = self._clock()
        worker.silence = _Silence(worker.since, now + FIRST_RETRY_SECONDS)
        self._silent[worker.step[0]] = worker.silence
        others = list(worker.steps)
        worker.steps.clear()
        return others

    def _is_silent(self, subject: Hashable, step: Callable[[], T], limit: float) -> bool:
        """Return whether a subject is silent; start a trial if one is due."""
        silence = self._silent.get(subject)
        if silence is None:
            return False
        if silence.has_recovered:
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
            except RuntimeError:  # no more threads: try again later
                silence.inside -= 1
                self._inside -= 1
        return True

    def _try(self, silence: _Silence, step: Callable[[], T], limit: float) -> None:
        """Find out whether a silent subject responds again."""
        started = self._clock()
        _attempt(step)
        with self._condition:
            self._inside -= 1
            silence.inside -= 1
            silence.has_recovered = self._clock() - started <= limit


def _attempt(step: Callable[[], T]) -> StepOutcome:
    try:
        return StepOutcome(value=step())
    except Exception as error:
        return StepOutcome(error=error)


def call_with_limit(
    function: Callable[[], T],
    limit: float | None = None,
    *,
    while_waiting: Callable[[], None] | None = None,
) -> T:
    """Call a function that makes the first driver calls; return its result or raise its error.

    Args:
        function: The function.
        limit: Time limit in seconds, :data:`START_SECONDS` by default.
        while_waiting: Called every now and then, first after a tenth of the limit.

    Raises:
        TimeoutError: The driver does not respond in time; the message says what to do.
    """
    seconds = START_SECONDS if limit is None else limit
    watchdog, steps = Watchdog('nvitop-start'), {'driver': function}
    outcome = watchdog.run(steps, limit=seconds, while_waiting=while_waiting)['driver']
    if outcome.timed_out:
        raise TimeoutError(libnvml.explain_silence(seconds))
    if outcome.error is not None:
        raise outcome.error
    value: T = outcome.value
    return value
