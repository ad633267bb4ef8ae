# SPDX-License-Identifier: GPL-3.0-only
"""Bars, sparklines, and graphs of a history."""

from __future__ import annotations

import functools
import itertools
import math
import re
from typing import (
    TYPE_CHECKING,
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Sequence,
)

from nvitop.gui.model.format import format_share
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import DIM, HEADING, PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, clip

if TYPE_CHECKING:
    from nvitop.gui.model.device_columns import Sparkline
    from nvitop.gui.render.buffer import Span
    from nvitop.sampling.history import History

_BLOCK = '■'
#: The empty part of a bar if its color cannot distinguish it.
_EMPTY = '·'
_UNKNOWN = '·'
_TRACK = Style(Role.TRACK)
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


def draw_meter(buf: Buffer, area: Rect, percent: float | None, style: Style) -> None:
    """Draw a bar without texts into the first row of ``area``. An unknown value is shaded."""
    if area.is_empty:
        return
    if percent is None or percent != percent:
        buf.write(area.x, area.y, bar_text(percent, area.width), DIM)
        return
    filled = filled_cells(percent, area.width)
    text = bar_text(percent, area.width)
    buf.write(area.x, area.y, text[:filled], style)
    buf.write(area.x + filled, area.y, text[filled:], _TRACK)


def draw_bar(
    buf: Buffer,
    area: Rect,
    label: str,
    percent: float | None,
    style: Style = PLAIN,
    *,
    text: str = '',
    text_width: int = 0,
) -> None:
    """Draw label, bar, percentage and a text in the first row of ``area``.

    The text is at the right end, in ``text_width`` cells if it is shorter, or left out.
    """
    if area.is_empty:
        return
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
            draw_meter(buf, bar, percent, style)
        buf.write(right - len(share), area.y, share, PLAIN if percent is not None else DIM)
    buf.write(area.right - cell_width(text), area.y, text)


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


def make_sparkline(percentages: Sequence[float | None], *, ascii_only: bool = False) -> Sparkline:
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


class Marks(NamedTuple):
    """The characters of a graph.

    The index of a cell's character is ``left * (levels + 1) + right`` if the cell has two samples,
    else the level of its only sample.
    """

    samples_per_cell: int
    levels: int
    characters: str
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
BRAILLE = Marks(2, 4, _braille(_LEFT_DOTS, _RIGHT_DOTS), ('⠉', '⠒', '⣀'))
#: For terminals without Unicode, whose borders are ``|``.
ASCII = Marks(1, 2, ' .:', ('-', '-', '-'))


_GUIDE, _LINE = Style(Role.TRACK), Style(Role.DIM)
#: Text in gaps of a graph, and the minimum number of cells of a gap with it.
_MISSING, _WITH_MISSING = 'not measured', 16
#: The braille character without a dot, all dots, and the upper ones.
_BLANK, _FULL, _TOP_DOTS = 0x2800, 0xFF, 0x09
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


def draw_graph(
    buf: Buffer,
    area: Rect,
    values: Sequence[float | None],
    style: Style = PLAIN,
    *,
    bound: float = 100.0,
    line: tuple[float | None, ...] | None = None,
    line_style: Style = _LINE,
    guides: bool = False,
    marks: Marks = BRAILLE,
) -> None:
    """Fill ``area`` with the newest of ``values``, oldest first.

    ``bound`` is the value that fills the height; higher values are cut off. A value above 0 has at
    least one dot, others have none. ``line`` are values drawn as a thin line, a notch in the graph. ``guides`` are lines at the
    bound and at half of it; they have the gaps of the values, so that no gap looks like an idle time.
    """
    if area.is_empty:
        return
    height = area.height
    dots = _dots(values, area, bound, marks)
    columns = zip(*[iter(dots)] * marks.samples_per_cell)
    rows = [''.join(row) for row in zip(*[_column_text(each, height, marks) for each in columns])]
    line_cells = {} if line is None else _line_cells(_dots(line, area, bound, marks), marks)
    guide_rows = _guide_rows(height, marks) if guides else {}
    # Only if there are any after the first known value.
    gaps = (
        _gaps(area.width, (values, line or ()), marks)
        if None in values[values.count(None) :]
        else []
    )
    for i, text in enumerate(rows):
        layers = [(text, style)]
        if i in line_cells:
            above = rows[i + 1] if i + 1 < height else ' ' * area.width
            drawn, notched = _with_line(text, above, line_cells[i], marks)
            layers = [(drawn, line_style), (notched, style)]
        if i in guide_rows:
            guide = guide_rows[i] * area.width
            for start, end in gaps:
                guide = guide[:start] + ' ' * (end - start) + guide[end:]
            layers.append((guide, _GUIDE))
        _write_layers(buf, area.x, area.bottom - 1 - i, layers)
    for start, end in gaps:
        if end - start >= _WITH_MISSING:
            x = area.x + (start + end - len(_MISSING)) // 2
            buf.write(x, area.bottom - 1 - height // 2, _MISSING, DIM)


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


def _line_cells(dots: Sequence[int], marks: Marks) -> dict[int, dict[int, int]]:
    """Return the dots of a line: row from the bottom → cell → its dots.

    A step of the line is filled, so that it has no holes.
    """
    rows: dict[int, dict[int, int]] = {}
    before = 0
    for column, end in enumerate(dots):
        if end:
            start = min(before + 1, end) if before and before < end else end
            last = max(end, before - 1) if before > end else end
            for dot in range(start - 1, last):
                row, level = divmod(dot, marks.levels)
                mask = (_LEFT_DOTS, _RIGHT_DOTS)[column % 2][level]
                cell = column // marks.samples_per_cell
                cells = rows.setdefault(row, {})
                cells[cell] = cells.get(cell, 0) | mask
        before = end
    return rows


def _with_line(text: str, above: str, line: Mapping[int, int], marks: Marks) -> tuple[str, str]:
    """Return the cells of a line, with the dots of the graph that are in these cells, and the others.

    In the middle of the graph, the line is a notch: a cell has one color, so that its dots would
    color a band of the graph.
    """
    cells, others = [' '] * len(text), list(text)
    for cell, mask in line.items():
        filled = 0 if text[cell] == ' ' else ord(text[cell]) - _BLANK
        if marks is ASCII:
            cells[cell] = '-'
        elif filled == _FULL and (above[cell] == text[cell] or not mask & _TOP_DOTS):
            others[cell] = chr(_BLANK + filled - mask)
        else:
            cells[cell] = chr(_BLANK + (filled | mask))
    return ''.join(cells), ''.join(others)


def _gaps(
    width: int, series: Iterable[Sequence[float | None]], marks: Marks
) -> list[tuple[int, int]]:
    """Return the cells without a known value, except those before the first one: start and end of each gap."""
    known = {
        width - 1 - age // marks.samples_per_cell
        for values in series
        for age, value in enumerate(reversed(values))
        if value is not None
    }
    cells = sorted({max(-1, cell) for cell in known})
    return [
        (before + 1, after)
        for before, after in zip(cells, (*cells[1:], width))
        if after > before + 1
    ]


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


def _column_text(samples: tuple[int, ...], height: int, marks: Marks) -> str:
    """Return the cells of a column from the bottom to the top, for its samples in dots."""
    most = marks.levels
    full, end = min(samples) // most, -(-max(samples) // most)
    text = marks.characters[-1] * full
    for row in range(full, end):
        index = 0
        for dots in samples:
            level = dots - row * most
            index = index * (most + 1) + (0 if level < 0 else most if level > most else level)
        text += marks.characters[index]
    return text.ljust(height)


_TICKS = (30, 60, 120, 180, 240, 300)
_SECONDS, _MINUTES = (10, 30), (60, 120, 300, 600, 900, 1800)
#: Minimum length (minutes) from which all marks are whole minutes.
_IN_MINUTES = 5
#: Minimum number of cells between two marks.
_TICK_CELLS = 12
#: Minimum time (seconds) between two moves of a graph: the time in a cell. Most of its cells change
#: when it moves, which costs most of the bytes of a monitor at rest.
_MOVE_SECONDS = 2.0


class GraphWindow:
    """The last ``minutes`` before the newest sample; with 0, one second for each column of dots."""

    def __init__(self, history: History, minutes: int = 0, marks: Marks = BRAILLE) -> None:
        if history.device_slot < _MOVE_SECONDS:
            history = history.until(history.now // _MOVE_SECONDS * _MOVE_SECONDS)
        self.history = history
        self.minutes = minutes
        self.marks = marks

    def _seconds_per_cell(self, width: int) -> float:
        return 60.0 * self.minutes / width if self.minutes else self.marks.samples_per_cell

    def seconds(self, width: int) -> float:
        """Return the length in seconds for a graph of this width."""
        return width * self._seconds_per_cell(width)

    def span(self, width: int) -> str:
        """Return the length in words for a graph of this width."""
        return f'last {self.minutes} min' if self.minutes else f'last {self.seconds(width):.0f} s'

    def values(self, key: Hashable, metric: str, width: int) -> tuple[float | None, ...]:
        """Return the values in a graph of this width, oldest first."""
        columns = samples_shown(width, self.marks)
        return tuple(self.history.values(key, metric, self.seconds(width), columns))

    def maximum(self, key: Hashable, metric: str, width: int) -> float | None:
        """Return the highest value in a graph of this width, before values are averaged to dots."""
        return self.history.maximum(key, metric, self.seconds(width))

    def ticks(self, width: int) -> Iterator[tuple[int, str]]:
        """Yield marks of past times with their columns, the newest first: ``╴30s┬``, ``╴60s┬``."""
        per_cell = self._seconds_per_cell(width)
        ticks: Sequence[int] = _TICKS
        if self.minutes:
            steps = _MINUTES if self.minutes >= _IN_MINUTES else _SECONDS
            step = next((step for step in steps if step >= _TICK_CELLS * per_cell), steps[-1])
            ticks = range(step, 60 * self.minutes, step)
        in_minutes = self.minutes >= _IN_MINUTES
        # The oldest values have no mark.
        oldest = f'{self.minutes} min ago' if self.minutes else f'{self.seconds(width):.0f}s ago'
        left, right = len(oldest) + 1, width
        for seconds in ticks:
            text = f'╴{seconds // 60}m┬' if in_minutes else f'╴{seconds}s┬'
            end = width - round(seconds / per_cell)
            if left <= end - len(text) and end <= right:
                right = end - len(text)
                yield right, text


#: Minimum width of a plot with values to the left of its graph.
_WITH_SCALE = 24


class Scale(NamedTuple):
    """The value at the top of a plot."""

    bound: float
    #: Formats a value on the axis.
    format: Callable[[float], str]

    @property
    def labels(self) -> tuple[str, str]:
        """The values of the lines at the top and in the middle."""
        return self.format(self.bound), self.format(self.bound / 2)


def graph_area(area: Rect, scale: Scale, label_width: int = 0) -> Rect:
    """Return the part of a plot for its graph, to the right of the values, which have at least this width."""
    if area.width < _WITH_SCALE:
        return area
    return area.inset(max(label_width, *map(len, scale.labels)) + 1, 0, 0, 0)


def draw_plot(
    buf: Buffer,
    area: Rect,
    values: tuple[float | None, ...],
    scale: Scale,
    style: Style = PLAIN,
    *,
    past: GraphWindow,
    line: tuple[float | None, ...] | None = None,
    line_style: Style = _LINE,
    has_labels: bool = True,
    label_width: int = 0,
) -> None:
    """Draw the values of the axis and the graph of ``values``, oldest first."""
    graph = graph_area(area, scale, label_width) if has_labels else area
    if graph.is_empty:
        return
    rows = plot_rows(
        area.width,
        area.height,
        graph.x - area.x,
        values,
        scale.bound,
        scale.labels,
        style,
        line,
        line_style,
        past.marks,
    )
    for y, spans in enumerate(rows, area.y):
        buf.write_spans(area.x, y, spans)


# Cached because graphs move every two seconds only, and not at a key.
@functools.lru_cache(maxsize=64)
def plot_rows(
    width: int,
    height: int,
    gutter: int,
    values: tuple[float | None, ...],
    bound: float,
    labels: tuple[str, str],
    style: Style,
    line: tuple[float | None, ...] | None,
    line_style: Style,
    marks: Marks,
) -> tuple[tuple[Span, ...], ...]:
    """Return the spans of a plot whose graph is to the right of ``gutter`` cells."""
    buf = Buffer(width, height)
    if gutter:
        top, middle = labels
        buf.write(0, 0, top.rjust(gutter - 1), HEADING)
        if height > 2:
            # In the row that has the line; see `draw_graph`.
            buf.write(0, height - 1 - height // 2, middle.rjust(gutter - 1), HEADING)
    draw_graph(
        buf,
        buf.area.inset(gutter, 0, 0, 0),
        values[-samples_shown(width - gutter, marks) :],
        style,
        bound=bound,
        line=line,
        line_style=line_style,
        guides=True,
        marks=marks,
    )
    return tuple(map(buf.row, range(height)))


def draw_times(buf: Buffer, y: int, graph: Rect, past: GraphWindow, free: tuple[int, int]) -> None:
    """Draw marks of past times into a border over the graph, in its ``free`` columns."""
    start, end = free
    for column, text in past.ticks(graph.width):
        x = graph.x + column
        if start < x and x + len(text) < end:
            buf.write(x, y, text, HEADING)
