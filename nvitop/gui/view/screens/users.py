# SPDX-License-Identifier: GPL-3.0-only
"""The users screen: processes and memory of each user, or of each owner, on the GPUs."""

from __future__ import annotations

from typing import Sequence

from nvitop.gui.model import format as fmt
from nvitop.gui.model.choices import ViewState, load_style
from nvitop.gui.model.format import devices_text
from nvitop.gui.model.table import Column, Placed, place
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Cells, Rect
from nvitop.gui.render.style import DIM, OWN, PLAIN, Role
from nvitop.gui.render.width import cell_width
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.lists import listed_users
from nvitop.gui.state.navigation import current_line, lines_layout
from nvitop.gui.state.process_rows import UserSummary, summarize, total_memory
from nvitop.gui.view.charts import draw_meter
from nvitop.gui.view.hints import draw_screen_title
from nvitop.gui.view.panels.process import (
    Limits,
    no_match_message,
    no_processes_message,
    unknown_note,
)
from nvitop.gui.view.text import (
    draw_bar_row,
    draw_list_line,
    draw_message,
    draw_text,
    heading_text,
    row_text,
)

_USER_WIDTH = 32
#: Maximum width of the bar of memory, and width of all columns but this and the names.
_WIDEST_BAR, _WIDTH_WITHOUT_BAR = 24, 86
_WIDTH_OF_HOURS = 18


def _share(user: UserSummary, total: int | None) -> float | None:
    """Return the part of the memory of all devices in percent."""
    memory = user.gpu_memory_bytes
    return 100.0 * memory / total if memory is not None and total else None


def _hours(user: UserSummary, at: int) -> str:
    return '' if user.gpu_times is None else f'{user.gpu_times[at] / 3600:.2f}'


# fmt: off
#: Columns. Text: of a :class:`UserSummary`, for the width and the memory of all devices.
USER_COLUMNS: tuple[Column, ...] = (
    Column('user', 'USER', (10,), 'user who runs the processes', lambda row, width, _: fmt.format_user(row.name, width),
           align='<', gap=0, source='psutil `username`'),
    Column('processes', 'PROCESSES', (9,), 'GPU processes, each counted once', lambda row, *_: fmt.format_count(row.processes),
           rank=1, unit='count', source='PIDs of the process rows'),
    Column('share', 'SHARE', (6,), 'bar of %GPUMEM', lambda *_: '',
           align='<', gap=2, rank=4, unit='%', source='`%GPUMEM`'),
    Column('gpu_memory_percent', '%GPUMEM', (7,), 'GPU-MEM in percent of the memory of all devices', lambda row, _, total: fmt.format_cpu_percent(_share(row, total)),
           rank=2, unit='%', source='`GPU-MEM` / sum of `memory_total`'),
    Column('gpu_memory', 'GPU-MEM', (9,), 'GPU memory of all processes', lambda row, *_: fmt.format_gib(row.gpu_memory_bytes),
           unit='B', source='sum of `GPU-MEM`'),
    Column('idle_memory', 'IDLE-MEM', (8,), 'GPU memory of processes that have not used their GPU for a minute', lambda row, *_: fmt.format_gib(row.idle_memory_bytes) if row.idle_memory_bytes != 0 else '',
           rank=3, unit='B', source='sum of `GPU-MEM` where `IDLE` is at least a minute'),
    Column('sm', 'AVG %SM', (7,), 'time that their kernels ran, in percent; mean of these devices', lambda row, *_: fmt.format_cpu_percent(row.mean_sm_percent),
           unit='%', source='sum of `%SM` on each device'),
    Column('cpu', '%CPU', (6,), 'CPU time of all processes, in percent of one core', lambda row, *_: fmt.format_cpu_percent(row.cpu_percent),
           rank=5, unit='% of a core', source='sum of `%CPU`'),
    Column('oldest', 'OLDEST', (9,), 'running time of the process that was started first', lambda row, *_: fmt.format_running_time(row.running_seconds),
           rank=6, source='highest `TIME`'),
    Column('hours', 'GPU-H', (8,), 'GPU-hours used in the scroll-back, or on the day of a recording', lambda row, *_: _hours(row, 0),
           rank=7, unit='h', source='`nvitop usage`'),
    Column('idle_hours', 'IDLE-H', (8,), 'GPU-hours held without use in that time', lambda row, *_: _hours(row, 1),
           rank=8, unit='h', source='`nvitop usage`'),
    Column('devices', 'GPU', (7, 0), 'GPUs they run on', lambda row, *_: devices_text(row.devices) if row.devices else '',
           align='<', gap=2, source='NVML index, PCI bus order'),
)
# fmt: on


def draw_users(buf: Buffer, state: AppState) -> None:
    """Draw the screen."""
    by_owner = state.sums_by_owner
    users = listed_users(state)
    layout = lines_layout(state)
    names = [cell_width(fmt.format_user(user.name, _USER_WIDTH)) for user in users]
    width = min(max(names, default=1), max(10, buf.width - 50))
    has_hours = any(user.gpu_times is not None for user in users)
    others = _WIDTH_WITHOUT_BAR + (_WIDTH_OF_HOURS if has_hours else 0)
    bar = max(6, min(_WIDEST_BAR, buf.width - others - max(10, width)))
    columns = [
        each._replace(title='JOB') if by_owner and each.name == 'user' else each
        for each in USER_COLUMNS
        if has_hours or each.name not in ('hours', 'idle_hours')
    ]
    places = place(columns, Cells(0, buf.width), {'user': width, 'share': bar})
    _draw_title(buf, state, len(users))
    draw_bar_row(buf, 1, heading_text(places))
    total = total_memory(state.shown.devices)
    cursor = current_line(state)
    for line in layout.shown:
        user = users[line]
        y = layout.row_of(line)
        text = row_text(places, _texts(places, user, total))
        is_own = not by_owner and user.name == state.shown.host.username
        style = OWN if is_own else PLAIN if user.name else DIM
        draw_list_line(buf, y, text, style, is_current=line == cursor)
        if line != cursor:
            _draw_share(buf, y, places, user, total, state.view)
    if len(users) > 1:
        y = layout.area.y + min(len(users), layout.area.height)
        summary = summarize('Total', state.rows)._replace(gpu_times=_total_times(users))
        text = row_text(places, _texts(places, summary, total))
        draw_text(buf, 0, y, text)
        _draw_share(buf, y, places, summary, total, state.view)
    if not users:
        is_known = state.shown.sequence
        text = no_processes_message(state.shown) if is_known else 'Looking for processes ...'
        if state.shown.processes:
            limits = Limits(state.main.filter, state.query, state.main.selected_device)
            text = no_match_message(len(state.shown.processes), limits)
        draw_message(buf, layout.area, text, DIM)


def _total_times(users: Sequence[UserSummary]) -> tuple[float, float] | None:
    times = [user.gpu_times for user in users if user.gpu_times is not None]
    return (sum(used for used, _ in times), sum(held for _, held in times)) if times else None


def _texts(places: Sequence[Placed], user: UserSummary, total: int | None) -> list[str]:
    return [place.column.text(user, place.width, total) for place in places]


def _draw_title(buf: Buffer, state: AppState, users: int) -> None:
    """Draw the number of users or owners, and which processes the sums lack."""
    word = 'job' if state.sums_by_owner else 'user'
    count = f' ({users})' if users else ''
    silent = sum(process.gpu_memory_bytes is None for process in state.rows)
    memory = f'memory of {silent} {"process" if silent == 1 else "processes"} unknown'
    notes = (unknown_note(state.shown), (memory,) if silent else ())
    short = f'{word.capitalize()}s'
    titles = (f'GPU usage by {word}{count}', f'{short}{count}', short)
    draw_screen_title(buf, state, titles, notes)


def _draw_share(
    buf: Buffer,
    y: int,
    places: Sequence[Placed],
    user: UserSummary,
    total: int | None,
    view: ViewState,
) -> None:
    """Draw the bar in color over that in the text."""
    share = _share(user, total)
    style = load_style(share, view.thresholds.memory, view, Role.MEMORY)
    for each in places:
        if each.column.name == 'share':
            area = Rect(each.x, y, each.width, 1)
            draw_meter(buf, area, share, style)
