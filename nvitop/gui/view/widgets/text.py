# SPDX-License-Identifier: GPL-3.0-only
"""Lines of text: with dim ``N/A``, in columns, across the whole screen, centered, or wrapped."""

from __future__ import annotations

from typing import Iterable

from nvitop.gui.layout.process import PlacedColumn
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, clip, cut, fit, pad, wrap
from nvitop.gui.view.format import NOT_AVAILABLE

_BAR = Style(Role.HEADER)


def draw_text(buf: Buffer, x: int, y: int, text: str, style: Style = PLAIN) -> int:
    """Write text, with each ``N/A`` in it dim; return the number of cells used."""
    if NOT_AVAILABLE not in text:
        return buf.write(x, y, text, style)
    start = x
    dim = style._replace(role=Role.DIM, bold=False)
    for i, piece in enumerate(text.split(NOT_AVAILABLE)):
        if i:
            x += buf.write(x, y, NOT_AVAILABLE, dim)
        if piece:
            x += buf.write(x, y, piece, style)
    return x - start


def draw_within(
    buf: Buffer, x: int, y: int, text: str, left: int, right: int, style: Style = PLAIN
) -> None:
    """Write the part of a text at ``x`` that lies between the columns ``left`` and ``right``."""
    hidden = max(0, left - x)
    if hidden < cell_width(text):
        buf.write(x + hidden, y, cut(text, hidden, right - x - hidden), style)


def draw_bar_row(buf: Buffer, y: int, text: str, style: Style = _BAR) -> None:
    """Draw a row across the whole screen in one style, such as the headings of a list."""
    buf.write(0, y, pad(text, buf.width), style)


def draw_message(buf: Buffer, area: Rect, text: str, style: Style = PLAIN) -> None:
    """Draw safe text in place of the lines of a list, wrapped to the width of ``area``."""
    for i, line in enumerate(wrap(text, max(2, area.width - 2))[: area.height]):
        buf.write(area.x + 1, area.y + i, line, style)


def draw_centered_line(buf: Buffer, area: Rect, text: str, style: Style = PLAIN) -> None:
    """Draw safe text in the middle of ``area``, clipped to its width."""
    if not area.is_empty:
        y = area.y + (area.height - 1) // 2
        buf.write(area.x, y, pad(clip(text, area.width), area.width, '^'), style)


def row_text(places: Iterable[PlacedColumn], texts: Iterable[str], ellipsis: str = '+') -> str:
    """Join safe texts in their columns, from column 0 on; ``ellipsis`` marks a text that was cut.

    One write of a whole row is cheaper than one for each column.
    """
    parts = []
    x = 0
    for place, text in zip(places, texts):
        if place.x > x:
            parts.append(' ' * (place.x - x))
        parts.append(fit(text, place.width, place.column.align, ellipsis))
        x = place.right
    return ''.join(parts)


def heading_text(places: Iterable[PlacedColumn]) -> str:
    """Join the headings of the columns."""
    places = tuple(places)
    return row_text(places, [place.column.title for place in places])
