"""The monitor on a machine with constant values: open screens, and find the selection."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import subprocess
import sys
from typing import Iterator, NamedTuple, Sequence

import psutil

from nvitop.gui.model.choices import Screen
from tests.e2e.program import NVITOP, Program
from tests.waiting import PATIENCE

#: Name of a key → what a terminal sends.
_SPECIAL = {
    'Enter': '\r',
    'Esc': '\x1b',
    'Space': ' ',
    'Tab': '\t',
    'Shift-Tab': '\x1b[Z',
    'Backspace': '\x7f',
    'Up': '\x1b[A',
    'Down': '\x1b[B',
    'Right': '\x1b[C',
    'Left': '\x1b[D',
    'Home': '\x1b[H',
    'End': '\x1b[F',
    'PageUp': '\x1b[5~',
    'PageDown': '\x1b[6~',
    'F1': '\x1bOP',
    'F2': '\x1bOQ',
    'F3': '\x1bOR',
    'F4': '\x1bOS',
    'F5': '\x1b[15~',
    'F6': '\x1b[17~',
    'F9': '\x1b[20~',
    'F10': '\x1b[21~',
}

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
#: Becomes a waiting shell under another name, and as another user if one is given.
_BECOME = (
    'import os, sys\n'
    'if sys.argv[2]: os.setuid(int(sys.argv[2]))\n'
    "os.execv('/bin/sh', [sys.argv[1], '-c', 'read line'])"
)
#: ID of a user who owns no other process here.
OTHER_USER = 65534
TAG_COLOR = 'brown'  # the name in pyte of yellow

#: Screen that a test waits for → its first line.
TITLES = {
    Screen.MAIN: r'\A[^›\n]*\[SIM',
    Screen.TREE: r'(?m)^.. Process tree \([1-9]',
    Screen.HELP: 'Help: lines',
    Screen.PROBLEMS: r'(?m)^.. Problems \d',
    Screen.USERS: r'(?m)^.. (Users|Jobs) \d',
}
_PROCESS = re.compile(r'^│[ =]*\d[\d:]* .* \d+ [CGXM?] ')


@contextlib.contextmanager
def bystander(name: str, user: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a child process under this name, which waits until it is killed."""
    command = [sys.executable, '-S', '-E', '-c', _BECOME, name, str(user or '')]
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


def sequence(keys: str) -> str:
    """Return the sequence for a key, or for keys separated by spaces, by their names."""
    return ''.join(_sequence(key) for key in keys.split(' '))


def _sequence(key: str) -> str:
    if key in _SPECIAL:
        return _SPECIAL[key]
    modifier, _, letter = key.rpartition('-')
    if modifier == 'Alt' and len(letter) == 1:
        return f'\x1b{letter}'
    if modifier == 'Ctrl' and 'A' <= letter <= 'Z':
        return chr(ord(letter) - 64)
    if len(key) == 1:
        return key
    raise AssertionError(f'unknown sequence of the key {key!r}; add it to _SPECIAL')


class Monitor(Program):
    """The monitor and the contents of its screens."""

    def __init__(
        self, scenario: pathlib.Path, *options: str, columns: int = 104, rows: int = 41
    ) -> None:
        super().__init__(
            # In this theme, the selected row is reversed, and colors are those of the palette.
            (*NVITOP, '--theme=classic', '--flat', '--demo', str(scenario), *options),
            columns=columns,
            rows=rows,
            variables={'LONG': 'somewhere/' * 30, 'SHOP_TOKEN': 'open sesame'},
        )
        self.screen = Screen.MAIN

    def __enter__(self) -> Monitor:
        return self

    def wait_for_first_sample(self) -> None:
        self.wait_for(TITLES[Screen.MAIN])
        self.wait_for('server --port')

    def key(self, keys: str) -> None:
        self.type(sequence(keys))

    def back(self) -> None:
        if self.screen is not Screen.MAIN:
            self.type('q')
            self.screen = Screen.MAIN
        self.wait_for(TITLES[Screen.MAIN])

    def row(self, text: str) -> int:
        return next((y for y, line in enumerate(self.lines) if text in line), -1)

    def has_reverse(self, y: int) -> bool:
        """Return whether any cell of a row is reversed; False for row -1."""
        cells = (self.emulator.screen.cell(x, y) for x in range(self.emulator.screen.columns))
        return y >= 0 and any(cell.reverse for cell in cells)

    def color(self, text: str) -> str:
        """Return the color of a text, or ``''`` if it is not on the screen."""
        y = self.row(text)
        if y < 0:
            return ''
        return str(self.emulator.screen.cell(self.lines[y].index(text), y).fg)

    def cursor(self) -> int | None:
        """Return the index of the selected process among the visible ones."""
        rows = [y for y, line in enumerate(self.lines) if _PROCESS.match(line)]
        return next((i for i, y in enumerate(rows) if self.has_reverse(y)), None)

    def select(self, name: str) -> None:
        self.type('\x1bOR' + name)
        self.wait_for(f'^Search: {name}')
        self.key('Enter')
        self.wait_for(TITLES[self.screen])
        self.wait_until_selected(name)

    def wait_for_cursor(self, number: int | None) -> None:
        """Wait until the process with this index among the visible ones is selected."""
        self.wait(lambda: self.cursor() == number)

    def wait_until_selected(self, text: str) -> None:
        self.wait(lambda: self.has_reverse(self.row(text)))

    def wait_until_tagged(self, text: str) -> None:
        self.wait(lambda: self.color(text) == TAG_COLOR)

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
        monitor.wait_for_first_sample()
        for name in names:
            monitor.wait_for(f' {name} ')
        yield monitor, victims


class Machine(NamedTuple):
    """A scenario, and the PID of its process that belongs to another user."""

    path: pathlib.Path
    other: int


@contextlib.contextmanager
def machine_with_two_users(folder: pathlib.Path) -> Iterator[Machine]:
    """Write a scenario with a process that belongs to another user."""
    with contextlib.ExitStack() as stack:
        # The first process of the system belongs to root; root needs a process of another user.
        other = 1
        if os.geteuid() == 0:
            other = stack.enter_context(bystander('worker', OTHER_USER)).pid
        path = folder / 'steady.toml'
        path.write_text(describe_machine([other]), encoding='utf-8')
        yield Machine(path, other)


class Monitors:
    """Lends one running monitor to many tests, which restore its state."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._running: Monitor | None = None

    @contextlib.contextmanager
    def lent(self) -> Iterator[Monitor]:
        """Lend the monitor on its main screen; after a failed test, start a new one."""
        monitor, self._running = self._running, None
        if monitor is None:
            monitor = Monitor(self.machine.path)
            with contextlib.ExitStack() as stack:
                stack.push(monitor)
                monitor.wait_for_first_sample()
                stack.pop_all()
        try:
            yield monitor
            monitor.back()
            monitor.key('Home')
            monitor.wait_for_cursor(0)
            monitor.key('Esc')
            monitor.wait_for_cursor(None)
        except BaseException:
            monitor.__exit__()
            raise
        self._running = monitor

    def close(self) -> None:
        if self._running is not None:
            with self._running as monitor:
                monitor.type('q')
                monitor.wait_for_exit(timeout=PATIENCE)
