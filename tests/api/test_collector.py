"""Metrics over time: their names, their means, tags, threads, and all that can go wrong."""

from __future__ import annotations

import contextlib
import gc
import itertools
import logging
import math
import os
import statistics
import subprocess
import sys
import threading
import time
import weakref
from typing import Any, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop import Device, ResourceMetricCollector, collect_in_background, simulation
from nvitop.api import host
from nvitop.api.collector import resource
from nvitop.api.collector.lineage import ProcessTreeFilter
from nvitop.api.collector.statistics import MOST_GONE, NAN, Statistics, TagBuffer
from nvitop.api.collector.statistics import Sample as CollectorSample
from nvitop.api.collector.threads import CollectThread
from nvitop.api.process import HostProcess
from nvitop.api.utils import Snapshot
from tests.patience import PATIENCE, wait_until

#: So that nothing is sampled but what a test asks for.
NEVER = 3600.0
#: NVML calls per GPU and tick of nvitop 1.7.2, and how much of it is allowed here.
UPSTREAM_CALLS, SHARE = 29, 0.4

ONE_GPU = """
description = "for the tests of the collector"
[[gpu]]
model = "H100"
temperature = 44
gpu_utilization = 61
memory_utilization = 37
power_usage = 312.5
power_limit = 600
memory_total = "80 GiB"
memory_reserved = 0
memory_base = 0
[[process]]
gpus = [0]
command = ["train"]
memory = "30 GiB"
sm = 40
memory_utilization = 20
"""


class Clock:
    """A clock that is turned by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def machine(text: str = ONE_GPU, **options: Any) -> simulation.Machine:
    scenario = simulation.parse_scenario(text, name='collector')
    return simulation.machine(scenario, **{'processes': [os.getpid()], **options})


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first sample takes longer where many other programs run."""
    monkeypatch.setattr(resource, '_PATIENCE_SECONDS', PATIENCE)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def one_gpu() -> Iterator[simulation.Machine]:
    with machine() as running:
        yield running


@pytest.fixture
def collector(one_gpu: simulation.Machine, clock: Clock) -> ResourceMetricCollector:
    return ResourceMetricCollector(interval=NEVER, clock=clock)


@pytest.fixture(autouse=True)
def end_of_all_tags() -> Iterator[None]:
    yield
    for collector in list(resource._collectors):
        while collector._has_tags():
            collector.deactivate()
        # A thread that is still reading would find no machine, and say so in the next test.
        assert collector._reading.acquire(timeout=PATIENCE)
        collector._reading.release()


@contextlib.contextmanager
def child(*, code: str = 'import sys; sys.stdin.read()') -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends when the block does."""
    process = subprocess.Popen(
        [sys.executable, '-S', '-c', code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=PATIENCE)


def sampling_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == 'nvitop-collector']


def scopes(metrics: dict[str, float]) -> set[str]:
    """Names of metrics without the statistic and the metric."""
    return {key.rpartition('/')[0].rpartition('/')[0] for key in metrics}


# Statistics


def fed(samples: list[tuple[float, float]]) -> Statistics:
    found = Statistics()
    previous = NAN
    for moment, value in samples:
        found.add(value, moment, previous)
        previous = moment
    return found


def test_the_mean_of_a_line_is_exact_however_it_is_sampled() -> None:
    times = [0.0, 0.1, 0.2, 3.0, 3.5, 10.0]
    assert fed([(t, 2 * t + 1) for t in times]).mean == pytest.approx(11.0)


def test_the_mean_of_an_exponential_is_its_integral() -> None:
    times = [0.0, *itertools.accumulate([0.01, 0.02, 0.03] * 50)]
    end = times[-1]
    found = fed([(t, math.exp(-t)) for t in times])
    assert found.mean == pytest.approx((1 - math.exp(-end)) / end, rel=1e-4)
    # Not the mean of the samples where they are not evenly spaced.
    uneven = [(t, math.exp(-t)) for t in (0.0, 0.01, 0.02, 0.03, 1.0, 2.0, 3.0)]
    assert fed(uneven).mean < statistics.mean(value for _, value in uneven) - 0.1


def test_what_is_not_known_counts_for_nothing() -> None:
    found = fed([(0, 10.0), (1, 10.0), (2, NAN), (5, 40.0), (6, 40.0), (7, NAN)])
    assert found.mean == 25.0
    assert (found.minimum, found.maximum, found.last) == (10.0, 40.0, 40.0)


def test_samples_without_time_between_them_have_their_plain_mean() -> None:
    assert fed([(0, 10.0), (1, NAN), (2, 40.0)]).mean == 25.0
    assert fed([(0, 7.0)]).mean == 7.0


def test_what_was_never_known_is_nan() -> None:
    assert all(math.isnan(value) for _, value in fed([(0, NAN), (1, NAN)]).items())


@given(
    st.lists(
        st.tuples(st.floats(1e-6, 1e4), st.one_of(st.just(NAN), st.floats(-1e9, 1e9))), max_size=30
    )
)
def test_the_mean_is_between_minimum_and_maximum(steps: list[tuple[float, float]]) -> None:
    times = itertools.accumulate(step for step, _ in steps)
    found = fed([(time, value) for time, (_, value) in zip(times, steps)])
    known = [value for _, value in steps if value == value]
    if known:
        assert found.minimum == min(known) <= found.mean <= max(known) == found.maximum
        assert found.last == known[-1]
    else:
        assert math.isnan(found.mean)


def test_the_mean_of_a_driver_that_swings_is_the_integral_of_its_wave(clock: Clock) -> None:
    period, middle, swing = 60.0, 300.0, 100.0
    wave = f'{{ mean = {middle}, amplitude = {swing}, period = {period}, phase = 0.0 }}'
    text = ONE_GPU.replace('power_usage = 312.5', f'power_usage = {wave}')
    with machine(text, clock=clock):
        collector = ResourceMetricCollector(Device(0), interval=NEVER, clock=clock)
        collector.activate('wave')
        collector.collect()
        start = Device(0).power_usage()
        assert isinstance(start, int)
        # Often while it is high, seldom while it is low: their plain mean says something else.
        plain = [start / 1000]
        while clock.now < 45.0:
            clock.now = round(clock.now + (0.1 if clock.now < 30.0 else 1.0), 1)
            snapshot = collector.take_snapshots().devices[0]
            plain.append(snapshot.power_usage / 1000)
        mean = collector.collect()['wave/gpu:0/power_usage (W)/mean']
    omega = 2 * math.pi / period
    integral = middle * 45.0 + swing * (1 - math.cos(omega * 45.0)) / omega
    assert mean == pytest.approx(integral / 45.0, abs=0.1)
    assert statistics.mean(plain) > mean + 10


# Names


def test_the_names_of_all_metrics(collector: ResourceMetricCollector, clock: Clock) -> None:
    pid = os.getpid()
    host = ['cpu_percent (%)', 'memory_percent (%)', 'swap_percent (%)', 'memory_used (GiB)']
    host += [f'load_average (%) ({minutes} min)' for minutes in (1, 5, 15)]
    device = ['memory_used (MiB)', 'memory_free (MiB)', 'memory_total (MiB)', 'memory_percent (%)']
    device += ['gpu_utilization (%)', 'memory_utilization (%)', 'fan_speed (%)']
    device += ['temperature (C)', 'power_usage (W)', 'power_limit (W)']
    process = ['cpu_percent (%)', 'host_memory (MiB)', 'host_memory_percent (%)']
    on_device = ['gpu_memory (MiB)', 'gpu_memory_percent (%)', 'gpu_memory_utilization (%)']
    on_device += ['gpu_sm_utilization (%)']
    names = [f'host/{name}' for name in host]
    names += [f'gpu:0/{name}' for name in device]
    names += [f'pid:{pid}/host/{name}' for name in process]
    names += [f'pid:{pid}/gpu:0/{name}' for name in on_device]
    expected = {f'a/b/{name}/{s}' for name in names for s in ('mean', 'min', 'max', 'last')}
    expected |= {f'a/b/pid:{pid}/host/running_time (min)'}
    expected |= {f'a/b/{name}' for name in ('duration (s)', 'timestamp', 'last_timestamp')}
    with collector(tag='a'), collector(tag='b'):
        collector.take_snapshots()
        metrics = collector.collect()
    assert set(metrics) == expected
    assert all(type(value) is float for value in metrics.values())


def test_values_are_in_the_units_of_their_names(collector: ResourceMetricCollector) -> None:
    pid = os.getpid()
    collector.activate('t')
    metrics = collector.collect()
    expected = {
        'gpu:0/memory_used (MiB)': 30 * 1024,
        'gpu:0/memory_free (MiB)': 50 * 1024,
        'gpu:0/memory_total (MiB)': 80 * 1024,
        'gpu:0/memory_percent (%)': 37.5,
        'gpu:0/gpu_utilization (%)': 61,
        'gpu:0/memory_utilization (%)': 37,
        'gpu:0/temperature (C)': 44,
        'gpu:0/power_usage (W)': 312.5,
        'gpu:0/power_limit (W)': 600,
        f'pid:{pid}/gpu:0/gpu_memory (MiB)': 30 * 1024,
        f'pid:{pid}/gpu:0/gpu_memory_percent (%)': 37.5,
        f'pid:{pid}/gpu:0/gpu_memory_utilization (%)': 20,
        f'pid:{pid}/gpu:0/gpu_sm_utilization (%)': 40,
    }
    for name, value in expected.items():
        for statistic in ('mean', 'min', 'max', 'last'):
            assert metrics[f't/{name}/{statistic}'] == value, name
    assert math.isnan(metrics['t/gpu:0/fan_speed (%)/mean'])  # it has no fan
    minutes = HostProcess().running_time_in_seconds() / 60
    assert metrics[f't/pid:{pid}/host/running_time (min)'] == pytest.approx(minutes, abs=0.5)
    assert 0 < metrics[f't/pid:{pid}/host/host_memory (MiB)/last'] < 10_000
    assert 0 < metrics['t/host/memory_percent (%)/last'] <= 100
    assert metrics['t/host/load_average (%) (1 min)/last'] == pytest.approx(
        100 * os.getloadavg()[0] / (os.cpu_count() or 1), abs=100
    )


def test_cpu_load_is_that_of_the_time_between_samples(
    collector: ResourceMetricCollector, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nvitop.api.collector import reading

    times = iter([(10.0, 100.0), (12.5, 110.0)])
    monkeypatch.setattr(host, 'cpu_seconds', lambda: next(times))
    cpu = reading._CpuTimes(clock)
    assert math.isnan(cpu.percent())
    clock.now = 1.0
    assert cpu.percent() == 25.0
    clock.now = 1.01  # too short a time to say anything new
    assert cpu.percent() == 25.0


def test_devices_of_cuda_have_both_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '3,1')
    with simulation.machine('dgx-h100', processes='none'):
        collector = ResourceMetricCollector(Device.cuda.all(), interval=NEVER)
        with collector(tag='t'):
            found = scopes(collector.collect())
        collector.deactivate()
    assert {'t/cuda:0 (gpu:3)', 't/cuda:1 (gpu:1)'} == {s for s in found if 'gpu' in s}


def test_mig_devices_come_with_their_gpu() -> None:
    with simulation.machine('mig', processes='fixed'):
        gpu = next(gpu for gpu in Device.all() if gpu.mig_devices())
        migs = gpu.mig_devices()
        collector = ResourceMetricCollector(gpu, {1}, interval=NEVER)
        assert collector.devices == [gpu]
        assert collector.all_devices == [gpu, *migs]
        assert collector.leaf_devices == migs
        with collector(tag='t'):
            metrics = collector.collect()
    i = gpu.index
    found = scopes(metrics)
    assert {f't/gpu:{i}', *(f't/gpu:({i}, {mig.mig_index})' for mig in migs)} <= found
    processes = {scope for scope in found if '/pid:' in scope and 'gpu' in scope}
    assert processes
    assert all(f'gpu:({i}, ' in scope for scope in processes)
    assert metrics[f't/gpu:({i}, 0)/memory_total (MiB)/last'] > 0
    assert math.isnan(metrics[f't/gpu:({i}, 0)/temperature (C)/last'])


def test_a_subclass_logs_what_it_likes(one_gpu: simulation.Machine) -> None:
    class Clocks(ResourceMetricCollector):
        DEVICE_METRICS = (('sm_clock', 'sm_clock (GHz)', 1000.0), ('wings', 'wings', 1.0))
        PROCESS_METRICS = ()

    one_gpu.set(sm_clock=1500)
    collector = Clocks(interval=NEVER)
    with collector(tag='t'):
        metrics = {key: value for key, value in collector.collect().items() if 'gpu' in key}
    assert metrics.pop('t/gpu:0/sm_clock (GHz)/mean') == 1.5
    assert math.isnan(metrics.pop('t/gpu:0/wings/mean'))
    assert len(metrics) == 6


# Tags


def test_tags_nest_and_inner_samples_count_for_outer_tags(
    collector: ResourceMetricCollector, one_gpu: simulation.Machine, clock: Clock
) -> None:
    def sample(temperature: int) -> None:
        clock.now += 1.0
        one_gpu.set(temperature=temperature)
        collector.take_snapshots()

    name = 'gpu:0/temperature (C)/'
    with collector(tag='outer'):
        collector.collect()
        sample(50)
        with collector(tag='inner'):
            sample(70)
            inner = collector.collect()
        sample(40)
        outer = collector.collect()
    assert inner[f'outer/inner/{name}min'] == 50  # the last one before it is of the beginning
    assert inner[f'outer/inner/{name}mean'] == 60
    assert inner[f'outer/inner/{name}max'] == inner[f'outer/inner/{name}last'] == 70
    assert inner['outer/inner/duration (s)'] == 1.0
    assert outer[f'outer/{name}mean'] == pytest.approx((47 + 60 + 55) / 3)
    assert (outer[f'outer/{name}min'], outer[f'outer/{name}max']) == (40, 70)
    assert outer['outer/duration (s)'] == 3.0
    assert not any('inner' in key for key in outer)


def test_a_tag_can_be_used_again_but_not_twice_at_a_time(
    collector: ResourceMetricCollector,
) -> None:
    assert collector.activate('a') is collector
    collector.start('b')
    with pytest.raises(RuntimeError, match="'a' is active already"):
        collector.activate('a')
    assert collector.deactivate('a') is collector  # with b, which was inside of it
    with pytest.raises(RuntimeError, match='no tag is active'):
        collector.collect()
    with collector(tag='b') as same:
        assert same is collector
        assert all(key.startswith('b/') for key in collector.collect())
    collector.stop()  # nothing is active: nothing to do
    with pytest.raises(RuntimeError, match="'b' is not active"):
        collector.stop('b')


def test_a_block_may_end_its_tag_itself(collector: ResourceMetricCollector) -> None:
    with collector(tag='a'):
        with collector.context('b'):
            collector.deactivate('a')
        with pytest.raises(RuntimeError):
            collector.collect()


def test_clearing_begins_anew_inside_too(
    collector: ResourceMetricCollector, one_gpu: simulation.Machine, clock: Clock
) -> None:
    collector.clear()
    collector.activate('a').activate('b')
    collector.collect()
    clock.now = 10.0
    one_gpu.set(temperature=60)
    collector.take_snapshots()
    collector.reset()
    metrics = collector.collect()
    assert metrics['a/b/duration (s)'] == 0.0
    assert metrics['a/b/gpu:0/temperature (C)/min'] == 60
    clock.now = 12.0
    assert collector.collect()['a/b/duration (s)'] == 2.0
    collector.clear('a')
    assert collector.collect()['a/b/duration (s)'] == 0.0
    assert collector.deactivate('b').collect()['a/duration (s)'] == 0.0
    with pytest.raises(RuntimeError, match="'b' is not active"):
        collector.clear('b')


def test_a_sample_is_taken_where_the_last_one_is_older_than_half_the_interval(
    collector: ResourceMetricCollector, one_gpu: simulation.Machine, clock: Clock
) -> None:
    collector.activate('t')
    first = collector.collect()['t/gpu:0/temperature (C)/last']
    one_gpu.set(temperature=90)
    clock.now = NEVER * 0.5
    assert collector.collect()['t/gpu:0/temperature (C)/last'] == first
    clock.now = NEVER * 0.51
    metrics = collector.collect()
    assert metrics['t/gpu:0/temperature (C)/last'] == 90
    assert metrics['t/last_timestamp'] <= metrics['t/timestamp']


def test_samples_are_taken_by_themselves(one_gpu: simulation.Machine) -> None:
    collector = ResourceMetricCollector(interval=0.01)
    with collector(tag='t'):
        before = collector.collect()
        one_gpu.set(temperature=99)
        one_gpu.reset_calls()
        wait_until(lambda: one_gpu.calls['nvmlDeviceGetTemperatureV'] > 5, 'samples')
        after = collector.collect()
    assert before['t/gpu:0/temperature (C)/max'] == 44
    assert after['t/gpu:0/temperature (C)/max'] == 99
    assert collector._tick(is_wanted=True) is None  # a sample that was being taken has been
    one_gpu.reset_calls()
    assert collector._tick(is_wanted=True) is None  # without a tag nothing is asked
    assert not one_gpu.calls


def test_a_thousand_nested_tags_leak_nothing(collector: ResourceMetricCollector) -> None:
    def remains() -> set[int]:
        gc.collect()
        kept = [o for o in gc.get_objects() if isinstance(o, (TagBuffer, Statistics))]
        return set(map(id, [*kept, *sampling_threads()]))

    with collector(tag='first'):
        collector.collect()
    before = remains()
    with contextlib.ExitStack() as stack:
        for number in range(1000):
            stack.enter_context(collector(tag=f't{number}'))
        metrics = collector.collect()
        assert '/'.join(['', *(f't{n}' for n in range(1000)), 'duration (s)'])[1:] in metrics
    for number in range(1000):
        with collector(tag='step'), collector(tag=f'{number}'):
            collector.collect()
    assert len(remains()) <= len(before)  # fewer where something of another test has ended
    assert not collector._stack


# What is asked


def test_the_driver_is_asked_at_most_two_fifths_as_often_as_by_upstream() -> None:
    clock = Clock()
    with simulation.machine('dgx-h100', processes='fixed') as running:
        collector = ResourceMetricCollector(root_pids={1}, interval=1.0, clock=clock)
        # No tag is active: nothing but this thread takes samples.
        collector.take_snapshots()  # what never changes is asked once
        running.reset_calls()
        ticks = 20
        for _ in range(ticks):
            clock.now += 1.0
            snapshots = collector.take_snapshots()
        calls = running.calls
    assert len(snapshots.gpu_processes) > 5
    per_gpu = sum(calls.values()) / ticks / 8
    assert per_gpu <= SHARE * UPSTREAM_CALLS
    assert not any('Pcie' in name or 'Encoder' in name or 'Clock' in name for name in calls)
    assert max(calls.values()) <= ticks * 8  # no fact is asked twice
    assert calls['nvmlDeviceGetPowerManagementLimit'] <= ticks * 8 / 5  # it changes seldom


def test_no_root_processes_means_that_no_processes_are_asked_for(
    one_gpu: simulation.Machine,
) -> None:
    collector = ResourceMetricCollector(root_pids=(), interval=NEVER)
    with collector(tag='t'):
        assert not any('pid' in key for key in collector.collect())
    assert not any('Process' in name for name in one_gpu.calls)


def test_snapshots_hold_what_is_logged_and_ask_for_the_rest(
    collector: ResourceMetricCollector, one_gpu: simulation.Machine
) -> None:
    devices, processes = collector.take_snapshots()
    assert isinstance(devices[0], Snapshot)
    assert devices[0].real == Device(0)
    assert devices[0].power_usage == 312_500
    assert set(devices[0]) == {
        'index',
        'physical_index',
        *(attribute for attribute, _, _ in collector.DEVICE_METRICS),
    }
    assert processes[0].pid == os.getpid()
    assert processes[0].gpu_memory == 30 << 30
    one_gpu.reset_calls()
    assert devices[0].name == 'NVIDIA H100 80GB HBM3'
    assert sum(one_gpu.calls.values()) == 1


# Processes


def test_descendants_of_a_root_are_logged_and_nobody_else() -> None:
    code = 'import subprocess, sys; p = subprocess.Popen([sys.executable, "-S", "-c", "input()"]);'
    code += 'print(p.pid, flush=True); p.wait()'
    with child(code=code) as parent, child() as stranger:
        assert parent.stdout is not None
        grandchild = int(parent.stdout.readline())
        text = ONE_GPU + ONE_GPU[ONE_GPU.index('[[process]]') :] * 2
        pids = [parent.pid, grandchild, stranger.pid]
        with machine(text, processes=pids):
            for roots, expected in (
                ({parent.pid}, {parent.pid, grandchild}),
                (None, set(pids)),
                (grandchild, {grandchild}),
                ({1}, set(pids)),
                ({2**22 - 1}, set()),
            ):
                collector = ResourceMetricCollector(root_pids=roots, interval=NEVER)
                gc.collect()  # roots are not only weakly referred to
                found = {process.pid for process in collector.take_snapshots().gpu_processes}
                assert found == expected, roots


def test_a_descendant_stays_one_when_its_parents_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    with child() as process:
        lineage = ProcessTreeFilter({os.getpid()})
        host = HostProcess(process.pid)
        assert lineage.select([host]) == {host}
        monkeypatch.setattr(HostProcess, 'parent', lambda self: None)
        assert lineage.select([host]) == {host}
        assert lineage.select([]) == set()
        assert lineage.select([host]) == set()


def test_a_process_that_ends_keeps_its_metrics_of_the_time_it_was_there(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, 'nvitop.api.collector')
    with child() as process, machine(processes=[process.pid]) as running:
        pid = process.pid
        collector = ResourceMetricCollector((d for d in [Device(0)]), interval=NEVER, clock=clock)
        collector.activate('t')
        collector.collect()
        clock.now = 2.0
        collector.take_snapshots()
        process.kill()
        process.wait(timeout=PATIENCE)
        running.fail('nvmlDeviceGet*RunningProcesses*', 'NOT_SUPPORTED')
        for clock.now in (4.0, 8.0):
            collector.take_snapshots()
        metrics = collector.collect()
        assert metrics[f't/pid:{pid}/gpu:0/gpu_memory (MiB)/mean'] == 30 * 1024
        assert metrics[f't/pid:{pid}/gpu:0/gpu_memory (MiB)/last'] == 30 * 1024
        assert metrics[f't/pid:{pid}/host/host_memory (MiB)/min'] > 0
        assert metrics['t/gpu:0/temperature (C)/mean'] == 44
        collector.activate('later')
        assert not any('pid' in key for key in collector.collect())
    gone = [record.message for record in caplog.records if str(pid) in record.message]
    assert gone == [f'Process {pid} has left gpu:0.']


def test_a_process_that_the_driver_lists_but_nobody_knows_has_no_host_values() -> None:
    with machine(processes='fixed'):
        collector = ResourceMetricCollector(root_pids={1}, interval=NEVER)
        with collector(tag='t'):
            metrics = {k: v for k, v in collector.collect().items() if 'pid' in k and 'mean' in k}
    assert metrics
    for key, value in metrics.items():
        assert math.isnan(value) == ('/host/' in key), key


# What goes wrong


def test_a_lost_gpu_stops_nothing_else_and_is_reported_once(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with simulation.machine('dgx-h100', processes='none', clock=lambda: 0.0) as running:
        running.set(temperature=50)
        collector = ResourceMetricCollector(interval=NEVER, clock=clock)
        collector.activate('t')
        collector.take_snapshots()
        running.set(gpu=3, lost=True)
        running.set(temperature=60)
        for clock.now in (1.0, 2.0, 3.0):
            collector.take_snapshots()
        collector.activate('while lost')
        lost = collector.collect()
        running.set(gpu=3, lost=False)
        clock.now = 4.0
        collector.take_snapshots()
        back = collector.collect()
        collector.deactivate('while lost')
        metrics = collector.collect()
        warnings = [record.message for record in caplog.records if 'gpu:3' in record.message]
    for name in ('temperature (C)', 'memory_used (MiB)', 'power_limit (W)'):
        assert math.isnan(lost[f't/while lost/gpu:3/{name}/last'])
        assert back[f't/while lost/gpu:3/{name}/last'] > 0
        assert lost[f't/while lost/gpu:4/{name}/last'] > 0
    assert metrics['t/gpu:4/temperature (C)/mean'] == pytest.approx((55 + 3 * 60) / 4)
    assert metrics['t/gpu:3/temperature (C)/mean'] == pytest.approx((50 + 60) / 2)
    assert len(warnings) == 1
    assert 'lost' in warnings[0].lower()


def test_a_device_whose_methods_raise_stops_nothing_else(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with simulation.machine('dgx-h100', processes='none'):
        broken = Device(1)
        for name in ('temperature', 'processes'):
            monkeypatch.setattr(broken, name, lambda: 1 / 0, raising=False)
        monkeypatch.setattr(broken, 'fan_speed', lambda: (1, 2), raising=False)
        collector = ResourceMetricCollector([Device(0), broken], interval=NEVER)
        with collector(tag='t'):
            for _ in range(3):
                collector.take_snapshots()
            metrics = collector.collect()
        warnings = [record.message for record in caplog.records if 'gpu:1' in record.message]
    assert math.isnan(metrics['t/gpu:1/temperature (C)/mean'])
    assert math.isnan(metrics['t/gpu:1/fan_speed (%)/mean'])
    assert metrics['t/gpu:1/memory_used (MiB)/mean'] > 0
    assert metrics['t/gpu:0/temperature (C)/mean'] > 0
    assert sum('gpu:1/temperature' in warning for warning in warnings) == 1
    assert len(warnings) == 3


def test_a_driver_that_hangs_is_not_waited_for_again_and_again(
    one_gpu: simulation.Machine,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collector = ResourceMetricCollector(interval=0.02, clock=clock)
    collector.activate('t')
    assert collector.collect()['t/gpu:0/temperature (C)/last'] == 44
    one_gpu.hang('nvmlDeviceGetTemperatureV')
    # Only now: a busy machine may need longer than this for an answer that does come.
    monkeypatch.setattr(resource, '_PATIENCE_SECONDS', 0.05)
    for _ in range(3):
        clock.now += 1.0
        metrics = collector.collect()
        assert metrics['t/gpu:0/temperature (C)/last'] == 44
        assert metrics['t/duration (s)'] == clock.now
    assert sum('does not answer' in record.message for record in caplog.records) == 1
    one_gpu.set(temperature=77)
    one_gpu.release()
    clock.now += 1.0
    name = 't/gpu:0/temperature (C)/last'
    wait_until(lambda: collector.collect()[name] == 77, 'the answer')


def test_while_the_program_itself_stands_still_the_driver_is_not_silent(
    collector: ResourceMetricCollector,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [100.0]
    stops = iter([2 * PATIENCE, 2 * PATIENCE])

    class Stopped(threading.Condition):
        """The program is stopped and continued while it waits, as by Ctrl-Z and fg."""

        def wait(self, timeout: float | None = None) -> bool:
            seconds = next(stops, 0.0)
            now[0] += seconds
            return super().wait(timeout) if not seconds else False

    monkeypatch.setattr(collector, '_changed', Stopped(threading.RLock()))
    monkeypatch.setattr(collector, 'interval', PATIENCE)
    monkeypatch.setattr(time, 'perf_counter', lambda: now[0])
    monkeypatch.setattr(threading, '_time', lambda: now[0])
    collector.activate('t')
    assert collector.collect()['t/gpu:0/temperature (C)/last'] == 44
    assert next(stops, None) is None
    assert not [record for record in caplog.records if 'does not answer' in record.message]


def test_a_reading_that_fails_as_a_whole_is_reported_once_and_tried_again(
    collector: ResourceMetricCollector,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    clock: Clock,
) -> None:
    def fail(*_: object) -> None:
        raise OSError('no more files')

    with monkeypatch.context() as patch:
        patch.setattr(collector._reader, 'read', fail)
        collector.activate('t')
        for _ in range(3):
            assert set(collector.collect()) == {
                't/duration (s)',
                't/timestamp',
                't/last_timestamp',
            }
    assert sum('Cannot take a sample' in record.message for record in caplog.records) == 1
    assert collector.collect()['t/gpu:0/temperature (C)/last'] == 44


def test_without_a_driver_there_are_the_metrics_of_the_host() -> None:
    with machine() as running:
        running.fail('nvmlInit*', 'DRIVER_NOT_LOADED')
        collector = ResourceMetricCollector(interval=NEVER)
        assert collector.devices == collector.all_devices == collector.leaf_devices == []
        with collector(tag='t'):
            assert scopes(collector.collect()) == {'', 't/host'}


@pytest.mark.parametrize(
    ('arguments', 'error', 'message'),
    [
        ({'interval': 0}, ValueError, 'positive number of seconds, not 0'),
        ({'interval': -1.0}, ValueError, 'not -1.0'),
        ({'interval': math.inf}, ValueError, 'not inf'),
        ({'interval': math.nan}, ValueError, 'not nan'),
        ({'interval': '1'}, ValueError, "not '1'"),
        ({'devices': [0]}, TypeError, 'not a device: 0'),
        ({'root_pids': ['1']}, TypeError, "not a PID: '1'"),
        ({'root_pids': {-1}}, ValueError, 'not a PID: -1'),
    ],
)
def test_bad_arguments_are_refused(
    one_gpu: simulation.Machine,
    arguments: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        ResourceMetricCollector(**arguments)
    if 'interval' in arguments:
        with pytest.raises(error, match=message):
            collect_in_background(bool, **arguments)


def test_arguments_by_position(one_gpu: simulation.Machine) -> None:
    collector = ResourceMetricCollector(Device(0), {7, 8}, 2)
    assert (collector.devices, collector.root_pids) == ([Device(0)], {7, 8})
    assert (collector.interval, type(collector.interval)) == (2.0, float)
    assert ResourceMetricCollector().root_pids == {os.getpid()}
    assert ResourceMetricCollector([]).devices == []
    with pytest.raises(TypeError, match='a tag is a text'):
        collector.activate(None)  # type: ignore[arg-type]  # - that is the point


# Threads


def test_the_thread_ends_with_its_collector(one_gpu: simulation.Machine) -> None:
    others = set(sampling_threads())
    collector = ResourceMetricCollector(interval=0.01)
    assert set(sampling_threads()) == others  # nobody wants a sample yet
    collector.activate('t')
    collector.collect()
    (thread,) = set(sampling_threads()) - others
    assert thread.daemon
    gone = weakref.ref(collector)
    del collector
    thread.join(timeout=PATIENCE)
    assert not thread.is_alive()
    gc.collect()
    assert gone() is None


def test_metrics_are_handed_on_until_the_function_has_enough(one_gpu: simulation.Machine) -> None:
    seen: list[Any] = []

    def on_collect(metrics: dict[str, float]) -> bool:
        seen.append(metrics)
        return len(seen) < 3

    thread = collect_in_background(
        on_collect, None, 0.01, on_start=seen.append, on_stop=seen.append, tag='bg'
    )
    thread.join(timeout=PATIENCE)
    assert not thread.is_alive()
    assert (thread.daemon, thread.name) == (True, 'bg')
    collector = thread.collector
    assert collector.interval == 0.01
    # The third one ends it; on_stop comes last. on_start has come first.
    assert (seen[0], seen[-1]) == (collector, collector)
    assert len(seen) == 4
    assert all(key.startswith('bg/') for key in seen[1])
    assert seen[1]['bg/duration (s)'] < seen[2]['bg/duration (s)']
    with pytest.raises(RuntimeError, match='no tag is active'):
        collector.collect()


def test_a_thread_ends_with_its_tag_and_nests_in_no_other(
    collector: ResourceMetricCollector,
) -> None:
    got = threading.Event()
    stopped = threading.Event()

    def on_collect(metrics: dict[str, float]) -> bool:
        assert 'metrics-daemon/duration (s)' in metrics
        got.set()
        return True

    thread = collector.daemonize(on_collect, on_stop=lambda _: stopped.set(), start=False)
    with pytest.raises(RuntimeError):
        collector.collect()
    with collector(tag='main'):
        thread.start()
        assert got.wait(PATIENCE)
        with pytest.raises(RuntimeError, match='active already'):
            collector.daemonize(bool)
        with pytest.raises(RuntimeError, match='once'):
            thread.start()
        with collector(tag='inner'):
            assert 'main/inner/duration (s)' in collector.collect()
    assert 'metrics-daemon/duration (s)' in collector.collect()  # the only one left
    collector.deactivate('metrics-daemon')
    thread.join(timeout=PATIENCE)
    assert not thread.is_alive()
    assert stopped.is_set()


def test_a_thread_sleeps_between_its_samples_until_its_tag_ends(
    collector: ResourceMetricCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    asleep = threading.Event()
    wait_for = collector._changed.wait_for

    def noted(predicate: Any, timeout: float | None = None) -> bool:
        # The thread that samples waits for an hour.
        if timeout is not None and 500.0 < timeout <= 1000.0:
            waits.append(timeout)
            asleep.set()
        return bool(wait_for(predicate, timeout))

    monkeypatch.setattr(collector._changed, 'wait_for', noted)
    thread = collector.daemonize(lambda _: True, 1000.0)
    assert asleep.wait(PATIENCE)
    collector.deactivate('metrics-daemon')
    thread.join(timeout=PATIENCE)
    assert not thread.is_alive()
    assert len(waits) == 1


def test_a_function_that_raises_is_reported_once_and_called_again(
    collector: ResourceMetricCollector, caplog: pytest.LogCaptureFixture
) -> None:
    calls = itertools.count()

    def on_collect(metrics: dict[str, float]) -> bool:
        number = next(calls)
        if number < 3:
            raise KeyError(number)
        return number < 5

    def fail(_: object) -> None:
        raise ValueError('no')

    thread = collector.daemonize(on_collect, 0.001, on_start=fail, on_stop=fail)
    thread.join(timeout=PATIENCE)
    assert next(calls) == 6
    reports = [record for record in caplog.records if 'collecting goes on' in record.message]
    assert [record.exc_info[0] for record in reports if record.exc_info] == [ValueError, KeyError]


def test_intervals_of_a_thread_do_not_add_up() -> None:
    waits = []
    now = iter([100.0, 100.25, 101.5, 104.0])

    class Collector:
        interval = 1.0

        def _clock(self) -> float:
            return next(now)

        def _activate(self, tag: str, *, is_background: bool) -> None: ...

        def _end(self, buffer: object) -> None: ...

        def _collect(self, buffer: object) -> dict[str, float]:
            return {}

        def _ends_within(self, buffer: object, seconds: float) -> bool:
            waits.append(seconds)
            return len(waits) == 3

    collector: Any = Collector()
    thread = CollectThread(collector, lambda _: True, 1.0, None, None, 'x')
    thread._buffer = None  # type: ignore[assignment]  # - it is only handed around
    thread.run()
    # On the whole seconds after the beginning; what was missed is left out.
    assert waits == [0.75, 0.5, 1.0]


def test_no_tag_of_a_thread_is_active_that_cannot_be_started(
    one_gpu: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    collector = ResourceMetricCollector(interval=NEVER)
    with collector('t'), monkeypatch.context() as patch:
        patch.setattr(threading.Thread, 'start', refuse)
        with pytest.raises(RuntimeError, match='new thread'):
            collector.daemonize(lambda metrics: True, tag='d')
        collector.deactivate('t')
    with pytest.raises(RuntimeError, match='no tag is active'):
        collector.collect()


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='this system does not fork')
@pytest.mark.filterwarnings('ignore:.*fork.*:DeprecationWarning')
def test_a_forked_child_can_go_on_collecting(one_gpu: simulation.Machine) -> None:
    collector = ResourceMetricCollector(interval=0.001)
    collector.activate('t')
    collector.collect()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            ok = collector.collect()['t/gpu:0/temperature (C)/last'] == 44
            thread = collector._thread
            status = 0 if ok and thread is not None and thread.thread.is_alive() else 2
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    assert collector.collect()['t/gpu:0/temperature (C)/last'] == 44


def test_of_processes_that_are_gone_those_that_came_last_are_kept() -> None:
    buffer = TagBuffer('t', None, 0.0)
    for pid in range(3000):
        values = {'host/cpu_percent (%)': 1.0, f'pid:{pid}/host/cpu_percent (%)': float(pid)}
        maxima = {f'pid:{pid}/host/running_time (min)': 1.0}
        buffer.add(CollectorSample(float(pid), 0.0, values, maxima))
    metrics = buffer.metrics(3000.0, 0.0)
    assert metrics['t/host/cpu_percent (%)/mean'] == 1.0
    assert metrics['t/pid:2999/host/cpu_percent (%)/mean'] == 2999.0
    assert metrics['t/pid:2500/host/running_time (min)'] == 1.0
    assert not [name for name in metrics if 'pid:1000/' in name]
    assert len(metrics) < 5 * (MOST_GONE + 10)
