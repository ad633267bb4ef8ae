# SPDX-License-Identifier: GPL-3.0-only
"""Bars and sparklines: ``MEM ■■■■■■■■····  67%``, ``▁▃▇█``."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

from nvitop.gui.model.format import format_share
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import GRADIENT, PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, clip

if TYPE_CHECKING:
    from nvitop.gui.model.device_columns import Sparkline
    from nvitop.gui.render.buffer import Span

_BLOCK = '■'
#: The empty part of a bar if its color cannot distinguish it.
_EMPTY = '·'
_UNKNOWN = '·'
_TRACK, _DIM = Style(Role.TRACK), Style(Role.DIM)
#: Cells of a percentage, and of the gap before it and before a text.
_PERCENT, _GAP = 4, 1
#: Minimum number of cells of a bar, and of one with a text.
_LEAST, _LEAST_WITH_TEXT = 3, 8


def filled_cells(percent: float, cells: int) -> int:
    """Return the number of filled cells for a percentage: at least one from 0.5 % on."""
    filled = round(percent / 100 * cells)
    return max(min(cells, filled), int(percent >= 0.5 and cells > 0))


def bar_text(percent: float | None, cells: int) -> str:
    """Return a bar as text, for a row in one style."""
    if percent is None or percent != percent:
        return _UNKNOWN * cells
    filled = filled_cells(percent, cells)
    return _BLOCK * filled + _EMPTY * (cells - filled)


def draw_meter(
    buf: Buffer, area: Rect, percent: float | None, style: Style, *, colorful: bool = False
) -> None:
    """Draw a bar without texts into the first row of ``area``.

    With ``colorful`` the blocks have the colors of the gradient instead of ``style``, and those of
    the empty part a dim one. An unknown value is shaded.
    """
    if area.is_empty:
        return
    if percent is None or percent != percent:
        buf.write(area.x, area.y, bar_text(percent, area.width), _DIM)
        return
    filled = filled_cells(percent, area.width)
    if not colorful:
        text = bar_text(percent, area.width)
        buf.write(area.x, area.y, text[:filled], style)
        buf.write(area.x + filled, area.y, text[filled:], _TRACK)
        return
    buf.write_spans(area.x, area.y, _gradient_bar(filled, area.width))


# Cached because a bar has few forms, and most bars keep theirs from one sample to the next.
@functools.lru_cache(maxsize=512)
def _gradient_bar(filled: int, cells: int) -> tuple[Span, ...]:
    """Return the spans of a bar with the colors of the gradient."""
    buf = Buffer(cells, 1)
    steps = len(GRADIENT)
    start = 0
    while start < filled:
        step = start * steps // cells
        # The first cell of the next step.
        end = min(filled, -(-(step + 1) * cells // steps))
        buf.write(start, 0, _BLOCK * (end - start), Style(GRADIENT[step]))
        start = end
    buf.write(filled, 0, _BLOCK * (cells - filled), _TRACK)
    return buf.row(0)


def draw_bar(
    buf: Buffer,
    area: Rect,
    label: str,
    percent: float | None,
    style: Style = PLAIN,
    *,
    text: str = '',
    text_width: int = 0,
    colorful: bool = False,
) -> bool:
    """Draw label, bar, percentage and a text in the first row of ``area``; return whether it has room for the text.

    The text is at the right end, in ``text_width`` cells if it is shorter, or left out.
    """
    if area.is_empty:
        return False
    text_width = max(text_width, cell_width(text))
    x = area.x + buf.write(area.x, area.y, clip(label, area.width), width=area.width) + 1
    right = area.right - text_width - _GAP
    if not text_width or right - 2 * _GAP - _PERCENT - x < _LEAST_WITH_TEXT:
        right, text = area.right, ''
    share = format_share(percent)
    # From left to right, so that the buffer does not have to sort the spans.
    if right - x >= len(share):
        bar = Rect(x, area.y, right - _PERCENT - _GAP - x, 1)
        if bar.width >= _LEAST:
            draw_meter(buf, bar, percent, style, colorful=colorful)
        buf.write(right - len(share), area.y, share, PLAIN if percent is not None else _DIM)
    buf.write(area.right - cell_width(text), area.y, text)
    return right < area.right


#: Seconds of a cell, if measurements are not further apart, and between two changes of the newest one.
#: Each change is written to the terminal, so short times cost most of the bytes of a monitor at rest.
CELL_SECONDS = 20.0
CHANGE_SECONDS = 10.0
#: Unknown, and levels up to 7/8 of the cell, so that rows do not touch each other.
_BLOCKS = ' ▁▂▃▄▅▆▇'
_ASCII = ' _.-=+*#'
_LEVELS = len(_BLOCKS) - 1
#: Number of colors: fewer than levels, because each change of the color costs bytes.
_COLORS = 4


# Cached because complete cells do not change.
@functools.lru_cache(maxsize=128)
def make_sparkline(percentages: tuple[float | None, ...], *, ascii_only: bool = False) -> Sparkline:
    """Return the pieces of a sparkline of these percentages, oldest first, one in each cell.

    A known value is at least the lowest block, so that an idle time differs from an unknown one.
    """
    marks = _ASCII if ascii_only else _BLOCKS
    levels = [
        0 if value is None else min(_LEVELS, 1 + int(value * _LEVELS / 100.001))
        for value in percentages
    ]
    return tuple(
        (''.join([marks[level] for level in group]), percent)
        for percent, group in itertools.groupby(levels, key=_COLOR_OF.__getitem__)
    )


#: Level → percentage in the middle of its color.
_COLOR_OF = [
    None,
    *((level * _COLORS // _LEVELS + 0.5) * 100 / _COLORS for level in range(_LEVELS)),
]


def span_text(seconds: float, width: int) -> str:
    """Return a heading with the time that a sparkline shows: ``UTIL 2m``, ``UTIL 32s``."""
    minutes = round(seconds / 60)
    is_minutes = seconds >= 59 and abs(seconds - 60 * minutes) < 10
    amount = f'{minutes}m' if is_minutes else f'{seconds:.0f}s'
    return next((text for text in (f'UTIL {amount}', amount) if len(text) <= width), '')
