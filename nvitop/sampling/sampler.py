# SPDX-License-Identifier: Apache-2.0
"""The background thread of the monitor: takes samples when something is due."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Callable

from nvitop.sampling.types import EMPTY_SAMPLE, Demand, EventSource, Problem, Sample
from nvitop.sampling.watchdog import start_daemon

if TYPE_CHECKING:
    from nvitop.sampling.types import Source

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
