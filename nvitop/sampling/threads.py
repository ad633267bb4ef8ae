# SPDX-License-Identifier: Apache-2.0
"""The thread that takes samples, and those that run calls which may never return.

The steps of a round run one after another in one daemon thread, so a healthy round costs one thread
whatever the number of GPUs. A step that exceeds the limit is abandoned *with its thread*, and
the remaining steps of the round get a thread each.

The subject of an abandoned step, such as a GPU, is *silent*: it is not run, but tried in a thread of
its own when the last call has returned or has hung for a while, at most three at a time, until one
returns in time. A slow subject can be *detached*: it has a thread of its own, and rounds get its
result when there is one.

The condition guards all state. Threads hold it between steps, never during a step.
"""

from __future__ import annotations

import collections
import contextlib
import math
import threading
import time
from typing import Any, Callable, Container, Hashable, Mapping, NamedTuple, TypeVar

from nvitop.api import libnvml
from nvitop.basics.units import format_duration
from nvitop.platforms import stuck_calls
from nvitop.platforms.kernel import renew_in_child
from nvitop.sampling.types import EMPTY_SAMPLE, Demand, EventSource, Problem, Sample, Source

S = TypeVar('S', bound=Hashable)
T = TypeVar('T')

#: Time limit (seconds) for the start of the driver …
START_SECONDS = 10.0
#: … and for finding out which devices CUDA sees, which may start CUDA.
VISIBLE_SECONDS = 30.0
#: A call that takes longer than this (seconds), and than the interval, has timed out.
SHORTEST_LIMIT_SECONDS = 2.0
#: Pause (seconds) until a silent subject is tried while earlier calls have not returned.
RETRY_SECONDS = 5.0
#: Number of waits into which the limit is split, to notice when this process was suspended.
_WAITS = 10
#: Maximum number of threads of one subject inside calls that do not return.
MAX_THREADS_INSIDE = 3


def time_limit(interval: float) -> float:
    """Return the time limit (seconds) of calls that are made at this interval."""
    return max(SHORTEST_LIMIT_SECONDS, interval)


def silence(seconds: float) -> str:
    """Return for how long there has been no response, for people."""
    return f'no response for {format_duration(round(seconds))}'


def start_daemon(name: str, target: Callable[[], None]) -> None:
    """Start a daemon thread, which ends with the process wherever it is."""
    threading.Thread(target=target, name=name, daemon=True).start()


class StepOutcome(NamedTuple):
    """Outcome of a step: a value, an error, silence, or nothing yet."""

    #: Return value of the step, ``None`` if it raised or did not return.
    value: Any = None
    #: Exception raised by the step.
    error: Exception | None = None
    #: How long the step took.
    seconds: float = 0.0
    #: For how long the subject has not responded, 0.0 if it responded.
    silent_seconds: float = 0.0

    @property
    def timed_out(self) -> bool:
        return self.silent_seconds > 0.0


class _Call:
    """A step of a subject, and what became of it."""

    def __init__(self, subject: Any, step: Callable[[], Any]) -> None:
        self.subject = subject
        self.step = step
        #: When it began, infinite before.
        self.since = math.inf
        self.outcome: StepOutcome | None = None


class Watchdog:
    """Runs steps that may hang, see the module.

    Used by one caller at a time. ``clock``, ``start_thread`` and ``condition`` are for tests; a manual
    clock must notify the condition.
    """

    def __init__(
        self,
        name: str = 'nvitop-watchdog',
        *,
        clock: Callable[[], float] = time.monotonic,
        start_thread: Callable[[str, Callable[[], None]], None] = start_daemon,
        condition: threading.Condition | None = None,
    ) -> None:
        self._name = name
        self._clock = clock
        self._start_thread = start_thread
        self._condition = condition or threading.Condition()
        #: For each silent subject the call that was late, and the trials that have not returned.
        self._silent: dict[Hashable, list[_Call]] = {}
        #: Calls of detached subjects, running or returned.
        self._detached: dict[Hashable, _Call] = {}
        self._inside = 0
        renew_in_child(
            self, _condition=threading.Condition, _silent=dict, _detached=dict, _inside=int
        )

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
            shared: collections.deque[_Call] = collections.deque()
            calls: dict[S, _Call] = {}
            for subject, step in steps.items():
                if self._is_silent(subject, step, limit):
                    continue
                call = self._detached.pop(subject, None)
                if call is None:
                    call = _Call(subject, step)
                    if subject in detached:
                        self._start(collections.deque([call]))
                    else:
                        shared.append(call)
                is_late = self._clock() - call.since >= limit
                if subject in detached and call.outcome is None and not is_late:
                    self._detached[subject] = call
                else:
                    calls[subject] = call
            if shared:
                self._start(shared)
            try:
                self._wait_for(list(calls.values()), shared, limit, while_waiting)
            finally:
                self._take_back(shared)  # after Ctrl-C: the thread ends with its current step
            outcomes = {subject: call.outcome for subject, call in calls.items()}
            for subject in steps.keys() & self._silent.keys():
                seconds = max(self._clock() - self._silent[subject][0].since, 1e-9)
                outcomes[subject] = StepOutcome(silent_seconds=seconds)
            return {subject: outcomes.get(subject) or StepOutcome() for subject in steps}

    def _wait_for(
        self,
        calls: list[_Call],
        shared: collections.deque[_Call],
        limit: float,
        while_waiting: Callable[[], None] | None,
    ) -> None:
        """Wait until all calls have returned or exceeded the limit."""
        while True:
            now = self._clock()
            calls = [call for call in calls if call.outcome is None]
            late = [call for call in calls if now - call.since >= limit]
            for call in late:
                self._silent[call.subject] = [call]
                calls.remove(call)
            if late:  # devices often hang together: run the others in parallel from now on
                for other in self._take_back(shared):
                    self._start(collections.deque([other]))
            if all(call.outcome is not None for call in calls):
                return
            seconds = max(0.01, min(limit / _WAITS, *(limit - now + call.since for call in calls)))
            has_news = self._condition.wait(seconds)
            too_long = self._clock() - now - seconds
            # This process was suspended (Ctrl-Z, a paused machine) or got no CPU time.
            if not has_news and too_long > seconds:
                for call in calls:
                    call.since += too_long
            if while_waiting is not None and any(call.outcome is None for call in calls):
                while_waiting()

    def _start(self, calls: collections.deque[_Call]) -> None:
        try:
            self._start_thread(self._name, lambda: self._serve(calls))
        except RuntimeError:  # no more threads: run them here, without protection
            self._serve(calls)

    def _take_back(self, calls: collections.deque[_Call]) -> list[_Call]:
        """Return the calls that no thread has begun, which none will begin."""
        left = list(calls)
        calls.clear()
        return left

    def _serve(self, calls: collections.deque[_Call]) -> None:
        while True:
            with self._condition:
                if not calls:
                    self._condition.notify_all()
                    return
                call = calls.popleft()
                if math.isinf(call.since):  # trials are counted by who starts them
                    call.since = self._clock()
                    self._inside += 1
            outcome = _attempt(call.step)
            with self._condition:
                self._inside -= 1
                call.outcome = outcome._replace(seconds=self._clock() - call.since)

    def _is_silent(self, subject: Hashable, step: Callable[[], T], limit: float) -> bool:
        calls = self._silent.get(subject)
        if calls is None:
            return False
        if any(call.outcome is not None and call.outcome.seconds < limit for call in calls):
            del self._silent[subject]
            return False
        first, *trials = calls
        hanging = [call for call in calls if call.outcome is None]
        now, last = self._clock(), calls[-1]
        is_due = last.outcome is not None or now - last.since >= limit + RETRY_SECONDS
        if is_due and len(hanging) < MAX_THREADS_INSIDE:
            trial = _Call(subject, step)
            trial.since = now
            with contextlib.suppress(RuntimeError):  # no more threads: try again later
                self._start_thread(self._name, lambda: self._serve(collections.deque([trial])))
                self._inside += 1
                self._silent[subject] = [first, *(c for c in trials if c in hanging), trial]
        return True


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

    def call() -> T:
        with stuck_calls.calling(stuck_calls.DRIVER):
            return function()

    watchdog, steps = Watchdog('nvitop-start'), {'driver': call}
    outcome = watchdog.run(steps, limit=seconds, while_waiting=while_waiting)['driver']
    if outcome.timed_out:
        raise TimeoutError(libnvml.explain_silence(seconds))
    if outcome.error is not None:
        raise outcome.error
    value: T = outcome.value
    return value


#: Minimum time (seconds) between two samples, however fast the demand changes.
MIN_PAUSE_SECONDS = 0.05
#: Pause (seconds) after an error of the source.
ERROR_PAUSE_SECONDS = 1.0
#: Time (seconds) that :meth:`Sampler.stop` waits for a sample in progress.
STOP_SECONDS = 0.5


class Sampler:
    """Takes samples in a daemon thread until it is stopped.

    ``on_sample`` is called in that thread with each new sample. An exception of the source becomes a
    problem of the last sample; only :meth:`stop` ends the thread.

    ``clock``, ``start_thread`` and ``condition`` are for tests; a manual clock must notify the
    condition. The clock must be that of the source's ``next_due``.
    """

    def __init__(
        self,
        source: Source,
        on_sample: Callable[[Sample], None],
        *,
        demand: Demand | None = None,
        clock: Callable[[], float] = time.monotonic,
        start_thread: Callable[[str, Callable[[], None]], None] = start_daemon,
        condition: threading.Condition | None = None,
    ) -> None:
        self._source = source
        self._on_sample = on_sample
        self._demand = demand or Demand()
        self._clock = clock
        self._start_thread = start_thread
        self._condition = condition or threading.Condition()
        self._last = EMPTY_SAMPLE
        #: Failure of ``on_sample``, to be reported with the next sample.
        self._undelivered: Problem | None = None
        self._earliest = 0.0
        self._due = 0.0
        self._woken = False
        self._refresh = False
        self._stopping = False
        self._alive = False

    def start(self) -> None:
        """Start the thread, which takes the first sample at once.

        Raises:
            RuntimeError: No thread can be started.
        """
        with self._condition:
            if not self._alive:
                self._woken, self._stopping = True, False
                self._start_thread('nvitop-sampler', self._run)
                self._alive = True
                if isinstance(self._source, EventSource):
                    self._source.watch_events(self.refresh)

    def demand(self, demand: Demand) -> None:
        """Set what is shown from now on; anything not measured yet is measured soon."""
        with self._condition:
            is_measured = self._demand.includes(demand)
            self._demand = demand
            if not is_measured:
                self._woken = True
                self._condition.notify_all()

    def refresh(self) -> None:
        """Measure everything again soon."""
        with self._condition:
            self._refresh = self._woken = True
            self._condition.notify_all()

    def stop(self, timeout: float = STOP_SECONDS) -> bool:
        """Stop the thread, waiting at most ``timeout`` seconds for a sample in progress.

        Returns whether the thread ended. If not, a call is still inside a driver: do not shut NVML
        down, and leave the process by ``os._exit``.
        """
        if isinstance(self._source, EventSource):
            self._source.watch_events(None)
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
            self._condition.wait_for(lambda: not self._alive, timeout)
            return not self._alive

    def _run(self) -> None:
        try:
            while self._wait_until_due():
                self._turn()
        finally:
            with self._condition:
                self._alive = False
                self._condition.notify_all()

    def _wait_until_due(self) -> bool:
        """Block until a sample is due; return False when the thread is to stop."""
        with self._condition:
            while not self._stopping:
                at = self._earliest if self._woken else max(self._due, self._earliest)
                remaining = at - self._clock()
                if remaining <= 0:
                    return True
                self._condition.wait(min(remaining, threading.TIMEOUT_MAX))
            return False

    def _turn(self) -> None:
        with self._condition:
            demand, refresh = self._demand, self._refresh
            self._woken = self._refresh = False
        try:
            if refresh:
                self._source.refresh()
            sample = self._source.sample(demand)
            due = self._source.next_due()
        except Exception as error:
            last = self._last
            sample = last._replace(
                sequence=last.sequence + 1,
                problems=(*last.problems, _problem('source', error)),
            )
            due = self._clock() + ERROR_PAUSE_SECONDS
        else:
            self._last = sample
        if self._undelivered is not None:
            sample = sample._replace(problems=(*sample.problems, self._undelivered))
        try:
            self._on_sample(sample)
        except Exception as error:
            self._undelivered = _problem('on_sample', error)
        else:
            self._undelivered = None
        self._due = due
        self._earliest = self._clock() + MIN_PAUSE_SECONDS


def _problem(what: str, error: Exception) -> Problem:
    return Problem('monitor', what, f'{type(error).__name__}: {error}', 'error')
