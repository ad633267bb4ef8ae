# SPDX-License-Identifier: GPL-3.0-only
"""The panels of the main screen and of a report. A report needs nothing of the monitor's state."""

from __future__ import annotations

from nvitop.gui.model.main_layout import MainLayout
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.view.panels.device import DeviceView, draw_devices
from nvitop.gui.view.panels.device_full import draw_full_devices
from nvitop.gui.view.panels.host import draw_host
from nvitop.gui.view.panels.process import ProcessView, draw_processes
from nvitop.sampling.types import Sample


def draw_panels(
    buf: Buffer,
    panels: MainLayout,
    sample: Sample,
    view: DeviceView,
    listed: ProcessView,
    y: int = 1,
) -> None:
    """Draw devices, host and processes from row ``y`` on."""
    graph = None
    above: tuple[int, ...] = (0, buf.width - 1) if panels.devices else ()
    if panels.form == 'full':
        area = Rect(0, y, buf.width, panels.devices)
        above = draw_full_devices(buf, area, panels.folded.rows, view)
    elif panels.devices:
        graph = draw_devices(buf, Rect(0, y, buf.width, panels.devices), panels, view)
    y += panels.devices
    if panels.host:
        area = Rect(0, y, buf.width, panels.host)
        rows, free = panels.folded
        lowest = free or rows[-1:]
        has_bar_above = panels.lines == 1 and len(lowest) == 1 and lowest[0].device.status == 'ok'
        draw_host(buf, area, sample.host, view.ruler, graph, above, is_alone=not has_bar_above)
        above = (0, buf.width - 1)
    y += panels.host
    if panels.processes:
        area = Rect(0, y, buf.width, panels.processes)
        draw_processes(buf, area, listed, sample, above)
