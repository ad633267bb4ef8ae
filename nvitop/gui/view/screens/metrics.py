# SPDX-License-Identifier: GPL-3.0-only
"""The metrics screen: one process, and graphs of its usage of host and device."""

from __future__ import annotations

import math
from typing import Callable, Iterator, NamedTuple, Sequence

from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.basics.units import GiB
from nvitop.gui.layout.screens import MetricsLayout, lay_out_metrics
from nvitop.gui.model import format as fmt
from nvitop.gui.model.choices import PROCESS_TRAFFIC, ViewState, load_style
from nvitop.gui.model.columns import column_widths, owner_text
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import CLASSIC, Rect
from nvitop.gui.render.style import DIM, HEADING, PLAIN, TITLE, Role, Style
from nvitop.gui.render.width import clip, clip_left, safe, wrap
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.process_rows import devices_without_list
from nvitop.gui.view.charts import (
    ASCII,
    BRAILLE,
    GraphWindow,
    Scale,
    draw_plot,
    draw_times,
    graph_area,
    graph_bound,
)
from nvitop.gui.view.hints import draw_screen_title
from nvitop.gui.view.panels.host import highest_possible
from nvitop.gui.view.text import (
    Note,
    draw_bar_row,
    draw_notes,
    draw_rule,
    draw_text,
    draw_uprights,
    heading_text,
    row_text,
)
from nvitop.sampling.history import DETAIL_FIELDS, DEVICE_FIELDS, History
from nvitop.sampling.types import DeviceKey, DeviceSample, ProcessKey, ProcessSample

#: Graphs of the device, after those of the process.
_DEVICE_METRICS = (PROCESS_TRAFFIC, 'power_usage', 'sm_clock')
#: Cells of the labels of facts; maximum number of lines of the command.
_LABEL, _COMMAND_LINES = 11, 4
#: Metrics that are measured only while the screen shows them, and what their graphs say about the time
#: before.
_MEASURED_HERE = {PROCESS_TRAFFIC, *DETAIL_FIELDS}
_NOT_MEASURED = ('measured only while this page is open', 'not measured')
#: Minimum width of a screen with the name of the GPU in its title, and maximum width of the name.
_WITH_NAME, _NAME_WIDTH = 100, 24


class _Plot(NamedTuple):
    """A metric that is plotted."""

    title: str
    #: Key and name of the metric in the history.
    key: ProcessKey | DeviceKey
    metric: str
    now: float | None
    format: Callable[[float | None], str]
    style: Style
    #: The highest possible value; the title has it too. ``None``: the graph fits its highest value.
    top: float | None = None
    #: A value for the title only, of which the process uses a small part.
    whole: float | None = None
    #: Minimum value at the top, and the factor between two units.
    least: float = 1.0
    base: int = 1000
    #: Words before the title if there is room.
    prefix: str = ''


def draw_metrics(buf: Buffer, state: AppState, history: History) -> None:
    """Draw the screen."""
    key = state.metrics
    if key is None:
        return
    process = next((p for p in state.shown.processes if p.key == key), None)
    device = next((d for d in state.shown.devices if d.key == key.device), None)
    plots = [
        plot
        for plot in _plots(state, key, process, device)
        if plot.now is not None or history.last(plot.key, plot.metric) is not None
    ]
    widths = column_widths([process] if process else [])
    facts = [] if process is None else _facts(process, buf.width)
    layout = lay_out_metrics(buf.width, buf.height, widths, len(plots), facts=len(facts))
    title = f'{key.pid} on GPU {key.device.label}'
    past = GraphWindow(history, state.main.graphs.minutes, ASCII if state.view.ascii else BRAILLE)
    has_room = layout.graphs and buf.width >= CLASSIC
    span = (past.span(layout.graphs[0].width),) if has_room else ()
    forms = [f'Process {title}', title]
    if device is not None and device.info.name is not None and buf.width >= _WITH_NAME:
        name = fmt.format_device_name(device.info.name, _NAME_WIDTH)
        forms.insert(0, f'Process {title} ({name})')
    draw_screen_title(buf, state, forms, (span,))
    draw_bar_row(buf, 1, heading_text(layout.columns))
    if process is None:
        text = clip(_why_missing(state, key, device), buf.width - 2)
        buf.write(1, 2, text, Style(Role.ERROR))
    else:
        driver_model = None if device is None else device.current_driver_model
        texts = [place.column.text(process, driver_model) for place in layout.columns]
        draw_text(buf, 0, 2, row_text(layout.columns, texts, '..'))
    for y, (label, text) in enumerate(facts[: layout.facts.height], layout.facts.y):
        buf.write(1, y, label, HEADING)
        buf.write(1 + _LABEL, y, text, DIM if text == fmt.NOT_AVAILABLE else PLAIN)
    _draw_lines(buf, layout)
    for plot, area in zip(plots, layout.graphs):
        _draw_plot(buf, area, plot, past, state.view)


def _facts(process: ProcessSample, width: int) -> list[tuple[str, str]]:
    """Return rows of text, each with a label: start, job and directory, then the whole command."""
    room = max(2, width - _LABEL - 2)
    start = fmt.format_start(process.key.start_time, process.running_time_seconds)
    job = '' if process.owner is None else f' · {owner_text(process)}'
    user = 'N/A' if process.username is None else safe(process.username)
    threads = 'N/A' if process.thread_count is None else f'{process.thread_count}'
    directory = 'N/A' if process.directory is None else safe(process.directory)
    facts = [
        ('STARTED', clip(f'{start} by {user}{job} · threads {threads}', room)),
        ('DIRECTORY', clip_left(directory, room)),
    ]
    command = fmt.format_command(process.command, process.status, name=process.name)
    lines = wrap(command, room)
    if len(lines) > _COMMAND_LINES:
        lines[_COMMAND_LINES - 1] = clip(' '.join(lines[_COMMAND_LINES - 1 :]), room)
    labels = ['COMMAND'] + [''] * (_COMMAND_LINES - 1)
    return [*facts, *zip(labels, lines)]


def _why_missing(state: AppState, key: ProcessKey, device: DeviceSample | None) -> str:
    """Return why the process is missing: it has exited, or the GPU does not report its processes."""
    if device is not None and device.status != 'ok':
        return safe(f'GPU {key.device.label}: {device.reason or device.status}')
    if key.device in devices_without_list(state.shown):
        return f'GPU {key.device.label} does not report its processes'
    return 'The process has exited or no longer uses this GPU'


def _plots(
    state: AppState, key: ProcessKey, process: ProcessSample | None, device: DeviceSample | None
) -> Iterator[_Plot]:
    """Yield what can be plotted, the most important first: GPU and host in turn."""
    view, host = state.view, state.shown.host
    now = process or ProcessSample(key)
    sm, cpu = now.gpu_sm_utilization_percent, now.cpu_percent
    memory = device.info.memory_total_bytes if device is not None else None
    thresholds = view.thresholds
    gpu = load_style(sm, thresholds.gpu, view)
    yield _Plot('GPU-SM', key, 'gpu_sm_utilization', sm, fmt.format_share, gpu, top=100.0)
    style, title = Style(Role.UTILIZATION), 'CPU'
    metric = 'cpu_percent'
    if now.tree_cpu_percent is not None:
        cpu, metric, title = now.tree_cpu_percent, 'tree_cpu', 'CPU incl. children'
    yield _Plot(title, key, metric, cpu, _whole_percent, style, least=10.0)
    style = load_style(now.gpu_memory_percent, thresholds.memory, view, Role.MEMORY)
    used = now.gpu_memory_bytes
    yield _Plot('GPU-MEM', key, 'gpu_memory', used, _gib, style, memory)
    read, light = now.disk_read_kib_per_s, Style(Role.OTHER)
    yield _Plot('DISK READ', key, 'disk_read', read, fmt.format_rate, light, base=1024)
    traffic, power, clock = (_device_plot(state, key.device, name) for name in _DEVICE_METRICS)
    yield from (traffic, power)
    total, used, style = host.memory_total_bytes, now.host_memory_bytes, Style(Role.MEMORY)
    yield _Plot('HOST-MEM', key, 'host_memory', used, _gib, style, whole=total, base=1024)
    yield clock


def _device_plot(state: AppState, key: DeviceKey, metric: str) -> _Plot:
    """Return the plot of a device, or of the whole GPU if a MIG device does not have the metric."""
    plotted = METRICS_BY_NAME[metric]
    devices = [d for d in state.shown.devices if d.key.physical_index == key.physical_index]
    devices.sort(key=lambda device: device.key != key)
    known = [d for d in devices if getattr(d, DEVICE_FIELDS[metric]) is not None]
    device = known[0] if known else None
    top = highest_possible(plotted, known[:1]) if plotted.maximum else 0
    return _Plot(
        plotted.graph,
        key if device is None else device.key,
        metric,
        None if device is None else getattr(device, DEVICE_FIELDS[metric]),
        lambda value: fmt.format_measured(plotted.unit, value),
        Style(Role.OTHER),
        top or None,
        base=1024 if plotted.unit == 'KiB/s' else 1000,
        prefix=f'GPU {key.physical_index if device is None else device.key.label} ',
    )


def _gib(size_bytes: float | None) -> str:
    """Format bytes with a space as in the other graphs: ``68.5 GiB``, ``2048 GiB``."""
    if size_bytes is not None and size_bytes >= 1000 * GiB:
        return f'{size_bytes / GiB:.0f} GiB'
    return fmt.format_gib(size_bytes).replace('GiB', ' GiB')


def _whole_percent(value: float | None) -> str:
    return fmt.NOT_AVAILABLE if value is None else f'{value:.0f}%'


def _of_top(now: str, top: str) -> str:
    """Return a value and the highest possible one, with their unit once if it is the same."""
    unit = top.lstrip('0123456789.')
    return f'{now[: -len(unit)]}/{top}' if unit and now.endswith(unit) else f'{now}/{top}'


def _draw_lines(buf: Buffer, layout: MetricsLayout) -> None:
    box = layout.box
    for y in range(box.y, box.bottom):
        uprights = layout.uprights(y)
        if uprights:
            draw_uprights(buf, y, uprights)
        else:
            draw_rule(buf, y, layout.uprights(y - 1), layout.uprights(y + 1))


def _draw_plot(buf: Buffer, area: Rect, plot: _Plot, past: GraphWindow, view: ViewState) -> None:
    """Draw a graph, and its title with the current and the highest value in the row above."""
    values = past.values(plot.key, plot.metric, area.width)
    # Until the first value is complete, the axis fits the current one.
    known = [value for value in values if value is not None and value == value]
    top = plot.top or graph_bound(known or (plot.now,), plot.least, math.inf, base=plot.base)
    scale = Scale(top, plot.format)
    place = graph_area(area, scale)
    # A past value is the mean of its slot, which can be lower than the latest value in it.
    highest = past.maximum(plot.key, plot.metric, place.width)
    highest = highest if plot.now is None or highest is None else max(plot.now, highest)
    now = plot.format(plot.now)
    whole = plot.whole or plot.top
    has_top = plot.now is not None and whole not in (None, 100.0)
    full = _of_top(now, plot.format(whole)) if has_top else now
    titles = (f'{plot.prefix}{plot.title}', plot.title)
    forms = (f'{title} {text}' for title in titles for text in (full, now, now.replace(' ', '')))
    title = Note((*forms, now), TITLE, 0)
    notes = (title, Note((f'max {plot.format(highest)}',))) if highest is not None else (title,)
    line = Rect(area.x - 1, area.y - 1, area.width + 2, 1)
    free = draw_notes(buf, line, notes)
    draw_times(buf, area.y - 1, place, past, free)
    draw_plot(buf, area, values, scale, plot.style, past=past)
    if plot.metric in _MEASURED_HERE:
        _explain_gap(buf, place, values, past)


def _explain_gap(
    buf: Buffer, graph: Rect, values: Sequence[float | None], past: GraphWindow
) -> None:
    """Write into the time before the newest values why they have no others."""
    per_cell = past.marks.samples_per_cell
    newest_first = [value is not None for value in reversed(values)]
    count = len(newest_first)
    begun = newest_first.index(True) if True in newest_first else 0
    end = next((i for i in range(begun, count) if not newest_first[i]), count)
    start = next((i for i in range(end, count) if newest_first[i]), count)
    cells = min(graph.width - end // per_cell, (start - end) // per_cell) - 2
    text = next((text for text in _NOT_MEASURED if len(text) <= cells), '')
    if text and graph.height > 2:
        x = graph.right - end // per_cell - 1 - (cells + len(text)) // 2
        buf.write(x, graph.bottom - 2, text, DIM)
