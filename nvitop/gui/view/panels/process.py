# SPDX-License-Identifier: GPL-3.0-only
"""The process panel: one row for each process on a device."""

from __future__ import annotations

import functools
from typing import AbstractSet, Mapping, Sequence

from nvitop.gui.layout.process import PlacedColumn, ProcessLayout
from nvitop.gui.model.choices import Sort
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.render.buffer import Buffer, Span
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, clip, clip_scrolled, fit, pad, safe
from nvitop.gui.state.ordering import is_descending
from nvitop.gui.state.ranges import devices_text
from nvitop.gui.state.summary import unknown_devices
from nvitop.gui.view.column_text import CELLS, CellText
from nvitop.gui.view.process_list import no_match_message, no_processes_message, row_style
from nvitop.gui.view.widgets.box import draw_rule, draw_uprights
from nvitop.gui.view.widgets.text import draw_text, draw_within
from nvitop.gui.view.widgets.title import draw_at_right
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import DeviceKey, HostSample, ProcessKey, ProcessSample, Sample

_TITLE = Style(Role.TITLE, bold=True)
_HEADING = Style(Role.HEADING)
_INCOMPLETE = Style(Role.WARNING, bold=True)
_SORTED = Style(Role.HEADING, bold=True, underline=True)
#: Marks the other rows of the selected process, left of the PID.
_SAME_PROCESS = '='
_SAME_STYLE = Style(Role.TEXT, bold=True, blink=True)
#: States of a process in which nothing but its PID is known.
_SILENT = ('gone', 'foreign', 'no permission')
#: Minimum number of cells for user and host at the end of the title.
_OWNER_WIDTH = 5
#: Mark of text that has been scrolled sideways.
_CUT = '..'
_MARKED = (Role.SELECTED, Role.TAGGED, Role.SELECTED_TAGGED)


class ProcessList(NamedTuple):
    """Contents of the panel."""

    #: The rows, filtered and sorted.
    processes: Sequence[ProcessSample]
    #: Number of processes without the filter; ``None`` before the first sample.
    total: int | None = None
    #: Name of the limits that leave out some of them, for messages.
    limits: str = 'the filter'
    sort: Sort = Sort()
    selected: ProcessKey | None = None
    tagged: AbstractSet[ProcessKey] = frozenset()
    #: Number of cells by which columns that scroll are moved to the left.
    scroll_x: int = 0
    #: Pieces of the line above the panel, from its left end and from its right end.
    notes: Sequence[tuple[str, Style]] = ()
    hints: Sequence[tuple[str, Style]] = ()


class _Cell(NamedTuple):
    """How the text of one column is made."""

    #: Spaces before it.
    gap: str
    text_of: CellText
    #: Width in cells; 0 for the width of the text.
    width: int
    align: str


class _Rows:
    """How rows are made: everything that is the same for all processes."""

    def __init__(
        self,
        width: int,
        fixed: tuple[PlacedColumn, ...],
        moving: tuple[PlacedColumn, ...],
        scroll_x: int,
    ) -> None:
        self.width = width
        self.right = width - 1
        self.scroll_x = scroll_x
        self.fixed = [_make_cell(place, before) for place, before in zip(fixed, (None, *fixed))]
        #: The columns that scroll, and where they begin.
        self.moving = [
            # While it scrolls, a command is cut with the row and not before.
            _make_cell(place, before, width=None if place.column.width or not scroll_x else 0)
            for place, before in zip(moving, (None, *moving))
        ]
        self.left = moving[0].x if moving else self.right - 1
        #: Column of the mark, right of the first column of text.
        self.mark = (*fixed, *moving)[0].right if fixed or moving else 0
        names = [place.column.name for place in fixed]
        #: Position of the GPU's index among the fixed columns; -1 if it is hidden.
        self.gpu = names.index('gpu') if 'gpu' in names else -1


#: Cached so that equal parameters give the same object, which is part of the key of cached rows.
_rows_of = functools.lru_cache(maxsize=8)(_Rows)


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
    _draw_title(buf, area.y + 2, area.width, listed, sample, _unseen_order(layout, listed))
    _draw_headings(buf, layout, listed)
    draw_rule(buf, layout.heading_y + 1, ends, ends, double=True)
    for separator in layout.separators:
        if 0 <= separator < buf.height:
            draw_rule(buf, separator, ends, ends)
    rows = _rows_of(area.width, layout.fixed, layout.moving, listed.scroll_x)
    driver_models = {device.key: device.current_driver_model for device in sample.devices}
    for row in layout.rows:
        process = listed.processes[row.process]
        spans = process_row(
            rows,
            process,
            driver_models.get(process.key.device),
            row_style(
                process,
                host,
                is_selected=process.key == listed.selected,
                is_tagged=process.key in listed.tagged,
            ),
            device_styles.get(process.key.device, PLAIN),
            is_marked=_is_elsewhere(process, listed.selected),
        )
        buf.paste(row.y, [spans])
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


def _unseen_order(layout: ProcessLayout, listed: ProcessList) -> str:
    """Return the sort order for the title if its column is hidden or scrolled away, else ``''``."""
    sort = listed.sort
    seen = [
        place.column.order
        for place in layout.columns
        if not listed.scroll_x
        or place not in layout.moving
        or _title_x(place) - listed.scroll_x >= layout.moving[0].x + len(_CUT)
    ]
    if sort == Sort() or sort.order in seen:
        return ''
    return next(f' by {column.title}' for column in COLUMNS if column.order == sort.order)


def _draw_title(
    buf: Buffer, y: int, width: int, listed: ProcessList, sample: Sample, order: str
) -> None:
    draw_uprights(buf, y, (0,))
    title = 'Processes:'
    count = len(listed.processes)
    if listed.total is not None and count != listed.total:
        title = f'Processes: {count} of {listed.total}'
    if order:
        title += f'{order}{_arrow(listed.sort)}'
    x = 2 + buf.write(2, y, title, _TITLE, width=width - 4)
    silent = unknown_devices(sample)
    if silent:
        text = f'{"" if title.endswith(":") else ","} unknown on {devices_text(silent)}'
        x += buf.write(x, y, clip(text, width - 2 - x), _INCOMPLETE)
    _draw_owner(buf, y, width, x, sample.host)
    draw_uprights(buf, y, (width - 1,))


def _draw_owner(buf: Buffer, y: int, width: int, left: int, host: HostSample) -> None:
    """Draw ``user@host`` at the right end of the title, if there is room after ``left``."""
    room = width - 4 - left
    if room < _OWNER_WIDTH or not (host.username or host.hostname):
        return
    name = safe(host.hostname) + (' (WSL)' if host.wsl else '')
    user = clip(safe(host.username), max(0, room // 2), '+')
    name = clip(name, max(0, room - 1 - cell_width(user)), '+')
    role = Role.ROOT if host.is_superuser else Role.USER
    x = width - 3 - cell_width(user) - cell_width(name)
    x += buf.write(x, y, user, Style(role, bold=True))
    x += buf.write(x, y, '@')
    buf.write(x, y, name, Style(Role.HOST, bold=True))


def _draw_headings(buf: Buffer, layout: ProcessLayout, listed: ProcessList) -> None:
    y = layout.heading_y
    ends = (0, layout.area.width - 1)
    draw_uprights(buf, y, ends[:1])
    moving = layout.moving
    for place in layout.columns:
        column = place.column
        x, left = _title_x(place), 1
        if place in moving:
            x, left = x - listed.scroll_x, moving[0].x
        style = _HEADING
        title = column.title
        if column.order == listed.sort.order and listed.sort != Sort():
            title += _arrow(listed.sort)
            style = _SORTED
        draw_within(buf, x, y, title, left, ends[1] - 1, style)
    if moving and listed.scroll_x:
        buf.write(moving[0].x, y, _CUT, _HEADING)
    draw_uprights(buf, y, ends[1:])


def _title_x(place: PlacedColumn) -> int:
    column = place.column
    return place.x + (place.width - len(column.title) if column.align == '>' else 0)


def _arrow(sort: Sort) -> str:
    return '▼' if is_descending(sort) else '▲'


def _make_cell(
    place: PlacedColumn, before: PlacedColumn | None, *, width: int | None = None
) -> _Cell:
    gap = ' ' * (place.x - before.right) if before else ''
    text_of = CELLS[place.column.name]
    return _Cell(gap, text_of, place.width if width is None else width, place.column.align)


def _texts(cells: Sequence[_Cell], process: ProcessSample, driver_model: str | None) -> list[str]:
    """Return the texts of a row, each after its gap and as wide as its column."""
    texts = []
    for gap, text_of, width, align in cells:
        text = text_of(process, driver_model)
        if width and (len(text) > width or not text.isascii()):
            text = fit(text, width, align)
        elif align == '>':
            text = text.rjust(width)
        else:
            text = text.ljust(width)
        texts.append(gap + text)
    return texts


# Cached because a key changes two rows only, and processes are measured less often than devices.
@functools.lru_cache(maxsize=256)
def process_row(
    rows: _Rows,
    process: ProcessSample,
    driver_model: str | None,
    style: Style,
    gpu_style: Style,
    *,
    is_marked: bool,
) -> tuple[Span, ...]:
    """Return the spans of a process on a device with this driver model."""
    buf = Buffer(rows.width, 1)
    texts = _texts(rows.fixed, process, driver_model)
    moving = _moving_text(rows, process, driver_model)
    draw_uprights(buf, 0, (0,))
    x = 1
    if rows.gpu >= 0 and style.role not in _MARKED:
        if rows.gpu:
            x += draw_text(buf, x, 0, ''.join(texts[: rows.gpu]), style)
        x += buf.write(x, 0, texts[rows.gpu], gpu_style)
        del texts[: rows.gpu + 1]
    text = pad(''.join(texts), rows.left - x) + moving
    if style.role in _MARKED:
        buf.write(x, 0, pad(text, rows.right - x), style)
    else:
        draw_text(buf, x, 0, text, style)
    draw_uprights(buf, 0, (rows.right,))
    if is_marked:
        buf.write(rows.mark, 0, _SAME_PROCESS, _SAME_STYLE)
    return buf.row(0)


def _moving_text(rows: _Rows, process: ProcessSample, driver_model: str | None) -> str:
    """Return the visible part of the columns that scroll."""
    room = rows.right - 1 - rows.left
    if process.status in _SILENT and process.cpu_percent is process.running_time_seconds is None:
        # Only the text in place of the command is known. It takes the room that it needs from
        # other columns, and ends where the command ends.
        *_, last = rows.moving or (None,)
        text = f' {CELLS["command"](process, driver_model)}'
        if last is not None and not rows.scroll_x and len(text) > last.width + 1:
            others = _texts(rows.moving[:-1], process, driver_model)
            while others and len(''.join(others)) + len(text) > room:
                others.pop()
            before = ''.join(others)
            return before + clip(text, room).rjust(room - len(before))
    text = ''.join(_texts(rows.moving, process, driver_model))
    return clip_scrolled(text, rows.scroll_x, room) if rows.scroll_x else text


def _is_elsewhere(process: ProcessSample, selected: ProcessKey | None) -> bool:
    """Return whether this is the selected process on another device."""
    key = process.key
    return selected is not None and key != selected and key[:2] == selected[:2]


def _empty_message(listed: ProcessList, sample: Sample) -> str:
    if listed.total is None:
        return 'Looking for processes ...'
    if listed.total:
        return no_match_message(listed.total, listed.limits)
    return no_processes_message(sample) + (' (in WSL)' if sample.host.wsl else '')
