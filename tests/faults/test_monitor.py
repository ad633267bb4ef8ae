"""The running monitor on a machine whose driver disappears or whose GPUs hang."""

from __future__ import annotations

import contextlib
import re
import threading
from typing import Callable, Iterator

from nvitop import simulation
from nvitop.console.options import Options
from nvitop.gui.monitor import run_monitor
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.theme import Theme
from nvitop.gui.term.headless import HeadlessTerminal
from nvitop.sampling.plan import intervals
from nvitop.sampling.source import LiveSource
from tests.patience import PATIENCE


class Screen(HeadlessTerminal):
    """A terminal that can wait for its content."""

    def __init__(self) -> None:
        super().__init__(160, 120)
        self.drawn = threading.Condition()

    def draw(self, buffer: Buffer, theme: Theme) -> None:
        super().draw(buffer, theme)
        with self.drawn:
            del self.frames[:-1]
            self.drawn.notify_all()

    @property
    def text(self) -> str:
        return '\n'.join(self.screen.lines())

    def wait_until(self, condition: Callable[[str], object]) -> None:
        with self.drawn:
            assert self.drawn.wait_for(lambda: condition(self.text), PATIENCE), self.text

    def wait_for(self, pattern: str) -> None:
        self.wait_until(lambda text: re.search(pattern, text))


@contextlib.contextmanager
def monitor(machine: simulation.Machine) -> Iterator[Screen]:
    """Run the monitor in a ``with`` block."""
    screen = Screen()
    options = Options(interval=0.3)
    source = LiveSource(intervals(0.3)._replace(slow=0.3))
    statuses: list[int] = []

    def run() -> None:
        statuses.append(run_monitor(source, options, terminal=screen).status)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        screen.wait_for('H100')
        yield screen
    finally:
        screen.press('q', 'q', 'q')
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert statuses == [0]


def test_driver_disappears_and_comes_back() -> None:
    with simulation.machine('dgx-h100', processes='fixed') as machine, monitor(machine) as screen:
        for _ in range(2):
            screen.wait_until(lambda text: text.count('H100 80GB') == 8 and '/ 700W' in text)
            machine.fail('nvmlDeviceGet*', 'DRIVER_NOT_LOADED')
            machine.fail('nvmlInit*', 'DRIVER_NOT_LOADED')
            screen.wait_until(lambda text: 'Driver Not Loaded' in text and '/ 700W' not in text)
            screen.press('!')
            screen.wait_for('Problems: [1-9]')
            screen.press('q')
            machine.heal()


def test_seven_gpus_are_updated_while_the_eighth_hangs() -> None:
    with simulation.machine('dgx-h100', processes='fixed') as machine, monitor(machine) as screen:
        machine.hang('nvmlDeviceGetMemoryInfo*', gpu=3)
        screen.wait_for('no response for')
        for number in (1, 2, 3):
            machine.set(temperature=40 + number)
            screen.wait_until(lambda text, n=number: text.count(f' {40 + n}C') == 7)  # type: ignore[misc]  # - binds the loop variable
        screen.press('h')
        screen.wait_for('(?i)help')
        screen.press('q')
        machine.release()
        screen.wait_until(lambda text: text.count(' 43C') == 8)
