# SPDX-License-Identifier: GPL-3.0-only
"""The full form of the host panel: graphs of the host and of the devices."""

from __future__ import annotations

import math
from typing import Iterable, Sequence

from nvitop.gui.layout.host import HostGraphs, HostLayout
from nvitop.gui.model.choices import GraphState, ViewState
from nvitop.gui.model.graphs import GRAPHS_BY_METRIC, Graph
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import clip
from nvitop.gui.state.demand import is_measured
from nvitop.gui.state.summary import whole_devices
from nvitop.gui.view import format as fmt
from nvitop.gui.view.load_style import CPU, MEMORY, SWAP, load_role
from nvitop.gui.view.widgets.box import draw_rule, draw_uprights
from nvitop.gui.view.widgets.graph import draw_graph, graph_bound
from nvitop.gui.view.widgets.graph_window import GraphWindow
from nvitop.gui.view.widgets.text import draw_text
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.history import DEVICE_FIELDS, HOST, History
from nvitop.sampling.types import DeviceKey, DeviceSample, HostSample, Sample


class DeviceGraphs(NamedTuple):
    """Contents of the graphs of the devices: the mean of these devices."""

    keys: tuple[DeviceKey, ...]
    #: Beginning of the titles: ``'AVG GPU'``, ``'GPU 3'``.
    prefix: str = ''
    state: GraphState = GraphState()
    #: The GPU of a selected MIG device, for metrics that MIG devices do not have.
    gpu: DeviceKey | None = None


NO_GRAPHS = DeviceGraphs(())


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
    return DeviceGraphs(whole, 'AVG GPU' if len(whole) > 1 else 'GPU', state)


def _of_metric(graphs: DeviceGraphs, metric: str, sample: Sample) -> DeviceGraphs:
    """Select the whole GPU for a metric that MIG devices do not have: power, temperature."""
    known = {d.key for d in sample.devices if getattr(d, DEVICE_FIELDS[metric]) is not None}
    gpu = graphs.gpu
    if gpu is None or gpu not in known or not known.isdisjoint(graphs.keys):
        return graphs
    return graphs._replace(keys=(gpu,), prefix=f'GPU {gpu.label}')


def draw_host_graphs(
    buf: Buffer,
    layout: HostLayout,
    places: HostGraphs,
    sample: Sample,
    view: ViewState,
    *,
    history: History | None,
    graphs: DeviceGraphs,
) -> None:
    """Draw the full form; without a history, only the current values."""
    past = GraphWindow(history or History(), graphs.state.minutes)
    _draw_frame(buf, layout.area, places, past)
    if history is not None:
        _draw_host_graphs(buf, places, past, view)
        _draw_device_graphs(buf, places, past, sample, graphs, view)
    _draw_host_values(buf, places, sample.host)


def _draw_frame(buf: Buffer, area: Rect, graphs: HostGraphs, past: GraphWindow) -> None:
    upper = graphs.upper
    uprights = (0, graphs.cpu.right) if upper is None else (0, graphs.cpu.right, upper.right)
    for y in range(area.y, area.bottom - 1):
        if y == graphs.time_y:
            draw_rule(buf, y, uprights, uprights)
            for graph in (graphs.cpu, upper):
                if graph is not None:
                    buf.write(graph.x, y, past.axis(graph.width), Style(Role.BORDER))
        else:
            draw_uprights(buf, y, uprights)
    draw_rule(buf, area.bottom - 1, uprights, (), double=True)


def _draw_host_graphs(buf: Buffer, graphs: HostGraphs, past: GraphWindow, view: ViewState) -> None:
    for area, metric, style, downwards in (
        (graphs.cpu, 'cpu_percent', CPU, False),
        (graphs.memory, 'memory_percent', MEMORY, True),
        (graphs.swap, 'swap_percent', SWAP, False),
    ):
        values = past.values(HOST, metric, area.width)
        draw_graph(buf, area, values, style, downwards=downwards, colorful=view.colorful)


def _draw_host_values(buf: Buffer, graphs: HostGraphs, host: HostSample) -> None:
    x, y = graphs.cpu.x, graphs.cpu.y
    loads = [fmt.format_load(load) for load in host.load_average or (None, None, None)]
    draw_text(buf, x, y, f' Load Average: {" ".join(loads)} ')
    draw_text(buf, x, y + 1, f' CPU: {fmt.format_percent(host.cpu_percent)} ', CPU)
    for area, label, used, percent, style in (
        (graphs.memory, 'MEM', host.memory_used_bytes, host.memory_percent, MEMORY),
        (graphs.swap, 'SWP', host.swap_used_bytes, host.swap_percent, SWAP),
    ):
        text = f' {label}: {fmt.format_gib(used)} ({fmt.format_percent(percent)}) '
        draw_text(buf, x, area.bottom - 1, text, style)


def _draw_device_graphs(
    buf: Buffer,
    areas: HostGraphs,
    past: GraphWindow,
    sample: Sample,
    plotted: DeviceGraphs,
    view: ViewState,
) -> None:
    if areas.upper is None or areas.lower is None:
        return
    for area, metric, downwards in (
        (areas.upper, plotted.state.upper, False),
        (areas.lower, plotted.state.lower, True),
    ):
        graphs = _of_metric(plotted, metric, sample)
        graph = GRAPHS_BY_METRIC[metric]
        means = _means(past, graphs, metric, area.width)
        values = [
            getattr(device, DEVICE_FIELDS[metric])
            for device in sample.devices
            if device.key in graphs.keys
        ]
        now = _mean(values)
        top = _top(graph, graphs, sample)
        bound = top or graph_bound(means, 1e-9, math.inf)
        style = Style(_graph_role(graph, now, view))
        draw_graph(
            buf, area, means, style, bound=bound, downwards=downwards, colorful=view.colorful
        )
        y = area.bottom - 1 if downwards else area.y
        text = f'{graph.title}: {_format_value(graph, now)}'
        if now is None and not is_measured(sample, (metric,)):
            text = f'{graph.title}: not measured'
        # A graph that is scaled to its highest value means nothing without that value.
        highest = max((mean for mean in (now, *means) if mean is not None), default=None)
        more = f'  max: {_format_value(graph, highest)}' if not top and highest is not None else ''
        text = _label(_subjects(graphs, values), text, area.width, more=more)
        draw_text(buf, area.x, y, text, style)


def _subjects(graphs: DeviceGraphs, values: Sequence[float | None]) -> tuple[str, ...]:
    """Return which devices a value is the mean of, the longest form first.

    If some devices have no value, their number is part of the text.
    """
    known = sum(value is not None for value in values)
    if len(values) > 1 and 0 < known < len(values):
        some = f'{known}/{len(values)}'
        return (f'AVG of {some} GPUs', f'AVG {some}', some)
    return (graphs.prefix,)


def _label(subjects: Sequence[str], text: str, width: int, *, more: str = '') -> str:
    """Return a title with its value and as much else as fits; the value is never cut."""
    texts = [f' {subjects[0]} {text}{more} ', *(f' {subject} {text} ' for subject in subjects)]
    texts += [f' {text} ', text]
    return next((each for each in texts if len(each) <= width), clip(text, width))


def _means(past: GraphWindow, graphs: DeviceGraphs, metric: str, width: int) -> list[float | None]:
    """Return the mean of the known values of all devices for each column of dots."""
    rows = [past.values(key, metric, width) for key in graphs.keys]
    if len(rows) <= 1:
        return rows[0] if rows else []
    means: list[float | None] = []
    for column in zip(*rows):
        try:
            means.append(sum(column) / len(column))
        except TypeError:  # a None, which is too rare to look for it in each column
            means.append(_mean(column))
    return means


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _top(graph: Graph, graphs: DeviceGraphs, sample: Sample) -> float:
    """Return the value at the top for all plotted devices; 0 to fit the highest value."""
    if not graph.top_field:
        return graph.top
    plotted = [device for device in sample.devices if device.key in graphs.keys]
    tops = [getattr(part, graph.top_field, None) for d in plotted for part in (d, d.info)]
    return max((top for top in tops if top is not None), default=graph.top)


def _graph_role(graph: Graph, value: float | None, view: ViewState) -> Role:
    if graph.unit != '%':
        return Role.TEXT
    is_memory = graph.metric.startswith('memory')
    return load_role(value, view.thresholds.memory if is_memory else view.thresholds.gpu)


def _format_value(graph: Graph, value: float | None) -> str:
    if value is None:
        return fmt.NOT_AVAILABLE
    if graph.unit == '%':
        return fmt.format_percent(value)
    return f'{value / graph.divisor:.0f}{graph.unit}'
