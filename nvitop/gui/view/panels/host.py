# SPDX-License-Identifier: GPL-3.0-only
"""The host: one line with bars, and below it the history of CPU and memory if there is room."""

from __future__ import annotations

from typing import Sequence

from nvitop.gui.model import format as fmt
from nvitop.gui.model.device_columns import bar_pieces
from nvitop.gui.model.table import inside
from nvitop.gui.render.buffer import Buffer, Cells, Rect
from nvitop.gui.render.theme import DIM, HEADING, PLAIN, TITLE, Pieces, Role, Style
from nvitop.gui.render.width import cell_width, clip, safe
from nvitop.gui.view.charts import Ruler, draw_history, draw_ruler
from nvitop.gui.view.text import draw_rule, draw_uprights
from nvitop.sampling.history import HOST
from nvitop.sampling.types import HostSample

_CPU, _MEMORY = Style(Role.UTILIZATION), Style(Role.MEMORY)
#: Cells of a bar in the line, and at most of the name of the host.
_BAR, _NAME = 10, 24
#: Cells of the label of a line below.
_LABEL = 6
_BLOCKS = '▁▂▃▄▅▆▇▇'


def draw_host(
    buf: Buffer,
    area: Rect,
    host: HostSample,
    ruler: Ruler | None,
    graph: Cells | None,
    above: tuple[int, ...],
    *,
    is_alone: bool = False,
) -> None:
    """Draw the line, which is the bottom border of the panel above, and histories in ``graph`` below.

    ``is_alone``: no bar is right above.
    """
    ends = (0, area.width - 1)
    draw_rule(buf, area.y, above, ends)
    title = clip(safe(host.hostname), _NAME) or 'Host'
    left = 2 + buf.write(2, area.y, f' {title} ', TITLE)
    room = area.width - left - 4
    parts = _parts(host, is_alone)
    if _cells(parts) > room:  # without bars
        parts = [[part[0], (part[-1][0].strip(), part[-1][1])] for part in parts]
    while len(parts) > 1 and _cells(parts) > room:
        parts.pop()
    x = area.width - 3 - _cells(parts)
    if parts and x > left:
        x += buf.write(x, area.y, ' ')
        for number, part in enumerate(parts):
            x += buf.write(x, area.y, ' · ' if number else '', DIM)
            for text, style in part:
                x += buf.write(x, area.y, text, style)
        buf.write(x, area.y, ' ')
    if area.height > 1:
        _draw_below(buf, area.inset(0, 1, 0, 0), host, ruler, graph)


def _cells(parts: Sequence[Pieces]) -> int:
    return sum(sum(cell_width(text) for text, _ in part) + 3 for part in parts) - 1


def _parts(host: HostSample, is_alone: bool) -> list[list[tuple[str, Style]]]:
    parts: list[list[tuple[str, Style]]] = []
    if host.cpu_percent is not None:
        count = '' if host.cpu_count is None else f' of {host.cpu_count}'
        value = f' {fmt.format_share(host.cpu_percent)}{count}'
        bar = bar_pieces(host.cpu_percent, _BAR, _CPU, is_alone=is_alone)
        parts.append([('CPU ', HEADING), *bar, (value, PLAIN)])
    memory = fmt.format_part(host.memory_used_bytes, host.memory_total_bytes)
    if memory:
        bar = bar_pieces(host.memory_percent, _BAR, _MEMORY, is_alone=is_alone)
        parts.append([('MEM ', HEADING), *bar, (f' {memory}', PLAIN)])
    if host.swap_percent is not None and host.swap_total_bytes:
        parts.append([('SWAP ', HEADING), (fmt.format_share(host.swap_percent), PLAIN)])
    if host.load_average is not None:
        loads = ' '.join(fmt.format_load(load) for load in host.load_average)
        parts.append([('load ', HEADING), (loads, PLAIN)])
    if host.uptime_seconds is not None:
        parts.append([('up ', HEADING), (fmt.format_age(host.uptime_seconds), PLAIN)])
    return parts


def _draw_below(
    buf: Buffer, area: Rect, host: HostSample, ruler: Ruler | None, graph: Cells | None
) -> None:
    ends = (0, area.width - 1)
    for y in range(area.y, area.bottom):
        draw_uprights(buf, y, ends)
    cells = inside(area.width)
    if host.hostname and host.cpu_percent is None and host.memory_used_bytes is None:
        words = 'CPU and memory of this host are not reported'
        buf.write(cells.x, area.y, clip(words, cells.width), DIM)
        return
    if graph is None:  # no GPU has a history, nor a ruler
        graph = Cells(cells.x + len('CPU '), cells.width - len('CPU '))
        if ruler is not None and area.height > 2:
            draw_ruler(buf, Rect(graph.x, area.y, graph.width, 1), ruler)
            area = area.inset(0, 1, 0, 0)
    half = area.height // 2
    lines = (
        ('CPU', 'cpu_percent', _CPU, area.y),
        ('MEM', 'memory_percent', _MEMORY, area.y + half),
    )
    label_x = max(cells.x, graph.x - len('CPU') - 1)
    for label, metric, style, y in lines:
        buf.write(label_x, y + half - 1, label, HEADING)
        if ruler is not None:
            values = ruler.values(HOST, metric, graph.width)
            draw_history(buf, Rect(graph.x, y, graph.width, half), values, style)
    room = label_x - 2 - cells.x - _LABEL
    if host.cpu_core_percents and room > 0:
        _draw_cores(buf, Cells(cells.x + _LABEL, room), area.y + half - 1, host.cpu_core_percents)


def _draw_cores(buf: Buffer, cells: Cells, y: int, percents: Sequence[float]) -> None:
    together = -(-len(percents) // cells.width)
    groups = [percents[i : i + together] for i in range(0, len(percents), together)]
    # A core that is fully used is a bottleneck, whatever its neighbors do.
    levels = [min(7, int(max(group) * 8 / 100.001)) for group in groups]
    if any(levels):
        buf.write(cells.x - _LABEL, y, 'CORES', HEADING)
        buf.write(cells.x, y, ''.join(_BLOCKS[level] for level in levels), _CPU)
