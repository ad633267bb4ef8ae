# SPDX-License-Identifier: GPL-3.0-only
"""``nvitop fleet``: the command line of :mod:`nvitop.fleet.command`, and its screens in the loop of the monitor."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Callable

from nvitop.console.config import read_config
from nvitop.console.options import Options, merge, parse_environment
from nvitop.console.outcome import CommandFailure
from nvitop.console.startup import collect_garbage_rarely
from nvitop.fleet import command
from nvitop.fleet.command import make_parser, make_server
from nvitop.fleet.source import HostSource
from nvitop.gui.app import App, NoThreadError
from nvitop.gui.fleet.data import FleetState
from nvitop.gui.fleet.reader import FleetReader
from nvitop.gui.fleet.screens import FLEET_KEYS, FLEET_SCREENS
from nvitop.gui.fleet.state import fleet_of, update_fleet
from nvitop.gui.monitor import errors_held_back, first_state, prepare_terminal
from nvitop.gui.settings import choices
from nvitop.gui.state.app_state import AppState, Notice
from nvitop.gui.state.events import Effect, OpenHost, Quit, Resized
from nvitop.gui.state.notices import NOTICE_SECONDS
from nvitop.gui.term.curses_terminal import TerminalError
from nvitop.sampling.history import History
from nvitop.sampling.sampler import Sampler

if TYPE_CHECKING:
    import argparse

    from nvitop.fleet.questions import Server
    from nvitop.fleet.settings import Settings
    from nvitop.fleet.types import FleetHost
    from nvitop.gui.term.terminal import Terminal
    from nvitop.sampling.types import Sample

#: Resolution (seconds) of the graphs of a host.
_GRAPH_SECONDS = 15.0
__all__ = ['main', 'make_parser']


def main(arguments: list[str]) -> int:
    """Run ``nvitop fleet`` with the arguments after that word; return the exit status."""
    return command.main(arguments, _show)


def _show(given: argparse.Namespace, settings: Settings) -> int:
    """Run the screens."""
    options = _read_options(given.config)
    is_demo = given.demo is not None
    server = make_server(given.demo, settings)
    name = 'simulated cluster' if is_demo else settings.url.partition('://')[2]
    fleet = FleetState(scope=settings.scope, server=name)
    collect_garbage_rarely()
    options, terminal = prepare_terminal(options)
    state = state_of(fleet, options, is_demo=is_demo)
    app = FleetApp(terminal, state, server, options, interval=settings.interval)
    try:
        with errors_held_back():
            return app.run_fleet()
    except TerminalError as error:
        raise CommandFailure(f'{error}\nTry: nvitop fleet -1') from None
    except NoThreadError as error:
        raise CommandFailure(f'no thread can be started: {error}') from None


def _read_options(path: str | None) -> Options:
    """Return the options of the monitor from the configuration file and the environment."""
    return merge(read_config(path, choices()).layer, parse_environment(os.environ))


def state_of(fleet: FleetState, options: Options, *, is_demo: bool = False) -> AppState:
    """Return the first state of the fleet."""
    state = first_state(options, screens=FLEET_SCREENS, usual=FLEET_KEYS)
    return state._replace(
        fleet=fleet,
        sample=state.sample._replace(simulated='cluster' if is_demo else ''),
        view=state.view._replace(shows_hints=True),
    )


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
        status = show_host(self.terminal, source, options, self._server.cancel)
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
) -> int:
    """Show one host on an open terminal; return the exit status, 0 if the user left its screens."""
    state = first_state(options, origin=source.origin)
    text = f'{source.origin.host}: q goes back to the hosts'
    notice = Notice(text, time.monotonic() + 2 * NOTICE_SECONDS)
    history = History(_GRAPH_SECONDS, _GRAPH_SECONDS)
    app = App(terminal, state._replace(notices=(notice,)), history=history)

    def deliver(sample: Sample) -> None:
        past = source.past() if sample.sequence == 1 and sample.devices else ()
        app.post_sample(sample, source.origin, past)

    sampler = Sampler(source, deliver)
    try:
        return app.run_opened(sampler)
    finally:
        on_leave()
        sampler.stop()
