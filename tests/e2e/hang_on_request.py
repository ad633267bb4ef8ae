"""The monitor on a simulated machine, with orders at run time to hang driver calls."""

from __future__ import annotations

import os
import pathlib
import sys

#: Arguments: the scenario, a named pipe to read orders from, and those of nvitop.
_PROGRAM = """
import sys, threading
from nvitop import simulation
machine = simulation.install(sys.argv[1], announce=False)
def obey():
    with open(sys.argv[2]) as orders:
        for order in orders:
            what, name, gpu = order.split()
            getattr(machine, what)(name, gpu=int(gpu) if gpu != 'all' else None)
threading.Thread(target=obey, daemon=True).start()
from nvitop.cli import main
sys.exit(main(['--no-config', *sys.argv[3:]]))
"""


class Orders:
    """Orders to the simulated driver. Calls that hang never return."""

    def __init__(self, pipe: pathlib.Path) -> None:
        self.path = pipe
        self._pipe = -1
        os.mkfifo(pipe)

    def command(self, scenario: pathlib.Path, *options: str) -> tuple[str, ...]:
        return (sys.executable, '-c', _PROGRAM, str(scenario), str(self.path), *options)

    def open(self) -> None:
        self._pipe = os.open(self.path, os.O_WRONLY)

    def hang(self, name: str, gpu: int | None = None) -> None:
        """Make these calls hang from now on, for one GPU or for all."""
        os.write(self._pipe, f'hang {name} {"all" if gpu is None else gpu}\n'.encode())

    def close(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
