# SPDX-License-Identifier: GPL-3.0-only
"""``nvitop fleet``: its command line, its screens in the loop of the monitor, and the thread that asks the server."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Callable

from nvitop.console.config import read_config
from nvitop.console.lifecycle import CommandFailure, collect_garbage_rarely
from nvitop.console.options import Options, merge, parse_environment
from nvitop.fleet import command
from nvitop.fleet.command import make_parser, make_server
from nvitop.fleet.queries import of_server, parse_filter
from nvitop.fleet.source import HostSource, Pace, ask
from nvitop.fleet.types import Fleet, FleetError, remember, totals
from nvitop.gui.app import App, NoThreadError
from nvitop.gui.fleet.data import FleetState
from nvitop.gui.fleet.screens import FLEET
from nvitop.gui.fleet.state import ORDERS, fleet_of, update_fleet
from nvitop.gui.model.choices import Screen
from nvitop.gui.monitor import errors_held_back, first_state, prepare_terminal
from nvitop.gui.settings import choices
from nvitop.gui.state.app_state import AppState, Notice
from nvitop.gui.state.events import (
    Effect,
    FleetArrived,
    FleetFailed,
    OpenHost,
    Quit,
    Resized,
    SampleArrived,
)
from nvitop.gui.state.navigation import open_screen
from nvitop.gui.state.notices import NOTICE_SECONDS
from nvitop.gui.term.curses_terminal import TerminalError
from nvitop.sampling.history import History
from nvitop.sampling.sampler import Sampler
from nvitop.sampling.watchdog import start_daemon

if TYPE_CHECKING:
    import argparse

    from nvitop.fleet.settings import Settings
    from nvitop.fleet.source import Question, Server
    from nvitop.fleet.types import FleetHost
    from nvitop.gui.term import Terminal
    from nvitop.sampling.types import Sample

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
        last = self._last_question
        # About the same hosts, so that missing ones are gone.
        if last is not None and _subject(question)[:2] == _subject(last)[:2]:
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


def _subject(question: Question) -> tuple[object, ...]:
    """Return what the user chose to see; labels of hosts, which answers teach, are left out."""
    return question.kind, question.scope.filters, question.metric


#: List of the command line → its screen.
_FIRST_SCREENS = {
    'gpus': Screen.HEAT_MAP,
    'users': Screen.USERS,
    'jobs': Screen.JOBS,
    'problems': Screen.PROBLEMS,
}
#: Resolution (seconds) of the graphs of a host.
_GRAPH_SECONDS = 15.0
__all__ = ['main', 'make_parser']


def main(arguments: list[str]) -> int:
    """Run ``nvitop fleet`` with the arguments after that word; return the exit status."""
    return command.main(arguments, _show)


def _show(given: argparse.Namespace, settings: Settings) -> int:
    """Run the screens."""
    config = read_config(given.config, choices())
    options = merge(config.layer, parse_environment(os.environ))
    is_demo = given.demo is not None
    server = make_server(given.demo, settings)
    name = 'simulated cluster' if is_demo else settings.url.partition('://')[2]
    fleet = FleetState(scope=settings.scope, server=name)
    collect_garbage_rarely()
    options, terminal = prepare_terminal(options)
    state = state_of(fleet, options, is_demo=is_demo)
    state = begin_with(state, given.view, given.filter, given.sort)
    app = FleetApp(terminal, state, server, options, interval=settings.interval)
    try:
        with errors_held_back():
            return app.run_fleet()
    except TerminalError as error:
        raise CommandFailure(f'{error}\nTry: nvitop fleet -1') from None
    except NoThreadError as error:
        raise CommandFailure(f'no thread can be started: {error}') from None


def state_of(fleet: FleetState, options: Options, *, is_demo: bool = False) -> AppState:
    """Return the first state of the fleet."""
    state = first_state(options, program=FLEET)
    return state._replace(
        fleet=fleet,
        sample=state.sample._replace(simulated='cluster' if is_demo else ''),
        view=state.view._replace(shows_hints=True),
    )


def begin_with(state: AppState, view: str, words: str, column: str) -> AppState:
    """Return the state with the list, the filter and the order of the command line."""
    fleet = fleet_of(state)
    order = next((one.name for one in ORDERS if column.startswith(one.name)), fleet.order)
    state = state._replace(query=words, fleet=fleet._replace(order=order))
    if view == 'hosts':
        return state  # the first answer teaches the labels for the filter
    filters = of_server(parse_filter(words))
    fleet = fleet_of(state)._replace(scope=fleet.scope._replace(filters=filters))
    return open_screen(state._replace(fleet=fleet), _FIRST_SCREENS[view])[0]


class FleetApp(App):
    """The loop of the monitor with the screens of the fleet, and those of one host within it."""

    update = staticmethod(update_fleet)

    def __init__(
        self,
        terminal: Terminal,
        state: AppState,
        server: Server,
        options: Options,
        *,
        interval: float,
    ) -> None:
        super().__init__(terminal, state)
        self._server = server
        self._options = options
        self._interval = interval
        self._reader = FleetReader(server, self.post, interval)

    def run_fleet(self) -> int:
        """Run until the user quits; return the exit status. Raises NoThreadError."""
        try:
            return self.run(self._reader)
        finally:
            self._reader.stop()
            self._server.close()

    def carry_out(self, effect: Effect) -> None:
        """Carry out an effect."""
        if isinstance(effect, OpenHost):
            self._open(effect.host)
        else:
            super().carry_out(effect)

    def _open(self, host: FleetHost) -> None:
        """Show one host until the user comes back. Meanwhile the server is not asked for the list."""
        self._reader.demand(None)
        self._reader.stop()
        scope = fleet_of(self.state).scope
        source = HostSource(self._server, host, scope, interval=self._interval)
        options = self._options._replace(theme=self.state.theme)
        simulated = self.state.sample.simulated
        status = show_host(self.terminal, source, options, self._server.cancel, simulated=simulated)
        if status:
            super().carry_out(Quit(status))
            return
        self._reader.start()
        self._handle(Resized(*self.terminal.size()))


def show_host(
    terminal: Terminal,
    source: HostSource,
    options: Options,
    on_leave: Callable[[], None],
    *,
    simulated: str = '',
) -> int:
    """Show one host on an open terminal; return the exit status, 0 if the user left its screens."""
    state = first_state(options, origin=source.origin)
    text = f'{source.origin.host}: q goes back to the hosts'
    notice = Notice(text, time.monotonic() + 2 * NOTICE_SECONDS)
    history = History(_GRAPH_SECONDS, _GRAPH_SECONDS)
    app = App(terminal, state._replace(notices=(notice,)), history=history)

    def deliver(sample: Sample) -> None:
        past = source.past() if sample.sequence == 1 and sample.devices else ()
        sample = sample._replace(simulated=simulated)
        app.post(SampleArrived(sample, source.origin, past))

    sampler = Sampler(source, deliver)
    try:
        return app.run_opened(sampler)
    finally:
        on_leave()
        sampler.stop()
