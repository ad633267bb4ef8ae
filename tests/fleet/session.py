"""The screens of a fleet on a terminal in memory."""

from __future__ import annotations

import threading

from nvitop.console.options import Options
from nvitop.fleet.source import FleetSource
from nvitop.gui.fleet.command import FleetApp, state_of
from nvitop.gui.fleet.data import FleetState
from tests.gui.headless import HeadlessTerminal
from tests.waiting import wait_until


class Session:
    def __init__(self, source: FleetSource, *, interval: float = 60) -> None:
        self.terminal = HeadlessTerminal(100, 30)
        options = Options()
        state = state_of(FleetState(server='demo'), options, is_demo=True)
        self.app = FleetApp(self.terminal, state, source, options, interval=interval)
        self.status: list[int] = []
        self._thread = threading.Thread(target=lambda: self.status.append(self.app.run_fleet()))

    def __enter__(self) -> Session:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.terminal.press('q', 'q')
        self._thread.join(30)
        assert self.status == [0]

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in '\n'.join(self.terminal.screen.lines()), text)
