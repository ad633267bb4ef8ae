"""Boxes, lines of text, and dialogs over the screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.gui.layout.screens import lay_out_dialog
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import TITLE
from nvitop.gui.render.width import cell_width
from nvitop.gui.state.app_state import BUTTONS, SignalDialog
from nvitop.gui.view.frame import draw_dialog
from nvitop.gui.view.text import Note, draw_border

LABELS = [label for _, label, _ in BUTTONS]
MESSAGE = ['Send a signal to these processes?', '', '12345 alice  python 训练模型.py --lr 0.1']


def dialog(width: int, height: int, current: int = 0) -> Buffer:
    buffer = Buffer(width, height)
    for y in range(height):
        buffer.write(0, y, '·' * width)
    layout = lay_out_dialog(buffer.area, MESSAGE, LABELS)
    draw_dialog(buffer, layout, SignalDialog((), current, is_ready=True))
    return buffer


@pytest.mark.parametrize(
    ('size', 'expected'),
    [
        (
            (50, 9),
            [
                '··················································',
                '···╭─ Signal ─────────────────────────────────╮···',
                '···│ Send a signal to these processes?        │···',
                '···│                                          │···',
                '···│ 12345 alice  python 训练模型.py --lr 0.1 │···',
                '···│                                          │···',
                '···│  SIGTERM    SIGKILL    SIGINT    Cancel  │···',
                '···╰──────────────────────────────────────────╯···',
                '··················································',
            ],
        ),
        (
            (20, 9),
            [
                '╭─ Signal ─────────╮',
                '│ Send a signal to │',
                '│ .. 5 more lines  │',
                '│                  │',
                '│     SIGTERM      │',
                '│     SIGKILL      │',
                '│      SIGINT      │',
                '│      Cancel      │',
                '╰──────────────────╯',
            ],
        ),
        ((12, 3), ['············', 'Send a sig..', '············']),
    ],
)
def test_dialog_fits_its_size(size: tuple[int, int], expected: list[str]) -> None:
    assert dialog(*size).lines() == expected


@given(
    st.integers(0, 70),
    st.integers(0, 20),
    st.lists(st.text('ab 漢', max_size=80), max_size=4),
    st.integers(0, 4),
)
def test_dialog_is_on_the_screen_at_every_size(
    width: int, height: int, message: list[str], count: int
) -> None:
    area = Rect(0, 0, width, height)
    layout = lay_out_dialog(area, message, LABELS[:count])
    assert layout.box.intersect(area) == layout.box
    inside = layout.box.inset(1, 1) if not layout.box.is_empty else area
    assert len(layout.buttons) in {0, count}
    assert layout.box.is_empty or len(layout.buttons) == count
    places = [layout.text, *layout.buttons]
    for i, place in enumerate(places):
        assert place.intersect(inside) == place
        assert all(place.intersect(other).is_empty for other in places[i + 1 :])
    assert len(layout.lines) <= max(1, layout.text.height)
    assert all(cell_width(line) <= layout.text.width for line in layout.lines)
    for i, button in enumerate(layout.buttons):
        assert layout.button_at(button.x, button.y) == i
        assert layout.button_at(button.right - 1, button.y) == i
    assert layout.button_at(-1, -1) is None
    draw_dialog(Buffer(width, height), layout, SignalDialog((), 0))


def test_dialog_without_room_marks_what_is_missing() -> None:
    layout = lay_out_dialog(Rect(0, 0, 6, 3), ['', ''], [])
    assert layout.lines == ('..',)


def test_long_list_in_a_dialog_scrolls_below_its_heading() -> None:
    message = ['Question?', '', *(f'line {i}' for i in range(20))]
    area = Rect(0, 0, 60, 14)
    top = lay_out_dialog(area, message, LABELS, fixed=2)
    assert top.lines[:3] == ('Question?', '', 'line 0')
    assert top.lines[-1] == 'lines   1-7 of 20, PageUp and PageDown for more'
    end = lay_out_dialog(area, message, LABELS, fixed=2, scroll_y=99)
    assert end.lines[:2] == ('Question?', '')
    assert end.lines[-2:] == ('line 19', 'lines 14-20 of 20, PageUp and PageDown for more')
    # Paragraphs are counted if each of them is one line.
    whole = lay_out_dialog(area, message, LABELS, fixed=2, scroll_y=99, wrapped=False)
    assert whole.lines[-1] == '14-20 of 20, PageUp and PageDown for more'
    assert (end.box, end.buttons) == (top.box, top.buttons)
    assert end.scroll_limit == 13


@pytest.mark.parametrize(
    ('width', 'line'),
    [
        (50, '├─ 8 × H100 · driver 580 ──── 62% util · 1 idle ─┤'),
        (34, '├─ 8 × H100 ─ 62% util · 1 idle ─┤'),
        (24, '├─ 8 × H100 ── 1 idle ─┤'),
        (10, '├─ 8 .. ─┤'),
    ],
)
def test_notes_in_a_border_yield_by_rank(width: int, line: str) -> None:
    buffer = Buffer(width, 1)
    ends = (0, width - 1)
    left = (Note(('8 × H100', '8 GPUs'), TITLE, 0), Note(('driver 580', '580'), rank=5))
    right = (Note(('62% util',), rank=1), Note(('1 idle',), rank=2))
    draw_border(buffer, 0, ends, ends, left, right)
    assert buffer.lines() == [line]
