"""Calls that hang for one GPU of three: programs show the others and exit."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Any, Callable, Iterator
from unittest import mock

import pytest

from nvitop import cli, select
from nvitop.query.command import main as query
from tests.command_run import CommandRun
from tests.faults.sample_checks import KnownMachine
from tests.waiting import PATIENCE

PROGRAMS: dict[str, tuple[Callable[[list[str]], int], tuple[str, ...]]] = {
    'report': (cli.main, ('-1', '--no-config')),
    'report of one': (cli.main, ('-1', '--no-config', '--only', '0')),
    'visible': (cli.main, ('-1', '--no-config', '--only-visible')),
    'query': (query, ('--all', '--mig', '--format=json')),
    'nvisel': (select.main, ('-f', '1GiB', '--include-unhealthy')),
    'nvisel of the visible': (select.main, ('-i', '--include-unhealthy')),
}


class Exited(SystemExit):
    """Replaces os._exit()."""


@contextlib.contextmanager
def quick() -> Iterator[None]:
    """Shorten the time limits, and replace os._exit() by an exception."""

    def exit_now(status: int) -> None:
        raise Exited(status)

    with contextlib.ExitStack() as stack:
        for name in (
            'nvitop.sampling.threads.SHORTEST_LIMIT_SECONDS',
            'nvitop.sampling.threads.START_SECONDS',
            'nvitop.sampling.threads.VISIBLE_SECONDS',
            'nvitop.select.command.LIMIT_SECONDS',
        ):
            stack.enter_context(mock.patch(name, 1.0))
        stack.enter_context(mock.patch.object(os, '_exit', exit_now))
        stack.enter_context(mock.patch.dict(os.environ, {'CUDA_VISIBLE_DEVICES': '0,2'}))
        yield


def run_with(function: str, program: str) -> CommandRun | None:
    """Run a program while a function hangs; ``None`` if the program hangs too."""
    main, arguments = PROGRAMS[program]
    found: list[Any] = []
    bench = KnownMachine()
    with quick(), bench.opened():
        bench.turn()
        thread = threading.Thread(
            target=lambda: found.append(CommandRun(main, *arguments)), daemon=True
        )
        bench.machine.hang(function, gpu=1)
        thread.start()
        thread.join(PATIENCE)
        hangs = thread.is_alive()
        is_called = bench.machine.calls[function] > 0
        bench.machine.release()
        thread.join(PATIENCE)
    if hangs:
        return None
    ran: CommandRun = found[0]
    # The devices that CUDA programs see may depend on the hanging one.
    if is_called and 'visible' not in program:
        # The first and the last GPU respond.
        assert '0' in ran.out, (function, program, ran.out, ran.err)
    return ran


@pytest.mark.parametrize(
    ('function', 'program'),
    [
        ('nvmlDeviceGetMemoryInfo_v2', 'report'),
        ('nvmlDeviceGetUUID', 'report of one'),
        ('nvmlDeviceGetUUID', 'visible'),
        ('nvmlDeviceGetTemperatureV', 'query'),
        ('nvmlDeviceGetUtilizationRates', 'nvisel'),
        ('nvmlDeviceGetUUID', 'nvisel of the visible'),
    ],
)
def test_hanging_gpu_does_not_block_a_program(function: str, program: str) -> None:
    ran = run_with(function, program)
    assert ran is not None, f'{program} hangs with {function}'
    assert ran.status in (0, 1, 2), (program, function, ran.status, ran.err)
    assert not ran.status or ran.err
