"""Effects run off the UI thread, and failures are posted as events."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from typing import Iterator

import pytest

from nvitop.api import host
from nvitop.api.process import HostProcess
from nvitop.gui import effect_runner
from nvitop.gui.effect_runner import EffectRunner, Job, read_environment
from nvitop.gui.state.events import EnvironmentRead, Event, ReadEnvironment, SendSignal, SignalSent
from nvitop.sampling.types import ProcessKey
from tests.gui.processes import GPU, key_of
from tests.waiting import PATIENCE


def test_environment_is_sorted(child: subprocess.Popen[bytes]) -> None:
    event = read_environment(child.pid, HostProcess(child.pid).create_time())
    names = [name for name, _ in event.variables]
    assert names == sorted(names)
    assert dict(event.variables)['A_FIRST'] == 'one\nline'
    assert event.error == ''


def test_error_says_why_an_environment_cannot_be_read(child: subprocess.Popen[bytes]) -> None:
    started = HostProcess(child.pid).create_time()
    assert 'another process' in read_environment(child.pid, started - 5.0).error
    child.kill()
    child.wait(PATIENCE)
    assert read_environment(child.pid, started).error == 'the process has exited'
    assert 'PID namespace' in read_environment(2**31 + 5, -1.0).error


@pytest.mark.skipif(not hasattr(os, 'waitid'), reason='needs waitid')
def test_zombie_has_no_environment(child: subprocess.Popen[bytes]) -> None:
    started = HostProcess(child.pid).create_time()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    error = read_environment(child.pid, started).error
    assert error == 'a zombie has no environment'


def test_denied_environment_is_reported(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    started = HostProcess(child.pid).create_time()

    def denied(process: host.Process) -> dict[str, str]:
        raise host.AccessDenied(process.pid)

    monkeypatch.setattr(host.Process, 'environ', denied)
    assert read_environment(child.pid, started).error == 'permission denied'


def test_effects_are_carried_out_in_the_background(child: subprocess.Popen[bytes]) -> None:
    events: queue.Queue[Event] = queue.Queue()
    runner = EffectRunner(events.put)
    key = key_of(child.pid)
    runner.run(ReadEnvironment(child.pid, key.start_time))
    runner.run(SendSignal('SIGKILL', (key, key._replace(start_time=1.0))))
    posted = [events.get(timeout=PATIENCE) for _ in range(3)]
    (read,) = (event for event in posted if isinstance(event, EnvironmentRead))
    assert read.pid == child.pid
    assert (read.owner is not None) == (sys.platform == 'linux')
    outcomes = [event.outcome for event in posted if isinstance(event, SignalSent)]
    assert outcomes in (['sent', 'reused'], ['sent', 'gone'])
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(PATIENCE)
    assert child.poll() == -signal.SIGKILL


def test_failing_effect_is_reported_and_the_next_one_is_carried_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    carry_out = effect_runner.carry_out

    def broken(effect: Job, *_: str | None) -> Iterator[Event]:
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
    posted = [events.get(timeout=PATIENCE) for _ in keys]
    assert posted == [SignalSent(key, 'SIGTERM', 'failed', 'injected') for key in keys]


def test_effect_fails_if_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr('threading.Thread.start', refuse)
    posted: list[Event] = []
    runner = EffectRunner(posted.append)
    key = ProcessKey(42, 1.0, GPU)
    runner.run(SendSignal('SIGTERM', (key,)))
    assert posted == [SignalSent(key, 'SIGTERM', 'failed', "can't start new thread")]


def test_hanging_environment_does_not_block_signals(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_over = threading.Event()

    def stuck(pid: int, start_time: float) -> EnvironmentRead:
        is_over.wait(PATIENCE)
        return EnvironmentRead(pid, start_time)

    monkeypatch.setattr(effect_runner, 'read_environment', stuck)
    events: queue.Queue[Event] = queue.Queue()
    runner = EffectRunner(events.put)
    key = key_of(child.pid)
    runner.run(ReadEnvironment(child.pid, key.start_time))
    runner.run(SendSignal('SIGKILL', (key,)))
    assert events.get(timeout=PATIENCE) == SignalSent(key, 'SIGKILL', 'sent')
    is_over.set()
    assert isinstance(events.get(timeout=PATIENCE), EnvironmentRead)
