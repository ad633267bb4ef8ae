# SPDX-License-Identifier: GPL-3.0-only
"""A box over what is on the screen, for messages."""

from __future__ import annotations

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import clip
from nvitop.gui.view.widgets.frame import BORDER, rule

_TITLE = Style(Role.TITLE, bold=True)


def draw_box(buf: Buffer, rect: Rect, *, title: str = '') -> Rect:
    """Draw a frame at the edge of ``rect`` and empty it; return what it encloses."""
    inner = rect.inset(1, 1)
    if rect.width < 2 or rect.height < 2:
        return inner
    ends = (0, rect.width - 1)
    buf.write(rect.x, rect.y, rule((), ends, double=True), BORDER)
    sides = f'│{" " * inner.width}│'
    for y in range(inner.y, inner.bottom):
        buf.write(rect.x, y, sides, BORDER)
    buf.write(rect.x, rect.bottom - 1, rule(ends, (), double=True), BORDER)
    if title and inner.width > 4:
        buf.write(rect.x + 2, rect.y, f' {clip(title, inner.width - 4)} ', _TITLE)
    return inner
