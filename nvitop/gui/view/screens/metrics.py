# SPDX-License-Identifier: GPL-3.0-only
"""The metrics screen: one process, and graphs of its usage of host and device."""

from __future__ import annotations

import math

from nvitop.gui.layout.metrics import GraphArea, MetricsLayout, lay_out_metrics
from nvitop.gui.model.columns import column_widths
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import clip, safe
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.summary import devices_without_list
from nvitop.gui.view import format as fmt
from nvitop.gui.view.badges import title_badges
from nvitop.gui.view.column_text import CELLS
from nvitop.gui.view.hints import title_hints
from nvitop.gui.view.load_style import load_role
from nvitop.gui.view.widgets.box import draw_rule, draw_uprights
from nvitop.gui.view.widgets.graph import ASCII, BRAILLE, draw_graph, graph_bound
from nvitop.gui.view.widgets.graph_window import GraphWindow
from nvitop.gui.view.widgets.text import draw_bar_row, draw_text, heading_text, row_text
from nvitop.gui.view.widgets.title import draw_title, fit_title, title_room
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.history import History
from nvitop.sampling.types import DeviceSample, ProcessKey, ProcessSample

_DIM = Style(Role.DIM)
#: Percentages that graphs can be marked with.
_TICKS = (1, 2, 4, 5, 8, 10, 20, 40, 50, 80, 100, 200, 400, 500, 800, 1000, 2000, 4000, 8000)
#: Minimum number of rows between two marks.
_TICK_ROWS = 3


class _Plot(NamedTuple):
    """A metric of a process that is plotted."""

    title: str
    #: Name of the metric in the history, and name of the field of the sample.
    metric: str
    field: str
    is_memory: bool = False
    #: Whether the top fits the highest value, instead of being the maximum possible one.
    is_fitted: bool = True


#: In the order of the layout: upper left, lower left, upper right, lower right.
_PLOTS = (
    _Plot('CPU', 'cpu_percent', 'cpu_percent'),
    _Plot('HOST-MEM', 'host_memory', 'host_memory_bytes', is_memory=True),
    _Plot('GPU-MEM', 'gpu_memory', 'gpu_memory_bytes', is_memory=True),
    _Plot('GPU-SM', 'gpu_sm_utilization', 'gpu_sm_utilization_percent', is_fitted=False),
)


class _Scale(NamedTuple):
    """The range and the style of a plot."""

    #: The value that is 100 %, or ``None`` if it is unknown; and the maximum possible value.
    whole: float | None
    most: float
    style: Style


def draw_metrics(buf: Buffer, state: AppState, history: History) -> None:
    """Draw the screen."""
    key = state.metrics
    if key is None:
        return
    process = next((p for p in state.shown.processes if p.key == key), None)
    device = next((d for d in state.shown.devices if d.key == key.device), None)
    layout = lay_out_metrics(buf.width, buf.height, column_widths([process] if process else []))
    title = f'{key.pid} on GPU {key.device.label}'
    badges = title_badges(state)
    title = fit_title((f'Process {title}', title), (), title_room(buf.width, badges))
    draw_title(buf, title, badges, title_hints(state))
    draw_bar_row(buf, layout.heading_y, heading_text(layout.columns))
    if process is None:
        text = clip(_why_missing(state, key, device), buf.width - 2)
        buf.write(1, layout.row_y, text, Style(Role.ERROR))
    else:
        driver_model = None if device is None else device.current_driver_model
        texts = [CELLS[place.column.name](process, driver_model) for place in layout.columns]
        draw_text(buf, 0, layout.row_y, row_text(layout.columns, texts, '..'))
    past = GraphWindow(history, state.main.graphs.minutes, ASCII if state.view.ascii else BRAILLE)
    _draw_box(buf, layout, past)
    for plot, graph, scale, is_lower in zip(
        _PLOTS, layout.graphs, _scales(state, process, device), (False, True, False, True)
    ):
        now = getattr(process, plot.field) if process is not None else None
        downwards = is_lower and not layout.box.is_empty
        _draw_plot(buf, graph, plot, past, scale, key, now, state, downwards=downwards)


def _why_missing(state: AppState, key: ProcessKey, device: DeviceSample | None) -> str:
    """Return why the process is missing: it has exited, or the GPU does not report its processes."""
    if device is not None and device.status != 'ok':
        return safe(f'GPU {key.device.label}: {device.reason or device.status}')
    if key.device in devices_without_list(state.shown):
        return f'GPU {key.device.label} does not report its processes'
    return 'The process has exited or no longer uses this GPU'


def _scales(
    state: AppState, process: ProcessSample | None, device: DeviceSample | None
) -> tuple[_Scale, _Scale, _Scale, _Scale]:
    """Return the scales of the plots, in their order."""
    host, thresholds = state.shown.host, state.view.thresholds
    host_total = host.memory_total_bytes
    device_total = device.info.memory_total_bytes if device else None
    memory = load_role(process.gpu_memory_percent if process else None, thresholds.memory)
    sm = load_role(process.gpu_sm_utilization_percent if process else None, thresholds.gpu)
    return (
        _Scale(100.0, 100.0 * (host.cpu_count or 1 << 16), Style(Role.CPU)),
        _Scale(host_total, host_total or math.inf, Style(Role.MEMORY)),
        _Scale(device_total, device_total or math.inf, Style(memory)),
        _Scale(100.0, 100.0, Style(sm)),
    )


def _draw_box(buf: Buffer, layout: MetricsLayout, past: GraphWindow) -> None:
    box = layout.box
    if box.is_empty:
        return
    uprights = layout.uprights
    draw_rule(buf, box.y, (), uprights)
    for y in range(box.y + 1, box.bottom - 1):
        if y == layout.middle_y:
            draw_rule(buf, y, uprights, uprights)
            for graph in (layout.graphs[0], layout.graphs[2]):
                axis = past.axis(graph.area.width)
                buf.write(graph.area.x, y, axis, Style(Role.BORDER))
        else:
            draw_uprights(buf, y, uprights)
    draw_rule(buf, box.bottom - 1, uprights, ())


def _draw_plot(
    buf: Buffer,
    graph: GraphArea,
    plot: _Plot,
    past: GraphWindow,
    scale: _Scale,
    key: ProcessKey,
    now: float | None,
    state: AppState,
    *,
    downwards: bool,
) -> None:
    area = graph.area
    if area.is_empty:
        return
    values = past.values(key, plot.metric, area.width)
    bound = scale.most
    if plot.is_fitted:
        bound = graph_bound(values, (scale.whole or 10.0) / 10, scale.most)
    draw_graph(
        buf,
        area,
        values,
        scale.style,
        bound=bound,
        colorful=state.view.colorful,
        marks=past.marks,
    )
    # A past value is the mean of its slot, which can be lower than the latest value in it.
    highest = past.maximum(key, plot.metric, area.width)
    highest = highest if now is None or highest is None else max(now, highest)
    label, x = _label(plot, now, highest, scale, graph)
    if scale.whole:
        # If the label needs the room left of the graph, its row has no mark.
        rows = area.height - (x < area.x)
        _draw_ticks(buf, graph.gutter, rows, 100.0 * bound / scale.whole, downwards=downwards)
    draw_text(buf, x, area.bottom - 1 if downwards else area.y, label, scale.style)


def _label(
    plot: _Plot,
    now: float | None,
    highest: float | None,
    scale: _Scale,
    graph: GraphArea,
) -> tuple[str, int]:
    """Return the title with as much of the current and the highest value as fits, and its column."""
    value = _format_value(plot, now, scale)
    most = f'  max: {_format_value(plot, highest, scale)}' if highest is not None else ''
    short = value.split(' ')[0]
    short_most = most.split(' (')[0]
    texts = [
        f' {plot.title}: {text} ' for text in (f'{value}{most}', f'{short}{short_most}', value)
    ]
    texts.append(f'{plot.title}: {short}')
    width = graph.label.width
    text = next((text for text in texts if len(text) <= width), clip(texts[-1], width))
    return text, graph.area.x if len(text) <= graph.area.width else graph.label.x


def _format_value(plot: _Plot, value: float | None, scale: _Scale) -> str:
    if not plot.is_memory:
        return fmt.format_percent(value if value is None or plot.is_fitted else round(value))
    if value is None or not scale.whole:
        return fmt.format_bytes(value)
    return f'{fmt.format_bytes(value)} ({fmt.format_percent(100.0 * value / scale.whole)})'


def _draw_ticks(
    buf: Buffer, gutter: Rect, rows: int, top_percent: float, *, downwards: bool
) -> None:
    """Draw percentages left of a graph whose top is ``top_percent``, at the rows they reach."""
    last = rows - 1 + _TICK_ROWS
    limit = top_percent
    for percent in reversed(_TICKS) if not gutter.is_empty else ():
        row = math.ceil(percent / top_percent * gutter.height) - 1
        if percent <= limit and 0 < row <= last - _TICK_ROWS:
            y = gutter.y + row if downwards else gutter.bottom - 1 - row
            buf.write(gutter.x, y, f'{percent}%'.rjust(gutter.width - 1), _DIM)
            last, limit = row, percent / 2
