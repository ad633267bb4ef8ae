# SPDX-License-Identifier: GPL-3.0-only
"""The panels of the main screen and of a report. A report needs nothing of the monitor's state."""

from __future__ import annotations

from nvitop.gui.model.main_rows import MainRows
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.view.panels.device import DeviceView, draw_devices
from nvitop.gui.view.panels.device_full import draw_full_devices
from nvitop.gui.view.panels.host import draw_host
from nvitop.gui.view.panels.process import ProcessView, draw_processes
from nvitop.sampling.types import Sample


def draw_panels(
    buf: Buffer,
    heights: MainRows,
    sample: Sample,
    view: DeviceView,
    listed: ProcessView,
    y: int = 1,
) -> None:
    """Draw devices, host and processes from row ``y`` on."""
    graph = None
    above: tuple[int, ...] = (0, buf.width - 1) if heights.devices else ()
    if heights.form == 'full':
        area = Rect(0, y, buf.width, heights.devices)
        above = draw_full_devices(buf, area, heights.folded.rows, view)
    elif heights.devices:
        graph = draw_devices(buf, Rect(0, y, buf.width, heights.devices), heights, view)
    y += heights.devices
    if heights.host:
        area = Rect(0, y, buf.width, heights.host)
        rows = heights.folded.rows
        has_bar_above = heights.lines == 1 and bool(rows) and rows[-1].device.status == 'ok'
        is_alone = not has_bar_above or bool(heights.folded.free)
        draw_host(buf, area, sample.host, view.ruler, graph, above, is_alone=is_alone)
        above = (0, buf.width - 1)
    y += heights.host
    if heights.processes:
        area = Rect(0, y, buf.width, heights.processes)
        draw_processes(buf, area, listed, sample, above)
