# SPDX-License-Identifier: GPL-3.0-only
"""The process panel, and what it shares with other lists of processes: styles and messages."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, AbstractSet, Callable, Mapping, NamedTuple, Sequence

from nvitop.gui.layout.process import ProcessLayout
from nvitop.gui.model import format as fmt
from nvitop.gui.model.choices import ProcessFilter, Sort
from nvitop.gui.model.columns import COLUMNS, COLUMNS_BY_NAME
from nvitop.gui.model.format import devices_text
from nvitop.gui.model.table import Placed
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import DIM, HEADING, PLAIN, TITLE, WARNING, Role, Style
from nvitop.gui.render.width import clip, clip_scrolled, fit, pad, safe
from nvitop.gui.state.process_rows import is_descending, unknown_devices
from nvitop.gui.view.text import (
    Note,
    draw_at_right,
    draw_border,
    draw_rule,
    draw_text,
    draw_uprights,
    draw_within,
)
from nvitop.sampling.types import (
    PROCESSES,
    DeviceKey,
    HostProcessSample,
    ProcessKey,
    ProcessSample,
    Sample,
)

if TYPE_CHECKING:
    from nvitop.gui.render.buffer import Span

#: Note on a machine without lists of processes.
NO_LISTS = 'processes are not reported'
#: Maximum length of options that a message repeats.
_MAX_OPTIONS = 32


def row_style(
    process: ProcessSample | HostProcessSample,
    *,
    is_selected: bool,
    is_tagged: bool,
    selected: Role = Role.SELECTED,
) -> Style:
    """Return the style of the row of a process; ``selected`` is the role of the selected row."""
    if is_tagged:
        return Style(Role.SELECTED_TAGGED if is_selected else Role.TAGGED)
    if is_selected:
        return Style(selected)
    if process.status == 'gone':
        return Style(Role.ERROR)
    if process.status in ('zombie', 'no permission'):
        return Style(Role.WARNING)
    if isinstance(process, ProcessSample) and process.is_outdated:
        return DIM
    return PLAIN


def has_no_lists(sample: Sample) -> bool:
    """Whether no device can list processes, as with most exporters of a fleet."""
    missing = {row.device for row in sample.problems if row.what == PROCESSES and row.kind == 'na'}
    return bool(sample.devices) and missing.issuperset(device.key for device in sample.devices)


def unknown_note(sample: Sample) -> tuple[str, ...]:
    """Return which GPUs do not list their processes, the longest form first; ``()`` if none."""
    if has_no_lists(sample):
        return (NO_LISTS,)
    unknown = unknown_devices(sample)
    count = f'{len(unknown)} {"GPU" if len(unknown) == 1 else "GPUs"} unknown'
    return (f'processes of {devices_text(unknown)} unreadable', count) if unknown else ()


def no_processes_message(sample: Sample) -> str:
    """Return the message of a list without processes; GPUs that do not respond may have some."""
    silent = sum(device.is_silent for device in sample.devices)
    if (
        sample.devices
        and not silent
        and not {d.key for d in sample.devices} - {*unknown_devices(sample)}
    ):
        return 'Running processes are unknown'
    no_driver = any(row.subject == 'driver' and row.is_failure for row in sample.problems)
    if silent == len(sample.devices) and (silent or no_driver):
        return 'No GPU is responding: running processes are unknown'
    if not silent:
        return 'No process is running on a GPU'
    return 'No process is running on the GPUs that respond'


class Limits(NamedTuple):
    """Filters that leave processes out of the lists."""

    options: ProcessFilter = ProcessFilter()
    query: str = ''
    #: The selected device.
    device: DeviceKey | None = None

    @property
    def is_only_device(self) -> bool:
        """Whether all processes of the selected device are listed."""
        return self.device is not None and not self.query and self.options == ProcessFilter()

    @property
    def text(self) -> str:
        """The limits for messages."""
        if self.options == ProcessFilter():
            if self.device is not None:
                return f'{"the filter and " if self.query else ""}GPU {self.device.label}'
            return 'the filter'
        return _options_text(self.options) + (' and the filter' if self.query else '')


def _options_text(options: ProcessFilter) -> str:
    """Return the options of a filter as they were given, or ``the options`` if they are long."""
    text = ' '.join(
        f'{option} {" ".join(map(str, sorted(given)))}'
        for option, given in (('-u', options.users), ('-p', options.pids))
        if given
    )
    is_short = text and options.types is None and len(text) <= _MAX_OPTIONS
    return safe(text) if is_short else 'the options'


def no_match_message(total: int, limits: Limits) -> str:
    """Return the message of a list if none of ``total`` processes matches the limits."""
    if limits.is_only_device:
        return f'No process is running on {limits.text}'
    return f'No match: {total} process{"" if total == 1 else "es"} hidden by {limits.text}'


_SORTED = Style(Role.HEADING, bold=True, underline=True)
#: Marks the other rows of the selected process, left of the PID.
_SAME_PROCESS = '='
_SAME_STYLE = Style(Role.TEXT, bold=True, blink=True)
#: States of a process in which nothing but its PID is known.
_SILENT = ('gone', 'foreign', 'no permission')
#: Mark of text that has been scrolled sideways.
_CUT = '..'
_MARKED = (Role.SELECTED, Role.TAGGED, Role.SELECTED_TAGGED)


class ProcessList(NamedTuple):
    """Contents of the panel."""

    #: The rows, filtered and sorted.
    processes: Sequence[ProcessSample]
    #: Number of processes without the filter; ``None`` before the first sample.
    total: int | None = None
    #: The filters that leave some of them out.
    limits: Limits = Limits()
    sort: Sort = Sort()
    selected: ProcessKey | None = None
    tagged: AbstractSet[ProcessKey] = frozenset()
    #: Number of cells by which columns that scroll are moved to the left.
    scroll_x: int = 0
    #: Warnings at the right of the border.
    notes: tuple[Note, ...] = ()
    #: Pieces of a hint in the border.
    hints: Sequence[tuple[str, Style]] = ()


class _Cell(NamedTuple):
    """How the text of one column is made."""

    #: Spaces before it.
    gap: str
    text_of: Callable[[ProcessSample, str | None], str]
    #: Width in cells; 0 for the width of the text.
    width: int
    align: str


class _Rows:
    """How rows are made: everything that is the same for all processes."""

    def __init__(
        self,
        width: int,
        fixed: tuple[Placed, ...],
        moving: tuple[Placed, ...],
        scroll_x: int,
    ) -> None:
        self.width = width
        self.right = width - 1
        self.scroll_x = scroll_x
        self.fixed = [_make_cell(place, before) for place, before in zip(fixed, (None, *fixed))]
        #: The columns that scroll, and where they begin.
        self.moving = [
            # While it scrolls, a command is cut with the row and not before.
            _make_cell(place, before, width=None if place.column.sizes[-1] or not scroll_x else 0)
            for place, before in zip(moving, (None, *moving))
        ]
        self.left = moving[0].x if moving else self.right - 1
        #: Column of the mark, right of the first column of text.
        self.mark = (*fixed, *moving)[0].right if fixed or moving else 0
        names = [place.column.name for place in fixed]
        #: Position of the GPU's index among the fixed columns; -1 if it is hidden.
        self.gpu = names.index('gpu') if 'gpu' in names else -1
        #: Place of the user; ``None`` if it is hidden.
        self.user = next((place for place in fixed if place.column.name == 'user'), None)


#: Cached so that equal parameters give the same object, which is part of the key of cached rows.
_rows_of = functools.lru_cache(maxsize=8)(_Rows)


def draw_process_panel(
    buf: Buffer,
    layout: ProcessLayout,
    listed: ProcessList,
    sample: Sample,
    device_styles: Mapping[DeviceKey, Style],
    above: tuple[int, ...],
) -> None:
    """Draw the panel; ``above`` are the columns of the vertical lines of the panel above."""
    host = sample.host
    area = layout.area
    ends = (0, area.width - 1)
    order = _unseen_order(layout, listed)
    left, right = _title(layout, listed, sample, order), _notes(listed, sample)
    free = draw_border(buf, area.y, above, ends, left, right)
    draw_at_right(buf, area.y, listed.hints, left=free[0] + 1, right=free[1])
    _draw_headings(buf, layout, listed)
    for separator in layout.separators:
        draw_rule(buf, separator, ends, ends)
    rows = _rows_of(area.width, layout.fixed, layout.moving, listed.scroll_x)
    driver_models = {device.key: device.current_driver_model for device in sample.devices}
    commands = _brief_commands(layout, listed)
    for row in layout.rows:
        process = listed.processes[row.process]
        spans = process_row(
            rows,
            process,
            driver_models.get(process.key.device),
            row_style(
                process,
                is_selected=process.key == listed.selected,
                is_tagged=process.key in listed.tagged,
            ),
            device_styles.get(process.key.device, PLAIN),
            is_marked=_is_elsewhere(process, listed.selected),
            is_own=process.is_own and not host.is_superuser,
            command=commands.get(row.process, ''),
        )
        buf.paste(row.y, [spans])
    last = max((row.y for row in layout.rows), default=layout.lines.y - 1)
    for y in range(last + 1, layout.lines.bottom):
        draw_uprights(buf, y, ends)
    if not listed.processes:
        message = clip(_empty_message(listed, sample), area.width - 4)
        buf.write(2, layout.lines.y, message, DIM)
    draw_rule(buf, area.bottom - 1, ends, ())


def _brief_commands(layout: ProcessLayout, listed: ProcessList) -> dict[int, str]:
    """Return the commands on the screen that do not fit, by the index of their process."""
    if not layout.columns or layout.columns[-1].column.name != 'command' or listed.scroll_x:
        return {}
    width = layout.columns[-1].width
    texts = {}
    for row in layout.rows:
        process = listed.processes[row.process]
        text = COLUMNS_BY_NAME['command'].text(process, None)
        if len(text) > width and process.status not in _SILENT and text.isascii():
            texts[row.process] = text
    return dict(zip(texts, fmt.brief_commands(list(texts.values()), width)))


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
    return next(f'by {column.title}' for column in COLUMNS if column.order == sort.order)


def _title(
    layout: ProcessLayout, listed: ProcessList, sample: Sample, order: str
) -> tuple[Note, ...]:
    """Return which processes are visible, how many GPUs they are on, and their order."""
    count = len(listed.processes)
    rows = layout.rows
    text = f'Processes {count}' if count else 'Processes'
    if rows and len(rows) < count:
        text = f'Processes {rows[0].process + 1}–{rows[-1].process + 1} of {count}'
    notes = [Note((text, text.replace('Processes ', '')), TITLE, 0)]
    gpus = len({process.key.device.physical_index for process in listed.processes})
    if listed.limits.device is not None:
        notes.append(Note((f'on GPU {listed.limits.device.label}',), rank=4))
    elif gpus and len(sample.devices) > 1:
        notes.append(Note((fmt.counted(gpus, 'GPU'),), rank=4))
    if listed.total is not None and 0 < count != listed.total and not listed.limits.is_only_device:
        notes.append(Note((f'{listed.total - count} hidden by {listed.limits.text}',), rank=3))
    if order:
        notes.append(Note((f'{order}{_arrow(listed.sort)}',), rank=2))
    return tuple(notes)


def _notes(listed: ProcessList, sample: Sample) -> tuple[Note, ...]:
    """Return warnings about the list."""
    silent = unknown_devices(sample)
    notes = list(listed.notes)
    if has_no_lists(sample):
        notes.insert(0, Note((NO_LISTS, 'not reported'), DIM, 1))
    elif silent:
        text = f'processes of {devices_text(silent)} unreadable'
        notes.insert(0, Note((text, 'unreadable'), WARNING, 1))
    return tuple(notes)


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
        style = HEADING
        title = column.title
        if column.order == listed.sort.order and listed.sort != Sort():
            # Away from the next heading, which may follow without a gap.
            is_right = column.align == '>'
            x -= is_right
            title = f'{_arrow(listed.sort)}{title}' if is_right else f'{title}{_arrow(listed.sort)}'
            style = _SORTED
        draw_within(buf, x, y, title, left, ends[1] - 1, style)
    if moving and listed.scroll_x:
        buf.write(moving[0].x, y, _CUT, HEADING)
    draw_uprights(buf, y, ends[1:])


def _title_x(place: Placed) -> int:
    column = place.column
    return place.x + (place.width - len(column.title) if column.align == '>' else 0)


def _arrow(sort: Sort) -> str:
    return '▼' if is_descending(sort) else '▲'


def _make_cell(place: Placed, before: Placed | None, *, width: int | None = None) -> _Cell:
    gap = ' ' * (place.x - before.right) if before else ''
    return _Cell(
        gap, place.column.text, place.width if width is None else width, place.column.align
    )


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
    is_own: bool,
    command: str = '',
) -> tuple[Span, ...]:
    """Return the spans of a process on a device with this driver model.

    ``command`` replaces the text of the last column.
    """
    buf = Buffer(rows.width, 1)
    texts = _texts(rows.fixed, process, driver_model)
    moving = _moving_text(rows, process, driver_model, command)
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
    if is_own and style == PLAIN and rows.user is not None:
        buf.restyle(Rect(rows.user.x, 0, rows.user.width, 1), role=Role.USER, bold=True)
    if is_marked:
        buf.write(rows.mark, 0, _SAME_PROCESS, _SAME_STYLE)
    return buf.row(0)


def _moving_text(
    rows: _Rows, process: ProcessSample, driver_model: str | None, command: str
) -> str:
    """Return the visible part of the columns that scroll."""
    room = rows.right - 1 - rows.left
    if process.status in _SILENT and process.cpu_percent is process.running_time_seconds is None:
        # Only the text in place of the command is known. It takes the room that it needs from
        # other columns, and ends where the command ends.
        *_, last = rows.moving or (None,)
        text = f' {COLUMNS_BY_NAME["command"].text(process, driver_model)}'
        if last is not None and not rows.scroll_x and len(text) > last.width + 1:
            others = _texts(rows.moving[:-1], process, driver_model)
            while others and len(''.join(others)) + len(text) > room:
                others.pop()
            before = ''.join(others)
            return before + clip(text, room).rjust(room - len(before))
    texts = _texts(rows.moving, process, driver_model)
    if command:
        texts[-1] = rows.moving[-1].gap + command
    text = ''.join(texts)
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
