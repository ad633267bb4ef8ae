# SPDX-License-Identifier: GPL-3.0-only
"""Lines above and below the frame of a report, of one machine and of the fleet."""

from __future__ import annotations

from typing import Sequence

from nvitop.gui.model.format import advice_lines
from nvitop.gui.render.buffer import Buffer, Item, fit
from nvitop.gui.render.theme import PLAIN, Pieces
from nvitop.gui.render.width import clip, wrap
from nvitop.gui.view.text import severity_sign

#: Maximum width of a report, and cells of a severity.
MOST_WIDTH, _SEVERITY = 160, 10


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


def finding_lines(severity: str, text: str, advice: str, width: int) -> list[Pieces]:
    """Return the lines of a finding and what to do about it."""
    room = _finding_room(width)
    return _with_severity(
        severity, advice_lines(advice, room, before=f'{text}. ') or wrap(text, room)
    )


def brief_finding(severity: str, what: str, reason: str, advice: str, width: int) -> list[Pieces]:
    """Return the line of a finding with the first parts of the advice; without room, with why."""
    room = _finding_room(width)
    lines = advice_lines(advice, room, 1, f'{what}. ')
    return _with_severity(severity, lines or [clip(f'{what}: {reason}' if reason else what, room)])


def _with_severity(severity: str, lines: Sequence[str]) -> list[Pieces]:
    _, style = severity_sign(severity)
    first, *others = lines
    return [
        ((f'{severity:<{_SEVERITY}}', style), (first, PLAIN)),
        *(((' ' * _SEVERITY, PLAIN), (line, PLAIN)) for line in others),
    ]


def _finding_room(width: int) -> int:
    """Return the cells for the text of a finding on a line."""
    return max(20, width - _SEVERITY - 2)
