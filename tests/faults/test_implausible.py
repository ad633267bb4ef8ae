"""Impossible values, and calls that hang for one GPU of three: programs show the others."""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from typing import Any, Callable, Iterator
from unittest import mock

import pytest

from nvitop import cli, select
from nvitop.query.command import main as query
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Demand, Sample
from tests.api.machines import machine as make_machine
from tests.clock import Clock
from tests.command_run import CommandRun
from tests.faults.sample_checks import KnownMachine
from tests.waiting import PATIENCE

_GPU = '[[gpu]]\nmodel = "H100"\n'
_OTHERS = '[[gpu]]\ncount = 2\nmodel = "H100"\n'
HUGE = 4_000_000_000

#: Key of GPU 0 → impossible value, field of the sample, and metric in the problem.
IMPOSSIBLE = {
    'gpu_utilization': (HUGE, 'gpu_utilization_percent', 'gpu_utilization'),
    'memory_utilization': (101, 'memory_utilization_percent', 'memory_utilization'),
    'encoder_utilization': (HUGE, 'encoder_utilization_percent', 'encoder_utilization'),
    'fan_speed': (HUGE, 'fan_speed_percent', 'fan_speed'),
    'temperature': (5000, 'temperature_celsius', 'temperature'),
    'power_usage': (4_200_000, 'power_usage_mw', 'power_usage'),
    'sm_clock': (HUGE, 'sm_clock_mhz', 'sm_clock'),
    'memory_used': ('2 TiB', 'memory_used_bytes', 'memory_used'),
    'bar1_memory_used': ('9 TiB', 'bar1_memory_used_bytes', 'bar1_memory_used'),
}


def source() -> tuple[LiveSource, Clock]:
    clock = Clock()
    return LiveSource(clock=clock, sleep=clock.turn), clock


def sampled(clock: Clock, live: LiveSource) -> Sample:
    clock.turn(10.0)
    return live.sample(Demand(shown_metrics=('encoder_utilization',)))


def of(sample: Sample, what: str) -> list[tuple[Any, str]]:
    return [(p.subject, p.kind) for p in sample.problems if p.what == what]


@pytest.mark.parametrize('key', IMPOSSIBLE)
def test_impossible_value_is_dropped_and_reported(key: str) -> None:
    value, field, metric = IMPOSSIBLE[key]
    fans = 'fan_count = 1\n' if key == 'fan_speed' else ''
    with make_machine(_GPU + fans + _OTHERS) as machine:
        live, clock = source()
        assert getattr(sampled(clock, live).devices[0], field) is not None
        machine.set(gpu=0, **{key: value})
        sample = sampled(clock, live)
        assert [device.status for device in sample.devices] == ['ok'] * 3
        assert getattr(sample.devices[0], field) is None
        assert (sample.devices[0].key, 'impossible') in of(sample, metric)
        if key != 'fan_speed':
            assert getattr(sample.devices[1], field) is not None
        ran = CommandRun(cli.main, '-1', '--no-config')
        rows = json.loads(CommandRun(query, '--gpu=all', '--format=json').out)['devices']
    assert ran.status == 0
    end = ran.out.rindex('╰')
    table, below = ran.out[:end], ran.out[end:]  # below it is what was dropped
    if key not in ('encoder_utilization',):
        assert re.search('implausible|more than', below + ran.err)
    assert not re.search(r'4000000000|42000|5000°C|101%|2048|9216', table)
    assert len(rows) == 3


@pytest.mark.parametrize('pid', [2**31 + 5, 2**32 - 1, 0])
def test_process_with_an_impossible_pid_is_dropped(pid: int) -> None:
    text = f'{_GPU}{_OTHERS}[[process]]\ncommand = ["x"]\npid = {pid}\nmemory = "1 GiB"\n'
    with make_machine(text):
        ran = CommandRun(cli.main, '-1', '--no-config')  # the warning appears once
        live, clock = source()
        sample = sampled(clock, live)
        rows = json.loads(CommandRun(query, '--all', '--format=json').out)
    assert sample.processes == ()
    lists = of(sample, 'processes')
    assert lists == [(device.key, 'impossible') for device in sample.devices]
    assert ran.status == 0
    assert not pid or str(pid) not in ran.out
    message = f'processes: ignored 1 of 1 entries: invalid PID {pid}\n'
    assert f'nvitop: warning: GPU 0-2: {message}' in ran.err
    assert rows['processes'] == []


@pytest.mark.parametrize('count', [0, 1, 2, 5, 64, 2**32 - 1])
def test_number_of_gpus_changes_between_two_calls(count: int) -> None:
    machine = make_machine(_GPU + _OTHERS)
    counts = iter([3, 3])

    def nvmlDeviceGetCount_v2(target: Any) -> int:
        getattr(target, '_obj', target).value = next(counts, count)
        return 0

    machine.driver.nvmlDeviceGetCount_v2 = nvmlDeviceGetCount_v2  # type: ignore[attr-defined]  # - it has no fixed attributes
    with machine:
        live, clock = source()
        samples = [sampled(clock, live) for _ in range(4)]
        ran = CommandRun(cli.main, '-1', '--no-config')
    assert [device.status for device in samples[0].devices] == ['ok'] * 3
    healthy = [device for device in samples[-1].devices if device.status == 'ok']
    assert len(healthy) == (min(count, 3) if count < 1024 else 0)
    assert count < 1024 or samples[-1].problems[0].subject == 'driver'
    assert ran.status in (0, 1)
    assert 'Traceback' not in ran.err
    assert len(ran.out) < 1_000_000


LIMITS = (
    'nvitop.sampling.threads.SHORTEST_LIMIT_SECONDS',
    'nvitop.sampling.threads.START_SECONDS',
    'nvitop.sampling.threads.VISIBLE_SECONDS',
    'nvitop.select.command.LIMIT_SECONDS',
)
REPORT, QUERY, NVISEL = '-1 --no-config', '--all --mig --format=json', '--include-unhealthy'


class Exited(SystemExit):
    pass


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
