"""Signals reach the process that was shown and no other, and their results are reported."""

from __future__ import annotations

import os
import signal
import subprocess
from unittest import mock

import pytest

from nvitop.api import host
from nvitop.api.process import HostProcess
from nvitop.gui.effect_runner import send_signal, signal_number
from nvitop.gui.state.events import SignalSent
from nvitop.sampling.types import ProcessKey
from tests.gui.processes import GPU, key_of
from tests.waiting import PATIENCE


@pytest.mark.parametrize('has_pidfd', [True, False])
def test_signal_reaches_its_process(
    child: subprocess.Popen[bytes], has_pidfd: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_pidfd:
        monkeypatch.delattr(os, 'pidfd_open', raising=False)
    key = key_of(child.pid)
    assert send_signal(key, 'SIGTERM') == SignalSent(key, 'SIGTERM', 'sent')
    assert child.wait(PATIENCE) == -signal.SIGTERM


@pytest.mark.parametrize('has_pidfd', [True, False])
def test_reused_pid_gets_no_signal(
    child: subprocess.Popen[bytes], has_pidfd: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_pidfd:
        monkeypatch.delattr(os, 'pidfd_open', raising=False)
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


def test_process_with_an_unknown_status_gets_its_signal(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(process: host.Process) -> str:
        raise host.AccessDenied(process.pid)

    monkeypatch.setattr(host.Process, 'status', denied)
    key = key_of(child.pid)
    assert send_signal(key, 'SIGTERM') == SignalSent(key, 'SIGTERM', 'sent')
    assert child.wait(PATIENCE) == -signal.SIGTERM


@pytest.mark.parametrize('pid', [0, -1, 2**31 + 5, 2**63])
def test_invalid_pid_is_never_passed_to_kill(pid: int) -> None:
    def kill(pid: int, number: int) -> None:
        raise AssertionError((pid, number))

    event = send_signal(ProcessKey(pid, 1.0, GPU), 'SIGKILL', kill=kill)
    assert event.outcome in ('unseen', 'gone', 'failed')


def test_process_in_another_pid_namespace_gets_no_signal() -> None:
    def kill(pid: int, number: int) -> None:
        raise AssertionError((pid, number))

    # A PID of another namespace may belong to no process here, which does not mean it has exited.
    for pid in (os.getpid(), 2**31 + 5):
        assert send_signal(ProcessKey(pid, -1.0, GPU), 'SIGKILL', kill=kill).outcome == 'unseen'


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
    with pytest.raises(ValueError, match='has no SIGKILL'):
        signal_number('SIGKILL', platform='odd', numbers=windows)


def test_missing_signal_is_explained() -> None:
    def kill(pid: int, number: int) -> None:
        raise AssertionError((pid, number))

    event = send_signal(key_of(os.getpid()), 'SIGNONE', kill=kill)
    assert (event.outcome, event.detail) == ('failed', 'this system has no SIGNONE')
