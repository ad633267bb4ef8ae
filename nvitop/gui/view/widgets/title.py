# SPDX-License-Identifier: GPL-3.0-only
"""The first line of a screen beside the main one: its name, badges, and which keys lead on."""

from __future__ import annotations

from typing import Sequence, Tuple

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, clip, pad, wrap

#: Pieces of a line, each with its style.
Pieces = Sequence[Tuple[str, Style]]

KEY = Style(Role.KEY, bold=True, italic=True)
HINT = Style(Role.DIM)
_TITLE = Style(Role.TITLE, bold=True)
_BAR = Style(Role.HEADER)
_SHORTEST_BADGE = 10


def draw_title(
    buf: Buffer, title: str, badges: Pieces = (), hint: Pieces = (), *, y: int = 0
) -> None:
    """Safe text at the left of a row; badges go before the hint where there is not room for both."""
    x = buf.write(0, y, clip(title, buf.width), _TITLE)
    for text, style in badges:
        room = buf.width - x - 2
        # What is cut to a few characters says nothing.
        if room >= min(cell_width(text), _SHORTEST_BADGE):
            x += 2 + buf.write(x + 2, y, clip(text, room), style)
    draw_at_right(buf, y, hint, left=x + 2)


def draw_at_right(
    buf: Buffer, y: int, hint: Pieces, *, left: int = 0, right: int | None = None
) -> None:
    """A hint that ends at the right edge, or before ``right``. What would begin before ``left``
    is left out: the first keys, each with what it does, until there is room for the others.

    Keys after a word that leads them in are a choice, of which one alone is not shown.
    """
    right = buf.width if right is None else right
    keys = [i for i, (_, style) in enumerate(hint) if style == KEY]
    is_choice = bool(hint) and hint[0][1] != KEY
    for start in (0, *keys[1 : len(keys) - is_choice]):
        x = right - sum(cell_width(text) for text, _ in hint[start:])
        if x >= left:
            for text, style in hint[start:]:
                x += buf.write(x, y, text, style)
            break


def draw_bar_row(buf: Buffer, y: int, text: str, style: Style = _BAR) -> None:
    """A row across the whole screen in one style: the headings of a list."""
    buf.write(0, y, pad(text, buf.width), style)


def draw_message(buf: Buffer, area: Rect, text: str, style: Style = PLAIN) -> None:
    """Safe text where a list has no lines."""
    for i, line in enumerate(wrap(text, max(2, area.width - 2))[: area.height]):
        buf.write(area.x + 1, area.y + i, line, style)
