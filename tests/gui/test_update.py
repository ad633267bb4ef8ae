"""``update``: samples, effects, notices and pasted text. Other files test the keys by subject."""

from __future__ import annotations

import pytest

from nvitop.gui.state.events import (
    CaptureMouse,
    ClockTicked,
    Effect,
    Event,
    InputEnded,
    KeyPressed,
    Pasted,
    Quit,
    Redraw,
    Refresh,
    Resized,
    SampleArrived,
    SignalSent,
    Suspend,
    Suspended,
    Terminated,
)
from nvitop.gui.state.update import update
from tests.gui.driving import MANY, after, press, pressed, state_of, texts
from tests.gui.samples import with_families


def test_older_sample_is_not_shown() -> None:
    state = state_of(MANY)._replace(sample=MANY._replace(sequence=9))
    assert after(state, SampleArrived(MANY._replace(sequence=8, processes=()))) is state


@pytest.mark.parametrize(
    ('event', 'effect'),
    [
        (KeyPressed('q'), Quit()),
        (InputEnded(), Quit(129)),
        (Terminated('SIGHUP'), Quit(129)),
        (Terminated('SIGTERM'), Quit(143)),
        (Terminated('SIGBREAK'), Quit(1)),
        (KeyPressed('Ctrl-Z'), Suspend()),
        (Suspended(), Suspend()),
        (Suspended(resumed=True), Redraw()),
        (KeyPressed('Alt-m'), CaptureMouse(False)),
        (KeyPressed('Ctrl-R'), Refresh()),
        (Resized(100, 30), Redraw()),
        (KeyPressed('L'), Redraw()),
    ],
)
def test_effects(event: Event, effect: Effect) -> None:
    assert effect in update(state_of(MANY), event)[1]


@pytest.mark.parametrize('keys', ['T', '\\', '\\ a', 'F3', 'o', 't K'])
def test_ctrl_z_suspends_whatever_is_open(keys: str) -> None:
    state = pressed(state_of(with_families(MANY)), 'Down', *keys.split())
    assert press(state, 'Ctrl-Z') == (state._replace(prefix=''), (Suspend(),))


def test_paste_outside_of_a_text_field_does_nothing() -> None:
    before = pressed(state_of(MANY), 'Down')
    state, effects = update(before, Pasted('K\r'))
    assert texts(state) == ['Paste ignored (press \\ to filter first)']
    assert (state._replace(notices=()), effects) == (before, ())


# Outcomes of signals


def test_outcome_of_a_signal_is_shown_for_five_seconds() -> None:
    state = after(state_of(MANY), ClockTicked(100.0, 0.0))
    key = MANY.processes[0].key
    state = after(state, SignalSent(key, 'SIGTERM', 'not permitted'))
    assert [(notice.text, notice.is_error) for notice in state.notices] == [
        (f'SIGTERM to {key.pid}: not permitted', True)
    ]
    assert after(state, ClockTicked(104.9, 0.0)).notices
    assert not after(state, ClockTicked(105.1, 0.0)).notices


def test_process_that_exits_after_a_signal_is_named() -> None:
    first, second, *others = MANY.processes
    first = first._replace(name='python3')
    state = state_of(MANY._replace(processes=(first, second, *others)))
    state = after(state, SignalSent(first.key, 'SIGTERM', 'sent'))
    state = after(state, SampleArrived(MANY._replace(sequence=2, processes=(second, *others))))
    sent, exited = texts(state)
    assert sent == f'Sent SIGTERM to {first.key.pid}'
    assert exited == f'python3 ({first.key.pid}) exited or left the GPU after SIGTERM'
    state = after(state, SampleArrived(MANY._replace(sequence=3, processes=tuple(others))))
    assert texts(state) == [sent, exited]
