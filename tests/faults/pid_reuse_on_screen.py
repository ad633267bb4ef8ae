"""Reuse PIDs that the monitor shows, in a PID namespace: ``python -m tests.faults.pid_reuse_on_screen ROUNDS``.

In even rounds, PIDs are reused after the processes were tagged, in odd rounds while the dialog lists
them. Prints JSON: the number of reused PIDs, of wrongly signaled processes, and of correctly signaled ones.
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
from tests.faults.pid_reuse import LAST_PID, TICK_SECONDS, fork_as
from tests.waiting import wait_until

#: PIDs that are reused in each round. The process after them stays; it is signaled last.
PIDS = range(20000, 20020)
LAST = PIDS[-1] + 1
_SCENARIO = '[[gpu]]\nmodel = "H100"\n' + ''.join(
    f'[[process]]\ncommand = ["x"]\npid = {pid}\nmemory = "1 GiB"\n' for pid in (*PIDS, LAST)
)


def name_of(number: int) -> str:
    return f'round-{number:03}'


def start(pid: int, name: str) -> None:
    """Start a process with this PID and name, which waits to be killed."""
    born = 0
    while born != pid:  # a thread of the monitor may have taken the PID
        born = fork_as(pid, name)
        if born != pid:
            end(born)
    command = pathlib.Path(f'/proc/{pid}/cmdline')
    wait_until(lambda: command.read_bytes().startswith(name.encode()), f'process {name}')


def start_all(pids: Sequence[int], name: str) -> None:
    """Start processes, and reserve other PIDs for threads of the monitor."""
    for pid in reversed(pids):  # so that a thread never gets the next PID
        start(pid, name)
    LAST_PID.write_text('30000', encoding='ascii')


def end(pid: int, number: int = signal.SIGTERM) -> int:
    """Kill a child. Returns the signal that ended it."""
    os.kill(pid, number)
    return os.WTERMSIG(os.waitpid(pid, 0)[1])


class Rounds:
    """The monitor, and the processes that it shows."""

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self.number = 0
        self.reused = self.signaled = self.sent = 0

    def name(self) -> str:
        return name_of(self.number)

    def reuse_pids(self) -> None:
        """Reuse each PID for a process of the next round."""
        self.number += 1
        for pid in PIDS:
            self.signaled += end(pid) != signal.SIGTERM
        time.sleep(TICK_SECONDS)  # start times differ by at least one tick
        start_all(PIDS, self.name())
        self.reused += len(PIDS)

    def rows(self) -> list[str]:
        lines = [line for line in self.monitor.lines if f' {self.name()} ' in line]
        return [line for line in lines if 'N/A' not in line]

    def play(self) -> None:
        """Tag all processes and send them a signal."""
        monitor, count = self.monitor, len(PIDS) + 1
        monitor.wait(lambda: len(self.rows()) == count)
        monitor.key('Home')
        monitor.wait_for_cursor(0)
        monitor.type(' ' * count)
        monitor.wait(lambda: self.tagged() == count)
        is_early = self.number % 2 == 0
        if is_early:
            self.reuse_pids()
        monitor.press('K', f'these {count} processes')
        monitor.wait_until_armed()
        assert not is_early or self.name() not in monitor.text
        if not is_early:
            self.reuse_pids()
        monitor.type('k')
        # The last process is signaled after all others.
        self.sent += os.WTERMSIG(os.waitpid(LAST, 0)[1]) == signal.SIGKILL
        monitor.wait_until_gone('Cancel')
        start_all((LAST,), self.name())
        monitor.key('F5')

    def tagged(self) -> int:
        screen, lines = self.monitor.emulator.screen, self.monitor.lines
        names = [(line.find(f' {self.name()} ') + 1, y) for y, line in enumerate(lines)]
        return sum(screen.cell(x, y).fg == TAG_COLOR for x, y in names if x > 0)


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'shown.toml'
        path.write_text(_SCENARIO, encoding='utf-8')
        # Before the monitor starts threads with these PIDs.
        start_all((*PIDS, LAST), name_of(0))
        # Samples are only taken on key presses.
        with Monitor(path, '--interval=600', columns=120, rows=60) as monitor:
            game = Rounds(monitor)
            for _ in range(rounds):
                game.play()
            for pid in (*PIDS, LAST):
                game.signaled += end(pid) != signal.SIGTERM
            status = monitor.leave()
    result = {'reused': game.reused, 'signaled': game.signaled, 'sent': game.sent}
    print(json.dumps({**result, 'status': status}))


if __name__ == '__main__':
    main(int(sys.argv[1]))
