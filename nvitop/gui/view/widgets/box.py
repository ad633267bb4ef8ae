# SPDX-License-Identifier: GPL-3.0-only
"""Boxes: horizontal lines that join the vertical lines above and below them, and whole boxes."""

from __future__ import annotations

import functools
from typing import Sequence

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import clip

BORDER = Style(Role.BORDER)
_TITLE = Style(Role.TITLE, bold=True)
#: A line, then its joints (left end, between, right end) with vertical lines that continue above
#: and below, only below, and only above.
_SINGLE = ('─', '├┼┤', '┌┬┐', '└┴┘')
_DOUBLE = ('═', '╞╪╡', '╒╤╕', '╘╧╛')
_UPRIGHT = '│'


@functools.lru_cache(maxsize=64)  # every frame has the same lines
def rule(above: tuple[int, ...], below: tuple[int, ...], *, double: bool = False) -> str:
    """Return a line from column 0 that joins vertical lines in these columns above and below it."""
    line, *joints = _DOUBLE if double else _SINGLE
    columns = sorted({*above, *below})
    chars = [line] * (columns[-1] + 1)
    for column in columns:
        through, down, up = joints
        kind = through if column in above and column in below else down if column in below else up
        chars[column] = kind[0 if column == columns[0] else 2 if column == columns[-1] else 1]
    return ''.join(chars)


def draw_rule(
    buf: Buffer,
    y: int,
    above: tuple[int, ...],
    below: tuple[int, ...],
    *,
    double: bool = False,
) -> None:
    """Draw a :func:`rule`."""
    buf.write(0, y, rule(above, below, double=double), BORDER)


def draw_uprights(buf: Buffer, y: int, columns: Sequence[int]) -> None:
    """Draw the vertical lines of one row."""
    for column in columns:
        buf.write(column, y, _UPRIGHT, BORDER)


def draw_box(buf: Buffer, rect: Rect, *, title: str = '') -> None:
    """Draw a box along the edge of ``rect`` and empty its inside."""
    if rect.width < 2 or rect.height < 2:
        return
    inner = rect.inset(1, 1)
    ends = (0, rect.width - 1)
    buf.write(rect.x, rect.y, rule((), ends, double=True), BORDER)
    sides = f'{_UPRIGHT}{" " * inner.width}{_UPRIGHT}'
    for y in range(inner.y, inner.bottom):
        buf.write(rect.x, y, sides, BORDER)
    buf.write(rect.x, rect.bottom - 1, rule(ends, (), double=True), BORDER)
    if title and inner.width > 4:
        buf.write(rect.x + 2, rect.y, f' {clip(title, inner.width - 4)} ', _TITLE)
