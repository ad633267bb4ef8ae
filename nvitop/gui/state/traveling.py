# SPDX-License-Identifier: GPL-3.0-only
"""Looking at another time: of a recording, or of the samples that the monitor keeps."""

from __future__ import annotations

from nvitop.gui.model.effects import Travel
from nvitop.gui.state.app_state import AppState, Result
from nvitop.gui.state.notices import refuse
from nvitop.recording.times import parse_time


def travel(state: AppState, unit: str, amount: float) -> Result:
    """Request a step to another time, see :class:`~nvitop.gui.model.effects.Travel`."""
    return state, (Travel(unit, amount),)


def go_to_time(state: AppState, text: str) -> Result:
    """Request the time that was typed."""
    if not text.strip():
        return state._replace(field=None), ()
    try:
        moment = parse_time(text, state.shown.timestamp, same_day=not state.origin.is_live)
    except ValueError as error:
        return refuse(state, 'Time', str(error))
    return state._replace(field=None), (Travel('time', moment),)
