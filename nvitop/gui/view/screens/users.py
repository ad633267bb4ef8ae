# SPDX-License-Identifier: GPL-3.0-only
"""The users screen: processes and memory of each user, or of each owner, on the GPUs."""

from __future__ import annotations

from typing import Sequence

from nvitop.gui.layout.process import PlacedColumn, place
from nvitop.gui.model.choices import ViewState
from nvitop.gui.model.columns import USER_COLUMNS
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Cells, Rect
from nvitop.gui.render.style import PLAIN, Role, Style
from nvitop.gui.render.width import cell_width
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.navigation import current_line, lines_layout
from nvitop.gui.state.usage import (
    UserSummary,
    devices_text,
    summarize,
    summarize_users,
    total_memory,
)
from nvitop.gui.view import format as fmt
from nvitop.gui.view.hints import draw_screen_title
from nvitop.gui.view.load_style import load_style
from nvitop.gui.view.process_list import (
    Limits,
    no_match_message,
    no_processes_message,
    unknown_note,
)
from nvitop.gui.view.widgets.bar import bar_text, draw_meter
from nvitop.gui.view.widgets.text import (
    draw_bar_row,
    draw_message,
    draw_text,
    heading_text,
    row_text,
)

_DIM = Style(Role.DIM)
_OWN = Style(Role.USER, bold=True)
_TOTAL = Style(Role.TEXT, bold=True)
_USER_WIDTH = 32
#: Maximum width of the bar of memory, and width of all columns but this and the names.
_WIDEST_BAR, _WIDTH_WITHOUT_BAR = 24, 86
#: Cells that the devices keep before another column is left out.
_REST = 7


def draw_users(buf: Buffer, state: AppState) -> None:
    """Draw the screen."""
    by_owner = state.sums_by_owner
    users = summarize_users(state.rows, by_owner=by_owner)
    layout = lines_layout(state)
    names = [cell_width(fmt.format_user(user.name, _USER_WIDTH)) for user in users]
    width = min(max(names, default=0), max(10, buf.width - 50))
    bar = max(0, min(_WIDEST_BAR, buf.width - _WIDTH_WITHOUT_BAR - max(10, width)))
    columns = [
        each._replace(title='OWNER') if by_owner and each.name == 'user' else each
        for each in USER_COLUMNS
    ]
    places = place(columns, Cells(0, buf.width), {'user': width, 'share': bar}, rest=_REST)
    _draw_title(buf, state, len(users))
    draw_bar_row(buf, 1, heading_text(places))
    total = total_memory(state.shown.devices)
    cursor = current_line(state)
    for line in layout.shown:
        user = users[line]
        y = layout.row_of(line)
        text = row_text(places, [_text(each, user, total) for each in places])
        if line == cursor:
            draw_bar_row(buf, y, text, Style(Role.SELECTED))
        else:
            is_own = not by_owner and user.name == state.shown.host.username
            draw_text(buf, 0, y, text, _OWN if is_own else PLAIN if user.name else _DIM)
        _draw_share(buf, y, places, user, total, state.view)
    if len(users) > 1:
        y = layout.area.y + min(len(users), layout.area.height)
        summary = summarize('Total', state.rows)
        text = row_text(places, [_text(each, summary, total) for each in places])
        draw_text(buf, 0, y, text, _TOTAL)
        _draw_share(buf, y, places, summary, total, state.view)
    if not users:
        is_known = state.shown.sequence
        text = no_processes_message(state.shown) if is_known else 'Looking for processes ...'
        if state.shown.processes:
            limits = Limits(state.main.filter, state.query, state.main.selected_device)
            text = no_match_message(len(state.shown.processes), limits)
        draw_message(buf, layout.area, text, _DIM)


def _draw_title(buf: Buffer, state: AppState, users: int) -> None:
    """Draw the number of users or owners, and which processes the sums lack."""
    word = 'owner' if state.sums_by_owner else 'user'
    count = f' ({users})' if users else ''
    silent = sum(process.gpu_memory_bytes is None for process in state.rows)
    memory = f'memory of {silent} {"process" if silent == 1 else "processes"} unknown'
    notes = (unknown_note(state.shown), (memory,) if silent else ())
    short = f'{word.capitalize()}s'
    titles = (f'GPU usage by {word}{count}', f'{short}{count}', short)
    draw_screen_title(buf, state, titles, notes)


def _text(place: PlacedColumn, user: UserSummary, total: int | None) -> str:
    name = place.column.name
    memory = user.gpu_memory_bytes
    if name == 'user':
        return fmt.format_user(user.name, place.width)
    if name == 'processes':
        return fmt.format_count(user.processes)
    if name == 'share':
        return bar_text(_share(user, total), place.width)
    if name == 'gpu_memory':
        return fmt.format_gib(memory)
    if name == 'idle_memory':
        return fmt.format_gib(user.idle_memory_bytes) if user.idle_memory_bytes != 0 else ''
    if name == 'gpu_memory_percent':
        return fmt.format_cpu_percent(_share(user, total))
    if name == 'sm':
        return fmt.format_cpu_percent(user.mean_sm_percent)
    if name == 'cpu':
        return fmt.format_cpu_percent(user.cpu_percent)
    if name == 'oldest':
        return fmt.format_running_time(user.running_seconds)
    return devices_text(user.devices)


def _share(user: UserSummary, total: int | None) -> float | None:
    """Return the part of the memory of all devices in percent."""
    memory = user.gpu_memory_bytes
    return 100.0 * memory / total if memory is not None and total else None


def _draw_share(
    buf: Buffer,
    y: int,
    places: Sequence[PlacedColumn],
    user: UserSummary,
    total: int | None,
    view: ViewState,
) -> None:
    """Draw the bar in color over that in the text."""
    share = _share(user, total)
    style = load_style(share, view.thresholds.memory, view)
    for each in places:
        if each.column.name == 'share':
            area = Rect(each.x, y, each.width, 1)
            draw_meter(buf, area, share, style, colorful=view.colorful)
