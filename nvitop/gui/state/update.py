# SPDX-License-Identifier: GPL-3.0-only
"""``update(state, event) → (state, effects)``: the only function that changes the state."""

from __future__ import annotations

from typing import Any, Callable

from nvitop.gui.model.choices import Screen
from nvitop.gui.state import actions, dialog, events, needs, time_travel
from nvitop.gui.state.app_state import (
    AppState,
    Result,
    drop_notices,
    note_exits,
    note_outcome,
    notify,
    refuse,
)
from nvitop.gui.state.input_line import append_text, change_line, press_in_field
from nvitop.gui.state.lists import relist
from nvitop.gui.state.navigation import click, go_back, is_double, is_on_line, scroll, select_folded
from nvitop.gui.state.problems import Tally, note_problem, problem_lines


def update(state: AppState, event: events.Event) -> Result:
    """Return the state after an event, and the effects to carry out."""
    before = state
    if isinstance(event, (events.KeyPressed, events.MouseScrolled)) and state.clicked[0] >= 0:
        state = state._replace(clicked=(-1, 0.0))
    after, effects = _HANDLERS[type(event)](state, event)
    after = relist(after)
    if isinstance(event, (events.KeyPressed, events.MousePressed, events.MouseScrolled)):
        after = drop_notices(before, after)
    return after, effects


def _press(state: AppState, event: events.KeyPressed) -> Result:
    key = event.key
    binding = state.keymap.find(state.screen, key)
    # A user who pressed Ctrl-Z types ahead for the shell, whatever is open: the Enter after ``fg`` must
    # not confirm a dialog.
    if key.startswith('Ctrl-') and binding is not None and binding.suspends:
        return state._replace(prefix=''), (events.Suspend(),)
    if state.field is not None:
        return press_in_field(state, state.field, key)
    keys = f'{state.prefix} {key}' if state.prefix else key
    binding = needs.working_binding(state, keys, {}) or state.keymap.find(state.screen, keys)
    if binding is None:
        if state.keymap.is_prefix(state.screen, keys):
            return state._replace(prefix=keys), ()
        return _explain_unbound(state._replace(prefix=''), state.prefix, key)
    state = state._replace(prefix='')
    is_early = state.screen is Screen.MAIN and not state.sample.sequence
    if is_early and binding.waits:  # nothing is listed yet
        return state._replace(early=(*state.early, key)), ()
    why = needs.unmet_need(state, binding)
    if why:
        return refuse(state, why)
    state, effects = binding.run(state)
    state = relist(state)
    return state if binding.scrolls else select_folded(state), effects


def _click(state: AppState, event: events.MousePressed) -> Result:
    """Press the keys of a hint, or select. A double click presses Enter, a right click T."""
    if event.hit[0] == 'keys':
        return _press_all(state, event.hit[1])
    if event.hit[0] == 'time':
        return time_travel.travel(state, 'time', event.hit[1])
    key = ''
    if state.dialog is None:  # a click on a target confirms nothing
        is_line = is_on_line(state, event)
        opens = is_double(state, event) and (is_line or event.hit[0] == 'device')
        usual = 'T' if is_line and event.button == 3 else 'Enter' if opens else ''
        key = state.keymap.instead_of(state.screen, usual) if usual else ''
    state, effects = click(state, event)
    state = state._replace(clicked=(-1, 0.0) if key else (event.y, state.monotonic))
    if not key:
        return state, effects
    state, more = _press_all(state, key)
    return state, (*effects, *more)


def _press_all(state: AppState, keys: str) -> Result:
    effects: tuple[events.Effect, ...] = ()
    for key in keys.split(' '):
        state, more = _press(state, events.KeyPressed(key))
        effects += more
    return state, effects


def _press_early(state: AppState) -> Result:
    """Press the keys that waited for the first sample, unless the user has left the main screen."""
    keys = state.early
    if not keys or not state.sample.sequence:
        return state, ()
    state = state._replace(early=())
    return _press_all(state, ' '.join(keys)) if state.screen is Screen.MAIN else (state, ())


def _explain_unbound(state: AppState, prefix: str, key: str) -> Result:
    """Explain why keys without a binding do nothing, if anything is known about them."""
    if prefix and key in ('Esc', 'Enter'):
        return state, ()
    if prefix:
        what = 'sort key' if prefix == state.keymap.sort_prefix(state.screen) else 'key'
        return refuse(state._replace(prefix=prefix), f'{prefix} {key}: unknown {what}')
    if state.screen is Screen.HELP:
        return go_back(state)
    elsewhere = state.keymap.elsewhere(state.screen, key)
    bindings = [binding for binding in elsewhere if binding.screens != {Screen.SIGNAL}]
    if state.view.readonly and bindings and all(binding.is_signal for binding in bindings):
        return refuse(state, needs.unmet_need(state, bindings[0]))
    screens = frozenset().union(*(binding.screens - {Screen.SIGNAL} for binding in bindings))
    if screens:
        places = ', '.join(screen.value for screen in Screen if screen in screens)
        return notify(state, 'key', f'{key} works only on other screens: {places}'), ()
    hint = state.with_key('h', '; {} lists the keys')
    return notify(state, 'key', f'{key}: unknown key{hint}'), ()


def _paste(state: AppState, event: events.Pasted) -> Result:
    """Insert pasted text into the line being typed. It is never taken for keys, which could kill."""
    if state.dialog is not None:
        return state, ()
    if state.field is None:
        hint = state.with_key('\\', ' (press {} to filter first)')
        return notify(state, 'Paste ignored', f'Paste ignored{hint}'), ()
    return change_line(state, state.field, append_text(state.field.text, event.text)), ()


def _show_sample(state: AppState, event: events.SampleArrived) -> AppState:
    sample, before = event.sample, state.sample
    if event.message:
        state = notify(state, 'Time', f'Time: {event.message}')
    if sample is before:
        return state._replace(origin=event.origin)
    if event.history is not None:
        state = state._replace(tally=Tally())
    elif sample.sequence < before.sequence:
        return state
    if not event.origin.is_live:
        state = state._replace(timestamp=float(int(sample.timestamp)))
    after = relist(
        state._replace(
            sample=sample,
            origin=event.origin,
            tally=state.tally.with_sample(sample),
            gpu_times=event.gpu_times,
            gpu_times_since=event.gpu_times_since,
            events=event.events,
        )
    )
    if not before.devices and state.view.mode == 'full' and actions.why_not_full(after):
        after = notify(after, 'mode', actions.why_not_full(after))
    return dialog.require_reading_of_changes(state, note_exits(before, after))


def _set_clocks(state: AppState, event: events.ClockTicked) -> AppState:
    notices = tuple(notice for notice in state.notices if notice.until > event.monotonic)
    is_past = not state.origin.is_live and state.sample.sequence > 0
    timestamp = state.timestamp if is_past else event.timestamp
    return state._replace(monotonic=event.monotonic, timestamp=timestamp, notices=notices)


def _show_outcome(state: AppState, event: events.SignalSent) -> AppState:
    """Show the outcome of a signal; list failures among the problems."""
    state = note_outcome(state, event)
    if not event.failure:
        return state

    def noted(tally: Tally) -> Tally:
        pid, now = event.key.pid, state.timestamp
        problems = note_problem(tally.problems, pid, event.signal, event.failure, now)
        return tally._replace(problems=problems, lines=problem_lines(problems))

    # While the display is frozen, both problem lists get it.
    frozen = state.frozen and state.frozen._replace(tally=noted(state.frozen.tally))
    return state._replace(tally=noted(state.tally), frozen=frozen)


def _only_state(change: Callable[[AppState, Any], AppState]) -> Callable[[AppState, Any], Result]:
    return lambda state, event: (change(state, event), ())


_HANDLERS: dict[type, Callable[[AppState, Any], Result]] = {
    events.KeyPressed: _press,
    events.Pasted: _paste,
    events.MousePressed: _click,
    events.MouseScrolled: scroll,
    events.SampleArrived: lambda state, event: _press_early(_show_sample(state, event)),
    events.TerminalOpened: _only_state(lambda state, event: state._replace(colors=event.colors)),
    events.BackgroundReported: actions.report_background,
    events.PastShown: _only_state(time_travel.show_past),
    events.ClockTicked: _only_state(_set_clocks),
    events.FrameDrawn: _only_state(lambda state, event: dialog.note_drawn(state, event.monotonic)),
    events.InputAwaited: _only_state(lambda state, event: dialog.await_answer(state, event.since)),
    events.SettingsSaved: _only_state(actions.note_saved),
    events.EnvironmentRead: _only_state(actions.show_variables),
    events.SignalSent: _only_state(_show_outcome),
    events.Resized: lambda state, event: (
        select_folded(
            dialog.require_reading(state._replace(width=event.width, height=event.height))
        ),
        (events.Redraw(),),
    ),
    events.Suspended: lambda state, event: (
        dialog.require_reading(state),
        (events.Redraw() if event.resumed else events.Suspend(),),
    ),
    events.Terminated: lambda state, event: (state, (events.Quit(event.exit_status),)),
}
