"""The metrics screen of a process."""

from __future__ import annotations

import pytest

from nvitop.gui.state.events import SampleArrived
from nvitop.gui.state.update import update
from nvitop.sampling.types import Problem
from tests.gui.drawing import lines_of, state_on
from tests.gui.samples import SAMPLES

pytestmark = pytest.mark.usefixtures('utc')


def test_missing_process_is_unknown_if_its_gpu_does_not_respond() -> None:
    state = state_on(SAMPLES['h100x8'], 120, 30, 'Down', 'Enter')
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
