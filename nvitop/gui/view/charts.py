# SPDX-License-Identifier: GPL-3.0-only
"""Bars, histories, and the ruler of time that they share."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Callable, Hashable, Iterator, NamedTuple, Sequence

from nvitop.gui.model import format as fmt
from nvitop.gui.model.device_columns import bar_pieces
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import DIM, HEADING, KEY, PLAIN, Style
from nvitop.gui.render.width import cell_width, clip

if TYPE_CHECKING:
    from nvitop.gui.state.app_state import AppState
    from nvitop.sampling.history import History

#: Heights of a cell, from unknown to full.
_BLOCKS = ' ▁▂▃▄▅▆▇█'
_LEVELS = 8
#: A past time without a value, after the first one.
_GAP = '·'
#: Seconds of a cell of a history unless the user chose a time for its width. Each move changes most
#: cells, which costs most of the bytes of a monitor at rest.
CELL_SECONDS = 2.0


def draw_meter(
    buf: Buffer, area: Rect, percent: float | None, style: Style, *, is_alone: bool = False
) -> None:
    """Draw a bar into the first row of ``area``. An unknown value is a row of dots."""
    x = area.x
    for text, piece in bar_pieces(percent, area.width, style, is_alone=is_alone):
        x += buf.write(x, area.y, text, piece)


def draw_history(
    buf: Buffer,
    area: Rect,
    values: Sequence[float | None],
    style: Style,
    *,
    bound: float = 100.0,
    hangs: bool = False,
) -> None:
    """Draw the newest of ``values``, oldest first, from the bottom of ``area`` up, or from its top down.

    ``bound`` is the value that fills the height, without the last eighth, or the last two of several
    lines, so that histories stay apart. A known value has at least an eighth; an unknown one after the first known value is a dim dot.
    """
    if area.is_empty:
        return
    values = values[-area.width :]
    x = area.right - len(values)
    top = area.height * _LEVELS - min(2, area.height)
    scale = top / bound if bound > 0 else 0.0
    levels = [
        0 if value is None else max(1, min(top, math.ceil(value * scale))) for value in values
    ]
    for row in range(area.height):
        below = row * _LEVELS
        parts = [max(0, min(_LEVELS, level - below)) for level in levels]
        if hangs:
            # There are no blocks that hang: the rest of the cell, in reverse.
            for is_filled, group in itertools.groupby(enumerate(parts), lambda part: part[1] > 0):
                cells = list(group)
                text = ''.join([_BLOCKS[_LEVELS - part] for _, part in cells if is_filled])
                buf.write(x + cells[0][0], area.y + row, text, style._replace(reverse=True))
            continue
        text = ''.join([_BLOCKS[part] for part in parts])
        shown = text.strip(' ')
        if shown:
            start = x + len(text) - len(text.lstrip(' '))
            buf.write(start, area.bottom - 1 - row, shown, style)
    first = next((i for i, value in enumerate(values) if value is not None), len(values))
    for i in range(first, len(values)):
        if values[i] is None:
            buf.write(x + i, area.y if hangs else area.bottom - 1, _GAP, DIM)


class Ruler:
    """The time that histories show: the last ``minutes``, or with 0 two seconds for each cell.

    ``past`` are the monotonic time and the timestamp of a sample of the past that is shown.
    """

    def __init__(
        self, history: History, minutes: int = 0, past: tuple[float, float] | None = None
    ) -> None:
        if history.device_slot < CELL_SECONDS:
            history = history.until(history.now // CELL_SECONDS * CELL_SECONDS)
        self._history = history
        self.minutes = minutes
        self.past = past

    def history(self, width: int) -> History:
        """Return the history, which ends at the past time if a history of this width does not reach it."""
        if self.past is None or self.cursor(width) >= 0:
            return self._history
        return self._history.until(self.past[0])

    def cursor(self, width: int) -> int:
        """Return the column of the past time, negative if it is out of sight."""
        age = 0.0 if self.past is None else max(0.0, self._history.now - self.past[0])
        return width - 1 - round(age / self.cell_seconds(width))

    def cell_seconds(self, width: int) -> float:
        if self.minutes:
            return max(60.0 * self.minutes / width, self._history.device_slot)
        return max(CELL_SECONDS, self._history.device_slot)

    def values(self, key: Hashable, metric: str, width: int) -> list[float | None]:
        seconds = self.cell_seconds(width) * width
        return self.history(width).values(key, metric, seconds, width)

    def highest(self, key: Hashable, metric: str, width: int) -> float | None:
        """Return the highest value in a history of this width, before values are averaged to cells."""
        return self.history(width).maximum(key, metric, self.cell_seconds(width) * width)

    def ticks(self, width: int) -> Iterator[tuple[int, str]]:
        """Yield columns and words of past times, the newest first: ``┬60s``."""
        cell = self.cell_seconds(width)
        least = max(_TICK_CELLS * cell, cell * width / _TICKS)
        step = next((s for s in _STEPS if s >= least), _STEPS[-1])
        for seconds in range(step, int(cell * width) + 1, step):
            text = f'{seconds}s' if seconds <= 60 or seconds % 60 else f'{seconds // 60}m'
            yield width - round(seconds / cell), f'┬{text}'


def ruler_of(state: AppState, history: History) -> Ruler:
    """Return the ruler of the histories on a screen, with a cursor if it shows the past."""
    sample = state.shown_sample
    is_past = bool(sample.sequence) and (
        state.frozen is not None or not state.origin.is_live or sample.is_late
    )
    past = (sample.monotonic, sample.timestamp) if is_past else None
    return Ruler(history, state.main.graphs.minutes, past)


#: Seconds between two marks of a ruler, minimum number of cells between them, and usual number of marks.
_STEPS, _TICK_CELLS, _TICKS = (10, 20, 30, 60, 120, 300, 600, 900, 1800), 8, 4


def draw_ruler(buf: Buffer, area: Rect, ruler: Ruler) -> int:
    """Draw the times of the histories below, up to ``now`` or their last time, and a cursor at a past time.

    Return the column of the first mark. A click on the ruler goes to a time.
    """
    width, taken, last = area.width, range(area.width, area.width), 'now'
    if ruler.past is not None:
        at = ruler.cursor(width)
        at = at if at >= 0 else width - 1
        time = fmt.format_clock(ruler.past[1])
        is_before = at + len(time) < width
        mark, start = (f'◆{time}', at) if is_before else (f'{time}◆', at - len(time))
        buf.write(area.x + start, area.y, mark, KEY)
        taken = range(start - 1, start + len(mark) + 1)
        later = ruler.history(width).now - ruler.past[0]
        last = fmt.format_clock(ruler.past[1] + later)
        cell = ruler.cell_seconds(width)
        for column in range(width):
            moment = ruler.past[1] + (column - at) * cell
            buf.hit(Rect(area.x + column, area.y, 1, 1), 'time', moment)
    x = width + 1
    for column, text in ((width - len(last), last), *ruler.ticks(width)):
        end = column + len(text)
        is_free = end < x and not (column < taken.stop and end > taken.start)
        if is_free:
            buf.write(area.x + column, area.y, text, HEADING)
            x = column
    return area.x + max(0, min(x, taken.start))


#: Tops of histories, between two powers of ten.
_TOPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0)


def round_top(values: Sequence[float | None], *, base: int = 1000) -> float:
    """Return a round number above the highest value, at least 1. ``base`` is the factor between two units."""
    highest = max((v for v in values if v is not None and v == v), default=0.0)
    if highest <= 0:
        return 1.0
    unit = float(base) ** math.floor(math.log(highest, base))
    unit *= 10.0 ** math.floor(math.log10(highest / unit))
    return max(1.0, next(top for top in _TOPS if top * unit >= 1.02 * highest) * unit)


class MetricLine(NamedTuple):
    """A line with a title, a value, its bar and its history."""

    title: str
    now: float | None
    format: Callable[[float | None], str]
    #: Key and name of the metric in the history.
    key: Hashable
    metric: str
    style: Style
    #: The highest possible value; ``None``: the history fits its highest value, and there is no bar.
    top: float | None = None
    #: The factor between two units.
    base: int = 1000
    #: Why parts of the history are missing.
    gap_words: str = ''
    #: Whether the history hangs below that of the line before it, on the same scale.
    is_mirrored: bool = False
    #: The limit that follows the value.
    limit: float | None = None


#: Cells of the title and of the value of a series, minimum and maximum width of its bar, minimum
#: width of the screen for it.
_TITLE, _VALUE, _LEAST_BAR, _WIDEST_BAR, _WITH_BAR = 12, 15, 8, 30, 70


def history_x(width: int) -> int:
    return _TITLE + _VALUE + 2 + (_bar_width(width) + 2 if _bar_width(width) else 0)


def _bar_width(width: int) -> int:
    return 0 if width < _WITH_BAR else min(_WIDEST_BAR, max(_LEAST_BAR, width // 6))


def draw_series(
    buf: Buffer, area: Rect, series: Sequence[MetricLine], most: int, ruler: Ruler
) -> None:
    """Draw series one below the other, as many as fit, each with at most this number of lines.

    All have the same number, and the first ones those that are left.
    """
    left, bar = history_x(area.width), _bar_width(area.width)
    least = max(1, min(most, area.height // max(1, len(series))))
    higher = area.height - least * len(series) if least < most else 0
    y = area.y
    for number, line in enumerate(series):
        lines = least + (number < higher)
        if y + lines > area.bottom:
            break
        width = area.width - left
        # A blank row keeps a history from the next one, but not from the one that mirrors it.
        rows = lines - (least > 2)
        is_above_mirror = any(below.is_mirrored for below in series[number + 1 : number + 2])
        graph = Rect(area.x + left, y + lines - rows if is_above_mirror else y, width, rows)
        values = ruler.values(line.key, line.metric, width)
        top = line.top or _common_top(series, number, ruler, width)
        buf.write(area.x, y, clip(line.title, _TITLE - 1), HEADING)
        now, whole = line.format(line.now), ''
        if line.limit:
            now, whole = _of_limit(now, line.format(line.limit))
        room = _VALUE - cell_width(whole)
        x = area.x + _TITLE
        x += buf.write(
            x, y, clip(now, room), DIM if line.now is None else PLAIN._replace(bold=True)
        )
        x += buf.write(x, y, whole, DIM)
        percent = None if line.now is None or not line.top else 100.0 * line.now / line.top
        if bar and line.top:
            place = Rect(area.x + _TITLE + _VALUE + 2, y, bar, 1)
            draw_meter(buf, place, percent, line.style, is_alone=lines > 1)
        highest = ruler.highest(line.key, line.metric, width)
        is_known = line.now is not None or highest is not None
        if is_known and not line.top and not line.is_mirrored:
            text = f'up to {line.format(top)}'
            start = graph.x - 1 - len(text)
            buf.write(start, y, text if start > x else '', DIM)
        if lines > 1 and highest is not None:
            highest = highest if line.now is None else max(highest, line.now)
            x = area.x + _TITLE
            buf.write(x, y + 1, clip(f'max {line.format(highest)}', _VALUE), DIM)
        draw_history(buf, graph, values, line.style, bound=top, hangs=line.is_mirrored)
        _write_gap(buf, graph, values, line.gap_words)
        y += lines


def _common_top(series: Sequence[MetricLine], number: int, ruler: Ruler, width: int) -> float:
    """Return the value that fills the history of a line, and of the one that mirrors it."""
    first = number - series[number].is_mirrored
    known = [
        value
        for line in series[first : first + 2]
        if line is series[first] or line.is_mirrored
        for value in (*ruler.values(line.key, line.metric, width), line.now)
    ]
    return round_top(known, base=series[number].base)


def _write_gap(buf: Buffer, graph: Rect, values: Sequence[float | None], words: str) -> None:
    """Write into the time before the newest values why there are no others."""
    missing = next((i for i, value in enumerate(values) if value is not None), len(values))
    if words and cell_width(words) + 2 <= missing and len(values) == graph.width:
        buf.write(graph.x, graph.bottom - 1, words, DIM)


def _of_limit(now: str, limit: str) -> tuple[str, str]:
    """Return a value without its unit, and its limit with it."""
    unit = limit.lstrip('0123456789.')
    return (now[: -len(unit)] if unit and now.endswith(unit) else now), f'/{limit}'
