# SPDX-License-Identifier: GPL-3.0-only
"""The device panel: a row of one or more lines for each device, or a line for each metric of one GPU."""

from __future__ import annotations

from typing import Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence, Tuple

from nvitop.basics.metrics import METRICS_BY_NAME, Metric
from nvitop.basics.text import counted
from nvitop.basics.units import GiB
from nvitop.gui.model import format as fmt
from nvitop.gui.model.choices import GraphState
from nvitop.gui.model.device_columns import (
    LINE_FACTS,
    MEMORY,
    base_of,
    columns_of,
    device_widths,
    has_text,
    has_value,
    is_known,
    metric_style,
    top_of,
)
from nvitop.gui.model.device_rows import GpuRow, is_on, model_text, why_silent
from nvitop.gui.model.main_layout import DEVICE_FRAME, MOST_LINES, MainLayout, lines_of
from nvitop.gui.model.table import CLASSIC, Placed, content_width, inside, place
from nvitop.gui.render.buffer import Buffer, Cells, Item, Rect, fit
from nvitop.gui.render.theme import DIM, HEADING, IDLE, KEY, PLAIN, TITLE, Pieces, Role, Style
from nvitop.gui.render.width import cell_width, clip, safe, wrap
from nvitop.gui.view.charts import (
    Ruler,
    draw_history,
    draw_ruler,
    draw_series,
    history_x,
    round_top,
)
from nvitop.gui.view.device_histories import device_line
from nvitop.gui.view.table import draw_cell, draw_headings
from nvitop.gui.view.text import draw_border, draw_text, draw_uprights
from nvitop.sampling.types import DeviceKey, Sample

#: Marks the device of the selected process, left of its index.
_SELECTED_MARK = '►'
#: Line of a GPU that shows the history of its memory; those below stay empty.
_WITH_MEMORY = 5
#: A text, its style, and what wraps it to a width and a number of lines.
_Words = Tuple[str, Style, Callable[[str, int, int], Sequence[str]]]


class DeviceView(NamedTuple):
    """Contents of the panel in addition to its rows."""

    sample: Sample
    #: ``None`` in a report, which has no histories.
    ruler: Ruler | None = None
    graphs: GraphState = GraphState()
    #: The selected device, and that of the selected process.
    selected: DeviceKey | None = None
    marked: DeviceKey | None = None
    #: Widths of columns that were needed so far; empty in a report.
    widths: Mapping[str, int] = {}
    #: The key that wakes a GPU; ``''`` if there is none.
    wake_key: str = ''
    #: Lines of facts above the first one on the page of a device.
    facts_y: int = 0


def draw_devices(buf: Buffer, area: Rect, panels: MainLayout, view: DeviceView) -> Cells | None:
    """Draw the panel without its bottom border, which belongs to the panel below.

    Return the columns of the histories, ``None`` if there are none.
    """
    all_rows = (*panels.folded.rows, *panels.folded.free)
    ends = (0, area.width - 1)
    for y in range(area.y + 1, area.bottom):
        draw_uprights(buf, y, ends)
    area, facts = area.split_top(area.height - panels.fact_rows)
    if panels.fact_rows:
        _draw_facts(buf, facts, panels, view.facts_y)
    shown = _rows_that_fit(panels, area.height - DEVICE_FRAME, view.selected)
    totals = (*_position(shown, panels), *total_notes(all_rows))
    draw_border(buf, area.y, (), ends, machine_notes(all_rows, view), totals)
    if not all_rows or panels.form == 'sentence':
        _draw_sentence(buf, area.y + 1, all_rows, view)
        return None
    if panels.form == 'metrics':
        return _draw_metrics(buf, area, panels, all_rows[0], view)
    return _draw_rows(buf, area, panels, shown, view)


def _rows_that_fit(panels: MainLayout, room: int, selected: DeviceKey | None) -> tuple[GpuRow, ...]:
    """Return the selected row, those with problems, held ones, and those next to the selected one."""
    rows, room = panels.folded.rows, room - bool(panels.folded.free)
    if panels.form != 'rows' or panels.lines > 1 or len(rows) <= room:
        return rows
    keys = [row.device.key for row in rows]
    at = keys.index(selected) if selected in keys else -1

    def rank(number: int) -> tuple[bool, bool, bool, int]:
        row = rows[number]
        is_held = row.state.word == 'held'
        return number != at, not row.is_wrong, not is_held, abs(number - at)

    return tuple(rows[number] for number in sorted(sorted(range(len(rows)), key=rank)[:room]))


def _position(shown: Sequence[GpuRow], panels: MainLayout) -> tuple[Item, ...]:
    """Return how many rows are shown, and where the others are; nothing if all are."""
    rows, free = panels.folded
    if len(shown) == len(rows):
        return ()
    arrows = '▲' * (shown[:1] != rows[:1]) + '▼' * (shown[-1:] != rows[-1:])
    count = f'{len(shown) + len(free)} of {len(rows) + len(free)}'
    return (Item((f'{count} {arrows}'.rstrip(),), KEY, 0),)


class _Histories(NamedTuple):
    """The histories of rows: their place, metric and time, and the value that fills one."""

    cells: Cells
    metric: Metric
    ruler: Ruler
    top: float


class _DeviceTable(NamedTuple):
    """The columns of rows, and their histories."""

    columns: tuple[Placed, ...]
    histories: _Histories | None

    @property
    def right(self) -> int:
        return self.columns[-1].right


def _draw_rows(
    buf: Buffer, area: Rect, panels: MainLayout, shown: Sequence[GpuRow], view: DeviceView
) -> Cells | None:
    rows, free = panels.folded
    table = _table(area.width, (*rows, *free), view, is_tall=panels.lines > 1)
    draw_headings(buf, area.y + 1, table.columns)
    if table.histories is not None:
        _draw_times(buf, area.y + 1, table.histories)
    y = area.y + DEVICE_FRAME
    for row in shown:
        lines = lines_of(row, panels.lines)
        _draw_row(buf, Rect(1, y, area.width - 2, lines), table, row, view)
        y += lines
    last = Rect(1, y, area.width - 2, 1)
    if free and y < area.bottom:
        if len(free) == 1 and not free[0].device.key.is_mig:
            _draw_row(buf, last, table, free[0], view)
        else:
            _draw_free(buf, last, table.columns, free, view)
    return None if table.histories is None else table.histories.cells


def _table(width: int, rows: Sequence[GpuRow], view: DeviceView, *, is_tall: bool) -> _DeviceTable:
    columns = columns_of(rows, is_tall=is_tall, has_history=view.ruler is not None)
    if width < CLASSIC:
        columns = [column._replace(gap=min(column.gap, 1)) for column in columns]
    widths = view.widths or device_widths(rows)
    growing = {c.name: widths[c.name] for c in columns if c.name in widths and len(c.sizes) > 1}
    # The index is above those of the processes.
    placed = place(columns, Cells(1, inside(width).right - 1), growing)
    if placed[-1].column.name != 'history' or view.ruler is None:
        return _DeviceTable(placed, None)
    metric, devices = METRICS_BY_NAME[view.graphs.metric], [row.device for row in rows]
    cells = Cells(placed[-1].x, placed[-1].width)
    top = top_of(metric, devices)
    if top is None:  # all histories have the same scale
        highest = [view.ruler.highest(device.key, metric.name, cells.width) for device in devices]
        top = round_top(highest, base=base_of(metric))
    return _DeviceTable(placed[:-1], _Histories(cells, metric, view.ruler, top))


def _draw_times(buf: Buffer, y: int, histories: _Histories) -> None:
    """Draw the ruler, after the name of a metric that the user chose."""
    area = Rect(histories.cells.x, y, histories.cells.width, 1)
    if histories.metric.name != GraphState().metric:
        title = clip(histories.metric.graph, max(0, area.width - 5), '')
        buf.write(area.x, area.y, title, HEADING)
        area = area.inset(cell_width(title) + 1, 0, 0, 0)
    draw_ruler(buf, area, histories.ruler)


def _draw_row(buf: Buffer, area: Rect, table: _DeviceTable, row: GpuRow, view: DeviceView) -> None:
    device, y = row.device, area.y
    buf.hit(area, 'device', device.key)
    # What is wrong is below the state if there is room, not twice.
    briefly = row._replace(finding=None) if area.height > 1 and device.status == 'ok' else row
    for cell in table.columns:
        if has_text(cell.column, row):
            said = briefly if cell.column.name == 'state' else row
            draw_cell(buf, y, cell, cell.column.text(said, cell.width), PLAIN)
    if device.status != 'ok':
        _draw_silent(buf, area, table.columns, row, view.wake_key)
    else:
        _draw_below(buf, area.inset(0, 1, 0, 0), table, row)
        if table.histories is not None:
            _draw_history(buf, area, row, table.histories)
    if view.marked is not None and is_on(view.marked, device.key):
        buf.write(1, y, _SELECTED_MARK, KEY)
    if device.key == view.selected:
        buf.restyle(Rect(1, y, table.right, 1), back=Role.SELECTED)


def _draw_history(buf: Buffer, line: Rect, row: GpuRow, histories: _Histories) -> None:
    """Draw the history of a metric; that of the memory below if there is room, or in its place."""
    cells, metric, ruler, top = histories
    memory, key = METRICS_BY_NAME['memory_percent'], row.device.key
    area = Rect(cells.x, line.y, cells.width, line.height)
    below = Rect(area.x, area.y, 0, 0)
    if not is_known(row.device, metric.name) and is_known(row.device, memory.name):
        area, below = below, area
    elif area.height >= _WITH_MEMORY and metric != memory:
        area, below = area.split_top(_WITH_MEMORY - 1)
        below = below.split_top(1)[0]
    if not area.is_empty:
        values = ruler.values(key, metric.name, area.width)
        draw_history(buf, area, values, metric_style(metric), bound=top)
    if not below.is_empty and not row.is_others_memory:
        buf.write(below.x, below.bottom - 1, 'MEM', HEADING)
        values = ruler.values(key, memory.name, below.width)
        draw_history(buf, below.inset(len('MEM') + 1, 0, 0, 0), values, MEMORY)


def _draw_silent(
    buf: Buffer, area: Rect, columns: Sequence[Placed], row: GpuRow, wake_key: str
) -> None:
    """Draw why a device has no values after its state, and what to do."""
    x = next(cell.right for cell in columns if cell.column.name == 'state') + 2
    room = area.right - 1 - x
    reason, advice = why_silent(row.device), row.advice
    if row.device.sleep is not None:
        can_press = wake_key and row.device.sleep.wakes_on_refresh
        label = row.device.key.label
        advice = f'press {wake_key} to wake it' if can_press else f'nvitop -o {label} wakes it'
    if reason and area.height == 1:
        used = buf.write(x, area.y, clip(reason, room), row.word_style)
        for line in fmt.advice_lines(advice, room - used - len(' · '), 1):
            buf.write(x + used, area.y, f' · {line}', DIM)
        return
    words: list[_Words] = [(reason, row.word_style, wrap), (advice, DIM, fmt.advice_lines)]
    _draw_words(buf, Rect(x, area.y, room, area.height), words)


def _draw_words(buf: Buffer, area: Rect, words: Iterable[_Words]) -> int:
    """Draw texts below each other, as far as they fit; return the number of lines."""
    used = 0
    for text, style, wrapped in words:
        room = area.height - used
        for line in wrapped(text, max(2, area.width), room) if text and room > 0 else ():
            buf.write(area.x, area.y + used, line, style)
            used += 1
    return used


def _draw_below(buf: Buffer, area: Rect, table: _DeviceTable, row: GpuRow) -> None:
    """Draw facts below their columns, and words about the GPU.

    What is wrong is next to the first facts if it fits there. Other words are before the facts that
    follow, as wide as the columns.
    """
    if area.is_empty:
        return
    blank = int(area.height > 2)  # so that high rows stay apart
    area = area.inset(0, 0, 0, blank)
    facts = list(_placed_facts(table.columns, row))
    first = [fact for number, fact in facts if number == 0]
    places = {cell.column.name: cell.x for cell in table.columns}
    left = max([fact.right + 2 for fact in first if fact.column.align == '<'], default=0)
    left = max(left, places['state'], places.get('job', 0))
    right = min([table.right, *(fact.x - 1 for fact in first if fact.column.align == '>')])
    forms, others = row.problem_forms, f'also {", ".join(row.others)}' if row.others else ''
    words: list[_Words] = [
        (row.advice if row.is_wrong else '', DIM, fmt.advice_lines),
        (others, DIM, wrap),
    ]
    start = 1
    beside = next((form for form in forms if cell_width(form) <= right - left), '')
    if forms and not beside:
        words.insert(0, (forms[-1], row.problem_style, wrap))
        start = 0
    buf.write(left, area.y, beside, row.problem_style)
    x = places['state']
    below = Rect(x, area.y + start, table.right - x, area.height - start)
    if any(cell_width(text) > below.width for text, _, _ in words):
        below = below.inset(0, 0, 0, -blank)
    used = _draw_words(buf, below, words)
    for number, fact in facts:
        y = area.y + number + (used if number >= start else 0)
        if y < area.bottom:
            draw_cell(buf, y, fact, fact.column.text(row, fact.width), PLAIN)


def _placed_facts(columns: Sequence[Placed], row: GpuRow) -> Iterator[tuple[int, Placed]]:
    """Yield the facts that a GPU has, each with the number of its line and its place."""
    for cell in columns:
        known = [f for f in LINE_FACTS.get(cell.column.name, ()) if has_value(f, [row.device])]
        for number, fact in enumerate(known):
            width = fact.sizes[0]
            x = cell.x if fact.align == '<' else cell.right - width
            yield number, Placed(fact, x, width)


def _draw_free(
    buf: Buffer, line: Rect, columns: Sequence[Placed], free: Sequence[GpuRow], view: DeviceView
) -> None:
    """Draw the devices that share the last row below the columns of their index and state."""
    index, state = (
        next(cell for cell in columns if cell.column.name == name) for name in ('index', 'state')
    )
    labels = clip(fmt.join_labels(row.device.key.label for row in free), line.width - 8)
    x = max(2, index.right - cell_width(labels))
    x += buf.write(x, line.y, labels, IDLE)
    buf.write(max(x + 1, state.x), line.y, 'free', IDLE)
    keys = [row.device.key for row in free]
    buf.hit(line, 'device', view.selected if view.selected in keys else keys[0])
    if view.selected in keys:
        buf.restyle(line, back=Role.SELECTED)


def _draw_sentence(buf: Buffer, y: int, rows: Sequence[GpuRow], view: DeviceView) -> None:
    """Draw why there is no GPU, or since when the only one is asleep and the key that wakes it."""
    cells = inside(buf.width)
    if not rows:
        buf.write(cells.x, y, clip(_no_devices_message(view.sample), cells.width))
        return
    device = rows[0].device
    name, sleep = f'GPU {device.key.label}', device.sleep
    forms: tuple[str, ...] = (clip(f'{name} is {safe(device.reason or "asleep")}', cells.width),)
    advice: Pieces = ()
    if sleep is not None:
        verb = 'is' if sleep.seconds is None else 'has been'
        text = f'{name} {verb} asleep {why_silent(device)}'.rstrip()
        power = ' and draws no power' if sleep.power_state == 'D3cold' else ''
        forms = (text + power, text, f'{name} is asleep')
        if sleep.wakes_on_refresh and view.wake_key:
            advice = (('. Press ', PLAIN), (view.wake_key, KEY), (' to wake it', PLAIN))
    (words,) = fit([Item(forms)], cells.width - content_width(advice), 0)
    x = cells.x
    for text, style in ((words, PLAIN), *advice):
        x += buf.write(x, y, text, style, width=max(0, cells.right - x))
    line = Rect(1, y, buf.width - 2, 1)
    buf.hit(line, 'device', device.key)
    if view.selected is not None:
        buf.restyle(line, back=Role.SELECTED)


def _draw_metrics(
    buf: Buffer, area: Rect, panels: MainLayout, row: GpuRow, view: DeviceView
) -> Cells:
    """Draw who uses the only GPU, a line for each metric, and facts on its page."""
    cells = inside(area.width)
    inner = Rect(cells.x, area.y + 1, cells.width, area.height - 1)
    left = history_x(inner.width)
    buf.hit(Rect(1, inner.y, area.width - 2, inner.height), 'device', row.device.key)
    end = inner.right
    if view.ruler is not None:
        end = draw_ruler(buf, inner.inset(left, 0, 0, 0), view.ruler) - 1
        series = [device_line(row.device, metric) for metric in panels.metrics]
        draw_series(buf, inner.inset(0, 1, 0, 0), series, MOST_LINES, view.ruler)
    summary = Rect(inner.x, inner.y, end - inner.x, 1)
    _draw_summary(buf, summary, row, has_problem=not panels.fact_rows)
    return Cells(inner.x + left, inner.width - left)


def _draw_summary(buf: Buffer, line: Rect, row: GpuRow, *, has_problem: bool) -> None:
    """Draw the state of a GPU, its user and job, and its problem unless the facts below show it."""
    name = f'GPU {row.device.key.label}{"!" if row.is_wrong else ""}'
    forms = row.problem_forms if has_problem else ()
    job = clip(row.job, line.width)
    items = [
        Item((name,), row.mark_style, 0),
        Item((row.word,), row.word_style, 0),
        Item((row.mark if row.is_wrong and has_problem else '',), row.mark_style, 1),
        Item((row.who,), PLAIN._replace(bold=row.is_user), 2),
        Item(tuple(clip(job, cells) for cells in range(max(cell_width(job), 15), 14, -1)), DIM, 3),
        Item(forms or ('',), row.problem_style, 4),
    ]
    x = line.x
    items = [item for item in items if item.forms[-1]]
    for item, text in zip(items, fit(items, line.width, 3)):
        if text:
            x += buf.write(x, line.y, ' · ' if x > line.x else '', DIM)
            x += buf.write(x, line.y, text, item.style)


def _draw_facts(buf: Buffer, area: Rect, panels: MainLayout, first: int) -> None:
    """Draw what is wrong with the device of a page, and facts about it, from a line on if not all fit."""
    ends = (0, area.width - 1)
    device = panels.folded.rows[0].device
    info = device.info
    family = ' '.join(filter(None, (info.architecture, info.cuda_compute_capability)))
    notes = [Item((f'GPU {device.key.label}',), TITLE, 0)]
    notes += [Item((safe(family),))] if family else []
    first = min(first, panels.hidden_facts)
    lines = panels.facts[first : first + area.height - 1]
    count = f'{first + 1}-{first + len(lines)} of {len(panels.facts)}'
    position = [Item((count,), KEY, 0)] if panels.hidden_facts else []
    draw_border(buf, area.y, ends, ends, notes, position)
    for y, line in enumerate(lines, area.y + 1):
        for x, text, style in line:
            draw_text(buf, inside(area.width).x + x, y, text, style)


def _no_devices_message(sample: Sample) -> str:
    if not sample.sequence:
        return 'Looking for GPUs'
    reasons = [safe(problem.reason) for problem in sample.problems if problem.subject == 'driver']
    return ': '.join(['No GPU is visible', *reasons[:1]])


def machine_notes(rows: Sequence[GpuRow], view: DeviceView) -> tuple[Item, ...]:
    """Return what is in the machine: its GPUs, and the versions, which are in the head of a report."""
    sample, is_report = view.sample, view.ruler is None
    migs = sum(row.device.key.is_mig for row in rows)
    notes = [Item((model_text(rows),), TITLE, 0)]
    if migs and migs < len(rows):
        notes.append(Item((counted(migs, 'MIG device'),), rank=4))
    if sample.driver_version and not is_report:
        driver = safe(sample.driver_version)
        notes.append(Item((f'driver {driver}', driver), rank=5))
    if sample.cuda_driver_version and not is_report:
        notes.append(Item((f'CUDA {safe(sample.cuda_driver_version)}',), rank=6))
    return tuple(notes)


def total_notes(rows: Sequence[GpuRow]) -> tuple[Item, ...]:
    """Return totals of all GPUs that respond, if there are several."""
    gpus = [row.device for row in rows if not row.device.key.is_mig and row.device.status == 'ok']
    notes: list[Item] = []
    if len(gpus) < 2:
        return ()
    loads = [g.gpu_utilization_percent for g in gpus if g.gpu_utilization_percent is not None]
    if loads:
        notes.append(Item((f'{sum(loads) / len(loads):.0f}% util',), rank=1))
    used, total = _sums((gpu.memory_used_bytes, gpu.info.memory_total_bytes) for gpu in gpus)
    if total:
        notes.append(Item((f'{used / GiB:.0f}/{total / GiB:.0f} GiB',), rank=3))
    usage, limit = _sums((gpu.power_usage_mw, gpu.power_limit_mw) for gpu in gpus)
    if limit:
        digits, unit, scale = (1, 'kW', 1e6) if limit >= 1e6 else (0, 'W', 1e3)
        text = f'{usage / scale:.{digits}f}/{limit / scale:.{digits}f} {unit}'
        notes.append(Item((text,), rank=7))
    return tuple(notes)


def _sums(pairs: Iterable[tuple[int | None, int | None]]) -> tuple[int, int]:
    """Return the sum of the first and of the second parts of pairs that are known."""
    known = [(part, whole) for part, whole in pairs if part is not None and whole]
    return sum(part for part, _ in known), sum(whole for _, whole in known)
