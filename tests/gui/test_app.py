"""The event loop on a terminal in memory, reports of crashes, and effects off the UI thread."""

from __future__ import annotations

import os
import pathlib
import platform
import queue
import re
import signal
import stat
import subprocess
import threading
from functools import partial
from typing import Any, Callable
from unittest import mock

import psutil
import pytest

from nvitop.api import host
from nvitop.api.process import HostProcess
from nvitop.gui.app import EFFECTS, App, describe_event
from nvitop.gui.effects import read_environment, send_signal, signal_number
from nvitop.gui.model.choices import GraphState, Screen, Sort
from nvitop.gui.monitor import explain_crash, format_crash, write_crash
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.state.app_state import AppState, TextField
from nvitop.gui.state.events import (
    HUNG_UP,
    Effect,
    EnvironmentRead,
    Event,
    KeyPressed,
    Pasted,
    ReadEnvironment,
    SampleArrived,
    SaveSettings,
    SendSignal,
    SettingsSaved,
    SignalSent,
    Suspended,
)
from nvitop.gui.state.input_line import FILTER
from nvitop.gui.state.orders import ORDERS
from nvitop.gui.state.update import update
from nvitop.sampling.types import DeviceKey, ProcessKey, ProcessSample, Sample
from nvitop.version import __version__
from tests.gui.driving import demand_of, press, state_of
from tests.gui.headless import FakeMeasuring, HeadlessTerminal
from tests.gui.samples import SAMPLES
from tests.waiting import PATIENCE


def sample(name: str = 'h100x8', sequence: int = 1) -> Sample:
    now = float(sequence)
    return SAMPLES[name]._replace(sequence=sequence, monotonic=now, processes_monotonic=now)


def run(
    *batches: Callable[[App], None], width: int = 120, height: int = 40
) -> tuple[App, HeadlessTerminal, FakeMeasuring]:
    """Run the application with these batches of events, then end its input."""
    terminal = HeadlessTerminal(width, height, ends=True)
    app = App(terminal, AppState(MONITOR), wall_clock=lambda: 1.5, monotonic=lambda: 10.0)
    for batch in batches:
        batch(app)
    measuring = FakeMeasuring()
    assert app.run(measuring) == HUNG_UP
    assert not terminal.is_open
    return app, terminal, measuring


def send(*events: Event) -> Callable[[App], None]:
    def batch(app: App) -> None:
        assert isinstance(app.terminal, HeadlessTerminal)
        app.terminal.send(*events)

    return batch


def test_batch_of_keys_is_drawn_once() -> None:
    _, terminal, _ = run(send(SampleArrived(sample())), send(*[KeyPressed('Down')] * 20))
    assert len(terminal.frames) == 3


def test_shown_values_are_demanded() -> None:
    _, _, measuring = run(
        send(SampleArrived(sample('processes200'))),
        send(KeyPressed('t')),
        send(KeyPressed('q')),
        send(*map(KeyPressed, ('0', 'Enter'))),
    )
    assert any(demand.host_processes for demand in measuring.demands)
    assert not measuring.demands[-1].host_processes
    assert 'pcie_tx_throughput' not in measuring.demands[1].shown_metrics
    assert 'pcie_tx_throughput' in measuring.demands[-1].shown_metrics
    visible = measuring.demands[1].visible_processes
    assert visible is not None
    assert 0 < len(visible) <= 256


def test_effects_are_carried_out() -> None:
    app, terminal, measuring = run(
        send(SampleArrived(sample())),
        send(KeyPressed('r')),
        send(KeyPressed('Alt-m')),
        send(KeyPressed('Home'), KeyPressed('Up')),
        send(Suspended()),
    )
    assert measuring.refreshes == 1
    assert terminal.mouse_captured is False
    assert terminal.bells == 1
    assert terminal.suspensions == 1
    assert any('Suspended' in line for line in app.events)


def test_samples_are_recorded_while_the_display_is_frozen() -> None:
    app, _, _ = run(
        send(SampleArrived(sample(sequence=1))),
        send(KeyPressed('z')),
        *[send(SampleArrived(sample(sequence=i))) for i in range(2, 30)],
    )
    key = app.state.sample.devices[0].key
    values = app.history.values(key, 'gpu_utilization', 20.0, 20)
    assert sum(value is not None for value in values) >= 19


@pytest.mark.parametrize('key', 'htU!C')
def test_nothing_is_measured_again_on_return_from_a_screen(key: str) -> None:
    main = press(state_of(SAMPLES['processes200']), 'PageDown')[0]
    opened = press(main, key)[0]
    assert opened.screen is not main.screen
    assert demand_of(opened).includes(demand_of(main))


def test_orders_by_values_of_visible_processes_need_those_of_all() -> None:
    state = state_of(SAMPLES['processes200'])
    assert demand_of(state).visible_processes is not None
    unseen = ProcessSample(ProcessKey(1, 1.0, GPU), username='ann')
    visible = unseen._replace(cpu_percent=1.0, memory_percent=2.0, host_memory_bytes=3)
    for order in ORDERS:
        assert order.value is not None
        if order.value(unseen)[0] != order.value(visible)[0]:
            demand = demand_of(state._replace(list_sorts={Screen.MAIN: Sort(order.name)}))
            assert demand.visible_processes is None, order.name


@pytest.mark.parametrize(('keys', 'shown'), [('', True), ('t', False), ('!', True)])
def test_counters_are_read_only_while_their_history_is_visible(keys: str, shown: bool) -> None:
    state = state_of(SAMPLES['h100x8'])
    state = state._replace(main=state.main._replace(graphs=GraphState('gpm_sm_active')))
    demand = demand_of(press(state, *keys.split())[0])
    assert ('gpm_sm_active' in demand.shown_metrics) is shown


def test_clock_is_redrawn_together_with_the_sample() -> None:
    times = iter([5.0, 5.98, 5.98, 6.02, 6.02, 6.3, 6.3, 7.1, 7.1])
    waits = []

    class Terminal(HeadlessTerminal):
        def wait(self, timeout: float | None) -> list[Event]:
            waits.append(timeout)
            return super().wait(timeout)

    terminal = Terminal(ends=True)
    app = App(
        terminal, AppState(MONITOR), wall_clock=lambda: next(times, 9.5), monotonic=lambda: 1.0
    )
    for number in (1, 2, 3):
        terminal.send(SampleArrived(sample(sequence=number)))
    app.run(FakeMeasuring())
    assert waits == pytest.approx([0.12, 1.08, 0.8, 1.0])


# Crash reports: everything needed to reproduce a crash, without private data


def crash_state_of(name: str) -> AppState:
    return update(AppState(MONITOR), SampleArrived(SAMPLES[name]._replace(sequence=1)))[0]


def crash(state: AppState) -> ValueError:
    try:
        raise ValueError(f'cannot draw {state.sample.processes[0].command}')
    except ValueError as error:
        return error


@pytest.mark.parametrize('name', ['hostile', 'h100x8'])
def test_report_has_no_names_users_or_commands(name: str) -> None:
    state = crash_state_of(name)
    text = format_crash(crash(state), state, ["KeyPressed(key='Down')"])
    assert 'ValueError' in text
    assert 'test_app.py:' in text
    assert f'nvitop {__version__}, Python {platform.python_version()}' in text
    assert f'psutil {psutil.__version__}' in text
    assert '80 x 24' in text
    assert "KeyPressed(key='Down')" in text
    for process in state.sample.processes:
        for secret in (process.username, process.command):
            assert secret is None or len(secret) < 3 or secret not in text


@pytest.mark.parametrize(
    ('event', 'secret'),
    [
        (Pasted('hunter2'), 'hunter2'),
        (EnvironmentRead(1, 1.0, (('TOKEN', 'hunter2'),)), 'hunter2'),
        (SampleArrived(SAMPLES['h100x8']), 'train.py'),
    ],
)
def test_events_are_described_without_their_contents(event: Event, secret: str) -> None:
    assert secret not in describe_event(event, AppState(MONITOR))
    assert type(event).__name__ in describe_event(event, AppState(MONITOR))
    typing = AppState(MONITOR, field=TextField(FILTER))
    for state, key, shown in ((typing, 'x', '•'), (typing, 'Enter', 'Enter'), (None, 'x', 'x')):
        described = describe_event(KeyPressed(key), state or AppState(MONITOR))
        assert described == repr(KeyPressed(shown))


def test_report_is_for_this_user_only_and_a_failure_to_write_it_is_explained(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('tempfile.tempdir', str(tmp_path))
    state = crash_state_of('h100x8')
    error = crash(state)
    path = write_crash(error, state, [])
    assert path is not None
    assert path in explain_crash(error, path)
    if os.name == 'posix':
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    monkeypatch.setattr('tempfile.tempdir', str(tmp_path / 'absent'))
    assert write_crash(error, state, []) is None
    text = explain_crash(error, None)
    assert re.search(r'ValueError in crash \(.*test_app\.py:\d+\); no report could be', text)
    assert str(error) not in text
    system = explain_crash(OSError(24, 'Too many open files', '/home/ada/secret'), None)
    assert 'OSError (Too many open files)' in system
    assert 'ada' not in system


# Effects run off the UI thread, and failures are posted as events


GPU = DeviceKey(0)


def key_of(pid: int) -> ProcessKey:
    """Return the key of the process that has this PID now."""
    return ProcessKey(pid, HostProcess(pid).create_time(), GPU)


def raising(error: Exception) -> Callable[..., Any]:
    """Return a function that raises the error, whatever its arguments are."""

    def call(*_: object) -> None:
        raise error

    return call


def test_environment_is_sorted_or_the_error_says_why_it_cannot_be_read(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    started = HostProcess(child.pid).create_time()
    event = read_environment(child.pid, started)
    names = [name for name, _ in event.variables]
    assert names == sorted(names)
    assert (dict(event.variables)['A_FIRST'], event.error) == ('one\nline', '')
    assert 'another process' in read_environment(child.pid, started - 5.0).error
    assert 'PID namespace' in read_environment(2**31 + 5, -1.0).error
    with monkeypatch.context() as patch:
        patch.setattr(host.Process, 'environ', raising(host.AccessDenied(child.pid)))
        assert read_environment(child.pid, started).error == 'permission denied'
    child.kill()
    child.wait(PATIENCE)
    assert read_environment(child.pid, started).error == 'the process has exited'


def perform(effect: Effect) -> Callable[[], Event]:
    """Perform an effect on an application; return a function that waits for the next event."""
    posted: queue.Queue[Event] = queue.Queue()

    class Posting(App):
        def post(self, event: Event) -> None:
            posted.put(event)

    EFFECTS[type(effect)](Posting(HeadlessTerminal(), AppState(MONITOR)), effect)
    return partial(posted.get, timeout=PATIENCE)


@pytest.mark.parametrize('part', ['send_signal', 'threading.Thread.start'])
def test_failing_effects_are_reported(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    error = RuntimeError('injected')
    for name in ('read_environment', part):
        path = part if '.' in part else f'nvitop.gui.app.{name}'
        monkeypatch.setattr(path, raising(error))
    posted = perform(ReadEnvironment(42, 1.0))
    assert posted() == EnvironmentRead(42, 1.0, (), 'cannot be read: injected')
    keys = (ProcessKey(42, 1.0, GPU), ProcessKey(43, 1.0, GPU))
    posted = perform(SendSignal('SIGTERM', keys))
    outcomes = [posted() for _ in keys]
    assert outcomes == [SignalSent(key, 'SIGTERM', 'failed', 'injected') for key in keys]
    monkeypatch.setattr('nvitop.gui.settings.save', raising(error))
    assert perform(SaveSettings(()))() == SettingsSaved('', 'injected')


def test_environment_is_shown_even_if_its_owner_cannot_be_read(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('nvitop.gui.app.find_owner', raising(RuntimeError('injected')))
    read = perform(ReadEnvironment(child.pid, key_of(child.pid).start_time))()
    assert isinstance(read, EnvironmentRead)
    assert dict(read.variables)['A_FIRST'] == 'one\nline'
    assert (read.error, read.owner, read.no_owner) == ('', None, 'cannot be read: injected')


def test_hanging_environment_does_not_block_signals(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_over = threading.Event()

    def stuck(pid: int, start_time: float) -> EnvironmentRead:
        is_over.wait(PATIENCE)
        return EnvironmentRead(pid, start_time)

    monkeypatch.setattr('nvitop.gui.app.read_environment', stuck)
    key = key_of(child.pid)
    reading = perform(ReadEnvironment(child.pid, key.start_time))
    assert perform(SendSignal('SIGKILL', (key,)))() == SignalSent(key, 'SIGKILL', 'sent')
    is_over.set()
    assert isinstance(reading(), EnvironmentRead)


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


@pytest.mark.skipif(not hasattr(os, 'waitid'), reason='needs waitid')
def test_zombies_and_exited_processes_are_reported(child: subprocess.Popen[bytes]) -> None:
    key = key_of(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # without reaping it
    assert send_signal(key, 'SIGTERM') == SignalSent(key, 'SIGTERM', 'zombie')
    child.wait(PATIENCE)
    assert send_signal(key, 'SIGTERM').outcome == 'gone'


@pytest.mark.parametrize('pid', [0, -1, 2**31 + 5, 2**63])
def test_invalid_or_unseen_pid_is_never_passed_to_kill(pid: int) -> None:
    event = send_signal(ProcessKey(pid, 1.0, GPU), 'SIGKILL', kill=never)
    assert (event.outcome == 'unseen') is (pid <= 0)
    # A PID of another namespace may belong to no process here, which does not mean it has exited.
    for other in (pid, os.getpid()):
        assert send_signal(ProcessKey(other, -1.0, GPU), 'SIGKILL', kill=never).outcome == 'unseen'


@pytest.mark.parametrize(
    ('part', 'error', 'outcome'),
    [
        ('kill', PermissionError(), ('not permitted', '')),
        ('start_time_of', host.AccessDenied(1), ('not permitted', '')),
        ('start_time_of', RuntimeError(), ('failed', 'RuntimeError')),
    ],
)
def test_failure_to_send_a_signal_is_reported(
    monkeypatch: pytest.MonkeyPatch, part: str, error: Exception, outcome: tuple[str, str]
) -> None:
    monkeypatch.delattr(os, 'pidfd_open', raising=False)
    fails: dict[str, Any] = {part: raising(error)}
    event = send_signal(key_of(os.getpid()), 'SIGTERM', **fails)
    assert (event.outcome, event.detail) == outcome


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
