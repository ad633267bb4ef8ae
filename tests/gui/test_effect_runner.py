"""Effects run off the UI thread, and failures are posted as events."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
from typing import Iterator
from unittest import mock

import pytest

from nvitop.api import host
from nvitop.api.process import HostProcess
from nvitop.gui import effect_runner
from nvitop.gui.effect_runner import EffectRunner, Job, read_environment, send_signal, signal_number
from nvitop.gui.state.events import EnvironmentRead, Event, ReadEnvironment, SendSignal, SignalSent
from nvitop.sampling.types import DeviceKey, ProcessKey
from tests.waiting import PATIENCE

GPU = DeviceKey(0)


def key_of(pid: int) -> ProcessKey:
    """Return the key of the process that has this PID now."""
    return ProcessKey(pid, HostProcess(pid).create_time(), GPU)


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


def test_denied_environment_is_reported(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    started = HostProcess(child.pid).create_time()

    def denied(process: host.Process) -> dict[str, str]:
        raise host.AccessDenied(process.pid)

    monkeypatch.setattr(host.Process, 'environ', denied)
    assert read_environment(child.pid, started).error == 'permission denied'


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


# Signals


def never(pid: int, number: int) -> None:
    raise AssertionError((pid, number))


@pytest.fixture(params=[True, False], ids=['pidfd', 'no pidfd'])
def _pidfd(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.delattr(os, 'pidfd_open', raising=False)


@pytest.mark.usefixtures('_pidfd')
def test_signal_reaches_its_process(child: subprocess.Popen[bytes]) -> None:
    key = key_of(child.pid)
    assert send_signal(key, 'SIGTERM') == SignalSent(key, 'SIGTERM', 'sent')
    assert child.wait(PATIENCE) == -signal.SIGTERM


@pytest.mark.usefixtures('_pidfd')
def test_reused_pid_gets_no_signal(child: subprocess.Popen[bytes]) -> None:
    key = key_of(child.pid)._replace(start_time=HostProcess(child.pid).create_time() - 1.0)
    assert send_signal(key, 'SIGKILL').outcome == 'reused'
    assert child.poll() is None


def test_exited_process_is_reported(child: subprocess.Popen[bytes]) -> None:
    key = key_of(child.pid)
    child.kill()
    child.wait(PATIENCE)
    assert send_signal(key, 'SIGTERM').outcome == 'gone'


@pytest.mark.skipif(not hasattr(os, 'waitid'), reason='needs waitid')
def test_zombie_is_reported(child: subprocess.Popen[bytes]) -> None:
    key = key_of(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # without reaping it
    assert send_signal(key, 'SIGTERM') == SignalSent(key, 'SIGTERM', 'zombie')


@pytest.mark.parametrize('pid', [0, -1, 2**31 + 5, 2**63])
def test_invalid_pid_is_never_passed_to_kill(pid: int) -> None:
    event = send_signal(ProcessKey(pid, 1.0, GPU), 'SIGKILL', kill=never)
    assert event.outcome in ('unseen', 'gone', 'failed')


def test_process_in_another_pid_namespace_gets_no_signal() -> None:
    # A PID of another namespace may belong to no process here, which does not mean it has exited.
    for pid in (os.getpid(), 2**31 + 5):
        assert send_signal(ProcessKey(pid, -1.0, GPU), 'SIGKILL', kill=never).outcome == 'unseen'


def test_denied_signal_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, 'pidfd_open', raising=False)

    def kill(pid: int, number: int) -> None:
        raise PermissionError

    event = send_signal(key_of(os.getpid()), 'SIGTERM', kill=kill)
    assert event.outcome == 'not permitted'

    def denied(pid: int) -> float:
        raise host.AccessDenied(pid)

    event = send_signal(key_of(os.getpid()), 'SIGTERM', start_time_of=denied)
    assert event.outcome == 'not permitted'


def test_pid_reused_while_its_status_is_read_gets_no_signal() -> None:
    starts = {7: 1.0}
    sent = []

    def status_of(pid: int) -> str:
        starts[pid] = 2.0
        return 'running'

    with mock.patch('os.pidfd_open', create=True, side_effect=PermissionError):
        event = send_signal(
            ProcessKey(7, 1.0, GPU),
            'SIGKILL',
            start_time_of=starts.__getitem__,
            status_of=status_of,
            kill=lambda pid, number: sent.append(pid),
        )
    assert (event.outcome, sent) == ('reused', [])


def test_unexpected_error_is_reported() -> None:
    def broken(pid: int) -> float:
        raise RuntimeError

    event = send_signal(ProcessKey(os.getpid(), 1.0, GPU), 'SIGKILL', start_time_of=broken)
    assert (event.outcome, event.detail) == ('failed', 'RuntimeError')


def test_signal_numbers_on_windows() -> None:
    windows = {'SIGTERM': 15, 'SIGINT': 2, 'CTRL_C_EVENT': 0, 'CTRL_BREAK_EVENT': 1}
    names = ('SIGTERM', 'SIGKILL', 'SIGINT')
    numbers = [signal_number(name, platform='win32', numbers=windows) for name in names]
    # os.kill terminates a process with any number except those of the two console events.
    assert numbers == [15, 15, 0]
    assert [signal_number(name) for name in names] == [
        signal.SIGTERM,
        signal.SIGKILL,
        signal.SIGINT,
    ]
    with pytest.raises(ValueError, match='has no SIGHUP'):
        signal_number('SIGHUP', platform='win32', numbers=windows)
    with pytest.raises(ValueError, match='has no SIGKILL'):
        signal_number('SIGKILL', platform='odd', numbers=windows)
