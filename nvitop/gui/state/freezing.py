# SPDX-License-Identifier: GPL-3.0-only
"""Freezing the display, with the details of devices that were not measured before."""

from __future__ import annotations

from nvitop.api.metrics import METRICS
from nvitop.gui.model.effects import Travel
from nvitop.gui.state.app_state import AppState, Result
from nvitop.gui.state.demand import DETAILS
from nvitop.gui.state.listing import relist
from nvitop.sampling.types import DeviceSample, Sample

#: Number of samples after freezing that complete the details. Some metrics need two readings.
_SAMPLES_TO_COMPLETE = 3
#: Fields of details that are measured only while they are shown.
_FIELDS = tuple(metric.field for metric in METRICS if metric.detail and metric.tier == 'shown')


def toggle_freeze(state: AppState) -> Result:
    """Freeze the display, or show the latest sample again; pause or run a replay."""
    if not state.origin.is_live:
        return state, (Travel('pause', 0.0),)
    if state.frozen is not None:
        return relist(state._replace(frozen=None, completed=None, samples_to_complete=0)), ()
    missing = 0 if state.view.shows_details else _SAMPLES_TO_COMPLETE
    return state._replace(
        frozen=state.sample, frozen_tally=state.tally, samples_to_complete=missing
    ), ()


def complete_details(state: AppState, sample: Sample) -> AppState:
    """Add details of devices from one of the first samples after the display was frozen."""
    if state.frozen is None or not state.samples_to_complete:
        return state
    later = {device.key: device for device in sample.devices if device.status == 'ok'}
    devices = tuple(_completed(device, later.get(device.key)) for device in state.shown.devices)
    known = {problem[:2] for problem in state.shown.problems}
    problems = tuple(p for p in sample.problems if p.what in DETAILS and p[:2] not in known)
    return state._replace(
        completed=state.shown._replace(
            devices=devices, problems=(*state.shown.problems, *problems)
        ),
        samples_to_complete=state.samples_to_complete - 1,
    )


def _completed(device: DeviceSample, later: DeviceSample | None) -> DeviceSample:
    if later is None or device.status != 'ok':
        return device
    missing = [field for field in _FIELDS if getattr(device, field) is None]
    return device._replace(**{field: getattr(later, field) for field in missing})
