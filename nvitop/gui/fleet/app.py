# SPDX-License-Identifier: GPL-3.0-only
"""The event loop of the fleet screens, and the ordinary screens of one host within it."""

from __future__ import annotations

import collections
import os
import time
from typing import TYPE_CHECKING, Callable

from nvitop.fleet.source import HostSource
from nvitop.gui.app import App
from nvitop.gui.fleet.keys import rebind
from nvitop.gui.fleet.reader import FleetReader
from nvitop.gui.fleet.state import (
    FleetEffect,
    FleetEvent,
    FleetState,
    OpenHost,
    update,
)
from nvitop.gui.fleet.view import draw_fleet
from nvitop.gui.monitor import errors_held_back, first_state
from nvitop.gui.render.ansi import lacks_fine_blocks
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.theme import ALL_COLORS, THEMES, theme_named
from nvitop.gui.state.app_state import Notice
from nvitop.gui.state.events import (
    ClockTicked,
    MousePressed,
    Quit,
    Redraw,
    Refresh,
    Resized,
    Suspend,
)
from nvitop.gui.state.notices import NOTICE_SECONDS
from nvitop.gui.term.terminal import has_utf8_locale, holds_escape_back, terminal_here
from nvitop.sampling.history import History
from nvitop.sampling.sampler import Sampler

if TYPE_CHECKING:
    from nvitop.console.options import Options
    from nvitop.fleet.questions import Server
    from nvitop.fleet.types import FleetHost
    from nvitop.gui.term.terminal import Terminal
    from nvitop.sampling.types import Sample

#: Resolution (seconds) of the graphs of a host.
_GRAPH_SECONDS = 15.0


class FleetApp:
    """One run of the fleet screens."""

    def __init__(
        self,
        terminal: Terminal,
        state: FleetState,
        server: Server,
        options: Options,
        *,
        interval: float,
    ) -> None:
        self.terminal = terminal
        self.state = state._replace(themes=tuple(theme.name for theme in THEMES))
        self._server = server
        self._options = options
        self._interval = interval
        self._posted: collections.deque[FleetEvent] = collections.deque()
        self._reader = FleetReader(server, self.post, interval)
        self._drawn: FleetState | None = None
        self._frame = Buffer(0, 0)
        self._status: int | None = None

    def post(self, event: FleetEvent) -> None:
        """Queue an event. Any thread may call this."""
        self._posted.append(event)
        self.terminal.wake()

    def run(self) -> int:
        """Run until the user quits; return the exit status."""
        with self.terminal.opened():
            try:
                self._handle(Resized(*self.terminal.size()))
                self._tick()
                self._reader.show(self.state.question)
                self._reader.start()
                while self._status is None:
                    self._draw()
                    events = self.terminal.wait(1.05 - time.time() % 1.0)
                    self._tick()
                    for event in events:
                        self._handle(event)
                    while self._posted:
                        self._handle(self._posted.popleft())
            finally:
                self._reader.stop()
                self._server.close()
        return self._status

    def _tick(self) -> None:
        self.state, _ = update(self.state, ClockTicked(0.0, float(int(time.time()))))

    def _handle(self, event: FleetEvent) -> None:
        if isinstance(event, MousePressed):
            event = event._replace(keys=self._frame.keys_at(event.x, event.y))
        self.state, effects = update(self.state, event)
        for effect in effects:
            self._carry_out(effect)
        is_frozen = self.state.frozen is not None
        self._reader.show(None if is_frozen else self.state.question)

    def _carry_out(self, effect: FleetEffect) -> None:
        if isinstance(effect, Quit):
            self._status = effect.status
        elif isinstance(effect, Refresh):
            self._reader.show(self.state.question, now=True)
        elif isinstance(effect, OpenHost):
            self._open(effect.host)
        elif isinstance(effect, Redraw):
            self._drawn = None
            self.terminal.forget()
        elif isinstance(effect, Suspend):
            self.terminal.suspend()
            self._handle(Resized(*self.terminal.size()))

    def _draw(self) -> None:
        if self.state != self._drawn:
            self._frame = draw_fleet(self.state)
            self.terminal.draw(self._frame, theme_named(self.state.theme))
            self._drawn = self.state

    def _open(self, host: FleetHost) -> None:
        """Show one host until the user comes back. Meanwhile the list is not asked for."""
        self._reader.show(None)
        self._reader.stop()
        status = show_host(
            self.terminal,
            HostSource(self._server, host, self.state.scope, interval=self._interval),
            self._options._replace(theme=self.state.theme),
            self._server.cancel,
        )
        if status:
            self._status = status
            return
        self._reader.start()
        self._handle(Resized(*self.terminal.size()))
        self._reader.show(self.state.question, now=True)


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


def run_fleet(
    server: Server,
    state: FleetState,
    options: Options,
    *,
    interval: float,
) -> int:
    """Run the fleet screens on this terminal; return the exit status.

    Raises TerminalError if the terminal cannot be used.
    """
    if not has_utf8_locale():
        options = options._replace(ascii=True)
    state = state._replace(
        theme=options.theme,
        ascii=options.ascii,
        halves=lacks_fine_blocks(os.environ),
        keys=rebind(dict(options.keys)),
    )
    max_colors = 0 if os.environ.get('NO_COLOR') else ALL_COLORS
    captures_mouse = not holds_escape_back(os.environ)
    terminal = terminal_here(max_colors, captures_mouse=captures_mouse)
    app = FleetApp(terminal, state, server, options, interval=interval)
    with errors_held_back():
        return app.run()
