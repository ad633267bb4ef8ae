# SPDX-License-Identifier: GPL-3.0-only
"""The device panel: a row for each GPU and MIG device, or two in the full form, and their details."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, AbstractSet, Mapping, NamedTuple, Sequence

from nvitop.gui.layout.device import FULL, DeviceLayout
from nvitop.gui.layout.process import PlacedColumn
from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Cells, Rect
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import cell_width, clip, fit, safe
from nvitop.gui.view.load_style import row_role
from nvitop.gui.view.panels.device_cells import RowState
from nvitop.gui.view.panels.device_totals import machine_notes, total_notes
from nvitop.gui.view.widgets.box import draw_border, draw_rule, draw_uprights
from nvitop.gui.view.widgets.sparkline import (
    CELL_SECONDS,
    CHANGE_SECONDS,
    make_sparkline,
    span_text,
)
from nvitop.gui.view.widgets.text import draw_text
from nvitop.health import Finding
from nvitop.sampling.types import DeviceKey, DeviceSample, Sample

if TYPE_CHECKING:
    from nvitop.gui.render.buffer import Span
    from nvitop.gui.view.panels.device_cells import Traits
    from nvitop.gui.view.widgets.sparkline import Sparkline
    from nvitop.sampling.history import History

_HEADING = Style(Role.HEADING)
_ERROR = Style(Role.ERROR, bold=True)
_NO_FINDINGS: Mapping[DeviceKey, Finding] = {}


class DeviceList(NamedTuple):
    """Contents of the panel in addition to the sample."""

    #: The most severe finding of each device that has any.
    findings: Mapping[DeviceKey, Finding] = _NO_FINDINGS
    #: Devices that processes use; ``None`` if this is not known.
    used: AbstractSet[DeviceKey] | None = None
    #: The device of the selected process, and the selected device.
    marked: DeviceKey | None = None
    selected: DeviceKey | None = None
    #: Why there are no details, the longest form first.
    details_note: tuple[str, ...] = ()


class _Shape:
    """How rows are drawn: everything that is the same for all devices."""

    def __init__(
        self,
        form: str,
        width: int,
        columns: tuple[PlacedColumn, ...],
        cells: tuple[Cells, ...],
        bars: tuple[Cells, ...],
        traits: Traits | None,
        view: ViewState,
    ) -> None:
        self.form = form
        self.width = width
        self.columns = columns
        self.cells = cells
        self.bars = bars
        self.traits = traits
        self.view = view


#: Cached so that equal parameters give the same object, which is part of the key of cached rows.
_shape_of = functools.lru_cache(maxsize=8)(_Shape)


def draw_device_panel(
    buf: Buffer,
    layout: DeviceLayout,
    sample: Sample,
    view: ViewState,
    listed: DeviceList,
    *,
    history: History | None = None,
) -> None:
    """Draw the panel without its bottom border, which belongs to the panel below."""
    devices = sample.devices
    ends = (0, layout.area.width - 1)
    inner = _inner_uprights(layout)
    idle = [device.key for device in devices if _is_idle(device, listed.used, devices)]
    draw_border(
        buf, layout.area.y, (), inner or ends, machine_notes(sample), total_notes(sample, len(idle))
    )
    if not devices:
        buf.write(2, layout.heading_y, clip(_no_devices_message(sample), ends[1] - 3))
        draw_uprights(buf, layout.heading_y, ends)
        return
    traits = None
    if layout.form == FULL:
        # Imported on use: only reports and the full mode have this form.
        from nvitop.gui.view.panels.device_cells import traits_of

        traits = traits_of(devices)
        _draw_full_headings(buf, layout, traits, devices[0])
    else:
        draw_uprights(buf, layout.heading_y, ends[:1])
        _draw_headings(buf, layout, history)
        draw_uprights(buf, layout.heading_y, ends[1:])
    shape = _shape_of(
        layout.form, layout.area.width, layout.columns, layout.cells, layout.bars, traits, view
    )
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
        state = RowState(
            listed.findings.get(device.key),
            device.key in idle,
            device.key == listed.selected,
            listed.marked is not None and _contains(device.key, listed.marked),
            _sparkline(place, device, history, view),
        )
        buf.paste(row.y, device_rows(shape, device, state, row.height))
    if layout.details is not None:
        from nvitop.gui.view.panels.device_details import draw_details  # imported only if shown

        draw_details(buf, layout.details, ends, above, devices, view, note=listed.details_note)


def bottom_uprights(layout: DeviceLayout, devices: Sequence[DeviceSample]) -> tuple[int, ...]:
    """Return the columns of the vertical lines that end at the bottom of the panel."""
    if layout.details is not None or not devices:
        return (0, layout.area.width - 1)
    return _row_uprights(layout, devices[-1])


def _inner_uprights(layout: DeviceLayout) -> tuple[int, ...]:
    """Return the columns of all vertical lines of the full form."""
    cells = [cell.right for cell in layout.cells]
    bars = [bar.right + 1 for bar in layout.bars]
    return (0, *cells, *bars) if cells else ()


def _row_uprights(layout: DeviceLayout, device: DeviceSample) -> tuple[int, ...]:
    """Return the columns of the vertical lines in the rows of a device."""
    inner = _inner_uprights(layout)
    if not inner:
        return (0, layout.area.width - 1)
    if device.status == 'ok':
        return inner
    # The reason is written across the cells.
    return (0, *inner[len(layout.cells) :])


def _is_idle(
    device: DeviceSample, used: AbstractSet[DeviceKey] | None, devices: Sequence[DeviceSample]
) -> bool:
    """Return whether no process uses a device, as far as the driver reports processes."""
    if used is None or device.status != 'ok' or (device.gpu_utilization_percent or 0) >= 5:
        return False
    if not device.key.is_mig and any(_contains(device.key, d.key) for d in devices if d.key.is_mig):
        return False
    return not any(_contains(device.key, key) for key in used)


def _contains(key: DeviceKey, other: DeviceKey) -> bool:
    """Return whether ``key`` is the other device or the GPU that contains it."""
    return key == other or (not key.is_mig and key.physical_index == other.physical_index)


def _no_devices_message(sample: Sample) -> str:
    if not sample.sequence:
        return 'Looking for GPUs ...'
    reasons = [safe(problem.reason) for problem in sample.problems if problem.subject == 'driver']
    return ': '.join(['No GPU is visible', *reasons[:1]])


def _cell_seconds(history: History) -> float:
    """Return the seconds in a cell of a sparkline."""
    return max(CELL_SECONDS, history.device_slot)


def _sparkline(
    place: PlacedColumn | None,
    device: DeviceSample,
    history: History | None,
    view: ViewState,
) -> Sparkline:
    if place is None or history is None or device.key.is_mig:
        return ()
    seconds = _cell_seconds(history)
    *complete, present = history.recent(device.key, 'gpu_utilization', seconds, place.width)
    return (
        *make_sparkline(tuple(complete), ascii_only=view.ascii),
        *make_sparkline((present,), ascii_only=view.ascii),
    )


def _draw_headings(buf: Buffer, layout: DeviceLayout, history: History | None) -> None:
    for place in layout.columns:
        title = place.column.title
        if place.column.name == 'sparkline' and history is not None:
            title = span_text(place.width * _cell_seconds(history), place.width)
        x = place.x if place.column.align == '<' else place.right - len(title)
        buf.write(x, layout.heading_y, title, _HEADING)


def _draw_full_headings(
    buf: Buffer, layout: DeviceLayout, traits: Traits, first: DeviceSample
) -> None:
    from nvitop.gui.view.panels.device_cells import headings

    uprights = _inner_uprights(layout)
    for y, texts in enumerate(headings(layout.cells[0].width, traits), layout.heading_y):
        draw_uprights(buf, y, uprights[:1])
        for cell, text, right in zip(layout.cells, texts, uprights[1:]):
            draw_text(buf, cell.x, y, fit(text, cell.width), _HEADING)
            draw_uprights(buf, y, (right,))
        draw_uprights(buf, y, uprights[1 + len(texts) :])
    below = _row_uprights(layout, first)
    draw_rule(buf, layout.heading_y + layout.heading_height, uprights, below)


# Cached because a key changes at most the style of a few devices between two samples; large enough
# for 16 GPUs with 7 MIG devices each. An entry takes 5 KB with its sample.
@functools.lru_cache(maxsize=128)
def device_rows(
    shape: _Shape, device: DeviceSample, state: RowState, height: int
) -> tuple[tuple[Span, ...], ...]:
    """Return the spans of the rows of one device."""
    buf = Buffer(shape.width, height)
    if shape.form == FULL:
        _draw_full(buf, shape, device, state)
    else:
        # Imported on use: wide reports have the other form.
        from nvitop.gui.view.panels.device_row import draw_device_row

        # From left to right, so that the buffer does not have to sort the spans.
        draw_uprights(buf, 0, (0,))
        draw_device_row(buf, 0, shape.columns, device, state, shape.view)
        draw_uprights(buf, 0, (shape.width - 1,))
    return tuple(map(buf.row, range(height)))


def _draw_full(buf: Buffer, shape: _Shape, device: DeviceSample, state: RowState) -> None:
    from nvitop.gui.view.panels.device_bars import draw_bars
    from nvitop.gui.view.panels.device_cells import (
        LABEL,
        TEMPERATURE,
        device_cells,
        lost_cells,
    )

    assert shape.traits is not None
    cells = shape.cells
    style = Style(row_role(device, shape.view.thresholds), bold=state.is_marked)
    if device.status == 'ok':
        lines = device_cells(device, cells[0].width, shape.traits)
    else:
        first = cells[0].width
        cells = (Cells(cells[0].x, cells[-1].right - cells[0].x),)
        lines = lost_cells(device, cells[0].width, first)
    has_mark = False
    for y, texts in enumerate(lines):
        draw_uprights(buf, y, (0,))
        for cell, text in zip(cells, texts):
            draw_text(buf, cell.x, y, fit(text, cell.width), style)
            draw_uprights(buf, y, (cell.right,))
        has_mark |= draw_bars(buf, y, shape.bars, device, state, shape.view)
    if device.status != 'ok':
        y = len(lines) - 1 if lines[-1][0] else 0
        x = cells[0].x + cell_width(lines[y][0].rstrip())
        buf.write(x, y, state.advice(cells[0].right - 1 - x), Style(Role.DIM))
    elif state.finding is not None and not device.key.is_mig:
        mark = f' {state.finding.mark}'
        if mark == ' HOT':
            place = TEMPERATURE
            buf.restyle(Rect(cells[0].x + place.x, 1, place.width, 1), role=Role.ERROR, bold=True)
        if not has_mark:
            # Left of the persistence mode, over the end of a long name.
            left = lines[0][0].rstrip().rpartition(' ')[0]
            buf.write(cells[0].x + cell_width(left) - len(mark), 0, mark, state.mark_style)
    if device.status != 'ok' or state.is_wrong:
        buf.write(cells[0].x, 0, f'{device.key.label:>{LABEL}}!', _ERROR)
