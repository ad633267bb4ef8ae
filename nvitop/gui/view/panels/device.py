# SPDX-License-Identifier: GPL-3.0-only
"""The device panel: a row of one or more lines for each device, or a line for each metric of one GPU."""

from __future__ import annotations

from typing import Iterable, Mapping, NamedTuple, Sequence

from nvitop.basics.metrics import METRICS_BY_NAME, Metric
from nvitop.basics.text import counted
from nvitop.basics.units import GiB
from nvitop.gui.model import format as fmt
from nvitop.gui.model.choices import GraphState
from nvitop.gui.model.device_columns import (
    DEVICE_COLUMNS,
    DEVICE_COLUMNS_BY_NAME,
    LINE_FACTS,
    device_widths,
    facts_of,
    has_value,
    is_known,
    memory_width,
    metric_style,
    metrics_of,
    tall_columns,
    top_of,
)
from nvitop.gui.model.device_rows import GpuRow, is_on, model_text, why_silent
from nvitop.gui.model.main_rows import DEVICE_FRAME, FACT_LABEL, FACT_WIDTH, MainRows, lines_of
from nvitop.gui.model.table import CLASSIC, Column, Content, Item, Placed, fit, inside, place
from nvitop.gui.render.buffer import Buffer, Cells, Rect
from nvitop.gui.render.theme import (
    DIM,
    HEADING,
    IDLE,
    KEY,
    PLAIN,
    TITLE,
    WARNING,
    Pieces,
    Role,
    Style,
)
from nvitop.gui.render.width import cell_width, clip, pad, safe, wrap
from nvitop.gui.view.charts import (
    Ruler,
    draw_history,
    draw_ruler,
    draw_series,
    history_x,
    round_top,
)
from nvitop.gui.view.device_histories import device_line
from nvitop.gui.view.table import draw_cell, draw_headings, widest
from nvitop.gui.view.text import draw_border, draw_facts, draw_uprights
from nvitop.sampling.types import DeviceKey, DeviceSample, Sample

#: Marks the device of the selected process, left of its index.
_SELECTED_MARK = '►'
#: Line of a GPU that shows the history of its memory; those below stay empty.
_WITH_MEMORY = 5


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


def draw_devices(buf: Buffer, area: Rect, heights: MainRows, view: DeviceView) -> Cells | None:
    """Draw the panel without its bottom border, which belongs to the panel below.

    Return the columns of the histories, ``None`` if there are none.
    """
    ends = (0, area.width - 1)
    rows = (*heights.folded.rows, *heights.folded.free)
    for y in range(area.y + 1, area.bottom):
        draw_uprights(buf, y, ends)
    notes = machine_notes(rows, view)
    draw_border(buf, area.y, (), ends, notes)
    if not rows:
        cells = inside(area.width)
        buf.write(cells.x, area.y + 1, clip(_no_devices_message(view.sample), cells.width))
        return None
    if heights.form == 'sentence':
        line = Rect(1, area.y + 1, area.width - 2, 1)
        _draw_asleep(buf, line, rows[0].device, view)
        return None
    if heights.form == 'metrics':
        return _draw_metrics(buf, area, heights, rows[0], view)
    room = area.height - DEVICE_FRAME - bool(heights.folded.free)
    fitting = _rows_that_fit(heights, room, view.selected)
    position: tuple[Item, ...] = ()
    if len(fitting) < len(heights.folded.rows):
        ends_shown = (
            fitting[:1] == heights.folded.rows[:1],
            fitting[-1:] == heights.folded.rows[-1:],
        )
        arrows = '▲' * (not ends_shown[0]) + '▼' * (not ends_shown[1])
        text = f'{len(fitting) + len(heights.folded.free)} of {len(rows)} {arrows}'.rstrip()
        position = (Item((text,), KEY, 0),)
    draw_border(buf, area.y, (), ends, notes, (*position, *total_notes(rows)))
    columns = _place(area.width, rows, heights.lines, view)
    has_values = any(row.device.status == 'ok' for row in rows)
    named = [cell for cell in columns if has_values or cell.column.name in ('index', 'state')]
    draw_headings(buf, area.y + 1, named)
    history = next((cell for cell in columns if cell.column.name == 'history'), None)
    top = None
    if history is not None and has_values:
        _draw_times(buf, Rect(history.x, area.y + 1, history.width, 1), view)
        top = _common_top(heights.folded.rows, view, history.width)
    y = area.y + DEVICE_FRAME
    if len(heights.folded.free) == 1 and room >= 0:
        fitting += heights.folded.free
    for row in fitting:
        lines = lines_of(row, heights.lines)
        _draw_row(buf, Rect(1, y, area.width - 2, lines), columns, row, view, rows, top)
        y += lines
    if len(heights.folded.free) > 1 and y < area.bottom:
        _draw_free(buf, area, y, columns, heights.folded.free, view)
    return None if history is None else Cells(history.x, history.width)


def _rows_that_fit(heights: MainRows, room: int, selected: DeviceKey | None) -> tuple[GpuRow, ...]:
    """Return the selected row, those with problems, held ones, and those next to the selected one."""
    rows = heights.folded.rows
    if heights.lines > 1 or len(rows) <= room:
        return rows
    keys = [row.device.key for row in rows]
    at = keys.index(selected) if selected in keys else -1

    def rank(number: int) -> tuple[bool, bool, bool, int]:
        row = rows[number]
        is_held = row.state.word == 'held'
        return number != at, not row.is_wrong, not is_held, abs(number - at)

    return tuple(rows[number] for number in sorted(sorted(range(len(rows)), key=rank)[:room]))


def _place(width: int, rows: Sequence[GpuRow], lines: int, view: DeviceView) -> tuple[Placed, ...]:
    """Place the columns. Texts have room for the longest one, in steps, so that columns rarely move."""
    columns = _columns(rows, lines, has_history=view.ruler is not None)
    widths = dict(view.widths or device_widths(rows))
    widths.update(
        (column.name, widest(column, rows)) for column in columns if column.name == 'name'
    )
    if lines == 1:
        least = {'state': 10, 'user': 8, 'job': 8 if widths['job'] else 0}
    else:  # the problem is below the job
        widths['state'] = widths['word']
        least = {'job': min(40, max(24, width // 5 + 1))}
        for name, facts in _facts(rows, lines).items():
            least[name] = max(fact.sizes[0] for fact in facts)
    wanted = {
        column.name: _rounded(widths[column.name], least.get(column.name, 0))
        for column in columns
        if column.name in widths and len(column.sizes) > 1
    }
    if not widths['job']:
        columns = [
            column._replace(title='') if column.name == 'job' else column for column in columns
        ]
    if width < CLASSIC:
        columns = [column._replace(gap=min(column.gap, 1)) for column in columns]
    # The index is above those of the processes.
    return place(columns, Cells(1, inside(width).right - 1), wanted)


def _columns(rows: Sequence[GpuRow], lines: int, *, has_history: bool) -> list[Column]:
    """Return the columns of rows with this many lines that have values."""
    gpus = [row.device for row in rows if row.device.status == 'ok']
    names = {row.device.info.name for row in rows if not row.device.key.is_mig} - {None}
    changed: dict[str, Column] = {}
    if any(row.device.key.is_mig for row in rows):
        # Their bars are right below each other.
        changed['memory_bar'] = DEVICE_COLUMNS_BY_NAME['memory_bar']
    most = max(map(memory_width, gpus), default=0)
    if len(names) < 2:
        changed['name'] = DEVICE_COLUMNS_BY_NAME['name']._replace(text=_profile)
    shown_columns = [
        changed.get(column.name, column)
        for column in (DEVICE_COLUMNS if lines == 1 else tall_columns(DEVICE_COLUMNS))
        if (has_history or column.name != 'history') and (not gpus or has_value(column, gpus))
    ]
    return [
        column._replace(sizes=column.sizes[:1])
        if column.name == 'memory' and most <= column.sizes[0]
        else column
        for column in shown_columns
    ]


def _facts(rows: Sequence[GpuRow], lines: int) -> dict[str, list[Column]]:
    """Return the facts below each column of rows with this many lines: those that any of the GPUs has."""
    gpus = [row.device for row in rows]
    known = {name: [f for f in facts if has_value(f, gpus)] for name, facts in LINE_FACTS.items()}
    return {name: facts[: lines - 1] for name, facts in known.items() if facts and lines > 1}


def _rounded(width: int, least: int = 0) -> int:
    """Return a width rounded up to a multiple of 4, so that it rarely changes, but at least ``least``."""
    return least if width <= least else -(-width // 4) * 4


def _profile(row: GpuRow, width: int) -> Content:
    """Return the text of the column NAME if the title has the only product name."""
    return DEVICE_COLUMNS_BY_NAME['name'].text(row, width) if row.device.key.is_mig else ''


def _draw_times(buf: Buffer, area: Rect, view: DeviceView) -> None:
    """Draw the ruler, after the name of a metric that the user chose."""
    assert view.ruler is not None  # there is a history
    metric = METRICS_BY_NAME[view.graphs.metric]
    if metric.name != GraphState().metric:
        title = clip(metric.graph, max(0, area.width - 5), '')
        buf.write(area.x, area.y, title, HEADING)
        area = area.inset(cell_width(title) + 1, 0, 0, 0)
    draw_ruler(buf, area, view.ruler)


def _common_top(rows: Sequence[GpuRow], view: DeviceView, width: int) -> float:
    """Return the value that fills a history of the chosen metric, the same for all devices."""
    metric = METRICS_BY_NAME[view.graphs.metric]
    devices = [row.device for row in rows]
    top = top_of(metric, devices)
    if top is not None or view.ruler is None:
        return top or 100.0
    highest = [view.ruler.highest(device.key, metric.name, width) for device in devices]
    return round_top(highest, base=1024 if metric.unit == 'KiB/s' else 1000)


def _draw_row(
    buf: Buffer,
    area: Rect,
    columns: Sequence[Placed],
    row: GpuRow,
    view: DeviceView,
    rows: Sequence[GpuRow],
    top: float | None,
) -> None:
    device, y = row.device, area.y
    buf.hit(area, 'device', device.key)
    history = columns[-1] if columns[-1].column.name == 'history' else None
    right = columns[-1].right if history is None else history.x - 2
    if device.status != 'ok':
        _draw_silent(buf, y, columns, row, area.height, view.wake_key)
    else:
        for cell in columns:
            # The GPU of a MIG device has values that it lacks.
            if not device.key.is_mig or has_value(cell.column, [device]):
                draw_cell(buf, y, cell, cell.column.text(row, cell.width), PLAIN)
        _draw_facts_below(buf, area.inset(0, 1, 0, 0), columns, row, rows, right)
    if history is not None and view.ruler is not None and device.status == 'ok':
        graph = Rect(history.x, y, history.width, area.height)
        metric, memory = (METRICS_BY_NAME[name] for name in (view.graphs.metric, 'memory_percent'))
        if area.height >= _WITH_MEMORY and metric != memory and is_known(device, metric.name):
            graph, below = graph.split_top(_WITH_MEMORY - 1)
            _draw_memory(buf, below.split_top(1)[0], device, view.ruler)
        _draw_history(buf, graph, row, view.ruler, metric, top)
    if view.marked is not None and is_on(view.marked, device.key):
        buf.write(1, y, _SELECTED_MARK, KEY)
    if device.key == view.selected:
        buf.restyle(Rect(1, y, right, 1), back=Role.SELECTED)


def _draw_history(
    buf: Buffer, area: Rect, row: GpuRow, ruler: Ruler, metric: Metric, top: float | None
) -> None:
    """Draw the history of a metric, or that of the memory, with its name, if it has no values."""
    device, memory, width = row.device, METRICS_BY_NAME['memory_percent'], area.width
    if not is_known(device, metric.name) and is_known(device, memory.name):
        if not row.is_others_memory:
            _draw_memory(buf, area, device, ruler)
        return
    values = ruler.values(device.key, metric.name, width)
    draw_history(buf, area, values, metric_style(metric), bound=top or 100.0)


def _draw_memory(buf: Buffer, area: Rect, device: DeviceSample, ruler: Ruler) -> None:
    """Draw the history of the memory after its name."""
    metric = METRICS_BY_NAME['memory_percent']
    buf.write(area.x, area.bottom - 1, 'MEM', HEADING)
    values = ruler.values(device.key, metric.name, area.width)
    draw_history(buf, area.inset(len('MEM') + 1, 0, 0, 0), values, metric_style(metric))


def _draw_silent(
    buf: Buffer, y: int, columns: Sequence[Placed], row: GpuRow, lines: int, wake_key: str
) -> None:
    """Draw why a device has no values after its state, and what to do."""
    x = 0
    for cell in columns:
        if cell.column.name in ('index', 'mark', 'name', 'state'):
            draw_cell(buf, y, cell, cell.column.text(row, cell.width), PLAIN)
        elif not x:
            x = cell.x
    room = columns[-1].right - x
    reason, advice = clip(why_silent(row.device), room), row.advice
    if row.device.sleep is not None:
        can_press = wake_key and row.device.sleep.wakes_on_refresh
        label = row.device.key.label
        advice = f'press {wake_key} to wake it' if can_press else f'nvitop -o {label} wakes it'
    if reason and lines == 1:
        used = buf.write(x, y, reason, row.word_style)
        if advice and used + 3 + cell_width(advice) <= room:
            buf.write(x + used, y, f' · {advice}', DIM)
        return
    words = [(reason, row.word_style)] if reason else []
    texts = _lines_of_sentences(advice, room)
    if len(words) + len(texts) > lines:
        texts = wrap(advice, room, lines)
    words += [(line, DIM) for line in texts if line]
    for number, (text, style) in enumerate(words[:lines], y):
        buf.write(x, number, text, style)


def _lines_of_sentences(text: str, room: int) -> list[str]:
    sentences = text.replace('. ', '.\n').splitlines()
    return [line for sentence in sentences for line in wrap(sentence, max(1, room))]


def _draw_asleep(buf: Buffer, line: Rect, device: DeviceSample, view: DeviceView) -> None:
    """Draw the sentence in place of the only GPU, and the key that wakes it."""
    name, sleep, cells = f'GPU {device.key.label}', device.sleep, inside(buf.width)
    if sleep is None:
        reason = clip(f'{name} is {safe(device.reason or "asleep")}', cells.width)
        forms: tuple[str, ...] = (reason,)
    else:
        verb = 'is' if sleep.seconds is None else 'has been'
        text = f'{name} {verb} asleep {why_silent(device)}'.rstrip()
        power = ' and draws no power' if sleep.power_state == 'D3cold' else ''
        forms = (text + power, text, f'{name} is asleep')
    advice: Pieces = ()
    if sleep is not None and sleep.wakes_on_refresh and view.wake_key:
        advice = (('. Press ', PLAIN), (view.wake_key, KEY), (' to wake it', PLAIN))
    room = cells.width - sum(cell_width(text) for text, _ in advice)
    (words,) = fit([Item(forms)], room, 0)
    x = cells.x
    for text, style in ((words, PLAIN), *advice):
        x += buf.write(x, line.y, text, style, width=max(0, cells.right - x))
    buf.hit(line, 'device', device.key)
    if view.selected is not None:
        buf.restyle(line, back=Role.SELECTED)


def _draw_facts_below(
    buf: Buffer,
    area: Rect,
    columns: Sequence[Placed],
    row: GpuRow,
    rows: Sequence[GpuRow],
    right: int,
) -> None:
    """Draw facts below the columns of the first line, and words about the GPU below its job."""
    if area.is_empty:
        return
    # Other models may report what this one doesn't.
    facts = _facts([other for other in rows if _model_of(other) == _model_of(row)], 1 + area.height)
    left, end = 0, right
    starts = [cell.x for cell in columns if cell.column.name in facts]
    for cell in columns:
        room = next((x for x in starts if x > cell.x), right + 1) - 1 - cell.x
        for y, fact in enumerate(facts.get(cell.column.name, ()), area.y):
            width = fact.sizes[0]
            x = cell.x if fact.align == '<' else cell.right - width
            content = fact.text(row, width if fact.align == '>' else min(width, room))
            draw_cell(buf, y, Placed(fact, x, width), content, PLAIN)
            if fact.align == '<':
                left = max(left, x + width + 2)
            else:
                end = x - 1
        if cell.column.name == 'job':
            left = cell.x
    places = {cell.column.name: cell.x for cell in columns}
    bar = places.get('memory_bar', right + 1) - 1
    text, style = _problem_that_fits(row, max(0, bar - left), max(0, end - left))
    # High rows without facts in their last line leave it empty, so that those of all GPUs look alike.
    room = area.height - 1 if area.height > 2 else area.height
    count = max([room, *map(len, facts.values())]) - 1
    # A fault that would be cut is in full above the advice.
    is_cut = row.is_wrong and row.finding is not None and text not in row.problem_forms
    fault = row.problem_forms[-1] if is_cut and count > 0 else ''
    buf.write(left, area.y, '' if fault else text, style)
    words: list[str] = []
    if row.others:
        words = [clip(f'also {", ".join(row.others)}', max(0, right - left))]
    if row.is_wrong and (row.advice or fault):
        brief = row.advice.partition('. ')[0]
        # Over the facts if there is no other way.
        for text, x in ((row.advice, left), (brief, left), (brief, places['state'])):
            lines = [
                line
                for sentences in (fault, text)
                for line in _lines_of_sentences(sentences, right - x)
            ]
            if len(lines) <= count:
                break
        words = [pad(line, right - x) for line in lines] + words
        left = x
    for y, line in enumerate(words[:count], area.y + 1):
        buf.write(left, y, line, style if fault and y == area.y + 1 else DIM)


def _model_of(row: GpuRow) -> tuple[str | None, bool, bool]:
    """Return the model; a GPU that is divided into MIG devices reports less."""
    return row.device.info.name, row.device.key.is_mig, row.is_divided


def _problem_that_fits(row: GpuRow, room: int, most: int) -> tuple[str, Style]:
    """Return what is wrong or who holds the memory, in words that fit into ``room``, or else ``most``."""
    if row.finding is None:
        brief = row.held_words.partition(';')[0]
        forms = [row.held_words, brief, brief.replace(f' of {row.user}', '')]
        style = WARNING
    else:
        forms = list(row.problem_forms)
        style = row.mark_style if row.is_wrong else DIM
    for cells in (room, most):
        for form in forms:
            if cell_width(form) <= cells:
                return form, style
    return clip(forms[-1], most), style


def _draw_free(
    buf: Buffer,
    area: Rect,
    y: int,
    columns: Sequence[Placed],
    free: Sequence[GpuRow],
    view: DeviceView,
) -> None:
    left = next(cell.x for cell in columns if cell.column.name == 'state')
    index = next(cell for cell in columns if cell.column.name == 'index')
    labels = fmt.join_labels(row.device.key.label for row in free)
    x = max(2, (index.right if len(labels) <= index.width else left - 1) - cell_width(labels))
    x += buf.write(x, y, clip(labels, area.width - 4 - len(' free')), IDLE)
    buf.write(max(x + 1, left), y, 'free', IDLE)
    line = Rect(1, y, area.width - 2, 1)
    keys = [row.device.key for row in free]
    buf.hit(line, 'device', view.selected if view.selected in keys else keys[0])
    if view.selected in keys:
        buf.restyle(line, back=Role.SELECTED)


def _draw_metrics(
    buf: Buffer, area: Rect, heights: MainRows, row: GpuRow, view: DeviceView
) -> Cells:
    """Draw who uses the only GPU, a line for each metric, and facts on its page."""
    cells = inside(area.width)
    inner = Rect(cells.x, area.y + 1, cells.width, area.height - 1)
    left = inner.x + history_x(inner.width)
    if view.ruler is not None:
        draw_ruler(buf, Rect(left, inner.y, inner.right - left, 1), view.ruler)
    buf.hit(
        Rect(1, inner.y, area.width - 2, inner.height - heights.facts), 'device', row.device.key
    )
    pieces = [
        (f'GPU {row.device.key.label}{"!" if row.is_wrong else ""}', row.mark_style),
        (row.word, row.word_style),
        (row.mark if row.is_wrong else '', row.mark_style),
        (row.who, PLAIN._replace(bold=row.is_own)),
        (row.job, DIM),
    ]
    x = inner.x
    for number, (text, style) in enumerate(pieces):
        if text:
            x += buf.write(x, inner.y, ' · ' if number > 2 else ' ' * bool(number), DIM)
            room = max(0, left - 1 - x)
            x += buf.write(x, inner.y, clip(text, room), style)
    forms = row.problem_forms or (row.held_words,)
    problem = next((form for form in forms if form and x + 3 + cell_width(form) < left), '')
    if problem and not heights.facts:  # which have it
        x += buf.write(x, inner.y, ' · ', DIM)
        buf.write(x, inner.y, problem, row.mark_style if row.finding else WARNING)
    is_page = bool(heights.facts)
    series = [device_line(row.device, metric) for metric in metrics_of(row.device, is_page=is_page)]
    below = Rect(inner.x, inner.y + 1, inner.width, inner.height - 1 - heights.facts)
    if view.ruler is not None:
        draw_series(buf, below, series, heights.lines, view.ruler)
    if heights.facts:
        facts = Rect(0, area.bottom - heights.facts, area.width, heights.facts)
        _draw_facts(buf, facts, row)
    return Cells(left, inner.right - left)


def _draw_facts(buf: Buffer, area: Rect, row: GpuRow) -> None:
    """Draw what is wrong with a device or who holds it, and facts about it, each with its label."""
    ends = (0, area.width - 1)
    info = row.device.info
    profile = info.mig_profile and f'MIG {info.mig_profile}'
    family = ' '.join(filter(None, (info.architecture, info.cuda_compute_capability)))
    notes = [Item((f'GPU {row.device.key.label}',), TITLE, 0)]
    notes += [Item((safe(text),)) for text in (profile, family) if text]
    draw_border(buf, area.y, ends, ends, notes)
    cells = inside(area.width)
    style = row.mark_style if row.finding else WARNING if row.trouble else DIM
    problem = wrap(row.trouble or 'none', cells.width - FACT_LABEL, max(1, area.height - 1))
    if area.height > 1:
        buf.write(cells.x, area.y + 1, 'PROBLEM', HEADING)
        for number, text in enumerate(problem):
            buf.write(cells.x + FACT_LABEL, area.y + 1 + number, text, style)
    count = max(1, cells.width // FACT_WIDTH)
    rows = area.height - 1 - len(problem)
    width = cells.width // count
    facts = facts_of(row.device)
    for column in range(count if rows > 0 else 0):
        place = Rect(cells.x + column * width, area.bottom - rows, width - (count > 1), rows)
        part = facts[column * rows : (column + 1) * rows]
        texts = [(label, clip(text, place.width - FACT_LABEL)) for label, text in part]
        draw_facts(buf, place, texts, FACT_LABEL)


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
