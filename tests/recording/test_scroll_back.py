"""Looking back in the live monitor."""

from __future__ import annotations

import re

import pytest

from nvitop.accounting.usage import RecentUse
from nvitop.gui.app import App
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import ClockTicked, KeyPressed, SampleArrived
from nvitop.gui.state.lists import listed_users, relist
from nvitop.gui.view.frame import draw_frame
from nvitop.recording.recent import RecentSamples
from nvitop.sampling.history import History
from nvitop.sampling.types import EMPTY_SAMPLE, LIVE, Sample
from tests.gui.headless import HeadlessTerminal
from tests.recording.virtual_clock import SimpleMachine, rows_below_first, simulated_samples
from tests.sampling.conftest import ClockedMachine

ORIGIN = LIVE._replace(can_travel=True)


def new_app() -> App:
    """Return a monitor that keeps samples."""
    app = App(HeadlessTerminal(180, 60), AppState(MONITOR, 180, 60), recent=RecentSamples())
    app.history = History(2.0, 2.0)
    return app


def show(app: App, *samples: Sample) -> App:
    """Let samples arrive in a monitor."""
    for sample in samples:
        app._handle(ClockTicked(sample.monotonic, float(int(sample.timestamp))))
        app._handle(SampleArrived(sample, ORIGIN))
    return app


def rows_of(app: App) -> list[object]:
    """Draw the monitor; return all rows but the first, without jobs, which may be looked up later.

    Histories to their right stay as they are.
    """
    buffer = draw_frame(app.state, app.history)
    left = 24
    return [[piece for piece in row if piece[0] < left] for row in rows_below_first(buffer)]


def press(app: App, keys: str) -> list[object]:
    """Press keys; return the rows below the first."""
    for key in keys.split():
        app._handle(KeyPressed(key))
    return rows_of(app)


def test_frames_of_the_past_equal_those_that_were_live(bench: ClockedMachine) -> None:
    samples = list(simulated_samples(bench, 36, 2.0))
    app = new_app()
    frames = [rows_of(show(app, sample)) for sample in samples]
    assert press(app, '(') == frames[-2]
    assert press(app, '( ( )') == frames[-3]
    assert app.state.frozen is not None
    assert app.state.frozen.sample == samples[-3]
    assert press(app, '{') == frames[-33]
    first = press(app, 'B')
    assert app.state.frozen.sample.timestamp == samples[0].timestamp
    assert press(app, '(')[:-3] == first[:-3]
    assert 'no samples are kept from before' in app.state.notices[-1].text
    assert press(app, 'b - 3 0 s Enter')[:-3] == first[:-3]
    for back in ('E', '( z', '( )', '( }'):
        assert press(app, back) == frames[-1]
        assert app.state.frozen is None


def times_of(kept: RecentSamples) -> list[float]:
    """Return the times of all samples that are kept, the newest first."""
    times: list[float] = []
    sample = kept.find(EMPTY_SAMPLE, 'end', -1).sample
    while sample is not None:
        times.append(sample.timestamp)
        sample = kept.find(sample, 'frame', 1).sample
    return times


def test_memory_is_bounded_and_an_hour_is_kept() -> None:
    machine = SimpleMachine(8)
    kept = RecentSamples()
    for tick in range(400):
        machine.set(tick % 8, power_usage_mw=tick * 7919 % 700_000)
        sample = machine.sample(10.0)
        for _ in range(2):  # a repeated sample is kept once
            kept.add(sample)
    # All but the last one, which is the present; the oldest are deleted once a minute.
    assert 360 <= len(times_of(kept)) <= 366
    assert kept.size_bytes < 1 << 20
    small = RecentSamples(most_bytes=200_000)
    for _ in range(1000):
        small.add(machine.sample(1.0))
    assert 20 < len(times_of(small)) < 1000
    assert small.size_bytes <= 250_000
    found = small.find(machine.sample(), 'seconds', -3600)
    assert found.sample is not None
    assert 'no samples are kept' in found.message


def test_present_is_shown_after_a_freeze_and_a_look_back(bench: ClockedMachine) -> None:
    *before, latest = simulated_samples(bench, 4, 2.0)
    app = show(new_app(), *before)
    press(app, 'z')
    app._handle(SampleArrived(latest, ORIGIN))
    press(app, '( E')
    assert app.state.shown_sample is latest


def test_users_of_the_scroll_back_are_listed_after_their_processes_exited() -> None:
    machine = SimpleMachine(2)
    machine.run(1, 0)
    machine.run(2, 1, username='bob')
    samples = [machine.sample(10) for _ in range(181)]
    del machine.processes[1]
    machine.free(1)
    app = show(new_app(), *samples)
    assert app.state.gpu_times == {'ann': (1800.0, 0.0), 'bob': (1800.0, 0.0)}
    show(app, machine.sample(10), machine.sample(10))
    bob = listed_users(app.state)[1]
    assert (bob.name, bob.processes, bob.devices, bob.gpu_times) == ('bob', (), (), (1800.0, 0.0))
    press(app, 'U')
    lines = draw_frame(app.state, app.history).lines()
    (line,) = (line for line in lines if line.split()[1:2] == ['bob'])
    assert re.findall(r'\d:\d\d:\d\d', line) == ['0:30:00']  # no time held is blank
    filtered = relist(app.state.filtered('user:ann'))
    assert [user.name for user in listed_users(filtered)] == ['ann']


def test_gpu_hours_are_at_most_the_time_since_the_moment_in_the_title() -> None:
    machine = SimpleMachine(1)
    machine.run(1)
    app = show(new_app(), *(machine.sample(10) for _ in range(400)))
    for _ in range(12):
        show(app, machine.sample(10))
        length = app.state.timestamp - app.state.gpu_times_since
        assert 3600 <= length < 3660
        assert app.state.gpu_times['ann'] == pytest.approx((length, 0.0))


def test_use_before_the_scroll_back_is_forgotten() -> None:
    machine, use = SimpleMachine(1), RecentUse(600.0, 4.0)
    machine.run(1)
    times = [use.add(machine.sample(10)) for _ in range(200)]
    assert times[30] == {'ann': (300.0, 0.0)}
    assert 600 <= times[-1]['ann'][0] < 670
    machine.processes.clear()
    machine.free(0)
    times = [use.add(machine.sample(10)) for _ in range(80)]
    assert times[-1].keys() == {''}
