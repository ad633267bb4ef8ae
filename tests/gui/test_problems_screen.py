"""The problems screen."""

from __future__ import annotations

import re

import pytest

from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import ClockTicked, KeyPressed, SampleArrived, SignalSent
from nvitop.gui.state.update import update
from nvitop.sampling.types import DeviceKey, Problem
from tests.gui.drawing import lines_of, state_on, text_of
from tests.gui.driving import after, update_all
from tests.gui.samples import NOW, SAMPLES

pytestmark = pytest.mark.usefixtures('utc')


def troubled(width: int, height: int = 24, simulated: str = '') -> AppState:
    """Return the problems screen with problems of each kind; only the first two are current."""
    fails = Problem(DeviceKey(1), 'temperature', 'Unknown Error', 'error')
    lacks = Problem(DeviceKey(0), 'memory_temperature', 'Not Supported')
    before = (
        Problem(DeviceKey(0, 2), 'status', 'Invalid Argument', 'error'),
        Problem(DeviceKey(2), 'power_usage', 'Insufficient Permissions', 'denied'),
        *(
            Problem(DeviceKey(0), f'nvlink_{way}_throughput', 'Not Supported')
            for way in ('rx', 'tx')
        ),
    )
    sample = SAMPLES['one']._replace(sequence=1, simulated=simulated)
    first = sample._replace(problems=(fails, lacks, *before))
    later = sample._replace(sequence=2, timestamp=NOW + 1, problems=(fails, lacks))
    return after(state_on(first, width, height), SampleArrived(later), KeyPressed('!'))


def test_cards_have_severity_advice_and_time_and_the_last_one_what_is_missing() -> None:
    lines = [line.strip('│ ') for line in lines_of(troubled(120))]
    assert lines[1].startswith('╭─ Problems 1 now, 1 past')
    assert re.match('► ● failed +GPU 1 +temperature unreadable: unknown driver error', lines[2])
    assert lines[2].endswith('since 03:04:05')
    assert re.match('○ past +GPU 0:2  status: Invalid Argument', lines[4])
    assert lines[4].endswith('last 03:04:05')
    assert re.match('· +Not available  power usage and 3 more', lines[6])


def test_failed_signal_is_listed_as_a_problem() -> None:
    state = state_on('one', 120, 24)
    key = state.rows[0].key
    state, _ = update(state, SignalSent(key, 'SIGTERM', 'not permitted'))
    state, _ = update_all(state, (ClockTicked(99.0, NOW), KeyPressed('!')))
    text = text_of(state)
    assert f'process {key.pid}  SIGTERM: not permitted' in text
    assert re.search('PROBLEM +SIGTERM: not permitted', text)
    assert re.search('SEEN +once, 03:04:05', text)
