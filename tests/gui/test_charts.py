"""Histories, and the ruler of time above them."""

from __future__ import annotations

import pytest

from nvitop.gui.render.ansi import to_ascii
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import Role, Style
from nvitop.gui.state.events import MousePressed, PastShown, Travel
from nvitop.gui.state.update import update
from nvitop.gui.view.charts import Ruler, draw_history, draw_ruler
from nvitop.owner.types import Layer, make_owner
from tests.gui.drawing import lines_of, state_on
from tests.gui.samples import SAMPLES, history_of

pytestmark = pytest.mark.usefixtures('utc')


def test_histories_on_a_common_axis_hang_from_it_in_parts_of_a_cell() -> None:
    buffer = Buffer(4, 2)
    draw_history(buffer, Rect(0, 0, 4, 2), (100, 50, 10, None), Style(Role.OTHER), hangs=True)
    pieces = [(y, *piece) for y in range(2) for piece in buffer.row(y)]
    assert [(y, x, text, style.reverse) for y, x, text, style in pieces] == [
        (0, 0, '  ▆', True),  # a quarter of the third cell
        (0, 3, '·', False),
        (1, 0, '▂', True),  # up to 14 of 16 parts
    ]
    assert to_ascii(buffer).lines() == ['||`.', '*']


@pytest.mark.parametrize(('age', 'mark'), [(60, 49), (12, 73), (0, 79), (3600, 79)])
def test_past_time_has_a_cursor_on_the_ruler_and_a_click_goes_to_a_time(
    age: int, mark: int
) -> None:
    history = history_of(SAMPLES['one'])
    ruler = Ruler(history, past=(history.now - age, 100_000.0))
    buffer = Buffer(80, 1)
    draw_ruler(buffer, buffer.area, ruler)
    (line,) = buffer.lines()
    assert line.index('◆') == mark
    assert '03:46:40' in line
    assert 'now' not in line
    assert buffer.hit_at(mark, 0) == ('time', 100_000.0)
    assert buffer.hit_at(mark - 5, 0) == ('time', 99_990.0)
    end = ruler.history(80).now
    assert end == (history.now if age < 160 else history.now - age)


def test_looking_back_keeps_jobs_and_the_end_of_the_ruler() -> None:
    sample = SAMPLES['h100x8']
    owned = [each._replace(owner=make_owner((Layer('slurm', '77'),))) for each in sample.processes]
    state = state_on(sample._replace(processes=tuple(owned)), 120, 40)
    past = sample._replace(sequence=1, monotonic=sample.monotonic - 20)
    seen, _ = update(state, PastShown(past))
    assert seen.frozen is not None
    assert seen.frozen.until == state.sample.monotonic
    jobs = [line for line in lines_of(state) if 'slurm 77' in line]
    assert jobs
    assert len([line for line in lines_of(seen) if 'slurm 77' in line]) == len(jobs)
    _, effects = update(seen, MousePressed(5, 5, hit=('time', 99.0)))
    assert effects == (Travel('time', 99.0),)
