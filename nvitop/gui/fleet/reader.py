# SPDX-License-Identifier: GPL-3.0-only
"""The background thread of the fleet screens: asks the question of the screen when it is due."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Callable

from nvitop.fleet.questions import Pace, ask
from nvitop.fleet.types import Fleet, FleetError, remember, totals
from nvitop.gui.state.events import FleetArrived, FleetFailed
from nvitop.sampling.watchdog import start_daemon

if TYPE_CHECKING:
    from nvitop.fleet.questions import Question, Server

#: Pauses (seconds) after failures in a row; the last one is repeated.
_PAUSES = (5.0, 10.0, 30.0, 60.0)
#: Time (seconds) that :meth:`FleetReader.stop` waits for the thread.
_STOP_SECONDS = 0.5


class FleetReader:
    """Asks a server in a daemon thread. There is at most one request at a time.

    ``on_event`` is called in that thread with each answer or failure.
    """

    def __init__(
        self,
        server: Server,
        on_event: Callable[[FleetArrived | FleetFailed], None],
        interval: float,
    ) -> None:
        self._server = server
        self._on_event = on_event
        self._condition = threading.Condition()
        self._question: Question | None = None
        self._due = 0.0
        self._is_asking = False
        self._is_stopping = False
        self._is_alive = False
        self._pace = Pace(interval)
        self._failures = 0
        self._last = Fleet()
        self._last_question: Question | None = None

    def start(self) -> None:
        """Start the thread. Raises RuntimeError if that is impossible."""
        with self._condition:
            self._is_stopping = False
            if not self._is_alive:
                start_daemon('nvitop-fleet', self._run)
                self._is_alive = True

    def demand(self, question: Question | None) -> None:
        """Set the question of the screen; ``None`` if nothing is asked, as on a frozen display.

        A new question is asked at once, and a request in progress is canceled.
        """
        with self._condition:
            last, self._question = self._question, question
            if question is not None and (last is None or _subject(question) != _subject(last)):
                self._ask_now()
            self._condition.notify_all()

    def refresh(self) -> None:
        """Ask the question of the screen now, and cancel a request in progress."""
        with self._condition:
            self._ask_now()
            self._condition.notify_all()

    def _ask_now(self) -> None:
        self._due = 0.0
        if self._is_asking:
            self._server.cancel()

    def stop(self) -> bool:
        """End the thread; return whether it ended within half a second."""
        with self._condition:
            self._is_stopping = True
            if self._is_asking:
                self._server.cancel()
            self._condition.notify_all()
            self._condition.wait_for(lambda: not self._is_alive, _STOP_SECONDS)
            return not self._is_alive

    def _run(self) -> None:
        try:
            while True:
                question = self._next_question()
                if question is None:
                    return
                self._ask(question)
        finally:
            with self._condition:
                self._is_alive = False
                self._condition.notify_all()

    def _next_question(self) -> Question | None:
        """Block until a question is due; return ``None`` when the thread is to end."""
        with self._condition:
            while not self._is_stopping:
                remaining = self._due - time.monotonic()
                if self._question is not None and remaining <= 0:
                    self._is_asking = True
                    self._due = time.monotonic() + self._pace.interval
                    return self._question
                self._condition.wait(None if self._question is None else remaining)
            return None

    def _ask(self, question: Question) -> None:
        started = time.monotonic()
        try:
            fleet = ask(self._server, question, clock=time.time)
        except FleetError as error:
            self._finish()
            with self._condition:
                if self._question != question or self._is_stopping or not self._due:
                    return  # canceled, because another question waits
                self._failures += 1
                pause = _PAUSES[min(self._failures, len(_PAUSES)) - 1]
                self._due = time.monotonic() + max(pause, self._pace.interval)
            self._on_event(FleetFailed(question, error.line, time.time()))
            return
        self._finish()
        if self._last_question is not None and _same(question, self._last_question):
            self._pace = self._pace.after(self._last, fleet)
            fleet = remember(self._last.hosts, fleet)
        else:
            self._pace = self._pace._replace(seconds=fleet.seconds)
        self._failures = 0
        self._last, self._last_question = fleet, question
        with self._condition:
            if self._due > 0:  # otherwise another question waits
                self._due = started + self._pace.period
        sums = totals(fleet.hosts, fleet.timestamp)
        self._on_event(FleetArrived(question, fleet, sums, self._pace))

    def _finish(self) -> None:
        with self._condition:
            self._is_asking = False


def _same(question: Question, last: Question) -> bool:
    """Whether two questions are about the same hosts, so that missing ones are gone."""
    return (question.kind, question.scope.filters) == (last.kind, last.scope.filters)


def _subject(question: Question) -> tuple[object, ...]:
    """Return what the user chose to see; labels of hosts, which answers teach, are left out."""
    return question.kind, question.scope.filters, question.metric
