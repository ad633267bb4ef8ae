"""The metrics screen of a process."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import SampleArrived
from nvitop.gui.state.update import update
from nvitop.sampling.types import Problem
from tests.gui.drawing import lines_of, state_on
from tests.gui.samples import SAMPLES, history_of

pytestmark = pytest.mark.usefixtures('utc')


def metrics_of(
    name: str, width: int, height: int, *keys: str, **fields: Any
) -> tuple[AppState, list[str]]:
    """Draw the metrics screen of the first process, with these fields in its sample."""
    sample = SAMPLES[name]
    first = sample.processes[0]._replace(**fields)
    sample = sample._replace(processes=(first, *sample.processes[1:]))
    state = state_on(sample, width, height, 'Down', 'Enter', *keys)
    return state, lines_of(state, history_of(sample))


def test_missing_process_is_unknown_if_its_gpu_does_not_respond() -> None:
    state, _ = metrics_of('h100x8', 120, 30)
    sample = state.sample._replace(sequence=2, processes=state.sample.processes[1:])
    first, *others = sample.devices
    silent = first._replace(status='timed out', reason='no response for 6 s')
    unlisted = Problem(first.key, 'processes', 'x', 'error')
    for changed, text in (
        (sample._replace(devices=(silent, *others)), 'GPU 0: no response for 6 s'),
        (sample._replace(problems=(unlisted,)), 'GPU 0 does not report its processes'),
        (sample, 'The process has exited or no longer uses this GPU'),
    ):
        seen, _ = update(state, SampleArrived(changed))
        assert lines_of(seen)[2].strip('│ ') == text
