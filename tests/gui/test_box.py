"""Notes in borders."""

from __future__ import annotations

import pytest

from nvitop.gui.model.table import Item
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import TITLE
from nvitop.gui.view.text import draw_border


@pytest.mark.parametrize(
    ('width', 'line'),
    [
        (50, '├─ 8 × H100 · driver 580 ──── 62% util · 1 idle ─┤'),
        (34, '├─ 8 × H100 ─ 62% util · 1 idle ─┤'),
        (24, '├─ 8 GPUs ── 62% util ─┤'),
        (23, '├─ 8 GPUs ─ 62% util ─┤'),
        (10, '├─ 8 .. ─┤'),
    ],
)
def test_notes_in_a_border_yield_by_rank(width: int, line: str) -> None:
    buffer = Buffer(width, 1)
    ends = (0, width - 1)
    left = (Item(('8 × H100', '8 GPUs'), TITLE, 0), Item(('driver 580', '580'), rank=5))
    right = (Item(('62% util',), rank=1), Item(('1 idle',), rank=2))
    draw_border(buffer, 0, ends, ends, left, right)
    assert buffer.lines() == [line]
