# SPDX-License-Identifier: GPL-3.0-only
"""Graphs of a history: the newest sample at the right, two samples in a cell of braille."""

from __future__ import annotations

import codecs
import functools
import math
import re
from typing import NamedTuple, Sequence

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import PLAIN, Role, Style, gradient


class Marks(NamedTuple):
    """The characters of a graph.

    The index of a cell's character is ``left * (levels + 1) + right`` if the cell has two samples,
    else the level of its only sample.
    """

    samples_per_cell: int
    levels: int
    characters: str
    #: A cell without a known value, after the first one with a known value.
    unknown: str
    #: Horizontal lines at the top, in the middle and at the bottom of a cell.
    guides: tuple[str, str, str]


def _braille(left: tuple[int, int, int, int], right: tuple[int, int, int, int]) -> str:
    return ''.join(
        chr(0x2800 + sum(left[:a]) + sum(right[:b])) if a or b else ' '
        for a in range(5)
        for b in range(5)
    )


#: Dots of a braille character from the lowest to the highest, in its left and in its right column.
_LEFT_DOTS, _RIGHT_DOTS = (0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08)
#: Dots: four levels and two samples in a cell.
BRAILLE = Marks(2, 4, _braille(_LEFT_DOTS, _RIGHT_DOTS), '░', ('⠉', '⠒', '⣀'))
#: For terminals without Unicode, whose borders are ``|``.
ASCII = Marks(1, 2, ' .:', '?', ('-', '-', '-'))


_UNKNOWN, _GUIDE, _SPREAD = Style(Role.DIM), Style(Role.TRACK), Style(Role.SPREAD)
#: Number of dots between mean and lowest value from which the lowest one is marked.
_FAR_DOTS = 3
#: Tops of graphs, between two powers of ten.
_STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0)
_find_drawn = re.compile('[^ ]+').finditer


def samples_shown(width: int, marks: Marks = BRAILLE) -> int:
    """Return the number of samples in a graph of this width."""
    return width * marks.samples_per_cell


def graph_bound(
    values: Sequence[float | None],
    minimum: float = 10.0,
    maximum: float = 100.0,
    *,
    base: int = 1000,
) -> float:
    """Return the top of a graph: a round number above the highest value, within these limits.

    ``base`` is the factor between two units: 1024 for amounts of memory.
    """
    highest = max((v for v in values if v is not None and v == v), default=0.0)
    if highest <= 0:
        return max(minimum, min(maximum, 1.0))
    unit = float(base) ** math.floor(math.log(highest, base))
    unit *= 10.0 ** math.floor(math.log10(highest / unit))
    step = next(step for step in _STEPS if step * unit >= 1.02 * highest)
    return max(minimum, min(maximum, step * unit))


class Spread(NamedTuple):
    """The lowest and highest values that the values of a graph are means of, oldest first."""

    lowest: Sequence[float | None]
    highest: Sequence[float | None]


def draw_graph(
    buf: Buffer,
    area: Rect,
    values: Sequence[float | None],
    style: Style = PLAIN,
    *,
    bound: float = 100.0,
    spread: Spread | None = None,
    colorful: bool = False,
    guides: bool = False,
    marks: Marks = BRAILLE,
) -> None:
    """Fill ``area`` with the newest of ``values``, oldest first.

    ``bound`` is the value that fills the height; higher values are cut off. A value above 0 has at
    least one dot, others have none. After the first known value, cells without a known value are
    shaded at the bottom, so that a gap does not look like an idle time. With ``colorful`` each row has
    its own color of the gradient instead of that of the style. A ``spread`` reaches up to the
    highest values in a dim color, and the lowest values are a dark line. ``guides`` are lines at
    the bound and at half of it.
    """
    if area.is_empty:
        return
    height, levels = area.height, marks.levels
    dots = _dots(values, area, bound, marks)
    high = None if spread is None else _dots(spread.highest, area, bound, marks)
    gaps = {} if spread is None else _gaps(dots, _dots(spread.lowest, area, bound, marks), marks)
    lines = _guide_rows(height, marks) if guides else {}
    highest = max(high or dots)
    bands: dict[int, tuple[bytes, bytes | None]] = {}
    for i in range(height):
        # Dots in the rows between this one and the bottom.
        below = levels * i
        if highest <= below and i not in lines:
            continue
        if i // _BAND not in bands:
            start = levels * (i - i % _BAND)
            bands[i // _BAND] = (
                _above(dots, start, highest),
                None if high is None else _above(high, start, highest),
            )
        band, high_band = bands[i // _BAND]
        below %= _BAND * levels
        text = _row_text(band, below, marks)
        if i in gaps:
            text = _without_dots(text, gaps[i])
        if colorful:
            style = style._replace(role=gradient((i + 0.5) / height))
        layers = [(text, style)]
        if high_band is not None:
            layers.append((_row_text(high_band, below, marks), _SPREAD))
        if i in lines:
            layers.append((lines[i] * area.width, _GUIDE))
        _write_layers(buf, area.x, area.bottom - 1 - i, layers)
    if None in values[values.count(None) :]:  # also after the first known value
        _shade_gaps(buf, area, area.bottom - 1, values, marks)


def _guide_rows(height: int, marks: Marks) -> dict[int, str]:
    """Return the character of the lines by row, counted from the bottom."""
    top, middle, bottom = marks.guides
    half = {height // 2: bottom if height % 2 == 0 else middle} if height > 2 else {}
    return {**half, height - 1: top} if height > 1 else half


def _write_layers(buf: Buffer, x: int, y: int, layers: Sequence[tuple[str, Style]]) -> None:
    """Write a row of characters; where the first layer has a space, the next one is visible."""
    (text, style), *others = layers
    if not others:
        shown = text.strip(' ')
        if shown:
            buf.write(x + len(text) - len(text.lstrip(' ')), y, shown, style)
        return
    end = 0
    for drawn in (*_find_drawn(text), None):
        start = len(text) if drawn is None else drawn.start()
        if start > end:
            below = [(other[end:start], other_style) for other, other_style in others]
            _write_layers(buf, x + end, y, below)
        if drawn is not None:
            end = drawn.end()
            buf.write(x + start, y, text[start:end], style)


def _gaps(dots: list[int], lowest: list[int], marks: Marks) -> dict[int, dict[int, int]]:
    """Return the dots to leave out for the lowest values: row from the bottom → cell → its dots."""
    gaps: dict[int, dict[int, int]] = {}
    if marks.samples_per_cell != 2:
        return gaps
    for column, (mean, low) in enumerate(zip(dots, lowest)):
        if low and mean - low >= _FAR_DOTS:
            row, level = divmod(low - 1, marks.levels)
            dot = (_RIGHT_DOTS if column % 2 else _LEFT_DOTS)[level]
            cells = gaps.setdefault(row, {})
            cells[column // 2] = cells.get(column // 2, 0) | dot
    return gaps


def _without_dots(text: str, gaps: dict[int, int]) -> str:
    cells = list(text)
    for cell, dots in gaps.items():
        left = (ord(cells[cell]) - 0x2800) & ~dots
        cells[cell] = chr(0x2800 + left) if left > 0 else ' '
    return ''.join(cells)


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


def _dots(values: Sequence[float | None], area: Rect, bound: float, marks: Marks) -> list[int]:
    """Return the height of each sample in dots, oldest first, with zeros for missing old ones."""
    shown = samples_shown(area.width, marks)
    top = area.height * marks.levels
    scale = top / bound if bound > 0 else 0.0
    ceil = math.ceil
    dots = [
        0 if value is None or not value > 0 else ceil(value * scale) if value < bound else top
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


def _row_text(band: bytes, below: int, marks: Marks) -> str:
    levels = marks.levels
    table = bytes(below) + bytes(range(levels)) + bytes([levels]) * (256 - below - levels)
    in_row = band.translate(table)
    if marks.samples_per_cell == 2:
        # Added as two big integers: no byte exceeds 24, so nothing carries into the next byte.
        left, right = in_row[::2].translate(_TIMES_FIVE), in_row[1::2]
        both = int.from_bytes(left, 'big') + int.from_bytes(right, 'big')
        in_row = both.to_bytes(len(left), 'big')
    text, _ = codecs.charmap_decode(in_row, 'strict', marks.characters)
    return text


@functools.lru_cache(maxsize=16)  # every frame has the same axes
def time_axis(
    width: int,
    seconds_per_cell: float,
    ticks: Sequence[int] = (30, 60, 120, 180, 240, 300),
    end: str = '',
    *,
    in_minutes: bool = False,
) -> str:
    """Return a line with marks of past times: ``────╴120s┬─────────╴60s┬───╴30s┬───────``.

    ``end`` is its left end, if it fits. All marks have the same unit.
    """
    line = f'{end}╶'.ljust(width, '─') if end and len(end) < width else '─' * width
    for seconds in ticks:
        column = width - 1 - round(seconds / seconds_per_cell)
        text = f'╴{seconds // 60}m┬' if in_minutes else f'╴{seconds}s┬'
        start = column - len(text) + 1
        if start >= 0 and set(line[start : column + 1]) == {'─'}:
            line = line[:start] + text + line[column + 1 :]
    return line
