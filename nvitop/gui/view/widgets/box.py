# SPDX-License-Identifier: GPL-3.0-only
"""Frames and the lines between rows of a table, in box-drawing characters."""

from __future__ import annotations

from typing import Sequence

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import clip

# Left end, line, crossing and right end of a rule.
TOP = '╒═╤╕'
#: The line under headings.
HEAD = '╞═╪╡'
MIDDLE = '├─┼┤'
BOTTOM = '╘═╧╛'
#: Where the columns of the row below begin, and where those of the row above end.
OPENING = '├─┬┤'
CLOSING = '├─┴┤'

_BORDER = Style(Role.BORDER)
_TITLE = Style(Role.TITLE, bold=True)


def rule(widths: Sequence[int], ends: str = MIDDLE) -> str:
    """A line across columns of these widths: ``├────┼──┤``."""
    left, line, cross, right = iter(ends)
    return left + cross.join([line * width for width in widths]) + right


def draw_box(
    buf: Buffer,
    rect: Rect,
    *,
    title: str = '',
    style: Style = _BORDER,
    title_style: Style = _TITLE,
) -> Rect:
    """Draw a frame at the edge of ``rect`` over what was there; return what it encloses."""
    inner = rect.inset(1, 1)
    if rect.width < 2 or rect.height < 2:
        return inner
    buf.write(rect.x, rect.y, rule((inner.width,), TOP), style)
    sides = f'│{" " * inner.width}│'
    for y in range(inner.y, inner.bottom):
        buf.write(rect.x, y, sides, style)
    buf.write(rect.x, rect.bottom - 1, rule((inner.width,), BOTTOM), style)
    if title and inner.width > 4:
        buf.write(rect.x + 2, rect.y, f' {clip(title, inner.width - 4)} ', title_style)
    return inner
