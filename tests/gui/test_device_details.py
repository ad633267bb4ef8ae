"""The table of details below the devices."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.gui.model.choices import DETAILS
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import DeviceKey, Problem, Sample
from tests.gui.drawing import (
    assert_boxes_close,
    frame_on,
    lines_of,
    lines_on,
    state_on,
    text_of,
)
from tests.gui.driving import arrived, pressed
from tests.gui.samples import SAMPLES, with_details

pytestmark = pytest.mark.usefixtures('utc')


def details_of(name: str, width: int, height: int) -> Buffer:
    """Draw the main screen of a stored machine with details."""
    return frame_on(with_details(SAMPLES[name]), width, height, 'd')


def without_details(sample: Sample) -> Sample:
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
    lines = lines_on(sample, width, 60, 'd')
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
    # The display is frozen while another screen hides the details.
    state = state_on(sample, width, 80, *'dUzq')
    assert text_of(state).count(note) == 8
    assert_boxes_close(draw_frame(state, History()))
    assert text_of(pressed(state, 'z')).count('not measured yet') == 8


def test_details_measured_while_paused_add_no_columns() -> None:
    sample = without_details(with_details(SAMPLES['h100x8']))
    state = state_on(sample, 120, 40, 'z')
    before = lines_of(state)
    state = arrived(state, with_details(sample))
    assert lines_of(state)[1:] == before[1:]
    assert 'not measured' not in text_of(pressed(state, 'd'))


def test_graph_of_a_metric_that_is_not_measured_explains_it() -> None:
    sample = without_details(with_details(SAMPLES['one']))
    for problems, title in (
        ((), 'GPU ENC not measured'),
        ((Problem(DeviceKey(0), 'encoder_utilization', 'Not Supported'),), 'GPU ENC N/A'),
    ):
        state = state_on(sample._replace(problems=problems), 120, 60, 'f', *'ggggggg')
        assert title in text_of(state)


@pytest.mark.parametrize('name', ['h100x8', 'mig', 'lost', 'missing', 'all-lost', 'no-gpu'])
def test_boxes_with_details_close_in_the_same_column(name: str) -> None:
    for width in (40, 55, 78, 79, 99, 100, 122, 123, 160, 200):
        assert_boxes_close(details_of(name, width, 120))
