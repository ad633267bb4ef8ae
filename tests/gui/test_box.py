"""Notes in borders."""

from __future__ import annotations

import pytest

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import TITLE
from nvitop.gui.view.text import Note, draw_border


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
