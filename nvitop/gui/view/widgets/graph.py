# SPDX-License-Identifier: GPL-3.0-only
"""Graphs of a history: the newest sample at the right, two samples in a cell of braille."""

from __future__ import annotations

import codecs
import math
from typing import Sequence

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import PLAIN, Role, Style, gradient
from nvitop.namedtuple import NamedTuple


class Marks(NamedTuple):
    """The characters of a graph.

    The index of a cell's character is ``left * (levels + 1) + right`` if the cell has two samples,
    else the level of its only sample.
    """

    samples_per_cell: int
    levels: int
    upwards: str
    downwards: str
    #: A cell without a known value, after the first one with a known value.
    unknown: str


def _braille(dots: tuple[int, int, int, int], right: tuple[int, int, int, int]) -> str:
    return ''.join(
        chr(0x2800 + sum(dots[:a]) + sum(right[:b])) if a or b else ' '
        for a in range(5)
        for b in range(5)
    )


#: Dots: four levels and two samples in a cell.
BRAILLE = Marks(
    2,
    4,
    _braille((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08)),
    _braille((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80)),
    '░',
)
#: For terminals without Unicode, whose borders are ``|``.
ASCII = Marks(1, 2, ' .:', " ':", '?')


_UNKNOWN = Style(Role.DIM)


def samples_shown(width: int, marks: Marks = BRAILLE) -> int:
    """Return the number of samples in a graph of this width."""
    return width * marks.samples_per_cell


def graph_bound(
    values: Sequence[float | None], minimum: float = 10.0, maximum: float = 100.0
) -> float:
    """Return the top of a graph: 1.25 × the highest value, between ``minimum`` and ``maximum``."""
    highest = max((v for v in values if v is not None and v == v), default=0.0)
    return max(minimum, min(maximum, 1.25 * highest))


def draw_graph(
    buf: Buffer,
    area: Rect,
    values: Sequence[float | None],
    style: Style = PLAIN,
    *,
    bound: float = 100.0,
    baseline: float = 0.0,
    downwards: bool = False,
    colorful: bool = False,
    marks: Marks = BRAILLE,
) -> None:
    """Fill ``area`` with the newest of ``values``, oldest first.

    ``bound`` is the value that fills the height; higher values are cut off. A value above
    ``baseline`` has at least one dot, others have none. After the first known value, cells without
    a known value are shaded at the baseline, so that a gap does not look like an idle time.
    With ``colorful`` each row has its own color of the gradient instead of that of the style.
    """
    if area.is_empty:
        return
    dots = _dots(values, area, bound, baseline, marks)
    highest = max(dots)
    for i in range(area.height):
        # Dots in the rows between this one and the baseline.
        below = marks.levels * i
        if highest <= below:
            break
        if i % _BAND == 0:
            band = _above(dots, below, highest)
        text = _row_text(band, below % (_BAND * marks.levels), marks, downwards=downwards)
        shown = text.lstrip(' ')
        y = area.y + i if downwards else area.bottom - 1 - i
        if colorful:
            style = style._replace(role=gradient((i + 0.5) / area.height))
        buf.write(area.right - len(shown), y, shown.rstrip(' '), style)
    if None in values[values.count(None) :]:  # also after the first known value
        _shade_gaps(buf, area, area.y if downwards else area.bottom - 1, values, marks)


def _shade_gaps(
    buf: Buffer, area: Rect, y: int, values: Sequence[float | None], marks: Marks
) -> None:
    """Shade the cells of row ``y`` without a known value, except those before the first one."""
    newest = area.right - 1
    ages = [age for age, value in enumerate(reversed(values)) if value is not None]
    known = {newest - age // marks.samples_per_cell for age in ages}
    for x in range(max(area.x, min(known)), area.right):
        if x not in known:
            buf.write(x, y, marks.unknown, _UNKNOWN)


def _dots(
    values: Sequence[float | None], area: Rect, bound: float, baseline: float, marks: Marks
) -> list[int]:
    """Return the height of each sample in dots, oldest first, with zeros for missing old ones."""
    shown = samples_shown(area.width, marks)
    top = area.height * marks.levels
    scale = top / (bound - baseline) if bound > baseline else 0.0
    ceil = math.ceil
    dots = [
        0
        if value is None or not value > baseline
        else ceil((value - baseline) * scale)
        if value < bound
        else top
        for value in values[-shown:]
    ]
    return [0] * (shown - len(dots)) + dots


#: Maximum number of rows whose dots fit into bytes. ``bytes`` methods then make a whole row in C,
#: which matters because each frame makes every row of every graph.
_BAND = 60
_TIMES_FIVE = bytes(min(255, 5 * i) for i in range(256))


def _above(dots: list[int], below: int, highest: int) -> bytes:
    if below == 0 and highest <= 255:
        return bytes(dots)
    return bytes([min(255, max(0, dot - below)) for dot in dots])


def _row_text(band: bytes, below: int, marks: Marks, *, downwards: bool) -> str:
    levels = marks.levels
    table = bytes(below) + bytes(range(levels)) + bytes([levels]) * (256 - below - levels)
    in_row = band.translate(table)
    if marks.samples_per_cell == 2:
        # Added as two big integers: no byte exceeds 24, so nothing carries into the next byte.
        left, right = in_row[::2].translate(_TIMES_FIVE), in_row[1::2]
        both = int.from_bytes(left, 'big') + int.from_bytes(right, 'big')
        in_row = both.to_bytes(len(left), 'big')
    characters = marks.downwards if downwards else marks.upwards
    text, _ = codecs.charmap_decode(in_row, 'strict', characters)
    return text


def time_axis(
    width: int,
    seconds_per_cell: float,
    ticks: Sequence[int] = (30, 60, 120, 180, 240, 300),
    end: str = '',
    *,
    in_minutes: bool = False,
) -> str:
    """Return a line with marks of past times: ``────╴120s├─────────╴60s├───╴30s├───────``.

    ``end`` is its left end, if it fits. All marks have the same unit.
    """
    line = f'{end}╶'.ljust(width, '─') if end and len(end) < width else '─' * width
    for seconds in ticks:
        column = width - 1 - round(seconds / seconds_per_cell)
        text = f'╴{seconds // 60}m├' if in_minutes else f'╴{seconds}s├'
        start = column - len(text) + 1
        if start >= 0 and set(line[start : column + 1]) == {'─'}:
            line = line[:start] + text + line[column + 1 :]
    return line
