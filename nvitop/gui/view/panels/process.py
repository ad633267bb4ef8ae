# SPDX-License-Identifier: GPL-3.0-only
"""The process panel, and what it shares with other lists of processes: styles and messages."""

from __future__ import annotations

from typing import AbstractSet, Mapping, NamedTuple, Sequence

from nvitop.basics.text import contains
from nvitop.gui.model import format as fmt
from nvitop.gui.model.choices import ProcessFilter, Sort
from nvitop.gui.model.columns import COLUMNS, COLUMNS_BY_NAME, place_processes
from nvitop.gui.model.format import devices_text
from nvitop.gui.model.table import Item, Placed
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import DIM, PLAIN, TAGGED, TITLE, WARNING, Role, Style
from nvitop.gui.render.width import cell_width, clip, clip_scrolled, safe
from nvitop.gui.state.process_rows import JobKey, Line, common_words, is_descending, unknown_devices
from nvitop.gui.view.table import draw_cell, draw_headings
from nvitop.gui.view.text import draw_border, draw_rule, draw_uprights
from nvitop.health.states import HELD_SECONDS
from nvitop.sampling.types import (
    PROCESSES,
    DeviceKey,
    HostProcessSample,
    ProcessKey,
    ProcessSample,
    Sample,
)

#: Note on a machine without lists of processes.
NO_LISTS = 'processes are not reported', 'not reported'
#: Maximum length of options that a message repeats.
_MAX_OPTIONS = 32


#: Mark in the margin of a tagged process or job, next to the bar of the selected one.
TAG = '*'


def row_style(process: ProcessSample | HostProcessSample, *, is_tagged: bool) -> Style:
    """Return the style of the row of a process."""
    if is_tagged:
        return TAGGED
    if process.status == 'gone' or (isinstance(process, ProcessSample) and process.is_outdated):
        return DIM
    return PLAIN


def unknown_note(sample: Sample) -> tuple[str, ...]:
    """Return which GPUs do not list their processes, the longest form first; ``()`` if none."""
    missing = {row.device for row in sample.problems if row.what == PROCESSES and row.kind == 'na'}
    # As with most exporters of a fleet.
    if sample.devices and missing.issuperset(device.key for device in sample.devices):
        return NO_LISTS
    unknown = unknown_devices(sample)
    count = f'{len(unknown)} {"GPU" if len(unknown) == 1 else "GPUs"} unreadable'
    text = f'processes of {devices_text(unknown)} unreadable'
    return (text, count, 'unreadable') if unknown else ()


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


#: Marks the other rows of the selected process, left of the GPU.
_SAME_PROCESS = '='
_SAME_STYLE = Style(Role.TEXT, bold=True, blink=True)
#: Marks of a job whose processes are hidden or listed below, left of the GPUs.
_FOLDED, _UNFOLDED = '▸', '▾'
#: Mark of text that has been scrolled sideways.
_CUT = '..'


class ProcessView(NamedTuple):
    """Contents of the panel."""

    lines: Sequence[Line] = ()
    #: Names of the columns, and the widths of the widest values.
    columns: tuple[str, ...] = ()
    widths: Mapping[str, int] = {}
    #: Number of processes without the filter; ``None`` before the first sample.
    total: int | None = None
    #: Numbers of jobs and of processes, listed or folded.
    jobs: int = 0
    processes: int = 0
    #: The filters that leave some of them out.
    limits: Limits = Limits()
    sort: Sort = Sort()
    selected: ProcessKey | JobKey | None = None
    tagged: AbstractSet[ProcessKey] = frozenset()
    #: Lines above the first one on the screen, and cells by which columns that scroll are moved.
    scroll_y: int = 0
    scroll_x: int = 0
    #: Warnings at the right of the border.
    notes: tuple[Item, ...] = ()
    #: Whether the title is the one that scripts look for.
    is_report: bool = False
    #: Words of a search, which are shown if a command contains them.
    searched: Sequence[str] = ()


def draw_processes(
    buf: Buffer, area: Rect, listed: ProcessView, sample: Sample, above: tuple[int, ...] = ()
) -> None:
    """Draw the panel; its top border closes that above, which has vertical lines in these columns."""
    ends = (0, area.width - 1)
    columns = place_processes(listed.columns, area.width, listed.widths)
    room = max(0, area.height - 3)
    first = max(0, min(listed.scroll_y, len(listed.lines) - room))
    lines = listed.lines[first : first + room]
    order = '' if listed.is_report and listed.sort == Sort() else listed.sort.order
    title = _title(listed, first, len(lines), columns)
    unknown = unknown_note(sample)
    warnings = [Item(unknown, DIM if unknown == NO_LISTS else WARNING)] if unknown else []
    draw_border(buf, area.y, above, ends, title, [*warnings, *listed.notes])
    for y in range(area.y + 1, area.bottom - 1):
        draw_uprights(buf, y, ends)
    if area.height > 1 and listed.total:
        draw_headings(buf, area.y + 1, columns, order, _arrow(listed.sort))
    models = {device.key: device.current_driver_model for device in sample.devices}
    commands = _commands(lines, columns, listed)
    for y, (line, command) in enumerate(zip(lines, commands), area.y + 2):
        model = models.get(line.process.key.device)
        _draw_line(buf, Rect(0, y, area.width, 1), columns, line, listed, sample, model, command)
    if not listed.lines and area.height > 2:
        message = clip(_empty_message(listed, sample), area.width - 4)
        # Headings stay while a filter hides all processes.
        buf.write(2, area.y + 1 + bool(listed.total), message, DIM)
    if area.height > 1:
        draw_rule(buf, area.bottom - 1, ends, ())


def _draw_line(
    buf: Buffer,
    area: Rect,
    columns: Sequence[Placed],
    line: Line,
    listed: ProcessView,
    sample: Sample,
    model: str | None,
    command: str,
) -> None:
    process, job = line.process, line.job
    is_child = job is not None and not line.is_job
    tagged = [each.key in listed.tagged for each in line.processes]
    is_tagged = bool(tagged) and all(tagged)
    style = row_style(process, is_tagged=is_tagged)
    if line.is_job and not line.is_folded and style == PLAIN:
        style = PLAIN._replace(bold=True)
    buf.hit(area.inset(1, 0), 'process' if not line.is_job else 'job', line.key)
    is_held = (process.gpu_idle_seconds or 0) >= HELD_SECONDS
    is_own = process.is_own and not sample.host.is_superuser
    x, y = 1, area.y
    for each in columns:
        name = each.column.name
        if (
            job is not None
            and is_child
            and (name == 'user' or (name == 'owner' and (job.key[1] or job.has_one_owner)))
        ):
            continue
        text = _text(each, line, model, command)
        if is_child and job is not None and name == 'time':
            text = '' if text == each.column.text(job.total, model) else text
        if name == 'command' and listed.scroll_x:
            text = clip_scrolled(text, listed.scroll_x, each.width)
        cell = style
        if style.role is Role.TEXT:
            if name == 'user' and is_own and process.username == sample.host.username:
                cell = Style(Role.USER, bold=True)
            elif name in ('idle', 'gpu_memory') and is_held:
                cell = WARNING
        if name == 'pid' and line.is_job:
            _draw_count(buf, y, columns, each, line, cell)
        else:
            draw_cell(buf, each.x, y, each, text, cell)
    if is_tagged:
        buf.write(area.x, y, TAG, TAGGED)
    if line.is_job:
        mark = _FOLDED if line.is_folded else _UNFOLDED
        buf.write(x, y, mark, Style(Role.KEY, bold=True))
    elif (  # the selected process on another device
        isinstance(listed.selected, ProcessKey)
        and process.key != listed.selected
        and process.key[:2] == listed.selected[:2]
    ):
        buf.write(x, y, _SAME_PROCESS, _SAME_STYLE)
    if line.key == listed.selected:
        buf.restyle(area.inset(1, 0), back=Role.SELECTED)


def _text(placed: Placed, line: Line, model: str | None, command: str) -> str:
    name = placed.column.name
    if name == 'command':
        return command
    if line.is_job and line.job is not None:
        if name == 'gpu':
            return fmt.join_labels(key.label for key in line.job.devices)
        if name == 'owner' and line.job.key[1]:
            return safe(line.job.key[1])
        if name == 'owner' and not line.job.has_one_owner:
            return ''
        if name == 'type':
            return ''
    return str(placed.column.text(line.process, model))


def _draw_count(
    buf: Buffer, y: int, columns: Sequence[Placed], pid: Placed, line: Line, style: Style
) -> None:
    """Draw the number of processes of a job in the columns of the PID and the type."""
    count = len({process.key[:2] for process in line.processes})
    after = next((each for each in columns if each.column.name == 'type'), pid)
    left = [each for each in columns if each.right <= pid.x]
    # The text to the left may be shorter than its column.
    before = left[-1].x + cell_width(_text(left[-1], line, None, '')) if left else 1
    right = after.right if after.x == pid.right + after.column.gap else pid.right
    forms = (f'{count} procs', f'×{count}')
    text = next((form for form in forms if len(form) < right - before), forms[-1])
    buf.write(right - cell_width(text), y, text, style)


def _commands(lines: Sequence[Line], columns: Sequence[Placed], listed: ProcessView) -> list[str]:
    """Return the command of each line on the screen: of a process of a job what differs, and short enough."""
    text_of = COLUMNS_BY_NAME['command'].text
    differing: dict[JobKey, tuple[str, dict[ProcessKey, str]]] = {}
    texts = []
    for line in lines:
        if line.job is None:
            texts.append(text_of(line.process, None))
            continue
        if line.job.key not in differing:
            members = line.job.processes
            shared, rest = common_words([text_of(process, None) for process in members])
            keys = [process.key for process in members]
            differing[line.job.key] = shared, dict(zip(keys, rest))
        shared, rest_of = differing[line.job.key]
        texts.append(shared if line.is_job else rest_of[line.process.key])
    if not columns or columns[-1].column.name != 'command' or listed.scroll_x:
        return texts
    width = columns[-1].width
    whole = list(texts)
    long = [i for i, text in enumerate(texts) if len(text) > width and text.isascii()]
    for i, text in zip(long, fmt.brief_commands([texts[i] for i in long], width)):
        texts[i] = text
    for i, text in enumerate(whole):
        cut = [word for word in listed.searched if not contains(clip(texts[i], width), word)]
        word = next((word for word in cut if contains(text, word)), '')
        if word:
            before = text.lower().find(word.lower())
            texts[i] = clip_scrolled(text, max(0, cell_width(text[:before]) - width // 3), width)
    return texts


def _title(
    listed: ProcessView, first: int, shown: int, columns: Sequence[Placed]
) -> tuple[Item, ...]:
    count, total = listed.processes, len(listed.lines)
    if listed.is_report:
        text = f'Processes: {count}'
    elif listed.jobs:
        text = f'Jobs {listed.jobs}, processes {count}'
    else:
        text = f'Processes {count}' if count else 'Processes'
    notes = [Item((text, f'Processes {count}'), TITLE, 0)]
    if shown < total:
        notes.append(Item((f'{first + 1}–{first + shown} of {total}',), rank=1))
    if listed.limits.device is not None:
        notes.append(Item((f'on GPU {listed.limits.device.label}',), rank=4))
    hidden = (listed.total or 0) - count
    if hidden and count and not listed.limits.is_only_device:
        notes.append(Item((f'{hidden} hidden by {listed.limits.text}',), rank=3))
    seen = [each.column.order for each in columns]
    if listed.sort != Sort() and listed.sort.order not in seen:
        title = next(each.title for each in COLUMNS if each.order == listed.sort.order)
        notes.append(Item((f'by {title}{_arrow(listed.sort)}',), rank=2))
    return tuple(notes)


def _arrow(sort: Sort) -> str:
    return '▼' if is_descending(sort) else '▲'


def _empty_message(listed: ProcessView, sample: Sample) -> str:
    if listed.total is None:
        return 'Looking for processes ...'
    if listed.total:
        return no_match_message(listed.total, listed.limits)
    return no_processes_message(sample) + (' (in WSL)' if sample.host.wsl else '')
