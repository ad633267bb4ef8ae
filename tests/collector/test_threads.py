"""The threads of a collector: when they run, what they deliver, when they end."""

from __future__ import annotations

import gc
import itertools
import os
import threading
import weakref
from typing import Any

import pytest

from nvitop import ResourceMetricCollector, collect_in_background, simulation
from tests.collector.machines import NEVER, sampling_threads
from tests.waiting import PATIENCE


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
