# SPDX-License-Identifier: GPL-3.0-only
"""The users screen: the share of each GPU that users have, and the processes of the selected user or job."""

from __future__ import annotations

from typing import Sequence

from nvitop.basics.text import counted
from nvitop.gui.model import format as fmt
from nvitop.gui.model.columns import COLUMNS_BY_NAME, USER_COLUMNS, empty_columns, user_name
from nvitop.gui.model.device_columns import bar_pieces
from nvitop.gui.model.device_rows import GpuRow
from nvitop.gui.model.format import devices_text, join_labels
from nvitop.gui.model.table import Column, Content
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import DIM, HEADING, IDLE, PLAIN, Role, Style
from nvitop.gui.state.app_state import AppState, ListLayout
from nvitop.gui.state.lists import sorted_by
from nvitop.gui.state.process_rows import Group, Line
from nvitop.gui.view.charts import ruler_of
from nvitop.gui.view.device_histories import draw_histories
from nvitop.gui.view.hints import set_title
from nvitop.gui.view.panels.process import (
    ProcessView,
    drawn_lines,
    empty_message,
    limits_of,
    unknown_note,
)
from nvitop.gui.view.table import draw_cell, draw_table, place_for, plain_text, widest
from nvitop.gui.view.text import draw_message, draw_section
from nvitop.sampling.history import History
from nvitop.sampling.types import DeviceKey

_MEMORY = Style(Role.MEMORY)
#: Cells of a GPU in the map with its gap, of a name beside the map, and of the values that stay.
_GPU_CELLS, _NAME_CELLS, _VALUE_CELLS = 6, 16, 28
#: Columns of the times of users.
_TIMES = ('hours', 'held_hours')
#: Cells of a job before columns of a rank below 8 (see `place`).
_JOB_CELLS = 20
#: Columns of the processes of a user or job.
_DETAILS = ('gpu', 'user', 'owner', 'pid', 'type', 'gpu_memory', 'idle', 'sm', 'command')
#: What the GPU time of the unknown user is if none of their processes runs.
_UNKNOWN_TIME = 'GPUs were in use, but no process with a known user was seen to use them.'
#: Minimum number of rows for the histories of the GPUs of a user.
_WITH_HISTORIES = 8


def _users(job: Group, width: int) -> str:
    """Return the users of a job: ``ann``, ``ann +2``."""
    names = list(dict.fromkeys(process.username for process in job.processes))
    more = f' +{len(names) - 1}' if len(names) > 1 else ''
    return fmt.format_user(names[0], width - len(more)) + more if names else ''


#: The column of jobs after their names.
_USERS_OF_JOB = Column('users', 'USER', (5, 16), '', _users, align='<', gap=2, rank=1)


def detail_height(state: AppState, count: int) -> int:
    """Return the number of rows of the detail of the selected one of these users, with the line above it."""
    rest = state.inside.height - 3 - count  # title, headings, and the row of free GPUs
    return max(state.inside.height // 3, rest) if count and state.inside.height >= 14 else 0


def draw_users(buf: Buffer, state: AppState, layout: ListLayout, history: History) -> None:
    users, cursor = layout.lines, layout.line
    _draw_title(buf, state, layout)
    if not users:
        total = len(state.shown_sample.processes) if state.shown_sample.sequence else None
        draw_message(
            buf, layout.area, empty_message(total, limits_of(state), state.shown_sample), DIM
        )
        return
    devices = [row for row in state.lists.devices if not row.is_divided]
    columns = _columns(state, users, devices, buf.width)
    area = layout.with_headings
    placed = place_for(users, columns, area)
    draw_table(buf, area, placed, layout.shown_lines, cursor=layout.cursor, by=sorted_by(state))
    y = layout.area.y + min(len(users), layout.area.height)
    free = tuple(row.device.key for row in devices if row.is_free)
    if free:
        buf.write(placed[0].x, y, 'free', HEADING)
    headings = {_heading(key) for key in free}
    for cell in placed:
        if cell.column.name == 'gpu' and cell.column.title in headings:
            draw_cell(buf, y, cell, (('free', IDLE),), PLAIN)
        elif cell.column.name == 'devices' and free:
            draw_cell(buf, y, cell, ((join_labels(key.label for key in free), IDLE),), PLAIN)
    y = layout.area.bottom + 1
    if y < buf.height and cursor is not None:
        _draw_detail(buf, y, state, users[cursor], devices, history)


def _columns(
    state: AppState, users: Sequence[Group], devices: Sequence[GpuRow], width: int
) -> list[Column]:
    """Return the columns, with a map of the memory on each GPU if there is room for all GPUs."""
    room = width - _VALUE_CELLS
    has_hours = any(user.gpu_times is not None for user in users)
    columns = [column for column in USER_COLUMNS if has_hours or column.name not in _TIMES]
    if devices and room - len(devices) * _GPU_CELLS >= _NAME_CELLS:
        room -= len(devices) * _GPU_CELLS
        at = [column.name for column in columns].index('devices')
        columns[at : at + 1] = [
            _map_column(row, 1 if number else 2) for number, row in enumerate(devices)
        ]
    if state.sums_by_owner:
        names = max(columns[0].sizes[0], min(widest(columns[0], users), room))
        sizes = (min(names, _JOB_CELLS), names)
        columns[:1] = [columns[0]._replace(title='JOB', sizes=sizes), _USERS_OF_JOB]
    return columns


def _map_column(row: GpuRow, gap: int) -> Column:
    """Return the column with the part of the memory of a GPU that each user has, as a bar."""

    def share(user: Group, width: int) -> Content:
        used, total = user.memory_on(row.device.key), row.device.info.memory_total_bytes
        if used is None:
            return ''
        if not total:
            return ((fmt.UNKNOWN_MARK, DIM),)
        return bar_pieces(100.0 * used / total, width, _MEMORY)

    title = _heading(row.device.key)
    return Column('gpu', title, (_GPU_CELLS - 1,), '', share, align='<', gap=gap)


def _heading(device: DeviceKey) -> str:
    text = f'GPU {device.label}'
    return text if len(text) < _GPU_CELLS else device.label


def _draw_detail(
    buf: Buffer,
    y: int,
    state: AppState,
    user: Group,
    devices: Sequence[GpuRow],
    history: History,
) -> None:
    where = f' on {devices_text(user.devices)}' if user.devices else ''
    count = counted(user.process_count, 'process')
    users = f' · {_users(user, 32)}' if state.sums_by_owner else ''
    body = draw_section(buf, y, f'{plain_text(user_name(user, 32))}{users}: {count}{where}')
    if not (user.name or user.processes):
        draw_message(buf, body, _UNKNOWN_TIME, DIM)
        return
    shown = [row.device for row in devices if row.device.key in user.devices]
    graphs = min(len(shown), (body.height - 3) // 2) if body.height >= _WITH_HISTORIES else 0
    if not graphs:
        _draw_processes(buf, body, state, user)
        return
    table, below = body.split_top(min(body.height - graphs - 2, 1 + len(user.processes)))
    _draw_processes(buf, table, state, user)
    where = devices_text([device.key for device in shown[:graphs]])
    inside = draw_section(buf, below.y, f'History of {where}, all users').inset(1, 0, 0, 0)
    draw_histories(buf, inside, shown[:graphs], ruler_of(state, history))


def _draw_processes(buf: Buffer, area: Rect, state: AppState, user: Group) -> None:
    """Draw the processes of a user or job, as many as fit; a click on their headings does not sort them."""
    has_jobs = 'owner' not in empty_columns(user.processes)
    is_shown = {'user': state.sums_by_owner, 'owner': has_jobs and not state.sums_by_owner}
    names = [name for name in _DETAILS if is_shown.get(name, True)]
    columns = [COLUMNS_BY_NAME[name]._replace(order='') for name in names]
    columns[0] = columns[0]._replace(sizes=(4,))  # begins where the names of users do
    lines = [Line(process) for process in user.processes[: max(0, area.height - 1)]]
    placed = place_for(lines, columns, area)
    draw_table(buf, area, placed, drawn_lines(lines, placed, state.shown_sample, ProcessView()))


def _draw_title(buf: Buffer, state: AppState, layout: ListLayout) -> None:
    users = layout.length
    word = 'Job' if state.sums_by_owner else 'User'
    title = f'{word}s {users}' if users else f'{word}s'
    silent = sum(process.gpu_memory_bytes is None for process in state.lists.rows)
    memory = f'memory of {counted(silent, "process")} unknown'
    hours: tuple[str, ...] = ()
    if state.gpu_times and users and not state.sums_by_owner:
        since = fmt.format_moment(state.gpu_times_since, state.timestamp)
        hours = (f'GPU-hours since {since}' if state.gpu_times_since else 'GPU-hours of this day',)
    set_title(
        buf,
        layout,
        (title,),
        (hours, unknown_note(state.shown_sample), (memory,) if silent else ()),
    )
