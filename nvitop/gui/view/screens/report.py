# SPDX-License-Identifier: GPL-3.0-only
"""The report of ``nvitop -1``: the main screen, as high as its page, drawn once."""

from __future__ import annotations

from nvitop.gui.layout.device import CLASSIC
from nvitop.gui.layout.main import lay_out_page, report_width
from nvitop.gui.layout.process import place_columns
from nvitop.gui.model.choices import MainState, ProcessFilter, ViewState
from nvitop.gui.model.columns import column_widths
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.state.ordering import list_processes
from nvitop.gui.view.badges import option_badges
from nvitop.gui.view.column_text import longest_command
from nvitop.gui.view.panels.device import Header
from nvitop.gui.view.screens.main import MainView, draw_main
from nvitop.sampling.types import Sample

#: Higher than any page.
_ENDLESS = 1 << 30
_VIEW, _ALL, _HEADER = ViewState(), ProcessFilter(), Header()


def draw_report(
    sample: Sample,
    width: int,
    view: ViewState = _VIEW,
    *,
    wanted: ProcessFilter = _ALL,
    header: Header = _HEADER,
) -> Buffer:
    """Draw a report for a terminal of this width: devices in full, the host in two lines,
    processes in their natural order."""
    state = MainState(filter=wanted)
    header = header._replace(badges=option_badges(wanted))
    # Graphs have no past to show yet, and height is not scarce.
    view = view._replace(mode='full', ascii=True)
    width = report_width(width, _longest_row(sample, view), has_devices=bool(sample.devices))
    processes = list_processes(sample.processes, wanted, state.sort)
    layout = lay_out_page(sample, processes, state, view, width, _ENDLESS)
    buf = Buffer(width, layout.page_height)
    draw_main(buf, MainView(processes, layout), sample, state, view, header, is_report=True)
    return buf


def _longest_row(sample: Sample, view: ViewState) -> int:
    """The width of the panel at which the command of no process is cut."""
    places = place_columns(view.columns, CLASSIC, column_widths(sample.processes))
    if not places or places[-1].column.name != 'command':
        return CLASSIC
    return places[-1].x + longest_command(sample.processes) + 2
