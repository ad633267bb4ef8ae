"""nvitop in a terminal: press keys, wait for what is to be seen, look at what is left behind."""

from __future__ import annotations

import os
import re
import sys
import time
from typing import Callable, Mapping, Sequence

import psutil

from tests.e2e.emulator import FRESH_MODES, Emulator
from tests.e2e.pseudoterminal import Pseudoterminal
from tests.patience import PATIENCE

_REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
#: ``python -m nvitop`` of this repository, from wherever it is started.
NVITOP = (sys.executable, '-m', 'nvitop', '--no-config')
DEMO = (*NVITOP, '--demo')
#: A program that is waited for has one of these when it has not been given the CPU, too.
_AT_WORK = (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP)


def environment(**changes: str | None) -> dict[str, str]:
    """An environment in which programs behave the same everywhere; ``None`` takes one away."""
    variables: dict[str, str | None] = {
        'PATH': os.environ.get('PATH', os.defpath),
        'HOME': os.environ.get('HOME', '/'),
        'TERM': 'xterm-256color',
        'LC_ALL': 'C.UTF-8',
        'PYTHONPATH': _REPOSITORY,
        'PYTHONDONTWRITEBYTECODE': os.environ.get('PYTHONDONTWRITEBYTECODE'),
        **changes,
    }
    return {name: value for name, value in variables.items() if value is not None}


class Program(Pseudoterminal):
    """A program in a terminal whose screen can be looked at."""

    def __init__(
        self,
        command: Sequence[str] = DEMO,
        *,
        columns: int = 120,
        rows: int = 50,
        variables: Mapping[str, str | None] | None = None,
        joins_errors: bool = False,
    ) -> None:
        self.emulator = Emulator(columns, rows)
        #: Everything that was written.
        self.written = bytearray()
        super().__init__(
            command,
            columns=columns,
            rows=rows,
            environment=environment(**(variables or {})),
            joins_errors=joins_errors,
        )

    def __enter__(self) -> Program:
        return self

    @property
    def text(self) -> str:
        """What the screen shows."""
        return self.emulator.text

    @property
    def lines(self) -> list[str]:
        """The same by rows."""
        return self.emulator.lines

    @property
    def modes(self) -> set[int]:
        """The private modes of the terminal that are on."""
        return self.emulator.screen.private_modes

    def look(self, timeout: float = 0.0) -> bool:
        """Take in what was written; whether there was anything."""
        data = self.read(timeout)
        self.written += data
        self.emulator.feed(data)
        return bool(data)

    def has_drawn(self) -> bool:
        """Take in all that was written; whether the program is at rest, not amid a frame."""
        while self.look():
            pass
        try:
            status = psutil.Process(self.process.pid).status()
        except psutil.NoSuchProcess:
            return True
        return status not in _AT_WORK and not self.look()

    def wait(self, condition: Callable[[], object], *, timeout: float = PATIENCE) -> None:
        """Wait until this holds when a frame has been drawn, looking at the screen meanwhile."""
        deadline = time.monotonic() + timeout
        while not (self.has_drawn() and condition()):
            # A condition may depend on more than what is written.
            if not self.look(0.05) and time.monotonic() > deadline:
                raise AssertionError(
                    f'waited for {timeout} s in vain; status {self.process.poll()}, errors '
                    f'{self.errors()!r}, screen:\n{self.text}'
                )

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait until the screen shows something that matches."""
        found: list[re.Match[str]] = []

        def is_shown() -> bool:
            match = re.search(pattern, self.text, re.MULTILINE)
            found.extend([match] if match else [])
            return bool(found)

        self.wait(is_shown)
        return found[0]

    def wait_until_gone(self, pattern: str) -> None:
        """Wait until nothing on the screen matches."""
        self.wait(lambda: not re.search(pattern, self.text, re.MULTILINE))

    def press(self, keys: str, pattern: str) -> re.Match[str]:
        """Press keys, then wait for something to be shown."""
        self.type(keys)
        return self.wait_for(pattern)

    def click(self, x: int, y: int, *, button: int = 0) -> None:
        """Press and release a button over a cell (from 0), as terminals report it."""
        self.type(f'\x1b[<{button};{x + 1};{y + 1}M\x1b[<{button};{x + 1};{y + 1}m')

    def scroll(self, button: int, x: int = 20, y: int = 20) -> None:
        """Turn the wheel: 64 up, 65 down; 4 more with Shift, 16 more with Ctrl."""
        self.type(f'\x1b[<{button};{x + 1};{y + 1}M')

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size."""
        self.emulator.resize(columns, rows)
        super().resize(columns, rows)

    def wait_for_exit(self, *, timeout: float = PATIENCE) -> int:
        """Wait until the program has ended, and take in the rest; its status as a shell has it."""
        self.wait(lambda: self.process.poll() is not None, timeout=timeout)
        while self.look(0.0):
            pass
        status = self.process.returncode
        return status if status >= 0 else 128 - status

    def leave(self) -> int:
        """Quit as users do."""
        self.type('q')
        return self.wait_for_exit()

    def assert_restored(self) -> None:
        """The terminal is as it was before the program."""
        assert self.present_attributes() == self.attributes
        assert self.modes == FRESH_MODES, f'modes left on: {self.modes}'
