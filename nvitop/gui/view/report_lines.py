# SPDX-License-Identifier: GPL-3.0-only
"""Lines above and below the frame of a report, of one machine and of the fleet."""

from __future__ import annotations

import re
from typing import Sequence

from nvitop.basics.text import NO_BREAK, with_whole_commands
from nvitop.gui.render.buffer import Buffer, Item, fit
from nvitop.gui.render.theme import PLAIN, Pieces
from nvitop.gui.render.width import cell_width, clip, wrap
from nvitop.gui.view.text import severity_sign

#: Maximum width of a report, and cells of a severity.
MOST_WIDTH, _SEVERITY = 160, 10
#: Before the rest of an advice, such as the command for it.
_SENTENCE_END = re.compile(r'(?<=[.;:]) ')


def draw_head(buf: Buffer, lines: Sequence[Sequence[Item]]) -> None:
    """Draw the lines above the frame of a report."""
    for y, items in enumerate(lines):
        x = 1
        for item, text in zip(items, fit(items, buf.width - 2, 2)):
            x += buf.write(x, y, text, item.style) + 2 if text else 0


def draw_findings(buf: Buffer, y: int, lines: Sequence[Pieces]) -> None:
    """Draw the lines of findings below the frame of a report."""
    for row, pieces in enumerate(lines, y):
        x = 1
        for text, style in pieces:
            x += buf.write(x, row, text, style)


def finding_lines(severity: str, text: str, width: int) -> list[Pieces]:
    """Return the lines of a finding."""
    _, style = severity_sign(severity)
    lines = wrap(with_whole_commands(text), finding_room(width))
    first, *others = (line.replace(NO_BREAK, ' ') for line in lines)
    return [
        ((f'{severity:<{_SEVERITY}}', style), (first, PLAIN)),
        *(((' ' * _SEVERITY, PLAIN), (line, PLAIN)) for line in others),
    ]


def finding_room(width: int) -> int:
    """Return the cells for the text of a finding on a line."""
    return max(20, width - _SEVERITY - 2)


def brief_text(what: str, reason: str, action: str, room: int) -> str:
    """Return a finding for one line, with the first sentences of the advice that fit.

    Advice is never cut, because half a command does harm; without room for any, the evidence is shown.
    """
    sentences = _SENTENCE_END.split(action) if action else []
    for count in range(len(sentences), 0, -1):
        text = f'{what}. {" ".join(sentences[:count]).rstrip(".;:")}'
        if cell_width(text) <= room:
            return text
    return clip(f'{what}: {reason}' if reason else what, room)
