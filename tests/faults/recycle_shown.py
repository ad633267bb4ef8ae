"""Run in a PID namespace of its own: PIDs of processes that the monitor shows pass to others.

Half the times after they were shown and tagged, half the times when the dialog names them. Prints, as
JSON, how often a PID passed on, how often who has it now was signalled, and how many of those who were to
be signalled were.
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import sys
import tempfile
import time
from typing import Sequence

from tests.e2e.monitor import TAG_COLOR, Monitor
from tests.faults.recycle import LAST_PID, TICK_SECONDS, fork_as
from tests.patience import wait_until

#: These PIDs pass on in each round. The one behind them does not: it is signalled last.
PIDS = range(20000, 20020)
LAST = PIDS[-1] + 1
_SCENARIO = '[[gpu]]\nmodel = "H100"\n' + ''.join(
    f'[[process]]\ncommand = ["x"]\npid = {pid}\nmemory = "1 GiB"\n' for pid in (*PIDS, LAST)
)


def name_of(number: int) -> str:
    """What all processes of a round are called."""
    return f'round-{number:03}'


def start(pid: int, name: str) -> None:
    """A process with this PID and name, which waits to be killed."""
    born = 0
    while born != pid:  # a thread of the monitor may have been faster
        born = fork_as(pid, name)
        if born != pid:
            end(born)
    command = pathlib.Path(f'/proc/{pid}/cmdline')
    wait_until(lambda: command.read_bytes().startswith(name.encode()), f'process {name}')


def start_all(pids: Sequence[int], name: str) -> None:
    """Start them, and let threads that the monitor starts have other PIDs."""
    for pid in reversed(pids):  # whose next one is taken: a thread gets one that nobody wants
        start(pid, name)
    LAST_PID.write_text('30000', encoding='ascii')


def end(pid: int, number: int = signal.SIGTERM) -> int:
    """End a child; the signal that has ended it."""
    os.kill(pid, number)
    return os.WTERMSIG(os.waitpid(pid, 0)[1])


class Rounds:
    """The monitor, and the processes that it shows."""

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self.number = 0
        self.recycled = self.signalled = self.sent = 0

    def name(self) -> str:
        """What all processes of a round are called."""
        return name_of(self.number)

    def pass_on(self) -> None:
        """Give each PID to a process of the next round."""
        self.number += 1
        for pid in PIDS:
            self.signalled += end(pid) != signal.SIGTERM
        time.sleep(TICK_SECONDS)  # nobody reads a screen faster
        start_all(PIDS, self.name())
        self.recycled += len(PIDS)

    def rows(self) -> list[str]:
        """The rows of the processes of this round, with all that is measured of them."""
        lines = [line for line in self.monitor.lines if f' {self.name()} ' in line]
        return [line for line in lines if 'N/A' not in line]

    def play(self) -> None:
        """Have them shown, tag them, and send a signal to all."""
        monitor, count = self.monitor, len(PIDS) + 1
        monitor.wait(lambda: len(self.rows()) == count)
        monitor.key('Home')
        monitor.wait_for_cursor(0)
        monitor.type(' ' * count)
        monitor.wait(lambda: self.tagged() == count)
        is_early = self.number % 2 == 0
        if is_early:
            self.pass_on()
        monitor.press('K', f'these {count} processes')
        monitor.wait_until_armed()
        assert not is_early or self.name() not in monitor.text
        if not is_early:
            self.pass_on()
        monitor.type('k')
        # The last of them is killed when all others have got what they get.
        self.sent += os.WTERMSIG(os.waitpid(LAST, 0)[1]) == signal.SIGKILL
        monitor.wait_until_gone('Cancel')
        start_all((LAST,), self.name())
        monitor.key('F5')

    def tagged(self) -> int:
        """How many rows are tagged."""
        screen, lines = self.monitor.emulator.screen, self.monitor.lines
        names = [(line.find(f' {self.name()} ') + 1, y) for y, line in enumerate(lines)]
        return sum(screen.cell(x, y).fg == TAG_COLOR for x, y in names if x > 0)


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'shown.toml'
        path.write_text(_SCENARIO, encoding='utf-8')
        # Before the monitor, whose threads might have their PIDs.
        start_all((*PIDS, LAST), name_of(0))
        # Measured is only when a key asks for it.
        with Monitor(path, '--interval=600', columns=120, rows=60) as monitor:
            game = Rounds(monitor)
            for _ in range(rounds):
                game.play()
            for pid in (*PIDS, LAST):
                game.signalled += end(pid) != signal.SIGTERM
            status = monitor.leave()
    result = {'recycled': game.recycled, 'signalled': game.signalled, 'sent': game.sent}
    print(json.dumps({**result, 'status': status}))


if __name__ == '__main__':
    main(int(sys.argv[1]))
