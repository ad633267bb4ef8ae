"""Impossible values from the driver are dropped and reported everywhere, and never fatal."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from nvitop import cli
from nvitop.query.command import main as query
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Demand, Sample
from tests.api.machines import machine as make_machine
from tests.clock import Clock
from tests.command_run import CommandRun

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
