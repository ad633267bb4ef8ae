"""Graphs of a history, compared with graphs drawn dot by dot, and bars."""

from __future__ import annotations

import math
from typing import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import cell_width
from nvitop.gui.view.charts import (
    ASCII,
    BRAILLE,
    GraphWindow,
    Marks,
    draw_bar,
    draw_graph,
    filled_cells,
    graph_bound,
)
from nvitop.sampling.history import History

NAN = math.nan
#: Bits of the dots in the left and the right column of a braille character, from the top.
DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


def graph(
    values: Sequence[float | None],
    width: int,
    height: int,
    marks: Marks = BRAILLE,
    *,
    bound: float = 100.0,
) -> str:
    buffer = Buffer(width, height)
    draw_graph(buffer, buffer.area, values, bound=bound, marks=marks)
    return '\n'.join(f'{line:{width}}' for line in buffer.lines())


def dot_by_dot(values: list[float], width: int, height: int, bound: float) -> str:
    values = [NAN] * (2 * width) + values
    rows = []
    for row in range(height):
        line = ''
        for column in range(width):
            code = 0
            for side in (0, 1):
                value = values[len(values) - 2 * (width - column) + side]
                for dot in range(4):
                    position = 4 * row + dot
                    height_of_dot = 4 * height - 1 - position
                    if value > 0 and value * 4 * height > height_of_dot * bound:
                        code |= DOTS[side][dot]
            line += chr(0x2800 + code) if code else ' '
        rows.append(line)
    return '\n'.join(rows)


@given(
    st.lists(st.one_of(st.integers(-64, 7000).map(lambda n: n / 64), st.just(NAN)), max_size=40),
    st.integers(1, 12),
    st.sampled_from([1, 2, 4, 8, 64, 128]),
    st.sampled_from([64.0, 128.0]),
)
def test_graph_has_the_expected_dots(
    values: list[float], width: int, height: int, bound: float
) -> None:
    # The quotients of these heights and bounds are exact, so that no dot depends on rounding.
    drawn = graph(values, width, height, bound=bound)
    assert drawn == dot_by_dot(values, width, height, bound)


def test_graphs_in_braille_and_in_ascii() -> None:
    values = [0.0, 0.1, 12.5, 25.0, 50.0, 75.0, 100.0, 200.0]
    assert graph(values, 6, 2) == '    ⢠⣿\n  ⢀⣠⣿⣿'
    # In ASCII, graphs do not use the character of borders.
    assert graph(values, 8, 2, ASCII) == '     .::\n ...::::'


def test_gap_is_blank_and_named_if_it_is_wide() -> None:
    gap: list[float | None] = [None, None, 50.0, 50.0, None, None, None, None, 0.0, 0.0, 50.0, 50.0]
    assert graph(gap, 6, 2) == '      \n ⣿   ⣿'
    assert graph(gap[:8], 6, 1) == '   ⣤  '
    assert graph(gap, 12, 2, ASCII).splitlines()[1] == '  ::      ::'
    assert graph(gap, 4, 2) == '    \n   ⣿'
    buffer = Buffer(24, 4)
    values = [None] * 4 + [50.0] * 4 + [None] * 32 + [50.0] * 8
    draw_graph(buffer, buffer.area, values, Style(Role.UTILIZATION), guides=True)
    assert buffer.lines() == [
        '⠉⠉⠉⠉                ⠉⠉⠉⠉',
        '⣀⣀⣀⣀  not measured  ⣀⣀⣀⣀',
        '  ⣿⣿                ⣿⣿⣿⣿',
        '  ⣿⣿                ⣿⣿⣿⣿',
    ]
    assert (6, 'not measured', Style(Role.DIM)) in buffer.row(1)


def test_line_is_thin_without_holes_and_visible_on_the_graph() -> None:
    buffer = Buffer(2, 2)
    line = (100.0, 100.0, 25.0, None)
    draw_graph(buffer, buffer.area, [50.0, 50.0, 12.5, 12.5], Style(Role.LIGHT), line=line)
    assert buffer.lines() == ['⠉⡆', '⣿⣇']
    assert [style.role for _, _, style in buffer.row(0)] == [Role.DIM]
    assert [style.role for _, _, style in buffer.row(1)] == [Role.LIGHT, Role.DIM]
    covered = Buffer(2, 2)
    draw_graph(
        covered, covered.area, [100.0] * 4, Style(Role.LIGHT), line=(50.0,) * 2 + (100.0,) * 2
    )
    assert covered.lines() == ['⣿⣿', '⣶⣿']
    assert covered.row(1) == ((0, '⣶⣿', Style(Role.LIGHT)),)
    plain = Buffer(2, 2)
    draw_graph(plain, plain.area, [50.0, 0.0], marks=ASCII, line=(75.0, 25.0))
    assert plain.lines() == ['-', ':-']


@pytest.mark.parametrize(
    ('values', 'bounds', 'expected'),
    [
        ([], (10, 100), 10),
        ([1.0, NAN, None], (10, 100), 10),
        ([40.0, 20.0], (10, 100), 50),
        ([90.0], (10, 100), 100),
        ([900.0], (10, 1000), 1000),
        ([NAN], (10, 100), 10),
    ],
)
def test_bound_leaves_room_above_the_highest_value(
    values: list[float | None], bounds: tuple[float, float], expected: float
) -> None:
    assert graph_bound(values, *bounds) == expected


def test_marks_of_times_without_room_are_left_out() -> None:
    assert list(GraphWindow(History()).ticks(10)) == []
    assert list(GraphWindow(History()).ticks(20)) == []  # it shows 40 s
    assert list(GraphWindow(History()).ticks(30)) == [(10, '╴30s┬')]
    assert list(GraphWindow(History()).ticks(60)) == [(40, '╴30s┬'), (25, '╴60s┬')]
    assert list(GraphWindow(History(), 60).ticks(40)) == [(15, '╴30m┬')]


# Bars


@given(
    st.integers(0, 60),
    st.one_of(st.none(), st.integers(0, 120), st.floats(0, 1e6)),
    st.text('0123456789.%GiB漢', max_size=12),
)
def test_bar_stays_in_its_area(width: int, percent: float | None, text: str) -> None:
    buffer = Buffer(width + 20, 1)
    area = Rect(10, 0, width, 1)
    draw_bar(buffer, area, 'UTL', percent, text=text)
    for x, drawn, _ in buffer.row(0):
        assert area.x <= x
        assert x + cell_width(drawn) <= area.right


@given(st.floats(0, 200), st.integers(1, 80))
def test_bar_of_half_a_percent_is_not_empty(percent: float, cells: int) -> None:
    filled = filled_cells(percent, cells)
    assert 0 <= filled <= cells
    assert bool(filled) is (percent >= 0.5 or round(percent / 100 * cells) > 0)
