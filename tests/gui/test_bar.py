"""Bars: their length, texts and colors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import GRADIENT, PLAIN, Role, Style
from nvitop.gui.render.width import cell_width
from nvitop.gui.view.widgets.bar import draw_bar, filled_cells

HEAVY = Style(Role.HEAVY)


def bar(width: int, percent: float | None, text: str = '', text_width: int = 0) -> str:
    buffer = Buffer(width, 1)
    draw_bar(buffer, buffer.area, 'MEM', percent, text=text, text_width=text_width)
    return buffer.lines()[0]


@pytest.mark.parametrize(
    ('drawn', 'expected'),
    [
        (bar(19, 0.0), 'MEM ··········   0%'),
        (bar(19, 38.9), 'MEM ■■■■······  39%'),
        (bar(19, 99.97), 'MEM ■■■■■■■■■■ 100%'),
        (bar(19, 104), 'MEM ■■■■■■■■■■ 104%'),
        (bar(19, None), 'MEM ░░░░░░░░░░  N/A'),
        (bar(19, float('nan')), 'MEM ░░░░░░░░░░  N/A'),
        (bar(30, 50, '40.0 GiB'), 'MEM ■■■■■■······  50% 40.0 GiB'),
        (bar(30, 50, '4.0 GiB', 8), 'MEM ■■■■■■······  50%  4.0 GiB'),
        # Without room, first the text is left out, then the bar, then the percentage.
        (bar(19, 50, '40.0 GiB'), 'MEM ■■■■■·····  50%'),
        (bar(11, 50), 'MEM     50%'),
        (bar(5, 50), 'MEM'),
    ],
)
def test_bar_has_the_texts_that_fit(drawn: str, expected: str) -> None:
    assert drawn == expected


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


def test_colorful_bar_has_the_gradient_up_to_its_value_and_a_dim_end() -> None:
    buffer = Buffer(len(GRADIENT) + len('MEM  100%'), 1)
    draw_bar(buffer, buffer.area, 'MEM', 75, HEAVY, colorful=True)
    blocks = [(style.role, len(text)) for _, text, style in buffer.row(0) if '■' in text]
    filled = len(GRADIENT) * 3 // 4
    assert blocks == [*((role, 1) for role in GRADIENT[:filled]), (Role.TRACK, 5)]
    assert {style for _, text, style in buffer.row(0) if '%' in text} == {PLAIN}
