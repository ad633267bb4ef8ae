"""The monitor on a machine with constant values: open screens, and find the selection."""

from __future__ import annotations

import contextlib
import pathlib
import re
import subprocess
import sys
from typing import Iterator, Sequence

import psutil

from nvitop.gui.model.choices import Screen
from tests.e2e.program import NVITOP, Program

#: Three GPUs with a process each, with different values in every sort order.
_MACHINE = """
[[gpu]]
count = 3
model = "H100"
temperature = 50

[[process]]
gpus = [0]
command = ["trainer", "--epochs=90", "--data={path}", "--end-of-the-line"]
memory = "30 GiB"
sm = 60
memory_utilization = 20

[[process]]
gpus = [1]
command = ["renderer", "--scene=castle"]
memory = "20 GiB"
sm = 80
memory_utilization = 10
type = "G"

[[process]]
gpus = [2]
command = ["server", "--port=8000"]
memory = "10 GiB"
sm = 40
memory_utilization = 30
"""
#: An existing process: its GPU, PID and memory.
_GIVEN = """
[[process]]
gpus = [{gpu}]
command = ["given"]
pid = {pid}
memory = "{memory} GiB"
"""
#: Becomes a waiting shell under another name.
_BECOME = "import os, sys; os.execv('/bin/sh', [sys.argv[1], '-c', 'read line'])"

#: ID of a user who owns no other process here.
OTHER_USER = 65534

#: Screen that a test waits for → its first line.
TITLES = {
    Screen.MAIN: r'\A[^›\n]*\[SIM',
    Screen.TREE: r'(?m)^.. Processes [1-9]',
    Screen.HELP: r'\A.* › help ',
    Screen.PROBLEMS: r'\A.* › problems ',
    Screen.USERS: r'(?m)^.. (Users|Jobs) \d',
}
_PROCESS = re.compile(r'^[│*][ =]*\d[\d:]* .* \d+ [CGXM?] ')


@contextlib.contextmanager
def bystander(name: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a child process under this name, which waits until it is killed."""
    command = [sys.executable, '-S', '-E', '-c', _BECOME, name]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        try:
            process = psutil.Process(child.pid)
            while process.cmdline()[:1] != [name]:
                assert child.poll() is None
            yield child
        finally:
            child.kill()


def describe_machine(given: Sequence[int] = (), *, more: str = '') -> str:
    """Return a scenario: three processes, and the given existing ones on the last GPU."""
    text = _MACHINE.format(path='/'.join(['somewhere'] * 20))
    for number, pid in enumerate(given):
        text += _GIVEN.format(gpu=2, pid=pid, memory=max(1, 5 - number))
    return text + more


class Monitor(Program):
    def __init__(
        self, scenario: pathlib.Path, *options: str, columns: int = 104, rows: int = 41
    ) -> None:
        super().__init__(
            # In this theme, the selected row is reversed.
            (*NVITOP, '--theme=mono', '--flat', '--demo', str(scenario), *options),
            columns=columns,
            rows=rows,
            variables={'LONG': 'somewhere/' * 30, 'SHOP_TOKEN': 'open sesame'},
        )
        self.screen = Screen.MAIN
        self.wait_for(TITLES[Screen.MAIN])
        self.wait_for('server --port')

    def __enter__(self) -> Monitor:
        return self

    def row(self, text: str) -> int:
        """Return the last row with a text, that of a process rather than of its GPU; -1 if none."""
        return max((y for y, line in enumerate(self.lines) if text in line), default=-1)

    def has_reverse(self, y: int) -> bool:
        """Return whether any cell of a row is reversed; False for row -1."""
        cells = (self.emulator.screen.cell(x, y) for x in range(self.emulator.screen.columns))
        return y >= 0 and any(cell.reverse for cell in cells)

    def cursor(self) -> int | None:
        rows = [y for y, line in enumerate(self.lines) if _PROCESS.match(line)]
        return next((i for i, y in enumerate(rows) if self.has_reverse(y)), None)

    def select(self, name: str) -> None:
        self.type('\x1bOR' + name)
        self.wait_for(f'^ Search: {name}')
        self.type('\r')
        self.wait_for(TITLES[self.screen])
        self.wait_until_selected(name)

    def wait_until_selected(self, text: str) -> None:
        self.wait(lambda: self.has_reverse(self.row(text)))

    def wait_until_armed(self) -> None:
        """Wait until the signal screen accepts Enter; before that, its signals are dim."""

        def is_armed() -> bool:
            y = self.row('SIGINT')  # -1 if not written yet
            return y >= 0 and not self.emulator.screen.is_dim(self.lines[y].index('SIGINT'), y)

        self.wait(is_armed)


@contextlib.contextmanager
def monitor_with_victims(
    folder: pathlib.Path, *names: str, options: tuple[str, ...] = ()
) -> Iterator[tuple[Monitor, dict[str, subprocess.Popen[bytes]]]]:
    """Run the monitor with child processes of these names on the last GPU."""
    with contextlib.ExitStack() as stack:
        victims = {name: stack.enter_context(bystander(name)) for name in names}
        path = folder / 'victims.toml'
        pids = [victim.pid for victim in victims.values()]
        path.write_text(describe_machine(pids), encoding='utf-8')
        monitor = stack.enter_context(Monitor(path, *options))
        for name in names:
            monitor.wait_for(f' {name} ')
        yield monitor, victims
