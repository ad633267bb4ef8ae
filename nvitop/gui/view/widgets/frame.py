# SPDX-License-Identifier: GPL-3.0-only
"""Lines of a box, joined as what stands above and below them asks for."""

from __future__ import annotations

import functools
from typing import Sequence

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, cut

BORDER = Style(Role.BORDER)
#: Left end, between, right end; for lines that go on above and below, only below, only above.
_SINGLE = ('─', '├┼┤', '┌┬┐', '└┴┘')
_DOUBLE = ('═', '╞╪╡', '╒╤╕', '╘╧╛')
_UPRIGHT = '│'
_NOT_AVAILABLE = 'N/A'


@functools.lru_cache(maxsize=64)  # the same lines are in every frame
def rule(above: tuple[int, ...], below: tuple[int, ...], *, double: bool = False) -> str:
    """A line from column 0 on that joins upright lines in these columns above and below it."""
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
    """Draw the upright lines of one row."""
    for column in columns:
        buf.write(column, y, _UPRIGHT, BORDER)


def draw_text(buf: Buffer, x: int, y: int, text: str, style: Style = PLAIN) -> int:
    """Write text in which ``N/A`` is dim; returns the cells used."""
    if _NOT_AVAILABLE not in text:
        return buf.write(x, y, text, style)
    start = x
    dim = style._replace(role=Role.DIM, bold=False)
    for i, piece in enumerate(text.split(_NOT_AVAILABLE)):
        if i:
            x += buf.write(x, y, _NOT_AVAILABLE, dim)
        if piece:
            x += buf.write(x, y, piece, style)
    return x - start


def draw_within(
    buf: Buffer, x: int, y: int, text: str, left: int, right: int, style: Style = PLAIN
) -> None:
    """Write the part of the text that lies from column ``left`` to ``right``."""
    hidden = max(0, left - x)
    if hidden < cell_width(text):
        buf.write(x + hidden, y, cut(text, hidden, right - x - hidden), style)
