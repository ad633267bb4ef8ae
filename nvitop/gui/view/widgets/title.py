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
    """Safe text at the left of a row; badges go before the hint where there is not room for both,
    and the last keys of the hint before its first ones."""
    x = buf.write(0, y, clip(title, buf.width), _TITLE)
    for text, style in badges:
        room = buf.width - x - 2
        # What is cut to a few characters says nothing.
        if room >= min(cell_width(text), _SHORTEST_BADGE):
            x += 2 + buf.write(x + 2, y, clip(text, room), style)
    left = x + 2
    # What follows a word that leads the keys in is shown with all of them or not at all.
    while _start(buf, hint) < left and len(hint) > 2 and hint[0][1] == KEY:
        hint = hint[2:]
    x = _start(buf, hint)
    if x >= left:
        for text, style in hint:
            x += buf.write(x, y, text, style)


def _start(buf: Buffer, pieces: Pieces) -> int:
    """Where pieces begin that end at the right edge."""
    return buf.width - sum(cell_width(text) for text, _ in pieces)


def draw_bar_row(buf: Buffer, y: int, text: str, style: Style = _BAR) -> None:
    """A row across the whole screen in one style: the headings of a list."""
    buf.write(0, y, pad(text, buf.width), style)


def draw_message(buf: Buffer, area: Rect, text: str, style: Style = PLAIN) -> None:
    """Safe text where a list has no lines."""
    for i, line in enumerate(wrap(text, max(2, area.width - 2))[: area.height]):
        buf.write(area.x + 1, area.y + i, line, style)
