# SPDX-License-Identifier: GPL-3.0-only
"""Bars: ``MEM: ███▌ 31.08GiB   38.9%``."""

from __future__ import annotations

import math
from typing import Sequence

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import GRADIENT, PLAIN, Style, gradient
from nvitop.gui.render.width import cell_width, clip
from nvitop.gui.view.format import NOT_AVAILABLE, format_percent, format_short_percent

_EIGHTHS = ' ▏▎▍▌▋▊▉█'
_UNKNOWN = '░'
#: Cells kept free right of a full bar, for the shortest text: `` MAX``.
_RESERVED = 4
#: Minimum number of cells between the text next to the bar and the one at the right end.
_GAP = 2


def bar_blocks(percent: float, cells: int) -> str:
    """Return full and eighth blocks for a percentage: at least one eighth, at most ``cells``."""
    eighths = max(1, min(8 * cells, round(percent / 100 * 8 * cells))) if cells > 0 else 0
    full, rest = divmod(eighths, 8)
    return _EIGHTHS[8] * full + (_EIGHTHS[rest] if rest else '')


def draw_bar(
    buf: Buffer,
    area: Rect,
    label: str,
    percent: float | None,
    style: Style = PLAIN,
    *,
    texts: Sequence[str] = (),
    extra: str | None = None,
    colorful: bool = False,
) -> None:
    """Draw a bar into the first row of ``area``.

    The bar is followed by the first of ``texts`` that fits, else by the percentage (``MAX`` from
    100 on). ``extra`` is drawn at the right end, or inside a bar that leaves no room there; by
    default it is the percentage, if that does not follow the bar, and it is never drawn inside.
    An unknown value has a shaded bar and ``N/A``. With ``colorful`` the blocks have the colors of
    the gradient.
    """
    if area.is_empty:
        return
    prefix = f'{label}: '
    room = area.width - len(prefix) - _RESERVED
    if room < 1:
        short = format_short_percent(percent)
        buf.write(area.x, area.y, clip(f'{label} {short}', area.width), style, width=area.width)
        return
    if percent is None or percent != percent:
        buf.write(area.x, area.y, f'{prefix}{_UNKNOWN * room} {NOT_AVAILABLE}', style)
        return
    blocks = bar_blocks(percent, room)
    free = area.width - len(prefix) - len(blocks) - 1
    value, is_percent = _text_after(percent, texts, free)
    if colorful:
        style = style._replace(role=gradient(percent / 100))
    x = area.x + buf.write(area.x, area.y, prefix, style)
    if colorful:
        x += _draw_gradient(buf, x, area.y, blocks, room, style)
        x += buf.write(x, area.y, f' {value}', style)
    else:
        x += buf.write(x, area.y, f'{blocks} {value}', style)
    text = format_percent(percent) if extra is None and not is_percent else extra or ''
    width = cell_width(text)
    if area.right - x >= _GAP + width:
        buf.write(area.right - width, area.y, text, style)
    elif extra and (begin := blocks.count(_EIGHTHS[8]) - width - 1) > 0:
        inside = area.x + len(prefix) + begin
        buf.write(inside, area.y, text, style._replace(reverse=True))


def _text_after(percent: float, texts: Sequence[str], free: int) -> tuple[str, bool]:
    """Return the text that follows the bar, and whether it is the percentage."""
    if percent < 100:
        for text in texts:
            if cell_width(text) <= free:
                return text, False
        text = format_percent(percent)
        if len(text) <= free:
            return text, True
    return format_short_percent(percent), True


def _draw_gradient(buf: Buffer, x: int, y: int, blocks: str, room: int, style: Style) -> int:
    """Draw blocks in one span for each step of the gradient; return the number of cells used."""
    start = 0
    for step, role in enumerate(GRADIENT, 1):
        end = min(len(blocks), math.ceil(step * room / len(GRADIENT) - 0.5))
        if end > start:
            buf.write(x + start, y, blocks[start:end], style._replace(role=role))
            start = end
    return len(blocks)
