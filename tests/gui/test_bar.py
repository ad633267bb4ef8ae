"""Bars: their length, texts and colors."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import cell_width
from nvitop.gui.view.charts import draw_bar, filled_cells

HEAVY = Style(Role.HEAVY)


def bar(width: int, percent: float | None, text: str = '', text_width: int = 0) -> str:
    buffer = Buffer(width, 1)
    draw_bar(buffer, buffer.area, 'MEM', percent, text=text, text_width=text_width)
    return buffer.lines()[0]


@given(
    st.integers(0, 60),
    st.one_of(st.none(), st.integers(0, 120), st.floats(0, 1e6)),
    st.text('0123456789.%GiB漢', max_size=12),
    st.booleans(),
)
def test_bar_stays_in_its_area(
    width: int, percent: float | None, text: str, colorful: bool
) -> None:
    buffer = Buffer(width + 20, 1)
    area = Rect(10, 0, width, 1)
    draw_bar(buffer, area, 'UTL', percent, text=text, colorful=colorful)
    for x, drawn, _ in buffer.row(0):
        assert area.x <= x
        assert x + cell_width(drawn) <= area.right


@given(st.floats(0, 200), st.integers(1, 80))
def test_bar_of_half_a_percent_is_not_empty(percent: float, cells: int) -> None:
    filled = filled_cells(percent, cells)
    assert 0 <= filled <= cells
    assert bool(filled) is (percent >= 0.5 or round(percent / 100 * cells) > 0)
