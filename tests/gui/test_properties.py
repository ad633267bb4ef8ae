"""Properties of the whole monitor, without a driver: any events in any order at any size.

Each example runs the application on a terminal in memory with its own clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nvitop.gui.app import EFFECTS, App
from nvitop.gui.model.choices import Screen, ViewState
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.render.buffer import NO_HIT, Buffer
from nvitop.gui.state.app_state import AppState, Lists, SignalTarget
from nvitop.gui.state.dialog import SIGNALS
from nvitop.gui.state.events import (
    EnvironmentRead,
    Event,
    KeyPressed,
    MousePressed,
    MouseScrolled,
    Pasted,
    ReadEnvironment,
    Resized,
    SampleArrived,
    SaveSettings,
    SendSignal,
    SignalSent,
    Suspended,
)
from nvitop.gui.state.lists import relist
from tests.gui.drawing import assert_is_drawn_inside
from tests.gui.driving import KEYS
from tests.gui.headless import FakeMeasuring, HeadlessTerminal
from tests.gui.random_samples import RandomSamples
from tests.gui.samples import ENVIRONMENT, SAMPLES, with_families

if TYPE_CHECKING:
    from nvitop.gui.render.theme import Theme

pytestmark = pytest.mark.usefixtures('utc')

SIZES = st.one_of(
    st.tuples(st.integers(1, 500), st.integers(1, 200)),
    st.sampled_from([(40, 6), (40, 12), (79, 24), (80, 24), (100, 30), (123, 40), (500, 200)]),
)


class Step(NamedTuple):
    """The events that one wait of the terminal returns, and its duration."""

    seconds: float
    events: tuple[Event, ...]


def _keys(*keys: str) -> list[Event]:
    return [KeyPressed(key) for key in keys]


def _machine(name: str | int) -> SampleArrived:
    sample = RandomSamples(name).sample() if isinstance(name, int) else SAMPLES[name]
    return SampleArrived(with_families(sample._replace(sequence=1)))


_MACHINES: st.SearchStrategy[list[Event]] = st.one_of(
    st.sampled_from(sorted(SAMPLES)), st.integers(0, 1 << 32)
).map(lambda name: [_machine(name)])
_EVENTS: st.SearchStrategy[list[Event]] = st.one_of(
    st.sampled_from(KEYS).map(_keys),
    st.characters(min_codepoint=32, max_codepoint=0x2FFF).map(_keys),
    st.lists(st.sampled_from(['Down', 'Space', 'Up', 'End', 'x']), max_size=4).map(
        lambda keys: _keys(*keys, 'T')
    ),
    st.sampled_from(['Enter', 'Space', 'k', 'K', 't', '1', '2']).map(_keys),
    st.sampled_from(['t', 'e', 'U', '!', 'C', 'h', 'Enter', 'q', 'J', 'f']).map(_keys),
    st.builds(
        MousePressed, st.integers(0, 150), st.integers(0, 60), st.integers(1, 3), st.just(NO_HIT)
    ).map(lambda event: [event]),
    st.builds(
        MouseScrolled,
        st.just(1),
        st.just(1),
        st.integers(-1, 1),
        st.integers(-1, 1),
        st.booleans(),
        st.booleans(),
        st.just(NO_HIT),
    ).map(lambda event: [event]),
    SIZES.map(lambda size: [Resized(*size)]),
    _MACHINES,
    st.text(max_size=20).map(lambda text: [Pasted(text)]),
    st.tuples(
        st.sampled_from(['/', '\\', 'b']),
        st.sampled_from(['a', 'user:alice', '-5m', '%']),
        st.booleans().flatmap(lambda changes: _MACHINES if changes else st.just([])),
        st.sampled_from(['Enter', 'Esc', '%', 'Down']),
    ).map(lambda typed: [*_keys(typed[0]), Pasted(typed[1]), *typed[2], *_keys(typed[3])]),
    st.sampled_from([[Suspended()], [Suspended(resumed=True)]]),
)
_STEPS = st.builds(
    Step,
    st.sampled_from([0.0, 0.01, 0.3, 0.5, 0.6, 2.0]),
    st.one_of(st.just(()), _EVENTS.map(tuple), _EVENTS.map(tuple)),
)
_ANSWERS = st.sampled_from(['Enter', 'Space', 't', 'k', 'i', 'K', '1', '2', '3'])
#: The steps of a person who sends a signal, sometimes with an event between that must prevent it.
_ASKED = st.tuples(
    st.sampled_from(['T', 'K', 'k', 'I', 'Ctrl-C']),
    st.sampled_from([0.0, 0.3, 0.6, 1.0]),
    st.one_of(st.just([]), st.just([]), _STEPS.map(lambda step: [step])),
    _ANSWERS,
).map(
    lambda asked: [
        Step(0.0, tuple(_keys('Esc', 'Esc', 'Down', 'Space', asked[0]))),
        Step(asked[1], ()),
        Step(asked[1], ()),
        *asked[2],
        Step(0.0, tuple(_keys(asked[3]))),
    ]
)


def runs(shortest: int) -> st.SearchStrategy[list[Step]]:
    """Return a strategy for the steps of a run: from ``shortest`` to 250 steps."""
    parts = st.one_of(_STEPS.map(lambda step: [step]), _STEPS.map(lambda step: [step]), _ASKED)
    return st.lists(parts, min_size=shortest, max_size=200).map(
        lambda found: [step for part in found for step in part][:250]
    )


class Run(HeadlessTerminal):
    def __init__(self, size: tuple[int, int], steps: list[Step], state: AppState) -> None:
        super().__init__(*size, ends=True)
        effects = {
            **EFFECTS,
            SendSignal: self._send_signals,
            ReadEnvironment: lambda app, effect: app.post(
                EnvironmentRead(effect[0], effect[1], ENVIRONMENT)
            ),
            SaveSettings: lambda *_: None,
        }
        self.app = App(self, state, effects=effects, monotonic=lambda: self.now)
        self.steps = list(reversed(steps))
        self.now = 1000.0
        self.sequence = 0
        self.arrived: set[tuple[int, float]] = set()
        self.signals = 0
        #: The frame on the screen, and the time since when it has been read without a key.
        self.frame = Buffer(*size)
        self.read_since: float | None = None
        self.may_confirm = False
        self.has_scrolled = False
        self.targets: tuple[SignalTarget, ...] = ()

    def go(self) -> AppState:
        self.app.run(FakeMeasuring())
        return self.app.state

    def wait(self, timeout: float | None) -> list[Event]:
        assert timeout is not None
        assert timeout >= 0
        if not self.steps:
            return super().wait(0)
        step = self.steps.pop()
        self._judge(step.events)
        self.now += step.seconds
        return [self._dated(event) for event in step.events]

    def _dated(self, event: Event) -> Event:
        if isinstance(event, MousePressed) and event.y % 2 and self.frame.hits:
            # On something that a click has an effect on, instead of anywhere.
            target, _ = self.frame.hits[event.x % len(self.frame.hits)]
            return event._replace(x=target.x, y=target.y)
        if not isinstance(event, SampleArrived):
            return event
        self.sequence += 1
        sample = event.sample
        self.arrived |= {process.key[:2] for process in sample.processes}
        self.arrived |= {(p.pid, p.start_time) for p in sample.host_processes}
        self.arrived |= {p.parent[:2] for p in sample.processes if p.parent is not None}
        return SampleArrived(
            sample._replace(
                sequence=self.sequence, monotonic=self.now, processes_monotonic=self.now
            )
        )

    def draw(self, buffer: Buffer, theme: Theme) -> None:
        assert_is_drawn_inside(buffer, self.app.state)
        _assert_sound(self.app.state)
        assert not self.app.state.view.ascii or all(map(str.isascii, buffer.lines()))
        self.frame = buffer

    def _judge(self, events: tuple[Event, ...]) -> None:
        """Decide whether a person had time to read the dialog before these events."""
        dialog = self.app.state.dialog
        if dialog is None:
            self.read_since, self.may_confirm = None, False
            return
        if dialog.targets is not self.targets:
            self.targets, self.read_since, self.may_confirm = dialog.targets, None, False
            self.has_scrolled = False
        if self.read_since is None:
            self.read_since = self.now
        if not events and self.now - self.read_since >= 0.2:
            self.may_confirm = True
        for event in events:
            if isinstance(event, (KeyPressed, MouseScrolled)):
                self.has_scrolled = True
            if isinstance(event, (Resized, Suspended)):
                self.read_since, self.may_confirm = None, False

    def _send_signals(self, _: App, effect: SendSignal) -> None:
        self.signals += 1
        assert self.may_confirm
        self.may_confirm = False
        assert not self.app.state.view.readonly
        assert effect.signal in SIGNALS
        assert effect.targets
        assert {key[:2] for key in effect.targets} <= self.arrived
        text = '\n'.join(self.frame.lines())
        assert 'Send a signal' in text
        assert any(str(key.pid) in text for key in effect.targets) or self.has_scrolled
        for key in effect.targets:
            self.app.post(SignalSent(key, effect.signal, 'failed', 'why'))


def _assert_sound(state: AppState) -> None:
    if state.selected is not None:
        assert state.selected in {process.key for process in state.shown_sample.processes}
    assert state.selected is None or state.job is None
    keys = {device.key for device in state.shown_sample.devices}
    assert state.main.selected_device in {*keys, None}
    assert state.screen is not Screen.PROCESS or state.shown_process is not None
    assert relist(state._replace(lists=Lists())) == state


_VIEWS = st.builds(
    ViewState,
    mode=st.sampled_from(['auto', 'full', 'compact']),
    ascii=st.booleans(),
    readonly=st.sampled_from([False, False, True]),
    flat=st.booleans(),
    show_host=st.booleans(),
    columns=st.lists(
        st.sampled_from([column.name for column in COLUMNS]), min_size=1, unique=True
    ).map(tuple),
    column_order=st.just(()) | st.permutations([column.name for column in COLUMNS]).map(tuple),
)


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(SIZES, runs(20), _VIEWS)
def test_monitor_survives_any_events_and_sends_only_confirmed_signals(
    size: tuple[int, int], steps: list[Step], view: ViewState
) -> None:
    state = Run(size, steps, AppState(MONITOR, view=view)).go()
    _assert_sound(state)


def _confirmations() -> Iterator[tuple[str, list[Step], int]]:
    opened = Step(0.0, (_machine('processes200'), *_keys('Down', 'Space', 'T')))
    answer = Step(0.0, tuple(_keys('Enter')))
    quiet, short = Step(0.3, ()), Step(0.15, ())
    yield 'read', [opened, quiet, quiet, answer], 1
    yield 'at once', [opened, answer], 0
    yield 'in one read', [opened._replace(events=(*opened.events, *answer.events))], 0
    yield 'too early', [opened, short, answer], 0
    yield 'late but read with the time', [opened, answer._replace(seconds=9.0)], 0
    yield 'resized', [opened, quiet, quiet, Step(0.0, (Resized(90, 30),)), answer], 0
    yield 'hammered', [opened, *[answer, quiet, quiet] * 9], 1
    yield 'hammered and left', [opened, *[answer] * 9, quiet, quiet, answer], 1
    yield 'key twice', [opened, quiet, quiet, Step(0.0, tuple(_keys('T')))], 0


@pytest.mark.parametrize(
    ('steps', 'signals'),
    [case[1:] for case in _confirmations()],
    ids=[c[0] for c in _confirmations()],
)
def test_confirmations_are_judged_correctly(steps: list[Step], signals: int) -> None:
    run = Run((120, 40), steps, AppState(MONITOR))
    run.go()
    assert run.signals == signals


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(SIZES, runs(100), _VIEWS)
@pytest.mark.timeout(3600)
def test_monitor_survives_many_more_events(
    size: tuple[int, int], steps: list[Step], view: ViewState
) -> None:
    _assert_sound(Run(size, steps, AppState(MONITOR, view=view)).go())
