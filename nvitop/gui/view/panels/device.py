# SPDX-License-Identifier: GPL-3.0-only
"""The device panel: totals in its border, a row for each GPU and MIG device, and their details."""

from __future__ import annotations

from typing import TYPE_CHECKING, Mapping, NamedTuple, Sequence

from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.basics.units import GiB
from nvitop.gui.layout.device import (
    FULL,
    DetailsLayout,
    DeviceLayout,
    DevicePlace,
    DeviceTraits,
    FactsLayout,
)
from nvitop.gui.model import format as fmt
from nvitop.gui.model.choices import ViewState, load_style, row_role
from nvitop.gui.model.device_columns import (
    FACTS,
    RATES,
    DetailRow,
    Fact,
    MeasuredRow,
    Pieces,
    RowState,
    Sparkline,
    why_silent,
)
from nvitop.gui.model.format import format_word, product_name
from nvitop.gui.model.table import Placed
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Cells, Rect
from nvitop.gui.render.style import DIM, ERROR, HEADING, IDLE, PLAIN, TITLE, WARNING, Role, Style
from nvitop.gui.render.width import cell_width, clip, fit, safe
from nvitop.gui.state.process_rows import is_on, whole_devices
from nvitop.gui.view.charts import (
    CELL_SECONDS,
    CHANGE_SECONDS,
    bar_text,
    draw_meter,
    make_sparkline,
    span_text,
)
from nvitop.gui.view.panels.device_full import (
    LABEL,
    TEMPERATURE,
    device_cells,
    draw_bars,
    headings,
    lost_cells,
)
from nvitop.gui.view.text import (
    MORE,
    MORE_ABOVE,
    MORE_BELOW,
    Note,
    draw_border,
    draw_rule,
    draw_text,
    draw_uprights,
)
from nvitop.health import Finding, claim_of_unused, device_states, holders
from nvitop.sampling.types import DeviceKey, DeviceSample, ProcessSample, Sample

if TYPE_CHECKING:
    from nvitop.gui.render.buffer import Span
    from nvitop.sampling.history import History

#: Cells of the label of a fact.
_LABEL = 13
_NO_FINDINGS: Mapping[DeviceKey, Finding] = {}


class DeviceList(NamedTuple):
    """Contents of the panel in addition to the sample."""

    #: The most severe finding of each device that has any.
    findings: Mapping[DeviceKey, Finding] = _NO_FINDINGS
    #: The device of the selected process, and the selected device.
    marked: DeviceKey | None = None
    selected: DeviceKey | None = None
    #: Why there are no details, the longest form first.
    details_note: tuple[str, ...] = ()


class _Shape(NamedTuple):
    """How rows are drawn: everything that is the same for all devices."""

    width: int
    columns: tuple[DevicePlace, ...]
    cells: tuple[Cells, ...]
    bars: tuple[Cells, ...]
    traits: DeviceTraits
    view: ViewState


def draw_device_panel(
    buf: Buffer,
    layout: DeviceLayout,
    sample: Sample,
    view: ViewState,
    listed: DeviceList,
    *,
    history: History | None = None,
) -> dict[DeviceKey, RowState]:
    """Draw the panel without its bottom border, which belongs to the panel below.

    Return what is wrong with each device, what it is doing and who uses it.
    """
    devices = sample.devices
    ends = (0, layout.area.width - 1)
    inner = _inner_uprights(layout)
    states = row_states(sample, listed.findings)
    notes = machine_notes(sample), total_notes(sample, states)
    if not devices:
        draw_border(buf, layout.top_y, (), ends, *notes)
        buf.write(2, layout.heading_y, clip(_no_devices_message(sample), ends[1] - 3))
        draw_uprights(buf, layout.heading_y, ends)
        return states
    shapes = [
        _Shape(cells.width, layout.columns, layout.cells, layout.bars, layout.traits, view)
        for cells in layout.frames
    ]
    above = inner
    place = next((p for p in layout.columns if p.column.name == 'sparkline'), None)
    if history is not None and history.device_slot < CHANGE_SECONDS:
        history = history.until(history.now // CHANGE_SECONDS * CHANGE_SECONDS)
    for row in layout.rows:
        device = devices[row.device]
        below = _row_uprights(layout, device)
        if row.separated:
            draw_rule(buf, row.y - 1, above, below)
        above = below
        if row.y + row.height <= 0 or row.y >= buf.height:
            continue
        state = states[device.key]._replace(
            is_selected=device.key == listed.selected,
            is_marked=listed.marked is not None and is_on(listed.marked, device.key),
            sparkline=_sparkline(place, device, history, view),
        )
        drawn = _device_rows(shapes[row.frame], device, state, row.height)
        if len(shapes) == 1:
            buf.paste(row.y, drawn)
        else:
            buf.write_spans(layout.frames[row.frame].x, row.y, drawn[0])
    if len(shapes) > 1 and len(devices) % 2:
        draw_uprights(buf, layout.rows[len(devices) // 2].y, ends)
    if layout.top_y > layout.area.y:  # over devices that are scrolled away
        buf.clear(Rect(0, layout.top_y, layout.area.width, layout.rows_y - layout.top_y))
    draw_border(buf, layout.top_y, (), inner or ends, *notes)
    if layout.form == FULL:
        _draw_full_headings(buf, layout, devices[0])
    else:
        _draw_headings(buf, layout, history)
    if layout.details is not None:
        draw_details(buf, layout.details, ends, above, devices, view, note=listed.details_note)
    if layout.facts is not None:
        _draw_facts(buf, layout.facts, ends, devices[0], states[devices[0].key], sample)
    return states


def bottom_uprights(layout: DeviceLayout, devices: Sequence[DeviceSample]) -> tuple[int, ...]:
    """Return the columns of the vertical lines that end at the bottom of the panel."""
    if layout.details is not None or not devices:
        return (0, layout.area.width - 1)
    return _row_uprights(layout, devices[-1])


def _inner_uprights(layout: DeviceLayout) -> tuple[int, ...]:
    """Return the columns of all vertical lines of the full form, or of frames side by side."""
    if len(layout.frames) > 1:
        return (*(frame.x for frame in layout.frames), layout.area.width - 1)
    cells = [cell.right for cell in layout.cells]
    bars = [bar.right + 1 for bar in layout.bars]
    return (0, *cells, *bars) if cells else ()


def _row_uprights(layout: DeviceLayout, device: DeviceSample) -> tuple[int, ...]:
    """Return the columns of the vertical lines in the rows of a device."""
    inner = _inner_uprights(layout)
    if not inner:
        return (0, layout.area.width - 1)
    if device.status == 'ok' or not layout.cells:
        return inner
    # The reason is written across the cells.
    return (0, *inner[len(layout.cells) :])


def row_states(sample: Sample, findings: Mapping[DeviceKey, Finding]) -> dict[DeviceKey, RowState]:
    """Return what is wrong with each device, what it is doing and who uses it."""
    found = device_states(sample)
    users = _users_of(sample, {key for key, state in found.items() if state.word == 'busy'})
    states = {
        key: RowState(findings.get(key), state, *users.get(key, ('', '', 0, False)))
        for key, state in found.items()
    }
    for device in sample.devices:
        row = states[device.key]
        claim = claim_of_unused(sample, device, row.state)
        if claim is not None:
            seconds = max(0.0, sample.timestamp - claim.since)
            states[device.key] = row._replace(
                user=safe(claim.username),
                job=fmt.format_idle_time(seconds),
                is_own=claim.username == sample.host.username,
                is_claimed=True,
            )
    return states


def _users_of(sample: Sample, busy: set[DeviceKey]) -> dict[DeviceKey, tuple[str, str, int, bool]]:
    """Return the user with the most memory on each device, the job, the number of others, own or not.

    Graphics processes count only on ``busy`` devices on which no process computes: every desktop
    has some, even on a free GPU.
    """
    memory: dict[DeviceKey, dict[str, int]] = {}
    largest: dict[tuple[DeviceKey, str], ProcessSample] = {}
    gpus = {d.key.physical_index: d.key for d in sample.devices if not d.key.is_mig}
    computing = {process.key.device for process in sample.processes if process.type != 'G'}
    computing |= {gpus.get(key.physical_index, key) for key in computing}
    for process in sample.processes:
        size, name = process.gpu_memory_bytes or 0, process.username or ''
        device = process.key.device
        if process.type == 'G' and (device in computing or device not in busy):
            continue
        for key in {device, gpus.get(device.physical_index, device)}:
            sums = memory.setdefault(key, {})
            sums[name] = sums.get(name, 0) + size
            before = largest.get((key, name))
            if before is None or size > (before.gpu_memory_bytes or 0):
                largest[key, name] = process
    users = {}
    for key, sums in memory.items():
        name = max(sums, key=lambda each: (bool(each), sums[each]))
        owner = largest[key, name].owner
        job = '' if owner is None or owner.is_plain else safe(owner.group)
        is_own = bool(name) and name == sample.host.username
        users[key] = safe(name or fmt.NOT_AVAILABLE), job, len(sums) - 1, is_own
    return users


def _no_devices_message(sample: Sample) -> str:
    if not sample.sequence:
        return 'Looking for GPUs ...'
    reasons = [safe(problem.reason) for problem in sample.problems if problem.subject == 'driver']
    return ': '.join(['No GPU is visible', *reasons[:1]])


def _cell_seconds(history: History) -> float:
    """Return the seconds in a cell of a sparkline."""
    return max(CELL_SECONDS, history.device_slot)


def _sparkline(
    place: DevicePlace | None,
    device: DeviceSample,
    history: History | None,
    view: ViewState,
) -> Sparkline:
    if place is None or history is None or device.key.is_mig:
        return ()
    seconds = _cell_seconds(history)
    percentages = history.recent(device.key, 'gpu_utilization', seconds, place.width)
    return make_sparkline(percentages, ascii_only=view.ascii)


def _draw_headings(buf: Buffer, layout: DeviceLayout, history: History | None) -> None:
    y = layout.heading_y
    for frame in layout.frames:
        draw_uprights(buf, y, (frame.x,))
        for place in layout.columns:
            title = place.column.title
            if place.column.name == 'sparkline' and history is not None:
                # Above the newest values, with which a short history begins.
                title = span_text(place.width * _cell_seconds(history), place.width)
                title = title.rjust(place.width)
            elif place.column.bar is not None:
                # Its percentage has no heading.
                place = place._replace(width=max(place.width, len(title)))
            _draw_pieces(buf, y, place._replace(x=frame.x + place.x), ((title, HEADING),))
    draw_uprights(buf, y, (layout.area.width - 1,))


def _draw_full_headings(buf: Buffer, layout: DeviceLayout, first: DeviceSample) -> None:
    uprights = _inner_uprights(layout)
    texts_by_line = headings(layout.cells[0].width, layout.traits, layout.columns)
    for y, texts in enumerate(texts_by_line, layout.heading_y):
        draw_uprights(buf, y, uprights[:1])
        for cell, text, right in zip(layout.cells, texts, uprights[1:]):
            draw_text(buf, cell.x, y, fit(text, cell.width), HEADING)
            draw_uprights(buf, y, (right,))
        draw_uprights(buf, y, uprights[1 + len(texts) :])
    below = _row_uprights(layout, first)
    draw_rule(buf, layout.heading_y + layout.heading_height, uprights, below)


def _device_rows(
    shape: _Shape, device: DeviceSample, state: RowState, height: int
) -> tuple[tuple[Span, ...], ...]:
    """Return the spans of the rows of one device."""
    buf = Buffer(shape.width, height)
    if shape.cells:
        _draw_full(buf, shape, device, state)
    else:
        # From left to right, so that the buffer does not have to sort the spans.
        draw_uprights(buf, 0, (0,))
        draw_device_row(buf, 0, shape.columns, device, state, shape.view)
        draw_uprights(buf, 0, (shape.width - 1,))
    return tuple(map(buf.row, range(height)))


def _draw_full(buf: Buffer, shape: _Shape, device: DeviceSample, state: RowState) -> None:
    cells = shape.cells
    style = Style(row_role(device, shape.view.thresholds), bold=state.is_marked)
    if device.status == 'ok':
        lines = device_cells(device, cells[0].width, shape.traits, shape.columns)
    else:
        first = cells[0].width
        cells = (Cells(cells[0].x, cells[-1].right - cells[0].x),)
        lines = lost_cells(device, cells[0].width, first)
    for y, texts in enumerate(lines):
        draw_uprights(buf, y, (0,))
        for cell, text in zip(cells, texts):
            draw_text(buf, cell.x, y, fit(text, cell.width), style)
            draw_uprights(buf, y, (cell.right,))
        if y == 0 and device.status == 'ok':
            for column in shape.columns:
                _draw_cell(buf, y, column, MeasuredRow(device, state, shape.view, style))
            draw_uprights(buf, y, (cells[-1].right,))
        draw_bars(buf, y, shape.bars, device, shape.view)
    if device.status != 'ok':
        y = len(lines) - 1 if lines[-1][0] else 0
        x = cells[0].x + cell_width(lines[y][0].rstrip())
        buf.write(x, y, state.advice(cells[0].right - 1 - x), DIM)
    elif state.finding is not None and state.finding.mark == 'HOT' and not device.key.is_mig:
        place = TEMPERATURE
        buf.restyle(Rect(cells[0].x + place.x, 1, place.width, 1), role=Role.ERROR, bold=True)
    if device.is_failing or state.is_wrong:
        buf.write(cells[0].x, 0, f'{device.key.label:>{LABEL}}!', ERROR)


#: Marks the device of the selected process, left of its index.
_SELECTED_MARK = '►'


def draw_device_row(
    buf: Buffer,
    y: int,
    columns: Sequence[DevicePlace],
    device: DeviceSample,
    state: RowState,
    view: ViewState,
) -> None:
    """Draw the row of a device."""
    style = Style(row_role(device, view.thresholds), bold=state.is_marked)
    row = MeasuredRow(device, state, view, style)
    if device.status != 'ok':
        _draw_lost(buf, y, columns, row)
    else:
        for place in columns:
            if device.key.is_mig and not place.column.of_mig:
                continue
            if place.column.bar is not None:
                percent, thresholds = place.column.bar(row)
                if state.is_selected:
                    # In one color, as the rest of the row.
                    buf.write(place.x, y, bar_text(percent, place.width))
                    continue
                role = Role.MEMORY if place.column.name == 'memory_bar' else Role.UTILIZATION
                load = load_style(percent, thresholds, view, role)
                draw_meter(buf, Rect(place.x, y, place.width, 1), percent, load)
            else:
                _draw_cell(buf, y, place, row)
        if device.key.is_mig:
            _draw_profile(buf, y, columns, row)
    if state.is_marked:
        buf.write(
            columns[0].x - 1 + (columns[0].x == 1), y, _SELECTED_MARK, Style(Role.KEY, bold=True)
        )
    if state.is_selected:
        buf.restyle(Rect(1, y, buf.width - 2, 1), role=Role.SELECTED)


def _draw_cell(buf: Buffer, y: int, place: DevicePlace, row: MeasuredRow) -> None:
    _draw_pieces(buf, y, place, place.column.text(row, place.width))


def _draw_pieces(buf: Buffer, y: int, place: DevicePlace | Placed, pieces: Pieces) -> None:
    x = place.x
    if place.column.align == '>':
        x = place.right - sum(cell_width(text) for text, _ in pieces)
    for text, style in pieces:
        style = DIM if text == fmt.NOT_AVAILABLE else style
        x += buf.write(x, y, text, style, width=max(0, place.right - x))


def _draw_lost(buf: Buffer, y: int, columns: Sequence[DevicePlace], row: MeasuredRow) -> None:
    """Draw index, mark, name if there are different ones, and why nothing else is measured."""
    x, has_name = 0, False
    for place in columns:
        if place.column.name in ('index', 'mark', 'name'):
            _draw_cell(buf, y, place, row)
            has_name = has_name or place.column.name == 'name'
        elif not x:
            x = place.x
    right = columns[-1].right
    texts = why_silent(row.device, has_name=not has_name)
    text = next((each for each in texts if cell_width(each) <= right - x), texts[-1])
    x += buf.write(x, y, clip(text, right - x), ERROR if row.is_wrong else DIM)
    buf.write(x, y, row.state.advice(right - x), DIM)


def _draw_profile(buf: Buffer, y: int, columns: Sequence[DevicePlace], row: MeasuredRow) -> None:
    """Draw the profile of a MIG device between its index and its memory."""
    left = columns[1].right + 1
    right = next(place.x for place in columns if place.column.name == 'memory_bar')
    text = fmt.format_word(row.device.info.mig_profile)
    buf.write(left + 1, y, clip(text, max(0, right - left - 2)), row.style)


def draw_details(
    buf: Buffer,
    layout: DetailsLayout,
    ends: tuple[int, int],
    above: tuple[int, ...],
    devices: Sequence[DeviceSample],
    view: ViewState,
    *,
    note: Sequence[str] = (),
) -> None:
    """Draw the table, or headings with the first ``note`` that fits instead of values.

    ``ends`` are the columns of the frame, ``above`` those of the vertical lines above.
    """
    highest = {
        metric: max(
            (getattr(devices[i], METRICS_BY_NAME[metric].field) or 0 for i in layout.devices),
            default=0,
        )
        for metric in RATES
    }
    for y, index in enumerate(layout.devices, layout.first_y):
        draw_uprights(buf, y, ends)
        device = devices[index]
        row = DetailRow(device, highest, Style(row_role(device, view.thresholds)))
        for place in layout.columns if device.status == 'ok' and not note else layout.columns[:1]:
            _draw_pieces(buf, y, place, place.column.text(row, place.width))
        if note and device.status == 'ok':
            x = layout.columns[0].right + 2
            room = layout.columns[-1].right - x
            buf.write(x, y, next((text for text in note if len(text) <= room), ''), DIM)
    top = layout.top_y
    if top > layout.y:  # over devices that are scrolled away
        buf.clear(Rect(0, top, ends[-1] + 1, layout.first_y - layout.y))
        above = ()
    draw_border(buf, top, above, ends, (Note(('Details',), TITLE, 0),))
    draw_uprights(buf, top + 1, ends)
    for place in layout.columns:
        title = clip(place.column.title, place.width, '')
        _draw_pieces(buf, top + 1, place, ((title, HEADING),))


def _draw_facts(
    buf: Buffer,
    layout: FactsLayout,
    ends: tuple[int, int],
    device: DeviceSample,
    state: RowState,
    sample: Sample,
) -> None:
    """Draw what is wrong with a device or who holds it, and facts about it, each with its label."""
    first = layout.problem
    title = Note((f'GPU {device.key.label}',), TITLE, 0)
    hidden = len(FACTS) - len(layout.facts)
    arrows = MORE_ABOVE * layout.more_above + MORE_BELOW * layout.more_below
    more = (Note((f'{arrows} {hidden} more', arrows), MORE, 1),) if hidden else ()
    draw_border(buf, first.y - 1, ends, ends, (title,), more)
    draw_uprights(buf, first.y, ends)
    room = first.width - _LABEL
    held = _held_words(sample, device, state)
    problem = clip(state.problem(room) or held, room)
    style = state.mark_style if state.is_wrong else WARNING if held else DIM
    buf.write(first.x, first.y, 'PROBLEM', HEADING)
    buf.write(first.x + _LABEL, first.y, problem or 'none', style)
    rows: dict[int, list[tuple[Rect, Fact]]] = {}
    for index, place in layout.facts:
        rows.setdefault(place.y, []).append((place, FACTS[index]))
    for y, cells in rows.items():
        draw_uprights(buf, y, ends[:1])
        for place, fact in cells:
            buf.write(place.x, y, clip(fact.label, place.width), HEADING)
            text = fact.text(device)
            style = DIM if text == fmt.NOT_AVAILABLE else PLAIN
            buf.write(place.x + _LABEL, y, clip(text, max(0, place.width - _LABEL)), style)
        draw_uprights(buf, y, ends[1:])


#: Time (seconds) since its last use for which a process still counts as using a device.
_RECENT_SECONDS = 60.0


def _held_words(sample: Sample, device: DeviceSample, state: RowState) -> str:
    """Return who holds the memory of a device without using it, and whether others use it."""
    held = holders(sample, device.key) if state.state.word == 'held' else []
    if not held:
        return ''
    name = held[0].username
    size = sum(each.gpu_memory_bytes or 0 for each in held if each.username == name) / GiB
    seconds = state.state.held_seconds
    time = '' if seconds is None else f' for {fmt.format_idle_time(seconds)}'
    words = f'{safe(name or fmt.NOT_AVAILABLE)} holds {size:.1f} GiB without using it{time}'
    is_used = any(
        not each.is_idle_longer and each.gpu_idle_seconds < _RECENT_SECONDS
        for each in sample.processes
        if each.key.device == device.key and each.gpu_idle_seconds is not None
    )
    return f'{words}; another process uses the GPU' if is_used else words


def machine_notes(sample: Sample) -> tuple[Note, ...]:
    """Return what is in the machine: its GPUs, and the versions of driver and CUDA."""
    gpus = [device for device in sample.devices if not device.key.is_mig]
    migs = len(sample.devices) - len(gpus)
    notes = [Note(_models(gpus or sample.devices), TITLE, 0)]
    if migs and gpus:
        notes.append(Note((fmt.counted(migs, 'MIG device'),), rank=4))
    if sample.sequence:
        driver, cuda = map(format_word, (sample.driver_version, sample.cuda_driver_version))
        notes.append(Note((f'driver {driver}', driver), rank=5))
        notes.append(Note((f'CUDA {cuda}',), rank=6))
    return tuple(notes)


def _models(gpus: Sequence[DeviceSample]) -> tuple[str, ...]:
    """Return the model if all GPUs have the same one, and their number; the longest form first."""
    names = {product_name(gpu.info.name) for gpu in gpus if gpu.info.name is not None}
    count = fmt.counted(len(gpus), 'GPU')
    if len(names) != 1:
        return (count if gpus else 'GPUs',)
    (name,) = names
    return (name,) if len(gpus) == 1 else (f'{len(gpus)} × {name}', count)


def total_notes(sample: Sample, states: Mapping[DeviceKey, RowState]) -> tuple[Note, ...]:
    """Return totals of all GPUs that respond, and how many are free, held and asleep."""
    gpus = [device for device in whole_devices(sample.devices) if device.status == 'ok']
    notes = []
    loads = [g.gpu_utilization_percent for g in gpus if g.gpu_utilization_percent is not None]
    if loads and len(gpus) > 1:
        notes.append(Note((f'{sum(loads) / len(loads):.0f}% util',), rank=1))
    if len(gpus) > 1:
        memory = [(g.memory_used_bytes, g.info.memory_total_bytes) for g in gpus]
        used = sum(used for used, total in memory if used is not None and total is not None)
        total = sum(total for used, total in memory if used is not None and total is not None)
        if total:
            notes.append(Note((f'{used / GiB:.0f}/{total / GiB:.0f} GiB',), rank=3))
        notes += _power_note(gpus)
    divided = {key.physical_index for key in states if key.is_mig}
    words = [
        'claimed' if row.is_claimed else row.state.word
        for key, row in states.items()
        if key.is_mig or key.physical_index not in divided
    ]
    styles = {'free': IDLE, 'claimed': Style(), 'held': WARNING, 'asleep': DIM}
    for word, style in styles.items():
        if word in words:
            notes.append(Note((f'{words.count(word)} {word}',), style, rank=2))
    return tuple(notes)


def _power_note(gpus: Sequence[DeviceSample]) -> list[Note]:
    known = [gpu for gpu in gpus if gpu.power_usage_mw and gpu.power_limit_mw]
    if not known:
        return []
    usage = sum(gpu.power_usage_mw or 0 for gpu in known)
    limit = sum(gpu.power_limit_mw or 0 for gpu in known)
    if limit >= 1e6:
        return [Note((f'{usage / 1e6:.1f}/{limit / 1e6:.1f} kW',), rank=7)]
    return [Note((f'{usage / 1e3:.0f}/{limit / 1e3:.0f} W',), rank=7)]
