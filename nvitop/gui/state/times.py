# SPDX-License-Identifier: GPL-3.0-only
"""Other times: a frozen display, a recording, and the samples that the monitor keeps."""

from __future__ import annotations

from nvitop.api.metrics import METRICS
from nvitop.gui.model.choices import DETAILS
from nvitop.gui.state.app_state import AppState, Frozen, ListPosition, Result
from nvitop.gui.state.events import PastShown, Travel
from nvitop.gui.state.lists import relist
from nvitop.gui.state.notices import refuse, replace_notice, withdraw_notice
from nvitop.gui.state.problems import Tally, count_problems
from nvitop.health import findings
from nvitop.sampling.types import DeviceSample, Sample
from nvitop.times import format_time, parse_time

#: Number of samples after freezing that complete the details. Some metrics need two readings.
_SAMPLES_TO_COMPLETE = 3
#: Fields of details that are measured only while they are shown.
_FIELDS = tuple(metric.field for metric in METRICS if metric.detail and metric.tier == 'shown')


def toggle_freeze(state: AppState) -> Result:
    """Freeze the display, or show the latest sample again; pause or run a replay."""
    if not state.origin.is_live:
        return state, (Travel('pause', 0.0),)
    if state.frozen is not None:
        return relist(state._replace(frozen=None)), ()
    missing = 0 if state.view.shows_details else _SAMPLES_TO_COMPLETE
    frozen = Frozen(state.sample, state.tally, state.sample, missing)
    return state._replace(frozen=frozen), ()


def complete_details(state: AppState, sample: Sample) -> AppState:
    """Add details of devices from one of the first samples after the display was frozen."""
    frozen = state.frozen
    if frozen is None or not frozen.samples_to_complete:
        return state
    shown = frozen.detailed
    later = {device.key: device for device in sample.devices if device.status == 'ok'}
    devices = tuple(_completed(device, later.get(device.key)) for device in shown.devices)
    known = {problem[:2] for problem in shown.problems}
    problems = tuple(p for p in sample.problems if p.what in DETAILS and p[:2] not in known)
    frozen = frozen._replace(
        detailed=shown._replace(devices=devices, problems=(*shown.problems, *problems)),
        samples_to_complete=frozen.samples_to_complete - 1,
    )
    return state._replace(frozen=frozen)


def _completed(device: DeviceSample, later: DeviceSample | None) -> DeviceSample:
    if later is None or device.status != 'ok':
        return device
    missing = [field for field in _FIELDS if getattr(device, field) is None]
    return device._replace(**{field: getattr(later, field) for field in missing})


def travel(state: AppState, unit: str, amount: float) -> Result:
    """Request a step to another time, see :class:`~nvitop.gui.state.events.Travel`."""
    return withdraw_notice(state, 'Time'), (Travel(unit, amount),)


def show_event_time(state: AppState) -> Result:
    """Return to the main screen, and pause at the time of the event in the current line."""
    if not state.events:
        return state, ()
    event = state.events[min(state.position.cursor, len(state.events) - 1)]
    state = state._replace(screen=state.program.home, behind=(), position=ListPosition())
    state = replace_notice(state, 'Time', f'{format_time(event.time)} {event.text}')
    pause = () if state.origin.is_paused else (Travel('pause', 0.0),)
    return state, (Travel('time', event.time), *pause)


def select_event(_: AppState, state: AppState) -> Result:
    """Begin the list of events at the last one up to the time on the screen."""
    past = [event for event in state.events if event.time < state.shown.timestamp + 0.001]
    return state._replace(position=ListPosition(cursor=max(0, len(past) - 1))), ()


def go_to_time(state: AppState, text: str) -> Result:
    """Request the time that was typed."""
    if not text.strip():
        return state._replace(field=None), ()
    try:
        moment = parse_time(text, state.shown.timestamp, same_day=not state.origin.is_live)
    except ValueError as error:
        reason = str(error)
        return refuse(state, f'{reason[0].upper()}{reason[1:]}', subject='Time')
    return travel(state._replace(field=None), 'time', moment)


def show_past(state: AppState, event: PastShown) -> AppState:
    """Freeze the display at a kept sample, or show the latest one again."""
    sample = event.sample
    if event.message:
        state = replace_notice(state, 'Time', event.message)
    if sample is None:
        return relist(state._replace(frozen=None)) if state.frozen is not None else state
    found = findings(sample)
    problems = count_problems((), sample.problems, sample.timestamp, found)
    tally = Tally(problems, found, ((sample.monotonic, sample.cost),))
    return relist(state._replace(frozen=Frozen(sample, tally, sample)))
