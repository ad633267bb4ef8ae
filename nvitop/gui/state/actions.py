# SPDX-License-Identifier: GPL-3.0-only
"""Which binding of a key counts now, what keys need, small actions, and travel to other times."""

from __future__ import annotations

from nvitop.basics.units import format_time, parse_time
from nvitop.gui.model.choices import Screen, neighbor
from nvitop.gui.state import events
from nvitop.gui.state.app_state import AppState, Frozen, ListPosition, Result
from nvitop.gui.state.appearance import way_to_run
from nvitop.gui.state.cursor import current_line, go_to_line, lines_layout
from nvitop.gui.state.dialog import signal_targets, why_no_target
from nvitop.gui.state.keymap import Binding, Need
from nvitop.gui.state.lists import LIST_ORDERS, list_sort, relist, sort_list
from nvitop.gui.state.navigation import go_back, move_by_lines
from nvitop.gui.state.notices import answer, refuse, replace_notice, withdraw_notice
from nvitop.gui.state.problems import Tally, count_problems
from nvitop.gui.state.selection import (
    clear_selection,
    hidden_by_filter,
    select_device,
    selected_process,
    selected_processes,
    toggle_page,
    toggle_tag,
)
from nvitop.health import findings


def working_binding(state: AppState, keys: str, met: dict[Need, bool]) -> Binding | None:
    """Return the first binding of keys that works now. ``met`` caches checked needs."""
    for binding in state.keymap.find_all(state.screen, keys):
        for need in binding.needs:
            if need not in met:
                met[need] = not need(state)
            if not met[need]:
                break
        else:
            return binding
    return None


def unmet_need(state: AppState, binding: Binding) -> str:
    return next(filter(None, (need(state) for need in binding.needs)), '')


# Needs: functions that return why a key cannot work now, and '' if it can.


def need_device(state: AppState) -> str:
    return '' if state.main.selected_device else 'Select a GPU first'


def need_job(state: AppState) -> str:
    return '' if state.job is not None else 'Select a job first'


def need_no_job(state: AppState) -> str:
    """No selected job: a process on its own, or one of a job."""
    is_job = state.job is not None and state.screen is Screen.MAIN
    return 'Select one of its processes' if is_job else ''


def need_process(state: AppState) -> str:
    if selected_process(state) is not None:
        return ''
    return hidden_by_filter(state) or 'Select a process first'


def need_taggable(state: AppState) -> str:
    """A process to tag: the selected one, or the first one."""
    if selected_processes(state):
        return ''
    return hidden_by_filter(state) or ('' if state.spec.lines(state.inner) else 'No process to tag')


def need_search(state: AppState) -> str:
    key = state.keymap.instead_of(state.screen, '/')
    return '' if state.searched else f'Search first ({key})' if key else 'Search first'


def need_shown_process(state: AppState) -> str:
    """A selected process, or the one on its page."""
    return '' if state.screen is Screen.METRICS else need_process(state)


def need_target(state: AppState) -> str:
    """A process that may be signaled; never met with ``--readonly``."""
    return '' if state.dialog is not None or signal_targets(state) else why_no_target(state)


def need_past(state: AppState) -> str:
    return '' if state.origin.can_travel else 'No samples of other times are kept'


def need_recording(state: AppState) -> str:
    return 'Works only in a recording' if state.origin.is_live else ''


def need_processes_here(state: AppState) -> str:
    """Processes of this machine that run now."""
    return state.origin.no_signals


# When there is no point in the hint of a key.


def sees_all_lines(state: AppState) -> bool:
    layout = lines_layout(state)
    return layout.length <= layout.visible


# Actions: functions from a state to the next one and its effects.


def leave(state: AppState) -> Result:
    """Leave the page of a device, else return to the list of events, else leave the monitor."""
    if state.main.shows_page:
        return toggle_page(state)
    if state.screen is Screen.MAIN and state.behind:
        return go_back(state)
    return state, (events.Quit(),)


def suspend(state: AppState) -> Result:
    return state, (events.Suspend(),)


def open_sort_menu(state: AppState) -> Result:
    return state._replace(prefix=state.keymap.sort_prefix(state.screen)), ()


def refresh(state: AppState) -> Result:
    """Measure now, and clear the selection."""
    effects = (events.Refresh(), events.Redraw())
    if state.frozen is not None:
        state = answer(state, 'key', f'Not shown while paused{way_to_run(state)}')
    if state.screen is Screen.ENVIRON:
        shown = state.environ
        return state, (*effects, events.ReadEnvironment(shown.pid, shown.start_time))
    if state.screen is Screen.TREE:
        return state, effects
    return clear_selection(state)._replace(positions={}), effects


def redraw(state: AppState) -> Result:
    """Draw the whole screen again, over what other programs have written."""
    return state, (events.Redraw(),)


def clear(state: AppState) -> Result:
    """Clear the filter, else the selection, else leave the page of a device, the tree or the pause."""
    if state.query:
        return relist(state._replace(query='')), ()
    state = state._replace(searched='')
    cleared = clear_selection(state)
    if cleared == state and state.main.shows_page:
        return toggle_page(state)
    if cleared == state and state.main.selected_device is not None:
        return select_device(state, None), ()
    if cleared == state and state.screen is Screen.TREE:
        return go_back(state)
    if cleared == state and state.frozen is not None:
        return toggle_freeze(state)
    if cleared == state and state.origin.is_chosen:
        return leave(state)
    return cleared, ()


def tag(state: AppState) -> Result:
    """Tag or untag the process, the first one if none is selected, and go to the next."""
    if not selected_processes(state):
        state = go_to_line(state, 0)
    return move_by_lines(toggle_tag(state), 1)[0], ()


def toggle_mouse(state: AppState) -> Result:
    captured = not state.captures_mouse
    return state._replace(captures_mouse=captured), (events.CaptureMouse(captured),)


def sort_by_neighbor(state: AppState, step: int) -> Result:
    """Sort by the next (1) or previous (-1) order."""
    names = [order.name for order in LIST_ORDERS[state.screen]]
    name = neighbor(names, list_sort(state, state.screen).order, step)
    return sort_list(state, name, reverse=False)


def reverse_order(state: AppState) -> Result:
    name, reverse = list_sort(state, state.screen)
    return sort_list(state, name, reverse=not reverse)


def sum_by_owner(state: AppState) -> Result:
    """Sum up by owner on the users screen, or by user again."""
    by_owner = not state.sums_by_owner
    return state._replace(sums_by_owner=by_owner).at(ListPosition()), ()


# Other times: a frozen display, a recording, and the samples that the monitor keeps.


def toggle_freeze(state: AppState) -> Result:
    """Freeze the display, or show the latest sample again; pause or run a replay."""
    if not state.origin.is_live:
        return state, (events.Travel('pause', 0.0),)
    if state.frozen is not None:
        return relist(state._replace(frozen=None)), ()
    return state._replace(frozen=Frozen(state.sample, state.tally, state.sample.monotonic)), ()


def travel(state: AppState, unit: str, amount: float) -> Result:
    return withdraw_notice(state, 'Time'), (events.Travel(unit, amount),)


def show_event_time(state: AppState) -> Result:
    """Show the time of the event in the current line, at which the replay stands still."""
    if not state.events:
        return state, ()
    event = state.events[current_line(state) or 0]
    state = state._replace(screen=Screen.MAIN, behind=(Screen.MAIN, Screen.EVENTS))
    state = replace_notice(state, 'Time', f'{format_time(event.time)} {event.text}')
    return state, (events.Travel('time', event.time),)


def select_event(_: AppState, state: AppState) -> Result:
    """Begin the list of events at the last one up to the time on the screen, which stands still."""
    past = [event for event in state.events if event.time < state.shown.timestamp + 0.001]
    return state.at(ListPosition(cursor=max(0, len(past) - 1))), (events.Travel('pause', 1.0),)


def go_to_time(state: AppState, text: str) -> Result:
    if not text.strip():
        return state._replace(field=None), ()
    try:
        moment = parse_time(text, state.shown.timestamp, same_day=not state.origin.is_live)
    except ValueError as error:
        reason = str(error)
        return refuse(state, f'{reason[0].upper()}{reason[1:]}', subject='Time')
    return travel(state._replace(field=None), 'time', moment)


def show_past(state: AppState, event: events.PastShown) -> AppState:
    """Freeze the display at a kept sample, or show the latest one again."""
    sample = event.sample
    if event.message:
        state = replace_notice(state, 'Time', event.message)
    if sample is None:
        return relist(state._replace(frozen=None)) if state.frozen is not None else state
    found = findings(sample)
    problems = count_problems((), sample.problems, sample.timestamp, found)
    tally = Tally(problems, found, ((sample.monotonic, sample.cost),))
    until = state.sample.monotonic if state.frozen is None else state.frozen.until
    # A kept sample may be older than the look-up of owners.
    owners = {process.key[:2]: process.owner for process in state.sample.processes}
    processes = tuple(
        process._replace(owner=owners.get(process.key[:2]) or process.owner)
        for process in sample.processes
    )
    sample = sample._replace(processes=processes)
    return relist(state._replace(frozen=Frozen(sample, tally, until)))
