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
    panel: MainRows,
    sample: Sample,
    view: DeviceView,
    listed: ProcessView,
    y: int = 1,
) -> None:
    """Draw devices, host and processes from row ``y`` on."""
    graph = None
    above: tuple[int, ...] = (0, buf.width - 1) if panel.devices else ()
    if panel.is_full:
        area = Rect(0, y, buf.width, panel.devices)
        above = draw_full_devices(buf, area, panel.folded.rows, view)
    elif panel.devices:
        graph = draw_devices(buf, Rect(0, y, buf.width, panel.devices), panel, view)
    y += panel.devices
    if panel.host:
        area = Rect(0, y, buf.width, panel.host)
        rows = panel.folded.rows
        has_bar_above = panel.lines == 1 and bool(rows) and rows[-1].device.status == 'ok'
        is_alone = not has_bar_above or bool(panel.folded.free)
        draw_host(buf, area, sample.host, view.ruler, graph, above, is_alone=is_alone)
        above = (0, buf.width - 1)
    y += panel.host
    if panel.processes:
        area = Rect(0, y, buf.width, panel.processes)
        draw_processes(buf, area, listed, sample, above)
