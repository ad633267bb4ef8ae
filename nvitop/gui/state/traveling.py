# SPDX-License-Identifier: GPL-3.0-only
"""Looking at another time: of a recording, or of the samples that the monitor keeps."""

from __future__ import annotations

from nvitop.gui.model.effects import Travel
from nvitop.gui.state.app_state import AppState, Result
from nvitop.gui.state.events import PastShown
from nvitop.gui.state.listing import relist
from nvitop.gui.state.notices import refuse, replace_notice, withdraw_notice
from nvitop.gui.state.summary import Tally, count_problems
from nvitop.health import findings
from nvitop.recording.times import parse_time


def travel(state: AppState, unit: str, amount: float) -> Result:
    """Request a step to another time, see :class:`~nvitop.gui.model.effects.Travel`."""
    return withdraw_notice(state, 'Time'), (Travel(unit, amount),)


def go_to_time(state: AppState, text: str) -> Result:
    """Request the time that was typed."""
    if not text.strip():
        return state._replace(field=None), ()
    try:
        moment = parse_time(text, state.shown.timestamp, same_day=not state.origin.is_live)
    except ValueError as error:
        return refuse(state, f'Time: {error}', subject='Time')
    return travel(state._replace(field=None), 'time', moment)


def show_past(state: AppState, event: PastShown) -> AppState:
    """Freeze the display at a kept sample, or show the latest one again."""
    sample = event.sample
    state = state._replace(completed=None, samples_to_complete=0)
    if event.message:
        state = replace_notice(state, 'Time', event.message)
    if sample is None:
        return relist(state._replace(frozen=None)) if state.frozen is not None else state
    found = findings(sample)
    problems = count_problems((), sample.problems, sample.timestamp, found)
    tally = Tally(problems, found, ((sample.monotonic, sample.cost),))
    return relist(state._replace(frozen=sample, frozen_tally=tally))
