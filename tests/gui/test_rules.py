"""Lines that join what stands above and below them."""

from __future__ import annotations

import pytest

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role, Style
from nvitop.gui.view.widgets.box import rule
from nvitop.gui.view.widgets.text import draw_text, draw_within


@pytest.mark.parametrize(
    ('above', 'below', 'double', 'line'),
    [
        ((), (0, 4), True, '╒═══╕'),
        ((0, 4), (), True, '╘═══╛'),
        ((0, 4), (0, 4), True, '╞═══╡'),
        ((0, 2, 4), (0, 2, 4), True, '╞═╪═╡'),
        ((0, 2, 4), (0, 4), True, '╞═╧═╡'),
        ((0, 4), (0, 2, 4), True, '╞═╤═╡'),
        ((0, 4), (0, 4, 7), True, '╞═══╪══╕'),
        ((0, 4, 7), (0, 4), True, '╞═══╪══╛'),
        ((0, 2, 4), (0, 2, 4), False, '├─┼─┤'),
        ((0, 2, 4), (0, 4), False, '├─┴─┤'),
        ((0, 4), (0, 2, 4), False, '├─┬─┤'),
        ((), (0, 4), False, '┌───┐'),
        ((0, 4), (), False, '└───┘'),
    ],
)
def test_a_rule_joins_the_lines_above_and_below(
    above: tuple[int, ...], below: tuple[int, ...], double: bool, line: str
) -> None:
    assert rule(above, below, double=double) == line


def test_what_is_not_available_is_dim_wherever_it_stands() -> None:
    buffer = Buffer(20, 1)
    heavy = Style(Role.HEAVY, bold=True)
    assert draw_text(buffer, 1, 0, 'N/A 45C N/A', heavy) == 11
    dim = Style(Role.DIM)
    assert buffer.row(0) == ((1, 'N/A', dim), (4, ' 45C ', heavy), (9, 'N/A', dim))


@pytest.mark.parametrize(
    ('x', 'shown'),
    [(4, '    word'), (2, '   ord'), (0, '   d'), (-1, ''), (6, '      wo'), (8, '')],
)
def test_text_is_cut_at_both_ends_of_its_place(x: int, shown: str) -> None:
    buffer = Buffer(20, 1)
    draw_within(buffer, x, 0, 'word', 3, 8)
    assert buffer.lines() == [shown]
