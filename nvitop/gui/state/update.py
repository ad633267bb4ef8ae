# SPDX-License-Identifier: GPL-3.0-only
"""``update(state, event) → (state, effects)``: the only place where the state of the monitor changes."""

from __future__ import annotations

from typing import Callable, cast

from nvitop.gui.model.effects import Effect, Quit, Redraw, Suspend
from nvitop.gui.state import typing_keys
from nvitop.gui.state.actions import act, open_signal_dialog
from nvitop.gui.state.app_state import AppState, Screen
from nvitop.gui.state.dialog import (
    Result,
    await_answer,
    be_drawn_anew,
    note_drawn,
    press_in_dialog,
    read_changes,
    turn_in_dialog,
)
from nvitop.gui.state.events import (
    ClockTicked,
    EnvironmentRead,
    Event,
    FrameDrawn,
    InputAwaited,
    InputEnded,
    KeyPressed,
    MousePressed,
    MouseScrolled,
    Pasted,
    Resized,
    SampleArrived,
    SignalSent,
    Suspended,
    Terminated,
)
from nvitop.gui.state.keymap import Action
from nvitop.gui.state.listing import keep_selection_seen, relist
from nvitop.gui.state.mouse import click, scroll
from nvitop.gui.state.notices import note_outcome, outdate_answers, refuse, replace_notice
from nvitop.gui.state.summary import MAX_COSTS, Tally, count_problems, note_problem

#: The exit status when there is no terminal any more.
HUNG_UP = 129
#: As shells have it for what a signal ended.
_STATUSES = {'SIGHUP': HUNG_UP, 'SIGQUIT': 131, 'SIGTERM': 143}

_OUTCOMES = {
    'sent': 'sent',
    'gone': 'is gone already',
    'zombie': 'has ended, and waits for its parent',
    'not permitted': 'is not permitted',
    'reused': 'not sent: the PID is another process now',
    'unseen': 'not sent: it was never seen on this system',
    'failed': 'failed',
}


def update(state: AppState, event: Event) -> Result:
    """The state after the event, and what the world is asked to do."""
    handler = cast('Callable[[AppState, Event], Result]', _HANDLERS[type(event)])
    after, effects = handler(state, event)
    if isinstance(event, (KeyPressed, MousePressed, MouseScrolled)):
        after = outdate_answers(state, after)
    return after, effects


def update_all(state: AppState, events: tuple[Event, ...]) -> Result:
    """The same for several events in a row."""
    effects: tuple[Effect, ...] = ()
    for event in events:
        state, more = update(state, event)
        effects += more
    return state, effects


def _key(state: AppState, event: KeyPressed) -> Result:
    key = event.key
    if _suspends(state, key):
        return state._replace(prefix=''), (Suspend(),)
    if state.dialog is not None:
        return press_in_dialog(state, key)
    if state.field is not None:
        return typing_keys.press(state, key)
    keys = f'{state.prefix} {key}' if state.prefix else key
    binding = state.keymap.find(state.screen, keys)
    if binding is None:
        if state.keymap.is_prefix(state.screen, keys):
            return state._replace(prefix=keys), ()
        return _no_binding(state._replace(prefix=''), state.prefix, key)
    state = state._replace(prefix='')
    if binding.is_mutating:
        return open_signal_dialog(state, binding.action, key)
    state, effects = act(state, binding)
    if binding.action in (Action.SCROLL_UP, Action.SCROLL_DOWN):
        return state, effects
    return keep_selection_seen(state), effects


def _no_binding(state: AppState, prefix: str, key: str) -> Result:
    """Say of keys that mean nothing why, as far as they mean something elsewhere. Esc leads out."""
    if not prefix:
        return _not_here(state, key)
    if key == 'Esc':
        return state, ()
    following = ' '.join(state.keymap.keys_after(state.screen, prefix))
    return refuse(state, 'No such keys', f'{prefix} {key}; after {prefix}: {following}')


def _not_here(state: AppState, key: str) -> Result:
    """Say of a key that is for other screens on which it works. Of any other nothing is known."""
    bindings = state.keymap.elsewhere(state.screen, key)
    if state.view.readonly and bindings and all(binding.is_mutating for binding in bindings):
        return open_signal_dialog(state, bindings[0].action, key)
    screens = frozenset().union(*(binding.screens for binding in bindings))
    if not screens:
        return state, ()
    names = ', '.join(screen.value for screen in Screen if screen in screens)
    where = 'on every other screen' if len(screens) == len(Screen) - 1 else f'in {names}'
    return replace_notice(state, 'Not here', f'{key} works {where}'), ()


def _suspends(state: AppState, key: str) -> bool:
    """Whether a key that is in no line suspends: whoever trusts that it does types for the shell
    next, and the Enter after ``fg`` would press a button."""
    binding = state.keymap.find(state.screen, key)
    return key.startswith('Ctrl-') and binding is not None and binding.action is Action.SUSPEND


def _pasted(state: AppState, event: Pasted) -> Result:
    # Pasted text is never taken for keys: it could kill what is selected.
    if state.dialog is not None:
        return state, ()
    if state.field is None:
        return replace_notice(state, 'Not pasted', 'only a filter or a search takes text'), ()
    return typing_keys.insert(state, event.text)


def _pressed(state: AppState, event: MousePressed) -> Result:
    return click(state, event)


def _scrolled(state: AppState, event: MouseScrolled) -> Result:
    if state.dialog is not None:
        return turn_in_dialog(state, event.dy or event.dx)
    return scroll(state, event)


def _resized(state: AppState, event: Resized) -> Result:
    state = be_drawn_anew(state._replace(width=event.width, height=event.height))
    return keep_selection_seen(state), (Redraw(),)


def _sample(state: AppState, event: SampleArrived) -> Result:
    sample, before = event.sample, state.sample
    if sample.sequence < before.sequence:
        return state, ()
    problems = count_problems(state.tally.problems, sample.problems, sample.timestamp)
    costs = (*state.tally.costs, (sample.monotonic, sample.cost))[-MAX_COSTS:]
    after = state._replace(sample=sample, tally=Tally(problems, costs))
    # Processes are measured more seldom than devices: between, their list is as it was.
    if sample.processes is before.processes and sample.host_processes is before.host_processes:
        return after, ()
    after = after if after.frozen is not None else relist(after)
    return read_changes(state, after), ()


def _clock(state: AppState, event: ClockTicked) -> Result:
    notices = tuple(notice for notice in state.notices if notice.until > event.monotonic)
    return (
        state._replace(monotonic=event.monotonic, timestamp=event.timestamp, notices=notices),
        (),
    )


def _drawn(state: AppState, event: FrameDrawn) -> Result:
    return note_drawn(state, event.monotonic), ()


def _awaited(state: AppState, event: InputAwaited) -> Result:
    return await_answer(state, event.since), ()


def _environment(state: AppState, event: EnvironmentRead) -> Result:
    environ = state.environ
    # The help may lie over the screen that waits for it.
    if event.pid != environ.pid:
        return state, ()
    environ = environ._replace(
        variables=event.variables, error=event.error, start_time=event.start_time
    )
    last = max(0, len(event.variables) - 1)
    return state._replace(environ=environ._replace(cursor=min(environ.cursor, last))), ()


def _signal_sent(state: AppState, event: SignalSent) -> Result:
    outcome = _OUTCOMES.get(event.outcome, event.outcome)
    if event.detail:
        outcome += f' ({event.detail})'
    is_error = event.outcome != 'sent'
    state = note_outcome(state, event.signal, event.key.pid, outcome, is_error=is_error)
    if not is_error:
        return state, ()
    subject = f'process {event.key.pid}'
    # Also where the display is frozen: who sent it looks there for what became of it.
    tally, frozen = (
        each._replace(
            problems=note_problem(each.problems, subject, event.signal, outcome, state.timestamp)
        )
        for each in (state.tally, state.frozen_tally)
    )
    return state._replace(tally=tally, frozen_tally=frozen), ()


def _ended(state: AppState, event: InputEnded) -> Result:
    return state, (Quit(HUNG_UP),)


def _suspended(state: AppState, event: Suspended) -> Result:
    return be_drawn_anew(state), (Redraw(),) if event.resumed else (Suspend(),)


def _terminated(state: AppState, event: Terminated) -> Result:
    return state, (Quit(_STATUSES.get(event.signal, 1)),)


_HANDLERS: dict[type, object] = {
    KeyPressed: _key,
    Pasted: _pasted,
    MousePressed: _pressed,
    MouseScrolled: _scrolled,
    Resized: _resized,
    SampleArrived: _sample,
    ClockTicked: _clock,
    FrameDrawn: _drawn,
    InputAwaited: _awaited,
    EnvironmentRead: _environment,
    SignalSent: _signal_sent,
    InputEnded: _ended,
    Suspended: _suspended,
    Terminated: _terminated,
}
