"""Effects are carried out off the thread that draws, and what fails is told."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
from typing import Iterator

import pytest

from nvitop.api import host
from nvitop.api.process import HostProcess
from nvitop.gui import effect_runner
from nvitop.gui.effect_runner import EffectRunner, Job, read_environment
from nvitop.gui.model.effects import ReadEnvironment, SendSignal
from nvitop.gui.state.events import EnvironmentRead, Event, SignalSent
from nvitop.sampling.types import ProcessKey
from tests.gui.processes import GPU, key_of
from tests.patience import PATIENCE


def test_the_environment_of_a_process_is_sorted(child: subprocess.Popen[bytes]) -> None:
    event = read_environment(child.pid, HostProcess(child.pid).create_time())
    names = [name for name, _ in event.variables]
    assert names == sorted(names)
    assert dict(event.variables)['A_FIRST'] == 'one\nline'
    assert event.error == ''


def test_the_environment_of_nvitop_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('NVITOP_TEST_VARIABLE', 'x')
    assert ('NVITOP_TEST_VARIABLE', 'x') in read_environment(0, -1.0).variables


def test_why_an_environment_cannot_be_read(child: subprocess.Popen[bytes]) -> None:
    started = HostProcess(child.pid).create_time()
    assert 'another' in read_environment(child.pid, started - 5.0).error
    child.kill()
    child.wait(PATIENCE)
    assert 'gone' in read_environment(child.pid, started).error
    assert read_environment(2**31 + 5, -1.0).error


@pytest.mark.skipif(not hasattr(os, 'waitid'), reason='needs waitid')
def test_a_zombie_is_not_gone_but_its_environment_is(child: subprocess.Popen[bytes]) -> None:
    started = HostProcess(child.pid).create_time()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    said = read_environment(child.pid, started).error
    assert said == 'a zombie has none: it has ended, and waits for its parent'


def test_an_environment_that_is_kept_from_its_owner_is_nobody_elses(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    started = HostProcess(child.pid).create_time()

    def denied(process: host.Process) -> dict[str, str]:
        raise host.AccessDenied(process.pid)

    monkeypatch.setattr(host.Process, 'environ', denied)
    assert read_environment(child.pid, started).error == 'no permission to read it'


def test_effects_are_carried_out_off_the_thread(child: subprocess.Popen[bytes]) -> None:
    events: queue.Queue[Event] = queue.Queue()
    runner = EffectRunner(events.put)
    key = key_of(child.pid)
    runner.run(ReadEnvironment(child.pid, key.start_time))
    runner.run(SendSignal('SIGKILL', (key, key._replace(start_time=1.0))))
    told = [events.get(timeout=PATIENCE) for _ in range(3)]
    assert [event.pid for event in told if isinstance(event, EnvironmentRead)] == [child.pid]
    outcomes = [event.outcome for event in told if isinstance(event, SignalSent)]
    assert outcomes in (['sent', 'reused'], ['sent', 'gone'])
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(PATIENCE)
    assert child.poll() == -signal.SIGKILL


def test_an_error_in_an_effect_is_told_and_the_next_is_carried_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    carry_out = effect_runner.carry_out

    def broken(effect: Job) -> Iterator[Event]:
        if isinstance(effect, ReadEnvironment) and effect.pid == 0:
            return carry_out(effect)
        raise ZeroDivisionError('injected')

    monkeypatch.setattr(effect_runner, 'carry_out', broken)
    events: queue.Queue[Event] = queue.Queue()
    runner = EffectRunner(events.put)
    runner.run(ReadEnvironment(42, 1.0))
    assert events.get(timeout=PATIENCE) == EnvironmentRead(42, 1.0, (), 'cannot be read: injected')
    runner.run(ReadEnvironment(0))
    assert isinstance(events.get(timeout=PATIENCE), EnvironmentRead)
    keys = (ProcessKey(42, 1.0, GPU), ProcessKey(43, 1.0, GPU))
    runner.run(SendSignal('SIGTERM', keys))
    told = [events.get(timeout=PATIENCE) for _ in keys]
    assert told == [SignalSent(key, 'SIGTERM', 'failed', 'injected') for key in keys]


def test_a_system_without_another_thread_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr('threading.Thread.start', refuse)
    told: list[Event] = []
    runner = EffectRunner(told.append)
    key = ProcessKey(42, 1.0, GPU)
    runner.run(SendSignal('SIGTERM', (key,)))
    assert told == [SignalSent(key, 'SIGTERM', 'failed', "can't start new thread")]


def test_an_environment_that_cannot_be_read_to_its_end_holds_up_no_signal(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = threading.Event()

    def stuck(pid: int, start_time: float) -> EnvironmentRead:
        goes_on.wait(PATIENCE)
        return EnvironmentRead(pid, start_time)

    monkeypatch.setattr(effect_runner, 'read_environment', stuck)
    events: queue.Queue[Event] = queue.Queue()
    runner = EffectRunner(events.put)
    key = key_of(child.pid)
    runner.run(ReadEnvironment(child.pid, key.start_time))
    runner.run(SendSignal('SIGKILL', (key,)))
    assert events.get(timeout=PATIENCE) == SignalSent(key, 'SIGKILL', 'sent')
    goes_on.set()
    assert isinstance(events.get(timeout=PATIENCE), EnvironmentRead)
