"""Errors that the driver announces: the thread that waits for them, and their counts."""

from __future__ import annotations

import queue
import threading
from typing import Any, Callable, Iterator

import pytest

from nvitop import simulation
from nvitop.health import findings
from nvitop.sampling import Demand, LiveSource, Sampler, intervals
from nvitop.sampling.events import MAX_EVENTS, EventLog, EventWatcher
from nvitop.sampling.types import DeviceEvent, DeviceInfo, DeviceKey, DeviceSample, Sample
from tests import waiting
from tests.waiting import PATIENCE

KEY = DeviceKey(3, -1, 'GPU-3')
GPU = DeviceSample(KEY, DeviceInfo(KEY, 3))


def wait_until(condition: Callable[[], object]) -> None:
    waiting.wait_until(condition, 'the thread of events')


# Counts


def test_repeated_events_are_counted_and_announced_once() -> None:
    log = EventLog()
    assert [log.add(KEY, 'xid', 31, 1.0) for _ in range(10_000)] == [True] + [False] * 9_999
    assert log.add(KEY, 'xid', 13, 2.0)
    assert log.add(KEY, 'xid', 31, 12.0)  # again after a while
    assert [(e.code, e.times, e.first, e.last) for e in log.observe(())] == [
        (13, 1, 2.0, 2.0),
        (31, 10_001, 1.0, 12.0),
    ]


def test_the_number_of_different_events_is_limited() -> None:
    log = EventLog()
    for code in range(3 * MAX_EVENTS):
        log.add(KEY, 'xid', code, 1.0)
    assert [event.code for event in log.observe(())] == [*range(2 * MAX_EVENTS, 3 * MAX_EVENTS)]


@pytest.mark.parametrize('broken', [{'status': 'lost'}, {'recovery_action': 'GPU Reset'}])
def test_events_are_over_when_the_gpu_has_recovered(broken: dict[str, Any]) -> None:
    log = EventLog()
    log.add(KEY, 'xid', 79, 1.0)
    working = GPU._replace(recovery_action='None')
    assert not log.observe([working])[0].is_over
    assert not log.observe([GPU._replace(**broken)])[0].is_over
    assert log.observe([working])[0].is_over
    assert log.add(KEY, 'xid', 79, 5.0)  # it happens again
    (event,) = log.observe([working])
    assert (event.is_over, event.first, event.times) == (False, 5.0, 2)


# The thread


WATCHERS: list[EventWatcher] = []


@pytest.fixture
def machine() -> Iterator[simulation.Machine]:
    with simulation.machine('half-busy', processes='none') as machine:
        yield machine
        for watcher in WATCHERS:
            watcher.stop()  # or they would watch the next machine
    while WATCHERS:
        wait_until(WATCHERS.pop().pause)


class Watched:
    def __init__(self, machine: simulation.Machine) -> None:
        self.seen: queue.Queue[DeviceEvent] = queue.Queue()
        self.watcher = EventWatcher(self.seen.put)
        WATCHERS.append(self.watcher)
        self.watcher.start()
        self.machine = machine
        self.wait_for_calls('nvmlEventSetWait_v2', 1)

    def wait_for_calls(self, name: str, count: int) -> None:
        wait_until(lambda: self.machine.calls[name] >= count)

    def next(self) -> tuple[int, str, int]:
        event = self.seen.get(timeout=PATIENCE)
        return event.device.physical_index, event.kind, event.code


def test_events_of_all_kinds_are_received(machine: simulation.Machine) -> None:
    watched = Watched(machine)
    machine.set(gpu=3, xid=79)
    assert watched.next() == (3, 'xid', 79)
    machine.set(gpu=2, total_volatile_uncorrected_ecc_errors=1)
    assert watched.next() == (2, 'memory error', 0)
    machine.set(gpu=3, xid=1_000_000)  # an unknown number
    assert watched.next() == (3, 'xid', 1_000_000)


def test_a_lost_gpu_does_not_end_the_events_of_others(machine: simulation.Machine) -> None:
    watched = Watched(machine)
    machine.set(gpu=3, lost=True)
    assert watched.next() == (3, 'unavailable', 0)
    watched.wait_for_calls('nvmlEventSetCreate', 2)
    watched.wait_for_calls('nvmlEventSetWait_v2', 3)
    machine.set(gpu=5, xid=31)
    assert watched.next() == (5, 'xid', 31)
    assert machine.calls['nvmlEventSetFree'] == 1


def test_a_driver_without_events_is_a_problem_but_no_failure(machine: simulation.Machine) -> None:
    machine.fail('nvmlDeviceGetSupportedEventTypes', 'NOT_SUPPORTED')
    source = LiveSource()
    source.watch_events(lambda: None)
    found: list[Sample] = []

    def has_problem() -> bool:
        found.append(source.sample(Demand()))
        return any(problem.what == 'events' for problem in found[-1].problems)

    wait_until(has_problem)
    (problem,) = [p for p in found[-1].problems if p.what == 'events']
    source.watch_events(None)
    assert (problem.subject, problem.reason) == ('driver', 'Not Supported')
    assert not problem.is_failure


def test_the_restart_follows_as_soon_as_the_thread_has_left_the_driver(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('nvitop.sampling.events.BRIEF_WAIT_MS', 20)
    machine.set(gpu=3, lost=True)
    now = 0.0
    source, has_left = LiveSource(clock=lambda: now), threading.Event()
    source.watch_events(has_left.set)
    source.sample(Demand())
    now = 10.0  # time for a restart
    source.sample(Demand())
    assert has_left.wait(PATIENCE)  # the sampler refreshes now
    source.refresh()
    source.sample(Demand())
    assert machine.calls['nvmlShutdown'] == 1
    source.watch_events(None)


def test_a_driver_that_does_not_wait_is_left_alone(machine: simulation.Machine) -> None:
    machine.fail('nvmlEventSetWait_v2', 'TIMEOUT')
    watcher = EventWatcher()
    WATCHERS.append(watcher)
    watcher.start()
    wait_until(lambda: machine.calls['nvmlEventSetFree'] == 1)
    assert machine.calls['nvmlEventSetWait_v2'] == 1
    watcher.stop()
    wait_until(watcher.pause)


# Samples


def test_an_event_is_in_a_sample_at_once_even_if_none_is_due(machine: simulation.Machine) -> None:
    samples: queue.Queue[Sample] = queue.Queue()
    source = LiveSource(intervals(3600.0))
    sampler = Sampler(source, samples.put)
    sampler.start()
    samples.get(timeout=PATIENCE)
    wait_until(lambda: machine.calls['nvmlEventSetWait_v2'] == 1)
    machine.set(gpu=3, xid=79)
    found: list[str] = []
    while 'xid' not in found:
        found = [finding.kind for finding in findings(samples.get(timeout=PATIENCE))]
    sampler.stop()
