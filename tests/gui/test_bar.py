"""Bars: their length, texts and colors."""

from __future__ import annotations

from typing import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import PLAIN, Role, Style, gradient
from nvitop.gui.render.width import cell_width
from nvitop.gui.view.widgets.bar import bar_blocks, draw_bar

HEAVY = Style(Role.HEAVY)


def bar(
    width: int, percent: float | None, texts: Sequence[str] = (), extra: str | None = None
) -> str:
    buffer = Buffer(width, 1)
    draw_bar(buffer, Rect(0, 0, width, 1), 'MEM', percent, texts=texts, extra=extra)
    return buffer.lines()[0]


@pytest.mark.parametrize(
    ('drawn', 'expected'),
    [
        (bar(18, 0.0, ['0B']), 'MEM: ▏ 0B     0.0%'),
        (bar(18, 38.9, ['31.08GiB']), 'MEM: ███▌ 31.08GiB'),
        (bar(30, 38.9, ['31.08GiB']), 'MEM: ████████▏ 31.08GiB  38.9%'),
        (bar(18, 50.0, ['40.00GiB']), 'MEM: ████▌ 50.0%'),
        (bar(18, 95.2, ['76.16GiB']), 'MEM: ████████▋ 95%'),
        (bar(18, 99.97, ['79.99GiB']), 'MEM: █████████ 99%'),
        (bar(18, 100.0, ['80.00GiB']), 'MEM: █████████ MAX'),
        (bar(18, 104), 'MEM: █████████ MAX'),
        (bar(18, None), 'MEM: ░░░░░░░░░ N/A'),
        (bar(18, float('nan'), ['0B']), 'MEM: ░░░░░░░░░ N/A'),
        (bar(18, 3), 'MEM: ▎ 3%'),
        (bar(24, 3, extra='@ 1410MHz'), 'MEM: ▌ 3%      @ 1410MHz'),
        (bar(18, 45, extra='@ 1410MHz'), 'MEM: ████ 45%'),
        (bar(30, 80, extra='@ 1410MHz'), 'MEM: ██████@ 1410MHz█▊ 80%'),
        (bar(30, 100, extra='@ 1410MHz'), 'MEM: ███████████@ 1410MHz█ MAX'),
        (bar(30, 55, extra='@ 1410MHz'), 'MEM: █@ 1410MHz█▌ 55%'),
        (bar(30, 50, extra='@ 1410MHz'), 'MEM: ██████████▌ 50%'),
        (bar(10, 45), 'MEM: ▌ 45%'),
        (bar(9, 45), 'MEM 45%'),
        (bar(5, 45), 'MEM..'),
    ],
)
def test_bar_has_the_text_that_fits(drawn: str, expected: str) -> None:
    assert drawn == expected


@pytest.mark.parametrize('colorful', [False, True])
def test_text_inside_a_bar_is_reversed(colorful: bool) -> None:
    buffer = Buffer(30, 1)
    draw_bar(buffer, buffer.area, 'UTL', 80.0, HEAVY, extra='@ 9MHz', colorful=colorful)
    (inside,) = [style for _, text, style in buffer.row(0) if text == '@ 9MHz']
    assert inside.reverse
    assert inside.role is (gradient(0.8) if colorful else Role.HEAVY)


def test_bar_with_a_cell_has_a_block() -> None:
    assert [bar_blocks(0.0, cells) for cells in (-1, 0, 1, 2)] == ['', '', '▏', '▏']
    assert [bar_blocks(250.0, cells) for cells in (-1, 0, 1, 2)] == ['', '', '█', '██']


@given(
    st.integers(0, 60),
    st.one_of(st.none(), st.integers(0, 120), st.floats(0, 1e6)),
    st.lists(st.text('0123456789.%GiB漢', max_size=12), max_size=2),
    st.one_of(st.none(), st.text('@MHz 123', max_size=10)),
    st.booleans(),
)
def test_bar_stays_in_its_area_and_shows_its_value(
    width: int, percent: float | None, texts: list[str], extra: str | None, colorful: bool
) -> None:
    buffer = Buffer(width + 20, 1)
    area = Rect(10, 0, width, 1)
    draw_bar(buffer, area, 'UTL', percent, texts=texts, extra=extra, colorful=colorful)
    for x, text, _ in buffer.row(0):
        assert area.x <= x
        assert x + cell_width(text) <= area.right
    line = buffer.lines()[0].strip()
    if width >= 10:
        assert line.startswith('UTL: ')
        value = line[len('UTL: ') :].lstrip('▏▎▍▌▋▊▉█░')
        assert value.strip() or '' in texts


@given(st.floats(0, 100), st.integers(1, 80))
def test_blocks_grow_with_the_percentage_by_eighths(percent: float, cells: int) -> None:
    eighths = sum(' ▏▎▍▌▋▊▉█'.index(block) for block in bar_blocks(percent, cells))
    assert eighths == max(1, round(percent / 100 * cells * 8))
    assert len(bar_blocks(percent, cells)) <= cells


def test_bar_has_one_color_or_the_gradient() -> None:
    buffer = Buffer(30, 1)
    draw_bar(buffer, buffer.area, 'UTL', 100, HEAVY)
    assert {style for _, _, style in buffer.row(0)} == {HEAVY}
    buffer = Buffer(30, 1)
    draw_bar(buffer, buffer.area, 'UTL', 50, HEAVY, colorful=True)
    roles = [style.role for _, text, style in buffer.row(0) if '█' in text or '▌' in text]
    assert roles == sorted(roles)
    assert (roles[0], roles[-1]) == (Role.GRADIENT_0, Role.GRADIENT_6)
    assert [text for _, text, style in buffer.row(0) if style.role is Role.GRADIENT_6][-1] == ' 50%'
    assert PLAIN not in {style for _, _, style in buffer.row(0)}
