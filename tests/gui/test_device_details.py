"""The table of details below the devices."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.api.metrics import METRICS_BY_NAME
from nvitop.gui.model.choices import DETAILS
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import KeyPressed, SampleArrived
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import DeviceKey, Problem, Sample
from tests.gui.drawing import assert_boxes_close, lines_of, text_of
from tests.gui.driving import press, update_all, without_later_details
from tests.gui.samples import NOW, SAMPLES, with_details

pytestmark = pytest.mark.usefixtures('utc')


def details_of(name: str, width: int, height: int) -> Buffer:
    """Draw the main screen of a stored machine with details."""
    state = AppState(MONITOR, width, height, timestamp=NOW)
    events = (SampleArrived(with_details(SAMPLES[name])), KeyPressed('d'))
    return draw_frame(update_all(state, events)[0], History())


def without_details(sample: Sample) -> Sample:
    """Return the sample without the values of details."""
    nothing: dict[str, Any] = {METRICS_BY_NAME[name].field: None for name in DETAILS}
    return sample._replace(devices=tuple(d._replace(**nothing) for d in sample.devices))


def test_degraded_link_and_throttled_clocks_are_highlighted() -> None:
    buffer = details_of('h100x8', 120, 60)
    warned = [text for y in range(60) for _, text, s in buffer.row(y) if s.role is Role.WARNING]
    assert warned == [
        *('[! GPU 2: slowed down by heat]', 'HOT', 'Gen5 x8/Gen5 x16', 'HW thermal, SW power')
    ]


@pytest.mark.parametrize(
    ('width', 'reasons', 'text'),
    [
        (120, ('hw_slowdown', 'hw_thermal_slowdown'), 'HW thermal'),
        (120, ('hw_thermal_slowdown', 'sw_power_cap'), 'HW thermal, SW power'),
        (120, ('hw_slowdown', 'sw_power_cap'), 'HW slowdown, SW power'),
        (120, ('hw_slowdown',), 'HW slowdown'),
        (200, ('hw_slowdown', 'hw_thermal_slowdown'), 'HW slowdown, HW thermal slowdown'),
    ],
)
def test_clock_reasons_are_shortened_to_fit(
    width: int, reasons: tuple[str, ...], text: str
) -> None:
    sample = with_details(SAMPLES['h100x8'])
    first = sample.devices[0]._replace(clock_event_reasons=reasons)
    sample = sample._replace(devices=(first, *sample.devices[1:]))
    events = (SampleArrived(sample), KeyPressed('d'))
    state, _ = update_all(AppState(MONITOR, width, 60, timestamp=NOW), events)
    lines = lines_of(state)
    top = next(i for i, line in enumerate(lines) if ' Details ' in line)
    assert lines[top + 2].rstrip(' │').endswith(f'  {text}')


@pytest.mark.parametrize(
    ('width', 'note'),
    [
        (40, 'not measured while paused'),
        (60, 'paused before details were measured'),
        (80, 'paused before details were measured'),
        (160, 'paused before details were measured'),
    ],
)
def test_frozen_display_explains_missing_details(width: int, note: str) -> None:
    sample = without_details(with_details(SAMPLES['h100x8']))
    state = AppState(MONITOR, width, 80, timestamp=NOW)
    # The display is frozen while another screen hides the details.
    state, _ = update(state, SampleArrived(sample))
    state, _ = press(state, *'dUzq')
    state = without_later_details(state)
    text = text_of(state)
    assert text.count(note) == 8
    assert_boxes_close(draw_frame(state, History()))
    state, _ = update(state, KeyPressed('z'))
    text = text_of(state)
    assert text.count('not measured yet') == 8


def test_details_measured_while_paused_add_no_columns() -> None:
    sample = without_details(with_details(SAMPLES['h100x8']))
    state, _ = update(AppState(MONITOR, 120, 40, timestamp=NOW), SampleArrived(sample))
    state, _ = press(state, 'z')
    before = lines_of(state)
    state, _ = update(state, SampleArrived(with_details(sample)._replace(sequence=99)))
    assert lines_of(state)[1:] == before[1:]
    assert 'not measured' not in text_of(press(state, 'd')[0])


def test_graph_of_a_metric_that_is_not_measured_explains_it() -> None:
    sample = without_details(with_details(SAMPLES['one']))
    state = AppState(MONITOR, 120, 60, timestamp=NOW)
    for problems, title in (
        ((), 'GPU ENC not measured'),
        ((Problem(DeviceKey(0), 'encoder_utilization', 'Not Supported'),), 'GPU ENC N/A'),
    ):
        seen, _ = update(state, SampleArrived(sample._replace(problems=problems)))
        seen, _ = press(seen, 'f', *'ggggggg')
        text = text_of(seen)
        assert title in text


@pytest.mark.parametrize('name', ['h100x8', 'mig', 'lost', 'missing', 'all-lost', 'no-gpu'])
def test_boxes_with_details_close_in_the_same_column(name: str) -> None:
    for width in (40, 55, 78, 79, 99, 100, 122, 123, 160, 200):
        assert_boxes_close(details_of(name, width, 120))
