# SPDX-License-Identifier: GPL-3.0-only
"""The process panel: one row for each process on a device."""

from __future__ import annotations

from typing import AbstractSet, Mapping, Sequence

from nvitop.gui.layout.process import PlacedColumn, ProcessLayout
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, clip, cut, fit, pad, safe
from nvitop.gui.state.columns import COLUMNS
from nvitop.gui.state.ordering import is_descending
from nvitop.gui.state.ranges import devices_text
from nvitop.gui.state.types import Sort
from nvitop.gui.view.cells import CELLS, CellText
from nvitop.gui.view.widgets.frame import draw_rule, draw_text, draw_uprights, draw_within
from nvitop.gui.view.widgets.title import draw_at_right
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import (
    DeviceKey,
    DeviceSample,
    HostSample,
    ProcessKey,
    ProcessSample,
    Sample,
)

TITLE = Style(Role.TITLE, bold=True)
HEADING = Style(Role.HEADING)
_INCOMPLETE = Style(Role.WARNING, bold=True)
SORTED = Style(Role.HEADING, bold=True, underline=True)
#: What is asked for the processes of a device, by which problems with it are known.
_LIST = 'nvmlDeviceGetComputeRunningProcesses'
#: Marks the other rows of the selected process, left of the PID.
_SAME_PROCESS = '='
_SAME_STYLE = Style(Role.TEXT, bold=True, blink=True)
#: States in which a process tells nothing about itself.
_SILENT = ('gone', 'foreign', 'no permission')
#: Fewer cells at the end of the title say nothing of user and host.
_OWNER_WIDTH = 5
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


class _Cell(NamedTuple):
    """How the cell of a column is made."""

    #: What stands before it.
    gap: str
    text_of: CellText
    #: 0: as wide as its text.
    width: int
    align: str


class _Rows(NamedTuple):
    """How the rows are made: what is the same in all of them."""

    fixed: Sequence[_Cell]
    #: The cells that scroll, and the columns they are seen in.
    moving: Sequence[_Cell]
    left: int
    right: int
    scroll_x: int
    #: The place of the GPU's index among the fixed cells, -1: it is not shown.
    gpu: int
    devices: Mapping[DeviceKey, DeviceSample]


def draw_process_panel(
    buf: Buffer,
    layout: ProcessLayout,
    listed: ProcessList,
    sample: Sample,
    device_styles: Mapping[DeviceKey, Style],
) -> None:
    """Draw the panel."""
    host = sample.host
    area = layout.area
    ends = (0, area.width - 1)
    _draw_notes(buf, area, listed)
    draw_rule(buf, area.y + 1, (), ends, double=True)
    _draw_title(buf, area.y + 2, area.width, listed, sample, _unseen_order(layout, listed.sort))
    _draw_headings(buf, layout, listed)
    draw_rule(buf, layout.heading_y + 1, ends, ends, double=True)
    for separator in layout.separators:
        if 0 <= separator < buf.height:
            draw_rule(buf, separator, ends, ends)
    rows = _make_rows(layout, listed, sample)
    for row in layout.rows:
        process = listed.processes[row.process]
        style = _row_style(process, listed, host)
        gpu_style = device_styles.get(process.key.device, PLAIN)
        _draw_row(buf, row.y, rows, process, style, gpu_style)
        if _is_elsewhere(process, listed.selected):
            buf.write(layout.columns[0].right, row.y, _SAME_PROCESS, _SAME_STYLE)
    if not listed.processes:
        draw_uprights(buf, layout.first_y, ends)
        message = clip(_empty_message(listed, sample), area.width - 4)
        buf.write(2, layout.first_y, message, Style(Role.DIM))
    draw_rule(buf, area.bottom - 1, ends, (), double=True)


def _draw_notes(buf: Buffer, area: Rect, listed: ProcessList) -> None:
    x = 1
    for text, style in listed.notes:
        x += buf.write(x, area.y, text, style, width=area.width - x)
    draw_at_right(buf, area.y, listed.hints, left=x + 1, right=area.width)


def _unseen_order(layout: ProcessLayout, sort: Sort) -> str:
    """What the rows are sorted by, where no heading shows it: that column is hidden."""
    if sort == Sort() or any(place.column.order == sort.order for place in layout.columns):
        return ''
    return next(f' by {column.title}' for column in COLUMNS if column.order == sort.order)


def _draw_title(
    buf: Buffer, y: int, width: int, listed: ProcessList, sample: Sample, order: str
) -> None:
    host = sample.host
    draw_uprights(buf, y, (0,))
    title = 'Processes:'
    count = len(listed.processes)
    if listed.total is not None and count != listed.total:
        title = f'Processes: {count} of {listed.total}'
    if order:
        title += f'{order}{_arrow(listed.sort)}'
    x = 2 + buf.write(2, y, title, TITLE, width=width - 4)
    silent = devices_without_list(sample)
    if silent:
        text = f'{"" if title.endswith(":") else ","} unknown on {devices_text(silent)}'
        x += buf.write(x, y, clip(text, width - 2 - x), _INCOMPLETE)
    room = width - 4 - x
    if room >= _OWNER_WIDTH and (host.username or host.hostname):
        name = safe(host.hostname) + (' (WSL)' if host.wsl else '')
        user = clip(safe(host.username), max(0, room // 2), '+')
        name = clip(name, max(0, room - 1 - cell_width(user)), '+')
        role = Role.ROOT if host.is_superuser else Role.USER
        x = width - 3 - cell_width(user) - cell_width(name)
        x += buf.write(x, y, user, Style(role, bold=True))
        x += buf.write(x, y, '@')
        buf.write(x, y, name, Style(Role.HOST, bold=True))
    draw_uprights(buf, y, (width - 1,))


def devices_without_list(sample: Sample) -> list[DeviceKey]:
    """Devices that answer, but not what runs on them."""
    silent = {
        problem.device
        for problem in sample.problems
        if problem.what == _LIST and problem.kind != 'impossible'
    }
    devices = sample.devices if silent else ()
    return [device.key for device in devices if device.status == 'ok' and device.key in silent]


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
            title += _arrow(listed.sort)
            style = SORTED
        draw_within(buf, x, y, title, left, ends[1] - 1, style)
    draw_uprights(buf, y, ends[1:])


def _arrow(sort: Sort) -> str:
    return '▼' if is_descending(sort) else '▲'


def _make_rows(layout: ProcessLayout, listed: ProcessList, sample: Sample) -> _Rows:
    right = layout.area.width - 1
    fixed, moving = layout.fixed, layout.moving
    names = [place.column.name for place in fixed]
    left = moving[0].x if moving else right - 1
    scroll_x = listed.scroll_x
    return _Rows(
        [_make_cell(place, before) for place, before in zip(fixed, (None, *fixed))],
        [
            # While it scrolls, a command is cut with the row, not before.
            _make_cell(place, before, width=None if place.column.width or not scroll_x else 0)
            for place, before in zip(moving, (None, *moving))
        ],
        left,
        right,
        scroll_x,
        names.index('gpu') if 'gpu' in names else -1,
        {device.key: device for device in sample.devices},
    )


def _make_cell(
    place: PlacedColumn, before: PlacedColumn | None, *, width: int | None = None
) -> _Cell:
    gap = ' ' * (place.x - before.right) if before else ''
    text_of = CELLS[place.column.name]
    return _Cell(gap, text_of, place.width if width is None else width, place.column.align)


def _texts(
    cells: Sequence[_Cell], process: ProcessSample, device: DeviceSample | None
) -> list[str]:
    """The cells of a row, each after its gap and as wide as its column."""
    texts = []
    for gap, text_of, width, align in cells:
        text = text_of(process, device)
        if width and (len(text) > width or not text.isascii()):
            text = fit(text, width, align)
        elif align == '>':
            text = text.rjust(width)
        else:
            text = text.ljust(width)
        texts.append(gap + text)
    return texts


def _draw_row(
    buf: Buffer, y: int, rows: _Rows, process: ProcessSample, style: Style, gpu_style: Style
) -> None:
    device = rows.devices.get(process.key.device)
    texts = _texts(rows.fixed, process, device)
    moving = _moving_text(rows, process, device)
    draw_uprights(buf, y, (0,))
    x = 1
    if rows.gpu >= 0 and style.role not in _MARKED:
        if rows.gpu:
            x += draw_text(buf, x, y, ''.join(texts[: rows.gpu]), style)
        x += buf.write(x, y, texts[rows.gpu], gpu_style)
        del texts[: rows.gpu + 1]
    text = pad(''.join(texts), rows.left - x) + moving
    if style.role in _MARKED:
        buf.write(x, y, pad(text, rows.right - x), style)
    else:
        draw_text(buf, x, y, text, style)
    draw_uprights(buf, y, (rows.right,))


def _moving_text(rows: _Rows, process: ProcessSample, device: DeviceSample | None) -> str:
    """What is seen of the cells that scroll."""
    room = rows.right - 1 - rows.left
    if process.status in _SILENT and process.cpu_percent is process.running_time_seconds is None:
        # Nothing is known but what stands for its command: that gets all the room it needs.
        *_, last = rows.moving or (None,)
        text = CELLS['command'](process, device)
        if last is not None and not rows.scroll_x and len(text) > last.width:
            return clip(f' {text}', room)
    text = ''.join(_texts(rows.moving, process, device))
    if rows.scroll_x:
        return clip(cut(text, rows.scroll_x, cell_width(text)), room)
    return text


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


def no_processes_message(sample: Sample) -> str:
    """What a list without processes says: of GPUs that do not answer nobody knows."""
    silent = sum(device.status != 'ok' for device in sample.devices)
    no_driver = any(row.subject == 'driver' and row.is_failure for row in sample.problems)
    if silent == len(sample.devices) and (silent or no_driver):
        return 'No GPU answers: what runs there is not known'
    if not silent:
        return 'No process is running on a GPU'
    return 'No process is running on the GPUs that answer'


def _empty_message(listed: ProcessList, sample: Sample) -> str:
    if listed.total is None:
        return 'Looking for processes ...'
    if listed.total:
        return f'None of {listed.total} processes meets the filter'
    return no_processes_message(sample) + (' (in WSL)' if sample.host.wsl else '')
