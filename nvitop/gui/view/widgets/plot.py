# SPDX-License-Identifier: GPL-3.0-only
"""Plots: a graph with the values of its lines to its left, and the times in the border above it."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Callable, NamedTuple

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import PLAIN, Role, Style
from nvitop.gui.view.widgets.box import BORDER
from nvitop.gui.view.widgets.graph import Marks, Spread, draw_graph, samples_shown
from nvitop.gui.view.widgets.graph_window import GraphWindow

if TYPE_CHECKING:
    from nvitop.gui.render.buffer import Span

_SCALE = Style(Role.HEADING)
#: Minimum width of a plot with values to the left of its graph.
_WITH_SCALE = 24
_find_ticks = re.compile('╴[^╴─]+┬').finditer


class Scale(NamedTuple):
    """The value at the top of a plot."""

    bound: float
    #: Formats a value on the axis.
    format: Callable[[float], str]

    @property
    def labels(self) -> tuple[str, str]:
        """The values of the lines at the top and in the middle."""
        return self.format(self.bound), self.format(self.bound / 2)


def graph_area(area: Rect, scale: Scale) -> Rect:
    """Return the part of a plot for its graph, to the right of the values."""
    if area.width < _WITH_SCALE:
        return area
    return area.inset(max(map(len, scale.labels)) + 1, 0, 0, 0)


def draw_plot(
    buf: Buffer,
    area: Rect,
    values: tuple[float | None, ...],
    scale: Scale,
    style: Style = PLAIN,
    *,
    past: GraphWindow,
    spread: Spread | None = None,
    colorful: bool = False,
) -> None:
    """Draw the values of the axis and the graph of ``values``, oldest first."""
    graph = graph_area(area, scale)
    if graph.is_empty:
        return
    rows = plot_rows(
        area.width,
        area.height,
        graph.x - area.x,
        values,
        scale.bound,
        scale.labels,
        # Without an unused color, which would make the rows differ from those in the cache.
        PLAIN if colorful else style,
        spread,
        past.marks,
        colorful=colorful,
    )
    for y, spans in enumerate(rows, area.y):
        buf.write_spans(area.x, y, spans)


# Cached because graphs move every two seconds only, and not at a key.
@functools.lru_cache(maxsize=16)
def plot_rows(
    width: int,
    height: int,
    gutter: int,
    values: tuple[float | None, ...],
    bound: float,
    labels: tuple[str, str],
    style: Style,
    spread: Spread | None,
    marks: Marks,
    *,
    colorful: bool,
) -> tuple[tuple[Span, ...], ...]:
    """Return the spans of a plot whose graph is to the right of ``gutter`` cells."""
    buf = Buffer(width, height)
    if gutter:
        top, middle = labels
        buf.write(0, 0, top.rjust(gutter - 1), _SCALE)
        if height > 2:
            # In the row that has the line; see `draw_graph`.
            buf.write(0, height - 1 - height // 2, middle.rjust(gutter - 1), _SCALE)
    draw_graph(
        buf,
        buf.area.inset(gutter, 0, 0, 0),
        values[-samples_shown(width - gutter, marks) :],
        style,
        bound=bound,
        spread=spread,
        colorful=colorful,
        guides=True,
        marks=marks,
    )
    return tuple(map(buf.row, range(height)))


def draw_times(buf: Buffer, y: int, graph: Rect, past: GraphWindow, free: tuple[int, int]) -> None:
    """Draw marks of past times into a border over the graph, in its ``free`` columns."""
    start, end = free
    for tick in _find_ticks(past.axis(graph.width)):
        x = graph.x + tick.start()
        if start < x and x + len(tick[0]) < end:
            buf.write(x, y, tick[0], BORDER)
