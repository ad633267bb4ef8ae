# SPDX-License-Identifier: GPL-3.0-only
"""The host panel: bars of CPU and memory, or graphs of them and of the devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.gui.layout.host import HostBoxes, HostLayout
from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Role, Style
from nvitop.gui.view import format as fmt
from nvitop.gui.view.load_style import CPU, MEMORY, SWAP
from nvitop.gui.view.widgets.bar import draw_bar
from nvitop.gui.view.widgets.text import draw_text
from nvitop.sampling.types import HostSample, Sample

if TYPE_CHECKING:
    from nvitop.gui.view.panels.host_graphs import DeviceGraphs
    from nvitop.sampling.history import History

_UNKNOWN = Style(Role.UNKNOWN)
#: Minimum width of a bar, in cells, with a text right of it.
_LEAST_BAR = 18


def draw_host_panel(
    buf: Buffer,
    layout: HostLayout,
    sample: Sample,
    view: ViewState,
    *,
    history: History | None = None,
    graphs: DeviceGraphs | None = None,
) -> None:
    """Draw the panel; its full form plots ``history``."""
    if layout.boxes is not None:
        _draw_boxes(buf, layout.boxes, sample.host)
    if layout.graphs is not None:
        # Imported on use because a report has no graphs.
        from nvitop.gui.view.panels.host_graphs import NO_GRAPHS, draw_host_graphs

        draw_host_graphs(
            buf, layout, layout.graphs, sample, view, history=history, graphs=graphs or NO_GRAPHS
        )


def host_uprights(layout: HostLayout) -> tuple[int, ...]:
    """Return the columns of the vertical lines of the full form; ``()`` for other forms."""
    if layout.graphs is None:
        return ()
    if layout.graphs.upper is None:
        return (0, layout.area.width - 1)
    return (0, layout.graphs.cpu.right, layout.area.width - 1)


def _draw_boxes(buf: Buffer, boxes: HostBoxes, host: HostSample) -> None:
    used = f'USED: {fmt.format_gib(host.memory_used_bytes)}'
    uptime = f'UPTIME: {fmt.format_uptime(host.uptime_seconds)}'
    _draw_box(buf, boxes.cpu, 'CPU', host.cpu_percent, CPU, uptime)
    _draw_load(buf, boxes.load, host)
    _draw_box(buf, boxes.memory, 'MEM', host.memory_percent, MEMORY, used)
    _draw_box(buf, boxes.swap, 'SWP', host.swap_percent, SWAP)


def _draw_box(
    buf: Buffer, area: Rect, label: str, percent: float | None, style: Style, text: str = ''
) -> None:
    buf.write(area.x, area.y, '[ ')
    inner = area.inset(2, 0)
    # The text keeps its place at every percentage, so that it does not move or flicker.
    room = len(text) + 2 if text else 0
    if inner.width - room < _LEAST_BAR:
        room = 0
    bar_style = _UNKNOWN if percent is None else style
    draw_bar(buf, inner.split_right(room)[0], label, percent, bar_style, extra='')
    if room:
        draw_text(buf, inner.right - len(text), area.y, text, style)
    buf.write(area.right - 2, area.y, ' ]')


def _draw_load(buf: Buffer, area: Rect, host: HostSample) -> None:
    loads = [fmt.format_load(load) for load in host.load_average or (None, None, None)]
    text = f'( Load Average: {" ".join(loads)} )'
    if len(text) > area.width:
        text = f'( LOAD: {loads[0]} )'
    draw_text(buf, area.x, area.y, text)
