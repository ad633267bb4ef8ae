"""Driver calls that hang do not block the monitor."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import sys
from typing import IO, Iterator

import pytest

from nvitop.gui.model.choices import Screen
from tests.e2e.monitor import TITLES, describe_machine
from tests.e2e.program import Program

#: Arguments: the scenario, a named pipe with patterns of calls that hang, and those of nvitop.
_PROGRAM = """
import sys, threading
from nvitop import simulation
machine = simulation.install(sys.argv[1], announce=False)
def obey():
    with open(sys.argv[2]) as orders:
        for order in orders:
            machine.hang(order.strip())
threading.Thread(target=obey, daemon=True).start()
from nvitop.cli import main
sys.exit(main(['--no-config', *sys.argv[3:]]))
"""


@contextlib.contextmanager
def monitor_with_orders(
    folder: pathlib.Path, scenario: str, *options: str
) -> Iterator[tuple[Program, IO[str]]]:
    """Run the monitor on a simulated machine; calls whose pattern is written to the file hang."""
    machine, pipe = folder / 'machine.toml', folder / 'orders'
    machine.write_text(scenario, encoding='utf-8')
    os.mkfifo(pipe)
    command = (sys.executable, '-c', _PROGRAM, str(machine), str(pipe), *options)
    with contextlib.ExitStack() as stack:
        program = stack.enter_context(Program(command, columns=104, rows=44))
        orders = stack.enter_context(pipe.open('w', encoding='utf-8', buffering=1))
        yield program, orders


def test_monitor_responds_and_quits_while_all_calls_hang(tmp_path: pathlib.Path) -> None:
    with monitor_with_orders(tmp_path, describe_machine()) as (program, orders):
        program.wait_for('server --port')
        program.type('\x1b[B')
        program.wait_for('T Terminate')
        orders.write('nvml*\n')
        # The first call may not have timed out yet.
        use_everything(program, rows='server --port')
        program.wait(lambda: len(re.findall(r'no response for \d+s', program.text)) == 3)
        program.wait_for(r' \? .*server --port')
        program.wait_for('T Terminate')  # the selection is kept
        use_everything(program, rows='server --port')  # after the timeout
        program.press('T', 'SIGTERM')
        program.type('\x1b')
        program.wait_until_gone('SIGTERM')
        program.type('q')
        assert program.wait_for_exit() == 0
        program.assert_restored()
        assert 'no response for' in program.text  # in the report printed on exit
        assert re.search(r'critical  GPU 0.*: not responding: no response', program.text)


def use_everything(program: Program, rows: str) -> None:
    program.press('h', TITLES[Screen.HELP])
    program.press('\x1b[B', r' 2.\d+ of')
    program.press('q', rows)
    program.press('!', TITLES[Screen.PROBLEMS])
    program.press('q', rows)
    program.press('\\port', r'\A Filter: port')
    program.type('\x1b')
    program.wait_until_gone('Filter:')
    program.resize(80, 30)
    program.wait_for('^╰─{78}╯$')
    program.resize(104, 44)
    program.wait_for('^╰─{102}╯$')
    program.press('t', '› tree')
    program.press('q', rows)


@pytest.mark.parametrize(
    'options',
    [
        pytest.param((), id='all', marks=pytest.mark.slow),
        pytest.param(('--only', '0', '2'), id='some'),
    ],
)
def test_monitor_responds_if_the_driver_hangs_from_the_start(
    tmp_path: pathlib.Path, options: tuple[str, ...]
) -> None:
    # With --only, the monitor first has to query which GPUs exist.
    call = 'nvmlDeviceGet[!C]*' if options else 'nvmlDevice*'
    fault = f'\n[[fault]]\ncall = "{call}"\nhang = true\n'
    with monitor_with_orders(tmp_path, describe_machine(more=fault), *options) as (program, _):
        program.press('h', TITLES[Screen.HELP])
        program.type('qq')
        assert program.wait_for_exit() == 0
        program.assert_restored()
