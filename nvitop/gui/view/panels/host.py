# SPDX-License-Identifier: GPL-3.0-only
"""The host panel: bars of CPU, memory and swap, or graphs of the host and of the devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.gui.layout.host import HostLayout
from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.view.panels.host_bars import draw_host_bar, host_notes
from nvitop.gui.view.widgets.box import TITLE, Note, draw_border, draw_uprights
from nvitop.sampling.types import Sample

if TYPE_CHECKING:
    from nvitop.gui.view.panels.host_graphs import DeviceGraphs
    from nvitop.sampling.history import History


def draw_host_panel(
    buf: Buffer,
    layout: HostLayout,
    sample: Sample,
    view: ViewState,
    above: tuple[int, ...],
    *,
    history: History | None = None,
    graphs: DeviceGraphs | None = None,
) -> None:
    """Draw the panel without its bottom border; the form with graphs plots ``history``.

    ``above`` are the columns of the vertical lines of the panel above.
    """
    if layout.graphs is not None:
        # Imported on use because a report has no graphs.
        from nvitop.gui.view.panels.host_graphs import NO_GRAPHS, draw_host_graphs

        draw_host_graphs(
            buf,
            layout,
            layout.graphs,
            sample,
            view,
            above,
            history=history,
            graphs=graphs or NO_GRAPHS,
        )
    elif layout.bars:
        ends = layout.uprights
        draw_border(
            buf, layout.area.y, above, ends, (Note(('Host',), TITLE, 0),), host_notes(sample.host)
        )
        areas = dict(zip(('CPU', 'MEM', 'SWP'), layout.bars))
        for label, area in areas.items():
            draw_host_bar(buf, area, label, sample.host, view)
        draw_uprights(buf, layout.area.y + 1, ends)
