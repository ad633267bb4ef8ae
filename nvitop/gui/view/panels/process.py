# SPDX-License-Identifier: GPL-3.0-only
"""The process panel: one row for each process on a device."""

from __future__ import annotations

from typing import AbstractSet, Mapping, NamedTuple, Sequence

from nvitop.gui.layout.process import PlacedColumn, ProcessLayout
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, clip, cut, fit, pad, safe
from nvitop.gui.state.ordering import is_descending
from nvitop.gui.state.types import Sort
from nvitop.gui.view.cells import CELLS
from nvitop.gui.view.format import NOT_AVAILABLE
from nvitop.gui.view.widgets.frame import draw_rule, draw_text, draw_uprights, draw_within
from nvitop.sampling.types import DeviceKey, HostSample, ProcessKey, ProcessSample, Sample

TITLE = Style(Role.TITLE, bold=True)
HEADING = Style(Role.HEADING)
SORTED = Style(Role.HEADING, bold=True, underline=True)
#: Marks the other rows of the selected process, left of the PID.
_SAME_PROCESS = '='
_SAME_STYLE = Style(Role.TEXT, bold=True, blink=True)
_MARKED = (Role.SELECTED, Role.TAGGED, Role.SELECTED_TAGGED)


class ProcessList(NamedTuple):
    """What the panel shows."""

    #: The rows, filtered and sorted.
    processes: Sequence[ProcessSample]
    #: How many processes there are without the filter, ``None`` before the first sample.
    total: int | None = None
    sort: Sort = Sort()
    selected: ProcessKey | None = None
    tagged: AbstractSet[ProcessKey] = frozenset()
    #: Cells by which columns that scroll are moved to the left.
    scroll_x: int = 0
    #: The line above the box: pieces from its left, and from its right end.
    notes: Sequence[tuple[str, Style]] = ()
    hints: Sequence[tuple[str, Style]] = ()


class _Columns(NamedTuple):
    """The columns of a row, and the column of its right border."""

    fixed: Sequence[PlacedColumn]
    moving: Sequence[PlacedColumn]
    right: int
    scroll_x: int


def draw_process_panel(
    buf: Buffer,
    layout: ProcessLayout,
    listed: ProcessList,
    sample: Sample,
    device_styles: Mapping[DeviceKey, Style],
) -> None:
    """Draw the panel."""
    host = sample.host
    devices = {device.key: device for device in sample.devices}
    area = layout.area
    ends = (0, area.width - 1)
    _draw_notes(buf, area, listed)
    draw_rule(buf, area.y + 1, (), ends, double=True)
    _draw_title(buf, area.y + 2, area.width, listed, host)
    _draw_headings(buf, layout, listed)
    draw_rule(buf, layout.heading_y + 1, ends, ends, double=True)
    for separator in layout.separators:
        if 0 <= separator < buf.height:
            draw_rule(buf, separator, ends, ends)
    columns = _Columns(layout.fixed, layout.moving, ends[1], listed.scroll_x)
    for row in layout.rows:
        process = listed.processes[row.process]
        style = _row_style(process, listed, host)
        key = process.key.device
        texts = {
            place.column.name: CELLS[place.column.name](process, devices.get(key))
            for place in layout.columns
        }
        _draw_row(buf, row.y, columns, texts, style, device_styles.get(key, PLAIN))
        if _is_elsewhere(process, listed.selected):
            buf.write(columns.fixed[0].right, row.y, _SAME_PROCESS, _SAME_STYLE)
    if not listed.processes:
        draw_uprights(buf, layout.first_y, ends)
        message = clip(_empty_message(listed, host), area.width - 4)
        buf.write(2, layout.first_y, message, Style(Role.DIM))
    draw_rule(buf, area.bottom - 1, ends, (), double=True)


def _draw_notes(buf: Buffer, area: Rect, listed: ProcessList) -> None:
    x = 1
    for text, style in listed.notes:
        x += buf.write(x, area.y, text, style, width=area.width - x)
    right = area.width - sum(cell_width(text) for text, _ in listed.hints)
    if x < right:
        for text, style in listed.hints:
            right += buf.write(right, area.y, text, style)


def _draw_title(buf: Buffer, y: int, width: int, listed: ProcessList, host: HostSample) -> None:
    draw_uprights(buf, y, (0,))
    title = 'Processes:'
    count = len(listed.processes)
    if listed.total is not None and count != listed.total:
        title = f'Processes: {count} of {listed.total}'
    x = 2 + buf.write(2, y, title, TITLE, width=width - 4)
    if host.username or host.hostname:
        room = width - 4 - x
        name = safe(host.hostname) + (' (WSL)' if host.wsl else '')
        user = clip(safe(host.username), max(0, room // 2), '+')
        name = clip(name, max(0, room - 1 - cell_width(user)), '+')
        role = Role.ROOT if host.is_superuser else Role.USER
        x = width - 3 - cell_width(user) - cell_width(name)
        x += buf.write(x, y, user, Style(role, bold=True))
        x += buf.write(x, y, '@')
        buf.write(x, y, name, Style(Role.HOST, bold=True))
    draw_uprights(buf, y, (width - 1,))


def _draw_headings(buf: Buffer, layout: ProcessLayout, listed: ProcessList) -> None:
    y = layout.heading_y
    ends = (0, layout.area.width - 1)
    draw_uprights(buf, y, ends[:1])
    moving = layout.moving
    for place in layout.columns:
        column = place.column
        x, left = place.x, 1
        if column.align == '>':
            x += place.width - len(column.title)
        if place in moving:
            x, left = x - listed.scroll_x, moving[0].x
        style = HEADING
        title = column.title
        if column.order == listed.sort.order and listed.sort != Sort():
            title += '▼' if is_descending(listed.sort) else '▲'
            style = SORTED
        draw_within(buf, x, y, title, left, ends[1] - 1, style)
    draw_uprights(buf, y, ends[1:])


def _draw_row(
    buf: Buffer,
    y: int,
    columns: _Columns,
    texts: Mapping[str, str],
    style: Style,
    gpu_style: Style,
) -> None:
    draw_uprights(buf, y, (0,))
    is_marked = style.role in _MARKED
    x = 1
    text = ''
    end = 1
    for place in columns.fixed:
        cell = _fit(texts[place.column.name], place)
        gap = ' ' * (place.x - end)
        end = place.right
        if place.column.name == 'gpu' and not is_marked:
            x += draw_text(buf, x, y, text + gap, style)
            x += buf.write(x, y, cell, gpu_style)
            text = ''
        else:
            text += gap + cell
    if is_marked:
        text = pad(text + _moving_text(texts, columns, end), columns.right - x)
        buf.write(x, y, text, style)
    else:
        x += draw_text(buf, x, y, text, style)
        draw_text(buf, x, y, _moving_text(texts, columns, end), style)
    draw_uprights(buf, y, (columns.right,))


def _moving_text(texts: Mapping[str, str], columns: _Columns, end: int) -> str:
    """The text of the columns that scroll, from column ``end`` on."""
    if not columns.moving:
        return ''
    left = columns.moving[0].x
    room = columns.right - 1 - left
    gap = ' ' * (left - end)
    text = ''
    end = left
    places = columns.moving
    *others, last = places
    if len(texts[last.column.name]) > last.width and all(
        texts[place.column.name] == NOT_AVAILABLE for place in others
    ):
        # Nothing is known but what the command says instead: it gets all the room.
        places = [last._replace(x=left + 1, width=room - 1)]
    for place in places:
        text += ' ' * (place.x - end)
        end = place.right
        if place.column.width or not columns.scroll_x:
            text += _fit(texts[place.column.name], place)
        else:
            text += texts[place.column.name]
    if columns.scroll_x:
        text = clip(cut(text, columns.scroll_x, cell_width(text)), room)
    return gap + text


def _fit(text: str, place: PlacedColumn) -> str:
    width = place.width
    if not text.isascii() or len(text) > width:
        return fit(text, width, place.column.align)
    return text.rjust(width) if place.column.align == '>' else text.ljust(width)


def _row_style(process: ProcessSample, listed: ProcessList, host: HostSample) -> Style:
    is_selected = process.key == listed.selected
    if process.key in listed.tagged:
        return Style(Role.SELECTED_TAGGED if is_selected else Role.TAGGED)
    if is_selected:
        return Style(Role.SELECTED)
    if process.status == 'gone':
        return Style(Role.ERROR)
    if process.status in ('zombie', 'no permission'):
        return Style(Role.WARNING)
    return PLAIN if process.is_own or host.is_superuser else Style(Role.DIM)


def _is_elsewhere(process: ProcessSample, selected: ProcessKey | None) -> bool:
    """Whether it is the selected process, on another device."""
    key = process.key
    return selected is not None and key != selected and key[:2] == selected[:2]


def _empty_message(listed: ProcessList, host: HostSample) -> str:
    if listed.total is None:
        return 'Looking for processes ...'
    if listed.total:
        return f'None of {listed.total} processes meets the filter'
    return 'No process is running on a GPU' + (' (in WSL)' if host.wsl else '')
