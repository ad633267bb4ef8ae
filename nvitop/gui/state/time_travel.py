# SPDX-License-Identifier: GPL-3.0-only
"""Other times: a frozen display, a recording, and the samples that the monitor keeps."""

from __future__ import annotations

from nvitop.basics.units import format_time, parse_time
from nvitop.gui.model.choices import Screen
from nvitop.gui.state import events, navigation
from nvitop.gui.state.app_state import (
    TYPED,
    AppState,
    Frozen,
    ListPosition,
    Result,
    notify,
    refuse,
    withdraw_notice,
)
from nvitop.gui.state.problems import Tally


def toggle_freeze(state: AppState) -> Result:
    """Freeze the display, or show the latest sample again; pause or run a replay."""
    if not state.origin.is_live:
        return state, (events.Travel('pause', 0.0),)
    if state.frozen is not None:
        return state._replace(frozen=None), ()
    return state._replace(frozen=Frozen(state.sample, state.tally, state.sample.monotonic)), ()


def travel(state: AppState, unit: str, amount: float) -> Result:
    return withdraw_notice(state, 'Time'), (events.Travel(unit, amount),)


def show_event_time(state: AppState) -> Result:
    """Show the time of the event in the current line, at which the replay stands still."""
    if not state.events:
        return state, ()
    event = state.events[navigation.current_line(state) or 0]
    state = state._replace(screen=Screen.MAIN, behind=(Screen.MAIN, Screen.EVENTS))
    state = notify(state, 'Time', f'Time: {format_time(event.time)} {event.text}')
    return state, (events.Travel('time', event.time),)


def select_event(_: AppState, state: AppState) -> Result:
    """Begin the list of events at the last one up to the time on the screen, which stands still."""
    past = [event for event in state.events if event.time < state.shown_sample.timestamp + 0.001]
    return state.at(ListPosition(cursor=max(0, len(past) - 1))), (events.Travel('pause', 1.0),)


def go_to_time(state: AppState, text: str) -> Result:
    if not text.strip():
        return state._replace(field=None), ()
    try:
        moment = parse_time(text, state.shown_sample.timestamp, same_day=not state.origin.is_live)
    except ValueError as error:
        reason = str(error)
        return refuse(state, f'{reason[0].upper()}{reason[1:]}', subject=TYPED)
    return travel(withdraw_notice(state._replace(field=None), TYPED), 'time', moment)


def show_past(state: AppState, event: events.PastShown) -> AppState:
    """Freeze the display at a kept sample, or show the latest one again."""
    sample = event.sample
    if event.message:
        state = notify(state, 'Time', f'Time: {event.message}')
    if sample is None:
        return state._replace(frozen=None)
    # A kept sample lacks the limits of its devices, and may be older than the look-up of owners.
    infos = {device.key: device.info for device in state.sample.devices}
    devices = tuple(
        device._replace(info=infos.get(device.key, device.info)) for device in sample.devices
    )
    owners = {process.identity: process.owner for process in state.sample.processes}
    processes = tuple(
        process._replace(owner=owners.get(process.identity) or process.owner)
        for process in sample.processes
    )
    sample = sample._replace(devices=devices, processes=processes)
    tally = Tally().with_sample(sample)
    until = state.sample.monotonic if state.frozen is None else state.frozen.until
    return state._replace(frozen=Frozen(sample, tally, until))
