# SPDX-License-Identifier: GPL-3.0-only
"""A row of a table as one piece of text: one write for many columns."""

from __future__ import annotations

from typing import Iterable

from nvitop.gui.layout.process import PlacedColumn
from nvitop.gui.render.width import fit


def row_text(places: Iterable[PlacedColumn], texts: Iterable[str], ellipsis: str = '+') -> str:
    """Safe texts in their columns, from column 0 on; ``ellipsis`` says that one was cut."""
    parts = []
    x = 0
    for place, text in zip(places, texts):
        if place.x > x:
            parts.append(' ' * (place.x - x))
        parts.append(fit(text, place.width, place.column.align, ellipsis))
        x = place.right
    return ''.join(parts)


def heading_text(places: Iterable[PlacedColumn]) -> str:
    """The headings of the columns."""
    places = tuple(places)
    return row_text(places, [place.column.title for place in places])
