# SPDX-License-Identifier: GPL-3.0-only
"""The process panel, and what it shares with other lists of processes: styles and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, AbstractSet, Mapping, NamedTuple, Sequence

from nvitop.basics.text import contains, counted
from nvitop.gui.model import format as fmt
from nvitop.gui.model.choices import ProcessFilter
from nvitop.gui.model.columns import command_text, place_processes
from nvitop.gui.model.device_rows import is_on, is_user, unknown_devices
from nvitop.gui.model.format import devices_text
from nvitop.gui.model.main_layout import PROCESS_MARGINS
from nvitop.gui.model.table import UNSORTED, Placed, Sorted, inside, width_of
from nvitop.gui.render.buffer import Buffer, Item, Rect
from nvitop.gui.render.theme import DIM, KEY, PLAIN, TAGGED, TITLE, WARNING, Role, Style
from nvitop.gui.render.width import cell_width, clip, clip_scrolled, safe
from nvitop.gui.state.process_rows import JobKey, Line, common_words
from nvitop.gui.view.table import draw_table
from nvitop.gui.view.text import draw_border, draw_rule, draw_uprights
from nvitop.sampling.types import (
    PROCESSES,
    DeviceKey,
    HostProcessSample,
    ProcessKey,
    ProcessSample,
    Sample,
)

if TYPE_CHECKING:
    from nvitop.gui.state.app_state import AppState

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


def unknown_note(sample: Sample, selected: DeviceKey | None = None) -> tuple[str, ...]:
    """Return which GPUs do not list their processes, the longest form first; ``()`` if none.

    The title of a list names the ``selected`` GPU, and others do not matter to it.
    """
    missing = {row.device for row in sample.problems if row.what == PROCESSES and row.kind == 'na'}
    # As with most exporters of a fleet.
    if sample.devices and missing.issuperset(device.key for device in sample.devices):
        return NO_LISTS
    unknown = unknown_devices(sample)
    if selected is not None:
        is_unknown = any(is_on(key, selected) or is_on(selected, key) for key in unknown)
        return ('unreadable',) if is_unknown else ()
    count = f'{counted(len(unknown), "GPU")} unreadable'
    text = f'processes of {devices_text(unknown)} unreadable'
    return (text, count, 'unreadable') if unknown else ()


def empty_message(total: int | None, limits: Limits, sample: Sample) -> str:
    """Return why a list of processes is empty; ``total`` is their number, if known, without limits."""
    if total is None:
        return 'Looking for processes'
    if limits.is_only_device and unknown_note(sample, limits.device):
        return f'The processes of {limits.text} cannot be read'
    if total and limits.is_only_device:
        return f'No process is running on {limits.text}'
    if total:
        return f'No match: {counted(total, "process")} hidden by {limits.text}'
    return _no_processes(sample) + (' (in WSL)' if sample.host.wsl else '')


def _no_processes(sample: Sample) -> str:
    """Return that no process was found; GPUs that do not respond may have some."""
    silent = sum(device.is_silent for device in sample.devices)
    no_driver = any(row.subject == 'driver' and row.is_failure for row in sample.problems)
    if silent == len(sample.devices) and (silent or no_driver):
        return 'No GPU is responding: running processes are unknown'
    if silent:
        return 'No process is running on the GPUs that respond'
    unknown = {*unknown_devices(sample)}
    if sample.is_late or (unknown and unknown.issuperset(d.key for d in sample.devices)):
        return 'Running processes are unknown'
    return 'No process is running on a GPU'


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
        limits = [
            _options_text(self.options) if self.options != ProcessFilter() else '',
            'the filter' if self.query else '',
            f'GPU {self.device.label}' if self.device is not None else '',
        ]
        return ' and '.join(filter(None, limits)) or 'the filter'


def limits_of(state: AppState) -> Limits:
    return Limits(state.main.filter, state.query, state.main.selected_device)


def _options_text(options: ProcessFilter) -> str:
    """Return the options of a filter as they were given, or ``the options`` if they are long."""
    text = ' '.join(
        f'{option} {" ".join(map(str, sorted(selected)))}'
        for option, selected in (('-u', options.users), ('-p', options.pids))
        if selected
    )
    is_short = text and options.types is None and len(text) <= _MAX_OPTIONS
    return safe(text) if is_short else 'the options'


#: Style of the mark of other rows of the selected process.
_SAME_PROCESS = Style(Role.TEXT, bold=True, blink=True)
#: Mark of a job whose processes are hidden or listed below.
_FOLDED, _UNFOLDED = '▸', '▾'


class ProcessView(NamedTuple):
    """Contents of the panel."""

    #: The lines on the screen.
    lines: Sequence[Line] = ()
    #: Names of the columns, and the widths of the widest values.
    columns: tuple[str, ...] = ()
    widths: Mapping[str, int] = {}
    #: Number of processes without the filter; ``None`` before the first sample.
    total: int | None = None
    #: Number of processes, listed or folded.
    processes: int = 0
    title: Item = Item(('Processes',), TITLE, 0)
    #: The filters that leave some of them out.
    limits: Limits = Limits()
    #: The order that the headings show; none in a report.
    by: Sorted = UNSORTED
    selected: ProcessKey | JobKey | None = None
    tagged: AbstractSet[ProcessKey] = frozenset()
    #: Lines above the first one on the screen, and number of all lines if some may be hidden; cells
    #: by which columns that scroll are moved.
    first: int = 0
    total_lines: int = 0
    scroll_x: int = 0
    #: Warnings at the right of the border.
    notes: tuple[Item, ...] = ()
    #: Words of a search, which are shown if a command contains them.
    searched: Sequence[str] = ()


def draw_processes(
    buf: Buffer, area: Rect, listed: ProcessView, sample: Sample, above: tuple[int, ...] = ()
) -> None:
    """Draw the panel; its top border closes that above, which has vertical lines in these columns."""
    ends = (0, area.width - 1)
    placed = place_processes(listed.columns, area.width, listed.widths)
    lines = drawn_lines(listed.lines, placed, sample, listed)
    unknown = unknown_note(sample, listed.limits.device)
    warnings = [Item(unknown, DIM if unknown == NO_LISTS else WARNING)] if unknown else []
    draw_border(buf, area.y, above, ends, _titles(listed, placed), [*warnings, *listed.notes])
    for y in range(area.y + 1, area.bottom - 1):
        draw_uprights(buf, y, ends)
    for y, line in enumerate(lines, area.y + PROCESS_MARGINS[0]):
        _draw_marks(buf, y, line, listed)
        buf.hit(Rect(1, y, area.width - 2, 1), 'job' if line.is_job else 'process', line.key)
    if area.height > 1 and listed.total:
        draw_table(
            buf,
            area.inset(1, 1),
            placed,
            lines,
            style_of=lambda line: row_style(line.process, is_tagged=_is_tagged(line, listed)),
            cursor=next((i for i, line in enumerate(lines) if line.key == listed.selected), None),
            by=listed.by,
        )
    if not (listed.lines or listed.total_lines) and area.height > 2:
        cells = inside(area.width)
        message = clip(empty_message(listed.total, listed.limits, sample), cells.width)
        # Headings stay while a filter hides all processes.
        buf.write(cells.x, area.y + 1 + bool(listed.total), message, DIM)
    if area.height > 1:
        draw_rule(buf, area.bottom - 1, ends, ())


def _is_tagged(line: Line, listed: ProcessView) -> bool:
    return all(process.key in listed.tagged for process in line.processes)


def _draw_marks(buf: Buffer, y: int, line: Line, listed: ProcessView) -> None:
    """Draw the mark of a job, or of another row of the selected process; and that of a tag."""
    selected = listed.selected
    if line.is_job:
        buf.write(1, y, _FOLDED if line.is_folded else _UNFOLDED, KEY)
    elif line.key[:2] == (selected or ())[:2] and line.key != selected:
        buf.write(1, y, '=', _SAME_PROCESS)
    if _is_tagged(line, listed):
        buf.write(2, y, TAG, TAGGED)


def drawn_lines(
    lines: Sequence[Line], placed: Sequence[Placed], sample: Sample, listed: ProcessView
) -> list[Line]:
    """Return lines with what depends on their neighbors, on the width, or on the user and the devices."""
    wddm = {device.key for device in sample.devices if device.current_driver_model == 'WDDM'}
    width = width_of('command', placed)
    names_jobs = not any(cell.column.name == 'owner' for cell in placed)
    commands = _commands(lines, names_jobs=names_jobs)
    repeats = [not command and line.job is not None for line, command in zip(lines, commands)]
    commands = [
        command_text(line.process) if is_repeated else command
        for line, command, is_repeated in zip(lines, commands, repeats)
    ]
    return [
        line._replace(
            command=command,
            repeats_command=is_repeated,
            is_user=is_user(sample, line.process.username),
            has_wddm=line.process.key.device in wddm,
        )
        for line, command, is_repeated in zip(
            lines, _cut_commands(commands, width, listed), repeats
        )
    ]


def _commands(lines: Sequence[Line], *, names_jobs: bool) -> list[str]:
    """Return the command of each line: of a job what its processes share, of these what differs.

    A job without a column of its own is named before its command.
    """
    texts: dict[object, str] = {}
    texts.update((line.key, command_text(line.process)) for line in lines if line.job is None)
    for job in {line.job.key: line.job for line in lines if line.job is not None}.values():
        by_status = sorted(job.processes, key=lambda process: process.status == 'zombie')
        commands: dict[object, str] = {p.key: command_text(p) for p in by_status}
        running = [p.key for p in by_status if p.status != 'zombie']
        compared = running or [p.key for p in by_status]
        shared, rest = common_words([commands[key] for key in compared])
        if names_jobs and job.key[1]:
            shared = f'{safe(job.key[1])} · {fmt.brief_command(shared, 0)}'
        texts.update(commands)
        texts.update(zip(compared, rest))
        texts[job.key] = shared
    return [texts[line.key] for line in lines]


def _cut_commands(commands: Sequence[str], width: int, listed: ProcessView) -> list[str]:
    """Return commands that fit into their column, with the words of a search that they contain."""
    if listed.scroll_x:
        return [clip_scrolled(text, listed.scroll_x, width) for text in commands]
    cut = fmt.brief_commands(commands, width)
    for number, text in enumerate(commands):
        hidden = [word for word in listed.searched if not contains(cut[number], word)]
        word = next((word for word in hidden if contains(text, word)), '')
        if word:
            before = text.lower().find(word.lower())
            x = max(0, cell_width(text[:before]) - width // 3)
            cut[number] = clip_scrolled(text, x, width)
    return cut


def title_of(text: str, processes: int, jobs: int) -> Item:
    """Return the title with the number of jobs, 0 if they are not known."""
    in_jobs = f' in {counted(jobs, "job")}' if 0 < jobs < processes else ''
    return Item((text + in_jobs, text), TITLE, 0)


def _titles(listed: ProcessView, columns: Sequence[Placed]) -> tuple[Item, ...]:
    count, notes = listed.processes, [listed.title]
    if listed.tagged:
        notes.append(Item((f'{len({key.identity for key in listed.tagged})} tagged',), rank=1))
    if len(listed.lines) < listed.total_lines:
        last = listed.first + len(listed.lines)
        notes.append(Item((f'{listed.first + 1}-{last} of {listed.total_lines}',), rank=1))
    if listed.limits.device is not None:
        notes.append(Item((f'on GPU {listed.limits.device.label}',), rank=4))
    hidden = (listed.total or 0) - count
    if hidden and count and not listed.limits.is_only_device:
        notes.append(Item((f'{hidden} hidden by {listed.limits.text}',), rank=3))
    seen = [cell.column.order for cell in columns]
    if listed.by.order and listed.by.order not in seen:
        notes.append(Item((f'by {listed.by.title}{listed.by.arrow}',), rank=2))
    return tuple(notes)
