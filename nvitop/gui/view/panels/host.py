# SPDX-License-Identifier: GPL-3.0-only
"""The host panel: bars of CPU, memory and swap, or graphs of the host and of the devices."""

from __future__ import annotations

import math
from typing import Iterable, NamedTuple, Optional, Sequence, Tuple

from nvitop.basics.metrics import METRICS_BY_NAME, Metric
from nvitop.gui.layout.host import HostGraphs, HostLayout
from nvitop.gui.model import format as fmt
from nvitop.gui.model.choices import GraphState, ViewState, is_measured, load_style
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import TITLE, Role, Style
from nvitop.gui.state.process_rows import whole_devices
from nvitop.gui.view.charts import (
    ASCII,
    BRAILLE,
    GraphWindow,
    Scale,
    draw_bar,
    draw_plot,
    draw_times,
    graph_area,
    graph_bound,
    make_sparkline,
)
from nvitop.gui.view.text import BORDER, Note, draw_border, draw_notes, draw_uprights, rule
from nvitop.sampling.history import DEVICE_FIELDS, HOST, History
from nvitop.sampling.types import DeviceKey, DeviceSample, HostSample, Sample


def draw_host_panel(
    buf: Buffer,
    layout: HostLayout,
    sample: Sample,
    view: ViewState,
    above: tuple[int, ...],
    graphs: DeviceGraphs,
    *,
    history: History | None = None,
) -> None:
    """Draw the panel without its bottom border; the form with graphs plots ``history``.

    ``above`` are the columns of the vertical lines of the panel above.
    """
    if layout.graphs is not None:
        marks = ASCII if view.ascii else BRAILLE
        past = GraphWindow(history or History(), graphs.state.minutes, marks)
        draw_border(buf, layout.area.y, above, layout.uprights)
        _draw_graphs(buf, layout, layout.graphs, past, sample, graphs, view)
    elif layout.bars:
        ends = layout.uprights
        y = layout.bars[0].y
        title = (Note(('Host',), TITLE, 0),)
        draw_border(buf, y - 1, above, ends, title, host_notes(sample.host))
        areas = dict(zip(('CPU', 'MEM', 'SWP'), layout.bars))
        for label, area in areas.items():
            draw_host_bar(buf, area, label, sample.host, view)
        draw_uprights(buf, y, ends)
        if layout.cores is not None:
            _draw_cores(buf, layout.cores, sample.host.cpu_core_percents, view)
            draw_uprights(buf, layout.cores.y, ends)


#: Cells of the text right of a bar: ``331/2048 GiB``.
_TEXT = 12
#: Maximum width of the bar of a core, with the gap after it.
_CORE_WIDTH = 4


def draw_host_bar(buf: Buffer, area: Rect, label: str, host: HostSample, view: ViewState) -> None:
    """Draw the bar of ``CPU``, ``MEM`` or ``SWP``."""
    cores = '' if host.cpu_count is None else fmt.counted(host.cpu_count, 'core')
    memory = fmt.format_part(host.memory_used_bytes, host.memory_total_bytes)
    swap = fmt.format_part(host.swap_used_bytes, host.swap_total_bytes)
    role, percent, text = {
        'CPU': (Role.UTILIZATION, host.cpu_percent, cores),
        'MEM': (Role.MEMORY, host.memory_percent, memory),
        'SWP': (Role.MEMORY, host.swap_percent, swap),
    }[label]
    draw_bar(buf, area, label, percent, Style(role), text=text, text_width=_TEXT)


def _draw_cores(buf: Buffer, area: Rect, percents: Sequence[float], view: ViewState) -> None:
    """Draw a bar for each core, or for several neighbors if there are more cores than cells."""
    x = area.x + buf.write(area.x, area.y, 'CORES ')
    room = area.right - x
    together = -(-len(percents) // room)
    groups = [percents[i : i + together] for i in range(0, len(percents), together)]
    width = min(_CORE_WIDTH, room // len(groups))
    for group in groups:
        ((text, percent),) = make_sparkline((sum(group) / len(group),), ascii_only=view.ascii)
        style = load_style(percent, view.thresholds.gpu, view)
        buf.write(x, area.y, text * max(1, width - 1), style)
        x += width


def host_notes(host: HostSample) -> tuple[Note, ...]:
    """Return load average and uptime."""
    notes = []
    if host.load_average is not None:
        loads = [fmt.format_load(load).strip() for load in host.load_average]
        notes.append(Note((f'load {" ".join(loads)}', f'load {loads[0]}'), rank=1))
    if host.uptime_seconds is not None:
        notes.append(Note((f'up {fmt.format_uptime(host.uptime_seconds)}',), rank=2))
    return tuple(notes)


#: Units whose values are drawn on a scale up to 100.
_UP_TO_100 = frozenset({'%', '°C'})
_Values = Tuple[Optional[float], ...]


class DeviceGraphs(NamedTuple):
    """Contents of the graphs of the devices: the mean of these devices."""

    keys: tuple[DeviceKey, ...]
    #: Beginning of the titles: ``'AVG'``, ``'GPU 3'``.
    prefix: str = ''
    state: GraphState = GraphState()
    #: The GPU of a selected MIG device, for metrics that MIG devices do not have.
    gpu: DeviceKey | None = None


def select_graphs(
    devices: Sequence[DeviceSample], state: GraphState, selected: DeviceKey | None
) -> DeviceGraphs:
    """Select what to plot: the device of the selected process, else the mean of all GPUs."""
    keys = [device.key for device in devices]
    # Without MIG devices: a small one would count as much as a GPU.
    whole = tuple(device.key for device in whole_devices(devices))
    if selected in keys and whole != (selected,):
        gpu = next((key for key in whole if key.physical_index == selected.physical_index), None)
        return DeviceGraphs((selected,), f'GPU {selected.label}', state, gpu)
    return DeviceGraphs(whole, 'AVG' if len(whole) > 1 else 'GPU', state)


def _of_metric(graphs: DeviceGraphs, metric: str, sample: Sample) -> DeviceGraphs:
    """Select the whole GPU for a metric that MIG devices do not have: power, temperature."""
    known = {d.key for d in sample.devices if getattr(d, DEVICE_FIELDS[metric]) is not None}
    gpu = graphs.gpu
    if gpu is None or gpu not in known or not known.isdisjoint(graphs.keys):
        return graphs
    return graphs._replace(keys=(gpu,), prefix=f'GPU {gpu.label}')


def _draw_graphs(
    buf: Buffer,
    layout: HostLayout,
    places: HostGraphs,
    past: GraphWindow,
    sample: Sample,
    graphs: DeviceGraphs,
    view: ViewState,
) -> None:
    """Draw the form with graphs below its top border."""
    area, uprights = layout.area, layout.uprights
    # From left to right, so that the buffer does not have to sort the spans.
    _draw_upright(buf, area, uprights[0])
    _draw_host(buf, area.y, places, past, sample, view)
    for x in uprights[1:-1]:
        _draw_upright(buf, area, x)
    middle = places.middle_x or 0
    for place, metric in ((places.upper, graphs.state.upper), (places.lower, graphs.state.lower)):
        if place is not None:
            if place.y - 1 > area.y:
                ends = (0, area.width - middle - 1)
                buf.write(middle, place.y - 1, rule(ends, ends), BORDER)
            _draw_devices(buf, place, metric, past, sample, graphs, view)
    joints = [place.y - 1 for place in (places.upper, places.lower) if place is not None]
    _draw_upright(buf, area, uprights[-1], joints)


def _draw_upright(buf: Buffer, area: Rect, x: int, joints: Sequence[int] = ()) -> None:
    """Draw a vertical line below the top border, except in the rows of its joints."""
    for y in range(area.y + 1, area.bottom):
        if y not in joints:
            draw_uprights(buf, y, (x,))


def _draw_host(
    buf: Buffer, y: int, places: HostGraphs, past: GraphWindow, sample: Sample, view: ViewState
) -> None:
    """Draw the graph of the CPU with its title in row ``y``, and the bars of memory and swap."""
    host = sample.host
    scale = Scale(100.0, fmt.format_share)
    title = (Note((f'CPU {fmt.format_share(host.cpu_percent)}',), TITLE, 0), *host_notes(host))
    free = draw_notes(buf, Rect(places.cpu.x - 1, y, places.cpu.width + 2, 1), title)
    graph = graph_area(places.cpu, scale)
    draw_times(buf, y, graph, past, free)
    draw_plot(
        buf,
        places.cpu,
        past.values(HOST, 'cpu_percent', graph.width),
        scale,
        Style(Role.UTILIZATION),
        past=past,
    )
    draw_host_bar(buf, places.memory, 'MEM', host, view)
    draw_host_bar(buf, places.swap, 'SWP', host, view)


def _draw_devices(
    buf: Buffer,
    area: Rect,
    metric: str,
    past: GraphWindow,
    sample: Sample,
    chosen: DeviceGraphs,
    view: ViewState,
) -> None:
    """Draw the graph of a metric, with its title in the row above."""
    graphs = _of_metric(chosen, metric, sample)
    plotted = METRICS_BY_NAME[metric]
    rows = tuple(past.values(key, metric, area.width) for key in graphs.keys)
    means, highest = combine(rows)
    devices = [device for device in sample.devices if device.key in graphs.keys]
    now = [getattr(device, DEVICE_FIELDS[metric]) for device in devices]
    top = highest_possible(plotted, devices)
    scale = scale_of(plotted, top, highest)
    style = graph_style(plotted, _mean(now), view)
    place = graph_area(area, scale)
    line = Rect(area.x - 1, area.y - 1, area.width + 2, 1)
    free = draw_notes(buf, line, _title(plotted, graphs, now, sample))
    draw_times(buf, area.y - 1, place, past, free)
    # The values are for the width of the area: the newest ones fit into the graph.
    draw_plot(
        buf,
        area,
        means,
        scale,
        style,
        past=past,
        line=highest if len(rows) > 1 else None,
    )


def _title(
    plotted: Metric, graphs: DeviceGraphs, now: Sequence[float | None], sample: Sample
) -> tuple[Note, ...]:
    """Return whose values are plotted, their mean, and the lowest and the highest one."""
    known = [value for value in now if value is not None]
    if not known and not is_measured(sample, (plotted.name,)):
        return (Note((f'{graphs.prefix} {plotted.graph} not measured', plotted.graph), TITLE, 0),)
    mean = fmt.format_measured(plotted.unit, _mean(now))
    forms = [f'{graphs.prefix} {plotted.graph} {mean}']
    if 0 < len(known) < len(now):
        some = f'{len(known)}/{len(now)}'
        forms = [
            f'AVG {plotted.graph} of {some} GPUs: {mean}',
            f'AVG {plotted.graph} {some} {mean}',
        ]
    notes = [Note((*forms, f'{plotted.graph} {mean}', mean), TITLE, 0)]
    if len(known) > 1:
        lowest, highest = (
            fmt.format_measured(plotted.unit, end) for end in (min(known), max(known))
        )
        forms = [f'lowest {lowest}, highest {highest}', f'min {lowest}, max {highest}']
        notes.append(Note(tuple(forms)))
    return tuple(notes)


def combine(rows: tuple[_Values, ...]) -> tuple[_Values, _Values]:
    """Return the mean and the highest known value for each column of dots."""
    columns = [[value for value in column if value is not None] for column in zip(*rows)]
    return tuple(map(_mean, columns)), tuple(max(column, default=None) for column in columns)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def highest_possible(metric: Metric, devices: Iterable[DeviceSample]) -> float:
    """Return the maximum of all plotted devices, such as a power limit; 0 if it is not known."""
    top = 100.0 if metric.unit in _UP_TO_100 else 0.0
    if not metric.maximum:
        return top
    field = METRICS_BY_NAME[metric.maximum].field
    tops = [getattr(part, field, None) for d in devices for part in (d, d.info)]
    return max((each for each in tops if each is not None), default=top)


def scale_of(metric: Metric, top: float, values: Sequence[float | None]) -> Scale:
    """Return the scale: up to the :func:`highest_possible` value, or to the highest one."""
    if not top:
        base = 1024 if metric.unit == 'KiB/s' else 1000
        top = graph_bound(values, 1.0, math.inf, base=base)
    return Scale(top, lambda value: fmt.format_measured(metric.unit, value))


def graph_style(metric: Metric, value: float | None, view: ViewState) -> Style:
    """Return the style of a graph whose newest value is this one."""
    if metric.name == 'memory_percent':
        return load_style(value, view.thresholds.memory, view, Role.MEMORY)
    if metric.unit != '%':
        return Style(Role.OTHER)
    return load_style(value, view.thresholds.gpu, view)
