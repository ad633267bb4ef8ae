"""The event loop, on a terminal in memory with samples that are made here."""

from __future__ import annotations

import threading
from typing import Callable

import pytest

from nvitop.gui.app import App
from nvitop.gui.effect_runner import EffectRunner
from nvitop.gui.model.effects import SendSignal
from nvitop.gui.model.screens import Screen
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import Event, KeyPressed, SampleArrived, Suspended
from nvitop.gui.state.update import HUNG_UP
from nvitop.gui.term.headless import HeadlessTerminal
from nvitop.sampling.types import Demand, Sample
from tests.gui.samples import SAMPLES
from tests.patience import PATIENCE


class FakeMeasuring:
    """Measures nothing; remembers what it was told."""

    def __init__(self) -> None:
        self.demands: list[Demand] = []
        self.refreshes = 0
        self.starts = 0

    def start(self) -> None:
        self.starts += 1

    def demand(self, demand: Demand) -> None:
        if not self.demands or demand != self.demands[-1]:
            self.demands.append(demand)

    def refresh(self) -> None:
        self.refreshes += 1


def sample(name: str = 'h100x8', sequence: int = 1) -> Sample:
    now = float(sequence)
    return SAMPLES[name]._replace(sequence=sequence, monotonic=now, processes_monotonic=now)


def run(
    *batches: Callable[[App], None], width: int = 120, height: int = 40
) -> tuple[App, HeadlessTerminal, FakeMeasuring]:
    """Run the application; after each wait the next batch happens, then it is quit."""
    terminal = HeadlessTerminal(width, height, ends=True)
    app = App(terminal, AppState(), wall_clock=lambda: 1.5, monotonic=lambda: 10.0)
    for batch in batches:
        batch(app)
    measuring = FakeMeasuring()
    assert app.run(measuring) == HUNG_UP
    assert not terminal.is_open
    return app, terminal, measuring


def send(*events: Event) -> Callable[[App], None]:
    def happen(app: App) -> None:
        assert isinstance(app.terminal, HeadlessTerminal)
        app.terminal.send(*events)

    return happen


def test_a_sample_is_drawn() -> None:
    _, terminal, measuring = run(send(SampleArrived(sample())), height=80)
    assert measuring.starts == 1
    text = '\n'.join(terminal.screen.lines())
    assert 'H100' in text
    assert len(terminal.screen.lines()) == 80


def test_keys_are_drawn_once_a_batch() -> None:
    _, terminal, _ = run(
        send(SampleArrived(sample())),
        send(*[KeyPressed('Down')] * 20),
    )
    assert len(terminal.frames) == 3


def test_nothing_is_drawn_when_nothing_has_changed() -> None:
    _, terminal, _ = run(send(SampleArrived(sample())), send(), send(), send(KeyPressed('F12')))
    assert len(terminal.frames) == 2


def test_what_is_shown_is_demanded() -> None:
    app, _, measuring = run(
        send(SampleArrived(sample('processes200'))),
        send(KeyPressed('t')),
        send(KeyPressed('q')),
        send(KeyPressed('d')),
    )
    assert [demand.host_processes for demand in measuring.demands] == [
        False,
        False,
        True,
        False,
        False,
    ]
    assert (
        not measuring.demands[1].shown_metrics
        or 'pcie_tx_throughput' not in measuring.demands[1].shown_metrics
    )
    assert 'pcie_tx_throughput' in measuring.demands[-1].shown_metrics
    visible = measuring.demands[1].visible_processes
    assert visible is not None
    assert 0 < len(visible) < len(app.state.rows)


def test_effects_are_carried_out() -> None:
    app, terminal, measuring = run(
        send(SampleArrived(sample())),
        send(KeyPressed('F5')),
        send(KeyPressed('M')),
        send(KeyPressed('Home'), KeyPressed('Up')),
        send(Suspended()),
    )
    assert measuring.refreshes == 1
    assert terminal.mouse_captured is False
    assert terminal.bells == 1
    assert terminal.suspensions == 1
    assert any('Suspended' in line for line in app.events)


def test_another_thread_may_post() -> None:
    terminal = HeadlessTerminal(120, 40)
    app = App(terminal, AppState())
    waiting = threading.Thread(target=app.run, args=(FakeMeasuring(),))
    waiting.start()
    app.post_sample(sample())
    app.post(KeyPressed('h'))
    app.post(KeyPressed('q'))
    app.post(KeyPressed('q'))
    waiting.join(PATIENCE)
    assert not waiting.is_alive()
    assert app.state.screen is Screen.MAIN


def test_every_sample_is_in_the_history_also_while_the_display_is_frozen() -> None:
    app, _, _ = run(
        send(SampleArrived(sample(sequence=1))),
        send(KeyPressed('z')),
        *[send(SampleArrived(sample(sequence=i))) for i in range(2, 30)],
    )
    key = app.state.sample.devices[0].key
    values = app.history.values(key, 'gpu_utilization', 20.0, 20)
    assert sum(value is not None for value in values) >= 19


def test_an_error_in_a_view_gives_the_terminal_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr('nvitop.gui.app.draw_frame', broken)
    terminal = HeadlessTerminal()
    app = App(terminal, AppState())
    with pytest.raises(ZeroDivisionError):
        app.run(FakeMeasuring())
    assert not terminal.is_open


def test_the_clock_waits_for_the_sample_of_its_second() -> None:
    times = iter([5.0, 5.98, 5.98, 6.02, 6.02, 6.3, 6.3, 7.1, 7.1])
    waits = []

    class Terminal(HeadlessTerminal):
        def wait(self, timeout: float | None) -> list[Event]:
            waits.append(timeout)
            return super().wait(timeout)

    terminal = Terminal(ends=True)
    app = App(terminal, AppState(), wall_clock=lambda: next(times, 9.5), monotonic=lambda: 1.0)
    for number in (1, 2, 3):
        terminal.send(SampleArrived(sample(sequence=number)))
    app.run(FakeMeasuring())
    assert waits == pytest.approx([0.12, 1.08, 0.8, 1.0])


class RecordingRunner(EffectRunner):
    """Carries nothing out."""

    def __init__(self) -> None:
        super().__init__(lambda event: None)
        self.effects: list[object] = []

    def run(self, effect: object) -> None:
        self.effects.append(effect)


def test_a_signal_is_sent_only_when_the_dialog_was_drawn_and_the_keyboard_quiet() -> None:
    now = [10.0]
    sent = []

    class Terminal(HeadlessTerminal):
        def wait(self, timeout: float | None) -> list[Event]:
            events = super().wait(timeout)
            now[0] += 0.6
            sent.append(len(runner.effects))
            return events

    terminal = Terminal(120, 40, ends=True)
    runner = RecordingRunner()
    app = App(terminal, AppState(), runner=runner, monotonic=lambda: now[0])
    enter = KeyPressed('Enter')
    terminal.send(SampleArrived(sample('processes200')))
    terminal.send(*map(KeyPressed, ('Down', 'Space', 'K', 'Enter', 'k', 'Space')), enter)
    terminal.send(enter)
    terminal.send()  # the keyboard is quiet, but the dialog was not there for long
    terminal.send(enter)
    terminal.send()
    terminal.send()
    terminal.send(enter)
    terminal.send()
    app.run(FakeMeasuring())
    assert sent == [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
    assert [type(effect) for effect in runner.effects] == [SendSignal]
