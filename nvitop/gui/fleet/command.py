# SPDX-License-Identifier: GPL-3.0-only
"""``nvitop fleet``: its command line, its screens in the loop of the monitor, and the thread that asks the server."""

from __future__ import annotations

import math
import os
import sys
import time
from typing import TYPE_CHECKING, Callable

from nvitop.basics.text import counted, printable
from nvitop.console.lifecycle import CommandFailure, collect_garbage_rarely
from nvitop.console.messages import stdout_has_utf8, stdout_height
from nvitop.console.options import Invocation, Options
from nvitop.fleet import command
from nvitop.fleet.client import INTERVAL
from nvitop.fleet.command import make_parser, make_source
from nvitop.fleet.lists import VIEWS, sorted_rows
from nvitop.fleet.source import SAMPLE_SECONDS, HostSource, period
from nvitop.fleet.types import Fleet, FleetError
from nvitop.gui.app import EFFECTS, App, NoThreadError
from nvitop.gui.fleet.columns import LISTS
from nvitop.gui.fleet.data import FleetState
from nvitop.gui.fleet.screens import FLEET
from nvitop.gui.fleet.state import ORDERS, listed, update_fleet
from nvitop.gui.fleet.view import draw_report, report_text
from nvitop.gui.model.choices import Sort
from nvitop.gui.model.table import NARROWEST
from nvitop.gui.monitor import errors_held_back, first_state, prepare_terminal
from nvitop.gui.render.ansi import color_depth, to_ansi, to_ascii
from nvitop.gui.render.theme import resolve_theme, theme_named
from nvitop.gui.settings import read_options
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import FleetArrived, FleetFailed, OpenHost, Resized, SampleArrived
from nvitop.gui.state.navigation import open_screen
from nvitop.gui.term.curses_terminal import TerminalError
from nvitop.gui.view.report_lines import MOST_WIDTH
from nvitop.sampling.history import History
from nvitop.sampling.threads import Sampler
from nvitop.sampling.types import EMPTY_SAMPLE, Demand, Origin, Sample

if TYPE_CHECKING:
    import argparse

    from nvitop.fleet.client import Settings
    from nvitop.fleet.source import FleetSource
    from nvitop.fleet.types import FleetHost
    from nvitop.gui.term import Terminal

#: Height of a report without a terminal.
_ANY_HEIGHT = 1 << 30
#: Minimum pause (seconds) after a failure.
_PAUSE = 10.0


class FleetFeed:
    """The hosts as a source for the sampler: each turn is one request, and its result an event."""

    origin = Origin()

    def __init__(
        self,
        source: FleetSource,
        on_event: Callable[[FleetArrived | FleetFailed], None],
        interval: float,
    ) -> None:
        self._source = source
        self._on_event = on_event
        self._interval = interval
        self._due = 0.0
        #: Whether no hosts are read, because only one of them is shown.
        self.is_paused = False

    def next_due(self) -> float:
        return math.inf if self.is_paused else self._due

    def refresh(self) -> None:
        self._due = 0.0

    def sample(self, _: Demand) -> Sample:
        started = time.monotonic()
        if self.is_paused or started < self._due:
            return EMPTY_SAMPLE
        try:
            fleet = self._source.read()
        except Exception as error:
            words = f'unexpected error: {type(error).__name__}: {printable(str(error))[:200]}'
            words = error.line if isinstance(error, FleetError) else words
            self._due = started + max(_PAUSE, self._interval)
            self._on_event(FleetFailed(words, time.time()))
        else:
            pause = period(self._interval, fleet.seconds)
            self._due = started + pause
            self._on_event(FleetArrived(fleet, pause))
        return EMPTY_SAMPLE


#: Resolution (seconds) of the graphs of a host.
_GRAPH_SECONDS = 15.0
__all__ = ['main', 'make_parser']


def main(arguments: list[str]) -> int:
    return command.main(arguments, _show, _report_text)


def _options(arguments: argparse.Namespace) -> Options:
    appearance = {
        name: value for name, value in vars(arguments).items() if name in command.APPEARANCE
    }
    # Problems of the configuration file are about the monitor.
    return read_options(Invocation(appearance, arguments.config), [])


def _report_text(arguments: argparse.Namespace, fleet: Fleet, width: int) -> str:
    """Return a list for a terminal of this width, or for another program (0)."""
    options = _options(arguments)
    colors = color_depth(os.environ, is_terminal=sys.stdout.isatty())
    is_ascii = options.ascii or not stdout_has_utf8()
    options = options._replace(ascii=is_ascii)
    state = state_of(FleetState(), options, is_demo=arguments.demo is not None)
    # Like the screen, a list that is too long for the terminal folds free hosts.
    state = state._replace(height=stdout_height() or _ANY_HEIGHT)
    state, _ = update_fleet(begin_with(state, arguments.view, '', ''), FleetArrived(fleet, 0.0))
    rows = listed(state)
    if arguments.sort:
        view = VIEWS[arguments.view]
        rows = [*sorted_rows(view, view.rows(fleet), arguments.sort), *view.below(fleet)]
    if not width:
        return report_text(state, rows)
    buffer = draw_report(state, rows, max(NARROWEST, min(width, MOST_WIDTH)))
    buffer = to_ascii(buffer) if is_ascii else buffer
    return to_ansi(buffer, theme_named(resolve_theme(options.theme, os.environ)), colors)


def _show(arguments: argparse.Namespace, settings: Settings) -> int:
    options = _options(arguments)
    is_demo = arguments.demo is not None
    source = make_source(arguments, settings, once=False)
    name = 'simulated cluster' if is_demo else settings.url.partition('://')[2]
    if arguments.machines:
        name = f'{counted(len(arguments.machines), "machine")} over ssh'
    fleet = FleetState(scope=settings.scope, server=name)
    collect_garbage_rarely()
    options, terminal = prepare_terminal(options)
    state = state_of(fleet, options, is_demo=is_demo)
    state = begin_with(state, arguments.view, arguments.filter, arguments.sort)
    # Samples over ssh arrive by themselves.
    is_quick = arguments.machines and settings.interval == INTERVAL
    interval = SAMPLE_SECONDS if is_quick else settings.interval
    app = FleetApp(terminal, state, source, options, interval=interval)
    try:
        with errors_held_back():
            return app.run_fleet()
    except TerminalError as error:
        raise CommandFailure(f'{error}\nTry: nvitop fleet -1') from None
    except NoThreadError as error:
        raise CommandFailure(f'no thread can be started: {error}') from None


def state_of(fleet: FleetState, options: Options, *, is_demo: bool = False) -> AppState:
    state = first_state(options, program=FLEET)
    return state._replace(
        fleet=fleet,
        sample=state.sample._replace(simulated='cluster' if is_demo else ''),
    )


def begin_with(state: AppState, view: str, words: str, column: str) -> AppState:
    """Return the state with the list, the filter and the order of the command line."""
    screen = next(screen for screen, shown in LISTS.items() if shown.view is VIEWS[view])
    sorts = {screen: Sort(column)} if column in [order.name for order in ORDERS[screen]] else {}
    state = state._replace(list_sorts=sorts).filtered(words)
    return state if screen is state.screen else open_screen(state, screen)[0]


class FleetApp(App):
    """The loop of the monitor with the screens of the fleet, and those of one host within it."""

    def __init__(
        self,
        terminal: Terminal,
        state: AppState,
        source: FleetSource,
        options: Options,
        *,
        interval: float,
    ) -> None:
        effects = {**EFFECTS, OpenHost: lambda _, effect: self.open_host(effect.host)}
        super().__init__(terminal, state, effects=effects, options=options)
        self._source = source
        self._interval = interval
        self._feed = FleetFeed(source, self.post, interval)
        self._sampler = Sampler(self._feed, lambda _: None)

    def run_fleet(self) -> int:
        """Run until the user quits; return the exit status. Raises NoThreadError."""
        try:
            return self.run(self._sampler)
        finally:
            self._sampler.stop()
            self._source.close()

    def open_host(self, host: FleetHost) -> None:
        """Show one host until the user comes back. Meanwhile the server is not asked for the list."""
        self._feed.is_paused = True
        source = HostSource(self._source, host, interval=self._interval)
        options = self.options._replace(theme=self.state.theme)
        simulated = self.state.sample.simulated
        status = show_host(self.terminal, source, options, simulated=simulated)
        if status:
            self.quit(status)
            return
        self.terminal.capture_mouse(self.state.captures_mouse)
        self._feed.is_paused = False
        self._sampler.refresh()
        self._handle(Resized(*self.terminal.size()))


def show_host(
    terminal: Terminal,
    source: HostSource,
    options: Options,
    *,
    simulated: str = '',
) -> int:
    """Show one host on an open terminal; return the exit status, 0 if the user left its screens."""
    state = first_state(options, origin=source.origin)
    history = History(_GRAPH_SECONDS, _GRAPH_SECONDS)
    app = App(terminal, state, history=history, options=options)

    def deliver(sample: Sample) -> None:
        past = source.past()
        sample = sample._replace(simulated=simulated or sample.simulated)
        app.post(SampleArrived(sample, source.origin, past))

    sampler = Sampler(source, deliver)
    try:
        return app.run_opened(sampler)
    finally:
        sampler.stop()
