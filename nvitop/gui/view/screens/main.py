# SPDX-License-Identifier: GPL-3.0-only
"""The main screen: the first line, and the device, host and process panels below it."""

from __future__ import annotations

from nvitop.gui.render.buffer import Buffer, Item
from nvitop.gui.render.theme import DIM, Role, Style
from nvitop.gui.state.app_state import AppState, ListLayout
from nvitop.gui.state.lists import layout_of, sorted_by
from nvitop.gui.state.navigation import hidden_by_filter, shown_scroll_x
from nvitop.gui.state.process_rows import job_count
from nvitop.gui.view.charts import ruler_of
from nvitop.gui.view.first_line import crumbs, draw_first_line
from nvitop.gui.view.hints import title_badges
from nvitop.gui.view.panels.device import DeviceView
from nvitop.gui.view.panels.main import draw_panels
from nvitop.gui.view.panels.process import ProcessView, limits_of, title_of
from nvitop.sampling.history import History

#: Note on processes of another PID namespace.
_FOREIGN = ('another PID namespace: run with --pid=host', 'run with --pid=host')
#: Roles of bars and graphs.
_VALUES = (Role.UTILIZATION, Role.MEMORY, Role.OTHER, Role.SENT, Role.HELD)


def draw_main_screen(buf: Buffer, state: AppState, layout: ListLayout, history: History) -> None:
    sample, main = state.shown_sample, state.main
    panels = layout_of(state)
    page = (
        f'GPU {panels.folded.rows[0].device.key.label}'
        if main.shows_page and panels.folded.rows
        else ''
    )
    badges = (*crumbs(state, page), *title_badges(state))
    draw_first_line(buf, state, badges)
    # A selected process that the filter hides must not mark a GPU: keys ignore it.
    selected = None if hidden_by_filter(state) else state.selected
    view = DeviceView(
        sample,
        ruler=ruler_of(state, history),
        graphs=main.graphs,
        # The page of a device has no other one to tell it from.
        selected=None if main.shows_page else main.selected_device,
        marked=None if selected is None else selected.device,
        widths=state.device_widths,
        wake_key=state.with_key('r', '{}'),
        facts_y=main.facts_y,
    )
    has_foreign = any(row.status == 'foreign' for row in state.lists.rows)
    count, jobs = len(state.lists.rows), 0 if state.view.flat else job_count(state.lists.blocks)
    listed = ProcessView(
        layout.shown_lines,
        columns=state.columns,
        widths=state.widths,
        total=len(sample.processes) if sample.sequence else None,
        processes=count,
        title=title_of(f'Processes {count}' if count else 'Processes', count, jobs),
        limits=limits_of(state),
        by=sorted_by(state),
        selected=state.job or selected,
        tagged=main.tagged,
        first=layout.scroll_y,
        total_lines=layout.length,
        scroll_x=shown_scroll_x(state),
        notes=(Item(_FOREIGN, Style(Role.WARNING), 2),) if has_foreign else (),
        searched=state.searched_words,
    )
    draw_panels(buf, panels, sample, view, listed)
    if sample.is_late:  # the first line has their age
        _dim_values(buf)


def _dim_values(buf: Buffer) -> None:
    """Dim values below the first line, but not what is wrong with a GPU."""
    for y in range(1, buf.height):
        for x, text, style in buf.row(y):
            if style.role is Role.TEXT:
                buf.write(x, y, text, DIM)
            elif style.role in _VALUES:
                buf.write(x, y, text, style._replace(dim=True))
