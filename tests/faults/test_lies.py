"""Answers of the driver that cannot be true: dropped and reported, on every front, never fatal."""

from __future__ import annotations

import json
import re
from typing import Any, Callable

import pytest

from nvitop import cli, simulation
from nvitop.api.device import Device
from nvitop.query.command import main as query
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Demand, Sample
from tests.faults.bench import Bench
from tests.faults.programs import Ran
from tests.sampling.fakes import Clock

_GPU = '[[gpu]]\nmodel = "H100"\n'
_OTHERS = '[[gpu]]\ncount = 2\nmodel = "H100"\n'
HUGE = 4_000_000_000

#: Key and value of GPU 0 → what must not be said of it, and of what there is a reason.
LIES = {
    'gpu_utilization': (HUGE, 'gpu_utilization_percent', 'gpu_utilization'),
    'memory_utilization': (101, 'memory_utilization_percent', 'memory_utilization'),
    'encoder_utilization': (HUGE, 'encoder_utilization_percent', 'encoder_utilization'),
    'fan_speed': (HUGE, 'fan_speed_percent', 'fan_speed'),
    'temperature': (5000, 'temperature_celsius', 'temperature'),
    'power_usage': (4_200_000, 'power_usage_mw', 'power_usage'),
    'sm_clock': (HUGE, 'sm_clock_mhz', 'sm_clock'),
    'memory_used': ('2 TiB', 'memory_used_bytes', 'memory_used'),
    'bar1_used': ('9 TiB', 'bar1_memory_used_bytes', 'bar1_memory_used'),
}


def source() -> tuple[LiveSource, Clock]:
    clock = Clock()
    return LiveSource(clock=clock, sleep=clock.turn), clock


def sampled(clock: Clock, live: LiveSource) -> Sample:
    clock.turn(10.0)
    return live.sample(Demand(shown_metrics=('encoder_utilization',)))


def of(sample: Sample, what: str) -> list[tuple[Any, str]]:
    return [(p.subject, p.kind) for p in sample.problems if p.what == what]


@pytest.mark.parametrize('key', LIES)
def test_what_cannot_be_is_not_said(key: str) -> None:
    value, field, metric = LIES[key]
    fans = 'fan_count = 1\n' if key == 'fan_speed' else ''
    scenario = simulation.parse_scenario(_GPU + fans + _OTHERS, name='lies')
    with simulation.machine(scenario, processes='none') as machine:
        live, clock = source()
        assert getattr(sampled(clock, live).devices[0], field) is not None
        machine.set(gpu=0, **{key: value})
        sample = sampled(clock, live)
        assert [device.status for device in sample.devices] == ['ok'] * 3
        assert getattr(sample.devices[0], field) is None
        assert (sample.devices[0].key, 'impossible') in of(sample, metric)
        if key != 'fan_speed':
            assert getattr(sample.devices[1], field) is not None
        said = Ran(cli.main, '-1', '--no-config')
        rows = json.loads(Ran(query, '--gpu=all', '--format=json').out)['devices']
    assert said.status == 0
    if key not in ('encoder_utilization',):
        assert 'cannot be true' in said.err or 'more than' in said.err
    assert not re.search(r'4000000000|42000|5000C|101%|2048GiB|9216GiB', said.out)
    assert len(rows) == 3


@pytest.mark.parametrize('pid', [2**31 + 5, 2**32 - 1, 0])
def test_a_pid_that_cannot_be_is_no_process(pid: int) -> None:
    text = f'{_GPU}{_OTHERS}[[process]]\ncommand = ["x"]\npid = {pid}\nmemory = "1 GiB"\n'
    with simulation.machine(simulation.parse_scenario(text, name='lies'), processes='fixed'):
        ran = Ran(cli.main, '-1', '--no-config')  # it is warned of once
        live, clock = source()
        sample = sampled(clock, live)
        rows = json.loads(Ran(query, '--all', '--format=json').out)
    assert sample.processes == ()
    lists = of(sample, 'processes')
    assert lists == [(device.key, 'impossible') for device in sample.devices]
    assert ran.status == 0
    assert not pid or str(pid) not in ran.out
    assert f'PID {pid} is outside' in ran.err
    assert rows['processes'] == []


def _name(data: bytes) -> Callable[..., int]:
    def nvmlDeviceGetName(handle: Any, buffer: Any, length: Any) -> int:
        target = getattr(buffer, '_obj', buffer)
        target.value = data
        return 0

    return nvmlDeviceGetName


@pytest.mark.parametrize(
    ('data', 'shown'),
    [
        (b'H100\x00hidden', 'H100'),
        (b'H100 \xff\xfe', 'H100 ??'),
        (b'H100 \xe2\x82', 'H100 ?'),
        (b'H100 \x1b[31m\x9b1m', 'H100'),
        ('H100 \u202e\u2066\u0301'.encode(), 'H100'),
        (b'x' * 64, 'x' * 8),
    ],
)
def test_names_of_any_bytes_are_drawn(data: bytes, shown: str) -> None:
    machine = simulation.machine(
        simulation.parse_scenario(_GPU + _OTHERS, name='lies'), processes='none'
    )
    machine.driver.nvmlDeviceGetName = _name(data)  # type: ignore[attr-defined]  # - of any names
    with machine:
        ran = Ran(cli.main, '-1', '--no-config')
        name = Device(0).name()
    assert ran.status == 0
    assert shown.rstrip('?') in ran.out
    assert not re.search('[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]', ran.out)
    name.encode()


def test_counters_that_go_backwards_have_no_rate() -> None:
    bench = Bench()
    with bench.opened():
        before = [bench.sample() for _ in range(2)][-1].devices[0]
        # As after a reset of the GPU: the counters begin again.
        bench.machine.advance(-15.0)
        reset = bench.sample().devices[0]
        after = [bench.sample() for _ in range(2)][-1].devices[0]
    for name in ('pcie_tx_throughput_kib_per_s', 'nvlink_tx_throughput_kib_per_s'):
        assert getattr(reset, name) is None
        assert getattr(after, name) == pytest.approx(getattr(before, name), rel=0.02)


@pytest.mark.parametrize('count', [0, 1, 2, 5, 64, 2**32 - 1])
def test_a_count_that_changes_between_two_calls(count: int) -> None:
    machine = simulation.machine(
        simulation.parse_scenario(_GPU + _OTHERS, name='lies'), processes='none'
    )
    counts = iter([3, 3])

    def nvmlDeviceGetCount_v2(target: Any) -> int:
        getattr(target, '_obj', target).value = next(counts, count)
        return 0

    machine.driver.nvmlDeviceGetCount_v2 = nvmlDeviceGetCount_v2  # type: ignore[attr-defined]  # - of any names
    with machine:
        live, clock = source()
        samples = [sampled(clock, live) for _ in range(4)]
        ran = Ran(cli.main, '-1', '--no-config')
    assert [device.status for device in samples[0].devices] == ['ok'] * 3
    healthy = [device for device in samples[-1].devices if device.status == 'ok']
    assert len(healthy) == (min(count, 3) if count < 1024 else 0)
    assert count < 1024 or samples[-1].problems[0].subject == 'driver'
    assert ran.status in (0, 1)
    assert 'Traceback' not in ran.err
    assert len(ran.out) < 1_000_000


def test_lists_that_grow_between_size_and_fetch_are_whole() -> None:
    text = f'{_GPU}[[process]]\ncount = 3\ncommand = ["x"]\nmemory = "1 GiB"\n'
    with simulation.machine(
        simulation.parse_scenario(text, name='lies'), processes='fixed'
    ) as machine:
        live, clock = source()
        assert len(sampled(clock, live).processes) == 3
        for _ in range(4):
            machine.grow(40)
            sample = sampled(clock, live)
            assert sample.problems == () or not of(sample, 'processes')
            assert len(sample.processes) >= 3
            machine.heal()
