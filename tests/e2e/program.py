"""A program in a terminal emulator: press keys, wait for text, and inspect the terminal."""

from __future__ import annotations

import os
import re
import sys
import time
from typing import Callable, Mapping, Sequence

import psutil

from benchmarks.pseudoterminal import Pseudoterminal
from tests.e2e.emulator import FRESH_MODES, Emulator
from tests.waiting import PATIENCE

_REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
#: ``python -m nvitop`` of this repository, from any directory.
NVITOP = (sys.executable, '-m', 'nvitop', '--no-config')
DEMO = (*NVITOP, '--demo')
#: Status of a program that runs, or would run if it had a CPU.
_AT_WORK = (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP)


def environment(**changes: str | None) -> dict[str, str]:
    """Return an environment in which programs behave alike; ``None`` removes a variable."""
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
        #: All output of the program.
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
        return self.emulator.text

    @property
    def lines(self) -> list[str]:
        return self.emulator.lines

    @property
    def modes(self) -> set[int]:
        return self.emulator.screen.private_modes

    def look(self, timeout: float = 0.0) -> bool:
        """Read and process output; return whether there was any."""
        data = self.read(timeout)
        self.written += data
        self.emulator.feed(data)
        if b'\x1b[c' in data:  # a terminal reports its attributes
            self.type('\x1b[?62;22c')
        return bool(data)

    def has_drawn(self) -> bool:
        """Process all output; return whether the program is idle, so that a frame is complete."""
        while self.look():
            pass
        try:
            status = psutil.Process(self.process.pid).status()
        except psutil.NoSuchProcess:
            return True
        return status not in _AT_WORK and not self.look()

    def wait(self, condition: Callable[[], object], *, timeout: float = PATIENCE) -> None:
        """Wait until a condition holds for a complete frame."""
        deadline = time.monotonic() + timeout
        while not (self.has_drawn() and condition()):
            # A condition may depend on more than the output.
            if not self.look(0.005) and time.monotonic() > deadline:
                raise AssertionError(
                    f'condition not met within {timeout} s; status {self.process.poll()}, errors '
                    f'{self.errors()!r}, screen:\n{self.text}'
                )

    def wait_for(self, pattern: str) -> re.Match[str]:
        found: list[re.Match[str]] = []

        def is_shown() -> bool:
            match = re.search(pattern, self.text, re.MULTILINE)
            found.extend([match] if match else [])
            return bool(found)

        self.wait(is_shown)
        return found[0]

    def wait_until_gone(self, pattern: str) -> None:
        self.wait(lambda: not re.search(pattern, self.text, re.MULTILINE))

    def press(self, keys: str, pattern: str) -> re.Match[str]:
        self.type(keys)
        return self.wait_for(pattern)

    def click(self, x: int, y: int, *, button: int = 0) -> None:
        """Press and release a button over a cell (from 0), as terminals report it."""
        self.type(f'\x1b[<{button};{x + 1};{y + 1}M\x1b[<{button};{x + 1};{y + 1}m')

    def scroll(self, button: int, x: int = 20, y: int = 30) -> None:
        """Turn the wheel: 64 up, 65 down; 4 more with Shift, 16 more with Ctrl."""
        self.type(f'\x1b[<{button};{x + 1};{y + 1}M')

    def resize(self, columns: int, rows: int) -> None:
        self.emulator.resize(columns, rows)
        super().resize(columns, rows)

    def wait_for_exit(self, *, timeout: float = PATIENCE) -> int:
        """Wait until the program exits and process its output; return the status of a shell."""
        self.wait(lambda: self.process.poll() is not None, timeout=timeout)
        while self.look(0.0):
            pass
        status = self.process.returncode
        return status if status >= 0 else 128 - status

    def leave(self) -> int:
        self.type('q')
        return self.wait_for_exit()

    def assert_restored(self) -> None:
        assert self.present_attributes() == self.attributes
        assert self.modes == FRESH_MODES, f'modes left on: {self.modes}'
