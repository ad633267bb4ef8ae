"""Metrics over time: names, values, means, tags, costs, failures, and the threads."""

from __future__ import annotations

import gc
import itertools
import logging
import math
import os
import sys
import threading
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop import Device, ResourceMetricCollector, collect_in_background, simulation
from nvitop.api.process import HostProcess
from nvitop.collector.reader import ProcessTreeFilter
from nvitop.collector.tags import NAN, Statistics
from nvitop.sampling import threads
from tests.api.processes import running
from tests.clock import Clock
from tests.collector.conftest import NEVER, ONE_GPU, machine, sampling_threads, scopes
from tests.waiting import PATIENCE, wait_until

#: NVML calls per GPU and tick of nvitop 1.7.2, and the share of it that is allowed here.
UPSTREAM_CALLS, SHARE = 29, 0.4


# Names and values


def test_names_of_all_metrics(collector: ResourceMetricCollector) -> None:
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
    last = [name[len('a/b/') :] for name in metrics if name.startswith('a/b/')]
    last = [name[: -len('/last')] for name in last if name.endswith('/last')]
    assert last == names  # programs write values as columns without names
    assert all(type(value) is float for value in metrics.values())


def test_values_have_the_units_of_their_names(collector: ResourceMetricCollector) -> None:
    pid = os.getpid()
    with collector(tag='t'):
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


def test_gpus_include_their_mig_devices() -> None:
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


def test_a_subclass_can_log_other_metrics(one_gpu: simulation.Machine) -> None:
    class Clocks(ResourceMetricCollector):
        DEVICE_METRICS = (
            ('sm_clock', 'sm_clock (GHz)', 1000.0),
            ('pcie_tx_throughput', 'PCIe TX', 1.0),
            ('board_id', 'board', 1.0),
            ('wings', 'wings', 1.0),
        )
        PROCESS_METRICS = ()

    one_gpu.set(sm_clock=1500)
    collector = Clocks(interval=NEVER)
    with collector(tag='t'):
        metrics = {k: v for k, v in collector.collect().items() if 'gpu' in k and 'mean' in k}
    assert metrics.pop('t/gpu:0/sm_clock (GHz)/mean') == 1.5
    assert metrics.pop('t/gpu:0/PCIe TX/mean') > 0
    gpu: Any = Device(0)
    assert metrics.pop('t/gpu:0/board/mean') == gpu.board_id()
    assert math.isnan(metrics.pop('t/gpu:0/wings/mean'))
    assert not metrics


# Tags


def test_samples_inside_a_nested_tag_count_for_the_outer_one(
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
    assert inner[f'outer/inner/{name}min'] == 50  # the sample before it counts for its start
    assert inner[f'outer/inner/{name}mean'] == 60
    assert inner[f'outer/inner/{name}max'] == inner[f'outer/inner/{name}last'] == 70
    assert inner['outer/inner/duration (s)'] == 1.0
    assert outer[f'outer/{name}mean'] == pytest.approx((47 + 60 + 55) / 3)
    assert (outer[f'outer/{name}min'], outer[f'outer/{name}max']) == (40, 70)
    assert outer['outer/duration (s)'] == 3.0
    assert not any('inner' in key for key in outer)


def test_a_tag_can_be_activated_again_but_not_twice(collector: ResourceMetricCollector) -> None:
    assert collector.activate('a') is collector
    collector.start('b')
    with pytest.raises(RuntimeError, match="'a' is already active"):
        collector.activate('a')
    assert collector.deactivate('a') is collector  # and b, which is inside it
    with pytest.raises(RuntimeError, match='no tag is active'):
        collector.collect()
    with collector(tag='b') as same:
        assert same is collector
        assert all(key.startswith('b/') for key in collector.collect())
    collector.stop()  # does nothing: no tag is active
    with pytest.raises(RuntimeError, match="'b' is not active"):
        collector.stop('b')


def test_clear_starts_again_for_nested_tags_too(
    collector: ResourceMetricCollector, one_gpu: simulation.Machine, clock: Clock
) -> None:
    collector.clear()
    with collector('a'):
        collector.activate('b')
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


def test_collect_takes_a_sample_if_the_last_one_is_older_than_half_the_interval(
    collector: ResourceMetricCollector, one_gpu: simulation.Machine, clock: Clock
) -> None:
    with collector('t'):
        first = collector.collect()['t/gpu:0/temperature (C)/last']
        one_gpu.set(temperature=90)
        clock.now = NEVER * 0.5
        assert collector.collect()['t/gpu:0/temperature (C)/last'] == first
        clock.now = NEVER * 0.51
        metrics = collector.collect()
    assert metrics['t/gpu:0/temperature (C)/last'] == 90
    assert metrics['t/last_timestamp'] <= metrics['t/timestamp']


# Costs


def test_without_root_processes_no_processes_are_queried(one_gpu: simulation.Machine) -> None:
    collector = ResourceMetricCollector(root_pids=(), interval=NEVER)
    with collector(tag='t'):
        assert not any('pid' in key for key in collector.collect())
    assert not any('Process' in name for name in one_gpu.calls)


# Processes


def test_only_descendants_of_the_roots_are_logged() -> None:
    code = 'import subprocess; print(input(), flush=True); p = subprocess.Popen("cat");'
    code += 'print(p.pid, flush=True); p.wait()'
    with running(sys.executable, '-S', '-c', code) as parent, running('cat') as stranger:
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
                gc.collect()  # roots must be referenced strongly
                found = {process.pid for process in collector.take_snapshots().gpu_processes}
                assert found == expected, roots


def test_a_descendant_stays_one_after_its_parents_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    with running('cat') as process:
        tree = ProcessTreeFilter({os.getpid()})
        host = HostProcess(process.pid)
        assert tree.select([host]) == {host}
        monkeypatch.setattr(HostProcess, 'parent', lambda self: None)
        assert tree.select([host]) == {host}
        assert tree.select([]) == set()
        assert tree.select([host]) == set()


def test_an_exited_process_keeps_its_metrics_in_active_tags(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, 'nvitop.api.collector')
    with running('cat') as process, machine(processes=[process.pid]) as one_gpu:
        pid = process.pid
        collector = ResourceMetricCollector((d for d in [Device(0)]), interval=NEVER, clock=clock)
        with collector('t'):
            collector.collect()
            clock.now = 2.0
            collector.take_snapshots()
            process.kill()
            process.wait(timeout=PATIENCE)
            one_gpu.fail('nvmlDeviceGet*RunningProcesses*', 'NOT_SUPPORTED')
            for clock.now in (4.0, 8.0):
                collector.take_snapshots()
            metrics = collector.collect()
            assert metrics[f't/pid:{pid}/gpu:0/gpu_memory (MiB)/mean'] == 30 * 1024
            assert metrics[f't/pid:{pid}/gpu:0/gpu_memory (MiB)/last'] == 30 * 1024
            assert metrics[f't/pid:{pid}/host/host_memory (MiB)/min'] > 0
            assert metrics['t/gpu:0/temperature (C)/mean'] == 44
            with collector('later'):
                assert not any('pid' in key for key in collector.collect())
    gone = [record.message for record in caplog.records if str(pid) in record.message]
    assert gone == [f'process {pid} has left gpu:0']


# Failures


def test_a_lost_gpu_is_reported_once_and_the_others_continue(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with simulation.machine('dgx-h100', processes='none', clock=lambda: 0.0) as running:
        running.set(temperature=50)
        collector = ResourceMetricCollector(interval=NEVER, clock=clock)
        with collector('t'):
            collector.take_snapshots()
            running.set(gpu=3, lost=True)
            running.set(temperature=60)
            for clock.now in (1.0, 2.0, 3.0):
                collector.take_snapshots()
            with collector('while lost'):
                lost = collector.collect()
                running.set(gpu=3, lost=False)
                clock.now = 4.0
                collector.take_snapshots()
                back = collector.collect()
            metrics = collector.collect()
    for name in ('temperature (C)', 'memory_used (MiB)', 'power_limit (W)'):
        assert math.isnan(lost[f't/while lost/gpu:3/{name}/last'])
        assert back[f't/while lost/gpu:3/{name}/last'] > 0
        assert lost[f't/while lost/gpu:4/{name}/last'] > 0
    assert metrics['t/gpu:4/temperature (C)/mean'] == pytest.approx((55 + 3 * 60) / 4)
    assert metrics['t/gpu:3/temperature (C)/mean'] == pytest.approx((50 + 60) / 2)
    warnings = [record.message for record in caplog.records if 'gpu:3' in record.message]
    assert warnings == ['gpu:3: GPU is lost; the means leave out missing values']


def test_a_gpu_that_hangs_is_waited_for_once_and_the_others_continue(
    clock: Clock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f't/gpu:{index}/temperature (C)/last' for index in range(2)]
    with simulation.machine('dgx-h100', processes='none') as running:
        running.set(temperature=44)
        collector = ResourceMetricCollector([Device(0), Device(1)], interval=0.02, clock=clock)
        with collector('t'):
            assert collector.collect()[names[0]] == 44
            # Only now: on a busy machine the first reading may take longer.
            monkeypatch.setattr(threads, 'SHORTEST_LIMIT_SECONDS', 0.2)
            hanging = ResourceMetricCollector(collector.devices, interval=0.02, clock=clock)
        with hanging('t'):
            hanging.collect()
            running.hang('nvmlDeviceGetTemperatureV', gpu=0)
            running.set(temperature=55)
            for _ in range(3):
                clock.now += 1.0
                metrics = hanging.collect()
                assert metrics['t/duration (s)'] == clock.now
            assert [metrics[name] for name in names] == [44, 55]
            reports = [r.message for r in caplog.records if 'no response' in r.message]
            assert len(reports) == 1
            assert reports[0].startswith('gpu:0: no response for ')
            running.release()

            def recovers() -> bool:
                clock.now += 10.0
                return hanging.collect()[names[0]] == 55

            wait_until(recovers, 'the GPU to recover')
            hanging.take_snapshots()


def test_a_reading_that_fails_as_a_whole_is_reported_once_and_repeated(
    collector: ResourceMetricCollector,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: object) -> None:
        raise OSError('no more files')

    with collector('t'):
        with monkeypatch.context() as patch:
            patch.setattr(ProcessTreeFilter, 'select', fail)
            for _ in range(3):
                metrics = collector.collect()
                assert set(metrics) == {'t/duration (s)', 't/timestamp', 't/last_timestamp'}
        assert [r.message for r in caplog.records].count('cannot take a sample') == 1
        assert collector.collect()['t/gpu:0/temperature (C)/last'] == 44


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
    one_gpu: simulation.Machine, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ResourceMetricCollector(**arguments)
    if 'interval' in arguments:
        with pytest.raises(error, match=message):
            collect_in_background(bool, **arguments)


@pytest.mark.parametrize('name', ['on_collect', 'on_start', 'on_stop'])
def test_background_functions_must_be_callable(name: str) -> None:
    functions: dict[str, Any] = {'on_collect': bool, name: 3}
    with pytest.raises(TypeError, match=f'^{name} must be a function, not 3$'):
        collect_in_background(**functions)


def test_metrics_and_statistics_can_be_chosen(collector: ResourceMetricCollector) -> None:
    with collector(tag='a'):
        everything = collector.collect()
        chosen = collector.collect(metrics=['gpu_utilization', 'duration'], stats=['mean', 'max'])
        one = collector.collect(metrics='gpu_utilization', stats='last')
    assert set(chosen) == {
        'a/gpu:0/gpu_utilization (%)/mean',
        'a/gpu:0/gpu_utilization (%)/max',
        'a/duration (s)',
    }
    assert list(one) == ['a/gpu:0/gpu_utilization (%)/last']
    assert set(chosen) < set(everything)


def test_unknown_statistics_are_refused(collector: ResourceMetricCollector) -> None:
    with collector(tag='a'), pytest.raises(ValueError, match='mean, min, max, last'):
        collector.collect(stats=['average'])


def statistics_of(samples: list[tuple[float, float]]) -> Statistics:
    found = Statistics()
    previous = NAN
    for moment, value in samples:
        found.add(value, moment, previous)
        previous = moment
    return found


@pytest.mark.parametrize(
    ('samples', 'mean'),
    [
        ([(t, 2 * t + 1) for t in (0.0, 0.1, 0.2, 3.0, 3.5, 10.0)], 11.0),  # exact for a line
        ([(0, 10.0), (1, 10.0), (2, NAN), (5, 40.0), (6, 40.0), (7, NAN)], 25.0),
        ([(0, 10.0), (1, NAN), (2, 40.0)], 25.0),  # of no time
        ([(0, 7.0)], 7.0),
    ],
)
def test_mean(samples: list[tuple[float, float]], mean: float) -> None:
    assert statistics_of(samples).mean == pytest.approx(mean)


@given(
    st.lists(
        st.tuples(st.floats(1e-6, 1e4), st.one_of(st.just(NAN), st.floats(-1e9, 1e9))), max_size=30
    )
)
def test_mean_is_between_minimum_and_maximum(steps: list[tuple[float, float]]) -> None:
    times = itertools.accumulate(step for step, _ in steps)
    found = statistics_of([(time, value) for time, (_, value) in zip(times, steps)])
    known = [value for _, value in steps if value == value]
    if known:
        assert found.minimum == min(known) <= found.mean <= max(known) == found.maximum
        assert found.last == known[-1]
    else:
        assert math.isnan(found.mean)


def test_the_sampling_thread_ends_with_its_collector(one_gpu: simulation.Machine) -> None:
    others = set(sampling_threads())
    collector = ResourceMetricCollector(interval=0.01)
    assert set(sampling_threads()) <= others  # no sample is needed yet
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


def test_metrics_are_delivered_until_the_function_returns_false(
    one_gpu: simulation.Machine,
) -> None:
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
    # on_start, on_collect twice (the second call ends the thread), on_stop.
    assert (seen[0], seen[-1]) == (collector, collector)
    assert len(seen) == 4
    assert all(key.startswith('bg/') for key in seen[1])
    assert seen[1]['bg/duration (s)'] < seen[2]['bg/duration (s)']
    with pytest.raises(RuntimeError, match='no tag is active'):
        collector.collect()
    collector.take_snapshots()  # waits for a sample in progress


def test_a_thread_ends_with_its_tag_which_is_not_nested(collector: ResourceMetricCollector) -> None:
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
        with pytest.raises(RuntimeError, match='already active'):
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
    reports = [record for record in caplog.records if 'collecting continues' in record.message]
    assert [record.exc_info[0] for record in reports if record.exc_info] == [ValueError, KeyError]


def test_a_closed_pipe_ends_the_thread(
    collector: ResourceMetricCollector, caplog: pytest.LogCaptureFixture
) -> None:
    def on_collect(metrics: dict[str, float]) -> bool:
        raise BrokenPipeError

    thread = collector.daemonize(on_collect, 0.001)
    thread.join(timeout=PATIENCE)
    assert not thread.is_alive()
    assert [record.message for record in caplog.records] == [
        "'metrics-daemon' ends: its output is closed"
    ]


def refuse(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_the_tag_of_a_thread_that_cannot_start_is_not_active(
    one_gpu: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = ResourceMetricCollector(interval=NEVER)
    with collector('t'), monkeypatch.context() as patch:
        patch.setattr(threading.Thread, 'start', refuse)
        with pytest.raises(RuntimeError, match='new thread'):
            collector.daemonize(lambda metrics: True, tag='d')
        collector.deactivate('t')
    with pytest.raises(RuntimeError, match='no tag is active'):
        collector.collect()


def test_samples_are_taken_by_collect_if_no_thread_can_start(
    one_gpu: simulation.Machine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(threading.Thread, 'start', refuse)
    collector = ResourceMetricCollector(interval=NEVER)
    for _ in range(2):
        with collector('t'):
            assert collector.collect()['t/gpu:0/temperature (C)/last'] == 44
    assert [record.message for record in caplog.records] == [
        "can't start new thread: samples are taken only by collect()"
    ]


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs os.fork')
@pytest.mark.filterwarnings('ignore:.*fork.*:DeprecationWarning')
def test_a_forked_child_continues_to_collect(one_gpu: simulation.Machine) -> None:
    collector = ResourceMetricCollector(interval=0.001)
    with collector('t'):
        collector.collect()
        pid = os.fork()
        if not pid:
            status = 1
            try:
                is_known = collector.collect()['t/gpu:0/temperature (C)/last'] == 44
                status = 0 if is_known and sampling_threads() else 2
            finally:
                os._exit(status)
        assert os.waitpid(pid, 0)[1] == 0
        assert collector.collect()['t/gpu:0/temperature (C)/last'] == 44
    collector.take_snapshots()  # waits for a sample in progress
