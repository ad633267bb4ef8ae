"""Drives the state of the monitor in tests: samples, keys, and any other events."""

from __future__ import annotations

from typing import Iterable, Tuple

from nvitop.gui.model.choices import Screen, ViewState
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.state.app_state import AppState, Result, SignalDialog
from nvitop.gui.state.bindings import BINDINGS
from nvitop.gui.state.events import (
    ClockTicked,
    Effect,
    Event,
    FrameDrawn,
    InputAwaited,
    KeyPressed,
    SampleArrived,
)
from nvitop.gui.state.needs import need_process, need_shown_process
from nvitop.gui.state.update import update
from nvitop.recording.events import RecordedEvent
from nvitop.sampling.types import Demand, HostProcessSample, Origin, Sample
from tests.gui.samples import SAMPLES

MANY = SAMPLES['processes200']
FLAT = ViewState(flat=True)
REPLAY = Origin(is_live=False, no_signals='a recording', can_travel=True)
EVENTS = tuple(
    RecordedEvent(1700000000.0 + 600 * i, kind, text)
    for i, (kind, text) in enumerate(
        (
            ('start', 'recording begins, every 10s'),
            ('finding', 'GPU 3: too hot (91°C, slows down at 89°C)'),
            ('lost', 'GPU 3: GPU is \x1b[31mlost'),
            ('gap', 'no samples for 8m'),
            ('recovered', 'GPU 3: works again'),
            *(('cleared', f'GPU {i}: resolved: too hot') for i in range(40)),
        )
    )
)
#: A machine with a small tree of host processes; one of them runs on a GPU.
TREE = MANY._replace(
    host_processes=(
        HostProcessSample(1, 1.0, None, 'root'),
        HostProcessSample(50, 5.0, 1, 'ann', is_own=True, command='bash'),
        HostProcessSample(
            MANY.processes[0].key.pid, MANY.processes[0].key.start_time, 50, 'ann', is_own=True
        ),
        HostProcessSample(70, 7.0, 1, 'bob'),
    )
)


def state_of(
    sample: Sample, width: int = 120, height: int = 40, view: ViewState | None = None
) -> AppState:
    """Return the state of a monitor of this size that shows the sample, by default without jobs."""
    return arrived(AppState(MONITOR, width=width, height=height, view=view or FLAT), sample)


def demand_of(state: AppState) -> Demand:
    demand = state.spec.demand(state)
    assert isinstance(demand, Demand)
    return demand


class Effects(Tuple[Effect, ...]):
    """Effects that are equal only if their types are: as tuples, those without values always are."""

    def __eq__(self, other: object) -> bool:
        types = [type(each) for each in other] if isinstance(other, tuple) else []
        return super().__eq__(other) and [type(each) for each in self] == types

    __hash__ = tuple.__hash__


def update_all(state: AppState, events: Iterable[Event]) -> Result:
    effects: tuple[Effect, ...] = ()
    for event in events:
        if event == KeyPressed('V') and state.origin.is_live:  # works only in a replay
            state = state._replace(origin=REPLAY, events=EVENTS)
        state, more = update(state, event)
        effects += more
    return state, Effects(effects)


def after(state: AppState, *events: Event) -> AppState:
    return update_all(state, events)[0]


def pressed(state: AppState, *keys: str) -> AppState:
    return press(state, *keys)[0]


def arrived(state: AppState, sample: Sample) -> AppState:
    """Return the state after the next sample, which is this one."""
    return after(state, SampleArrived(sample._replace(sequence=state.sample.sequence + 1)))


def press(state: AppState, *keys: str) -> tuple[AppState, tuple[Effect, ...]]:
    return update_all(state, tuple(KeyPressed(key) for key in keys))


def read_dialog(state: AppState) -> AppState:
    """Leave an open dialog on the screen until it accepts an answer."""
    now = state.monotonic
    return after(state, FrameDrawn(now), ClockTicked(now + 0.2, 0.0), InputAwaited(now + 0.2))


def dialog_of(state: AppState) -> SignalDialog:
    assert state.dialog is not None
    return state.dialog


def texts(state: AppState) -> list[str]:
    return [notice.text for notice in state.notices]


#: All keys of the key table.
KEYS = sorted({key for binding in BINDINGS for keys in binding.keys for key in keys.split()})


def keys_that_open(screen: Screen) -> tuple[str, ...]:
    """Return the keys that open a screen, after selecting a process if it needs one."""
    if screen is Screen.MAIN:
        return ()
    if screen is Screen.SIGNAL:
        return ('Down', 'T')
    binding = next(binding for binding in BINDINGS if binding.opens is screen)
    assert Screen.MAIN in binding.screens
    return (
        *(('Down',) if {need_process, need_shown_process} & {*binding.needs} else ()),
        binding.keys[0],
    )
