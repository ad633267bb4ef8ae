"""Calls that hang for one GPU of three: programs show the others and exit."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Callable, Iterator
from unittest import mock

import pytest

from nvitop import cli, select
from nvitop.query.command import main as query
from tests.command_run import CommandRun
from tests.faults.sample_checks import KnownMachine
from tests.waiting import PATIENCE

LIMITS = (
    'nvitop.sampling.threads.SHORTEST_LIMIT_SECONDS',
    'nvitop.sampling.threads.START_SECONDS',
    'nvitop.sampling.threads.VISIBLE_SECONDS',
    'nvitop.select.command.LIMIT_SECONDS',
)
REPORT, QUERY, NVISEL = '-1 --no-config', '--all --mig --format=json', '--include-unhealthy'


class Exited(SystemExit):
    """Replaces os._exit()."""


@contextlib.contextmanager
def quick() -> Iterator[None]:
    """Shorten the time limits, and replace os._exit() by an exception."""
    with contextlib.ExitStack() as stack:
        for name in LIMITS:
            stack.enter_context(mock.patch(name, 1.0))
        stack.enter_context(mock.patch.object(os, '_exit', Exited))
        stack.enter_context(mock.patch.dict(os.environ, {'CUDA_VISIBLE_DEVICES': '0,2'}))
        yield


@pytest.mark.parametrize(
    ('function', 'main', 'arguments'),
    [
        ('nvmlDeviceGetMemoryInfo_v2', cli.main, REPORT),
        ('nvmlDeviceGetUUID', cli.main, f'{REPORT} --only 0'),
        ('nvmlDeviceGetUUID', cli.main, f'{REPORT} --only-visible'),
        ('nvmlDeviceGetTemperatureV', query, QUERY),
        ('nvmlDeviceGetUtilizationRates', select.main, f'{NVISEL} -f 1GiB'),
        ('nvmlDeviceGetUUID', select.main, f'{NVISEL} -i'),
    ],
)
def test_hanging_gpu_does_not_block_a_program(
    function: str, main: Callable[[list[str]], int], arguments: str
) -> None:
    found: list[CommandRun] = []
    bench = KnownMachine()
    with quick(), bench.opened():
        bench.turn()
        thread = threading.Thread(
            target=lambda: found.append(CommandRun(main, *arguments.split())), daemon=True
        )
        bench.machine.hang(function, gpu=1)
        thread.start()
        thread.join(PATIENCE)
        hangs = thread.is_alive()
        is_called = bench.machine.calls[function] > 0
        bench.machine.release()
        thread.join(PATIENCE)
    assert not hangs
    (ran,) = found
    # The devices that CUDA programs see may depend on the hanging one.
    if is_called and not arguments.endswith(('--only-visible', '-i')):
        assert '0' in ran.out, ran.err  # the first GPU responds
    assert ran.status in (0, 1, 2), ran.err
    assert not ran.status or ran.err
