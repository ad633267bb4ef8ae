# SPDX-License-Identifier: GPL-3.0-only
"""The main screen: the answer in its first line, and the device, host and process panels below it."""

from __future__ import annotations

from typing import Sequence

from nvitop.gui.model.format import format_timestamp
from nvitop.gui.model.main_rows import LOWEST
from nvitop.gui.model.table import Item, fit
from nvitop.gui.render.buffer import CLASSIC, NARROWEST, Buffer, Rect
from nvitop.gui.render.theme import DIM, PLAIN, TITLE, Role, Style
from nvitop.gui.render.width import cell_width, clip, pad, safe
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.lists import panel_rows, process_lines
from nvitop.gui.state.navigation import hidden_by_filter, lines_layout, shown_scroll_x
from nvitop.gui.view.charts import Ruler
from nvitop.gui.view.hints import title_badges
from nvitop.gui.view.panels.device import DeviceView
from nvitop.gui.view.panels.main import draw_panels
from nvitop.gui.view.panels.process import Limits, ProcessView
from nvitop.sampling.history import History

#: Cells between two parts of the first line, also of a narrow one.
_GAP, _NARROW_GAP = 3, 2
#: Maximum width of the name of the user and of that of the host.
_NAME_WIDTH = 24
#: Note on processes of another PID namespace.
_FOREIGN = ('another PID namespace: run with --pid=host', 'run with --pid=host')


def draw_main_screen(buf: Buffer, state: AppState, history: History) -> None:
    sample, main = state.shown, state.main
    panel = panel_rows(state)
    page = (
        f'GPU {panel.shown.rows[0].device.key.label}'
        if main.shows_page and panel.shown.rows
        else ''
    )
    badges = (*crumbs(state, page), *title_badges(state))
    draw_first_line(buf, state, badges)
    # A selected process that the filter hides must not mark a GPU: keys ignore it.
    selected = None if hidden_by_filter(state) else state.selected
    shown = DeviceView(
        sample,
        ruler=ruler_of(state, history),
        graphs=main.graphs,
        # The page of a device has no other one to tell it from.
        selected=None if main.shows_page else main.selected_device,
        marked=None if selected is None else selected.device,
        widths=state.device_widths,
    )
    has_foreign = any(row.status == 'foreign' for row in state.rows)
    listed = ProcessView(
        process_lines(state),
        columns=state.view.columns,
        widths=state.widths,
        total=len(sample.processes) if sample.sequence else None,
        jobs=0 if state.view.flat else len(state.blocks),
        processes=len(state.rows),
        limits=limits_of(state),
        sort=state.sort,
        selected=state.job or selected,
        tagged=main.tagged,
        scroll_y=lines_layout(state).scroll_y,
        scroll_x=shown_scroll_x(state),
        notes=(Item(_FOREIGN, Style(Role.WARNING), 2),) if has_foreign else (),
        searched=state.searched_words,
    )
    draw_panels(buf, panel, sample, shown, listed)


def limits_of(state: AppState) -> Limits:
    return Limits(state.main.filter, state.query, state.main.selected_device)


def ruler_of(state: AppState, history: History) -> Ruler:
    """Return the ruler of the histories on a screen, with a cursor if it shows the past."""
    sample = state.shown
    is_past = bool(sample.sequence) and (state.frozen is not None or not state.origin.is_live)
    past = (sample.monotonic, sample.timestamp) if is_past else None
    return Ruler(history, state.main.graphs.minutes, past)


def crumbs(state: AppState, name: str) -> tuple[Item, ...]:
    """Return the way to a page or screen of this name: ``fleet › dgx01 › users``.

    It is empty for the main screen of this machine.
    """
    if state.fleet is not None:
        is_home = state.screen is state.program.home
        return (Item(('fleet' if is_home else f'fleet › {name}',), TITLE),)
    where = safe(state.shown.host.hostname) or 'nvitop'
    if state.origin.is_chosen:
        where = f'fleet › {safe(state.origin.host)}'
        return (Item((f'{where} › {name}' if name else where, where), TITLE),)
    return (Item((f'{where} › {name}', name), TITLE),) if name else ()


def draw_too_small(buf: Buffer) -> None:
    """Draw the minimum size, on a screen that is too small for anything else."""
    text = f'too small: {NARROWEST} x {LOWEST} needed'
    text = clip(text if len(text) <= buf.width else 'too small', buf.width)
    buf.write(0, (buf.height - 1) // 2, pad(text, buf.width, '^'))


def draw_first_line(buf: Buffer, state: AppState, badges: Sequence[Item]) -> None:
    """Draw which GPUs are free, who has the others and what is wrong; user, host and time at the right.

    What does not fit becomes shorter, and then is left out: badges and free GPUs last.
    """
    day, host = format_timestamp(state.timestamp), state.shown.host
    hostname = '' if state.origin.is_chosen else host.hostname  # the way to the screen has it
    user, name = (clip(safe(n), _NAME_WIDTH) for n in (host.username, hostname))
    name = '@'.join(filter(None, (user, name))) + (' (WSL)' if host.wsl else '')
    left = [*(badge._replace(rank=-1) for badge in badges), *state.program.answers(state)]
    time_of_day = day.split()[3]
    clock = Item((time_of_day, time_of_day[:5]), PLAIN, 2, is_whole=True)
    room, gap = buf.width - 2, _GAP if buf.width >= CLASSIC else _NARROW_GAP
    *texts, time = fit([*left, clock], room, gap)
    x = 1
    for item, text in zip(left, texts):
        if text:
            width = buf.write(x, 0, text, item.style)
            if item.key:
                buf.hit(Rect(x, 0, width, 1), 'keys', item.key)
            x += width + gap
    end = 1 + room - cell_width(time)
    buf.write(end, 0, time, clock.style)
    if name and x + cell_width(name) + gap <= end:
        buf.write(
            end - gap - cell_width(name),
            0,
            name,
            Style(Role.ROOT, bold=True) if host.is_superuser else DIM,
        )
