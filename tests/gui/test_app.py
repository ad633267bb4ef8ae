"""The event loop, on a terminal in memory with stored samples."""

from __future__ import annotations

from typing import Callable

import pytest

from nvitop.gui.app import App
from nvitop.gui.model.choices import GraphState
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import HUNG_UP, Event, KeyPressed, SampleArrived, Suspended
from nvitop.sampling.types import Sample
from tests.gui.driving import demand_of, press, state_of
from tests.gui.headless import FakeMeasuring, HeadlessTerminal
from tests.gui.samples import SAMPLES


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
