# SPDX-License-Identifier: GPL-3.0-only
"""The device panel: one or two rows for each GPU and MIG device, with bars next to them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Sequence

from nvitop.gui.layout.device import Cells, DeviceLayout
from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.buffer import Buffer, Span
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import clip, fit, safe
from nvitop.gui.view.load_style import device_style
from nvitop.gui.view.panels.device_bars import draw_bars, has_wide_bar
from nvitop.gui.view.panels.device_cells import (
    LABEL,
    Traits,
    device_cells,
    headings,
    lost_cells,
    traits_of,
)
from nvitop.gui.view.panels.header import Header, draw_header, draw_versions
from nvitop.gui.view.widgets.box import draw_rule, draw_uprights
from nvitop.gui.view.widgets.text import draw_text
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import DeviceKey, DeviceSample, Sample

if TYPE_CHECKING:
    from nvitop.gui.layout.device import Details

_HEADING = Style(Role.HEADING)
_FAILING = Style(Role.WARNING, bold=True)


class _Shape(NamedTuple):
    """How rows are drawn: everything that is the same for all devices."""

    form: str
    width: int
    cells: tuple[Cells, ...]
    bars: tuple[Cells, ...]
    details: Details
    #: Why there are no details, the longest form first.
    details_note: tuple[str, ...]
    traits: Traits
    view: ViewState


def draw_device_panel(
    buf: Buffer,
    layout: DeviceLayout,
    sample: Sample,
    view: ViewState,
    header: Header,
    *,
    joints_below: tuple[int, ...] = (),
    selected: DeviceKey | None = None,
    details_note: tuple[str, ...] = (),
) -> None:
    """Draw the panel.

    ``joints_below`` are the columns of vertical lines that a panel below joins to the last line,
    ``selected`` is the device of the selected process, and ``details_note`` says why there are no
    details.
    """
    devices = sample.devices
    traits = traits_of(devices)
    draw_header(buf, layout.area.y, sample, header)
    _draw_top(buf, layout, sample, header.version)
    box = _uprights(layout.cells)
    y = layout.heading_y
    if not devices:
        outer = (box[0], box[-1])
        draw_uprights(buf, y, outer)
        buf.write(2, y, clip(_no_devices_message(sample), outer[1] - 3))
        draw_rule(buf, y + 1, outer, joints_below, double=True)
        return
    for texts in headings(layout.form, layout.cells[0].width, traits):
        _draw_cells(buf, y, layout.cells, texts, _HEADING)
        draw_uprights(buf, y, box[-1:])
        y += 1
    width = layout.area.width
    shape = _Shape(
        layout.form, width, layout.cells, layout.bars, layout.details, details_note, traits, view
    )
    failing = {problem.device for problem in sample.problems if problem.is_failure}
    above = box
    for i, row in enumerate(layout.rows):
        device = devices[row.device]
        below = _row_uprights(layout, device)
        if i == 0:
            draw_rule(buf, y, above, below, double=True)
        elif row.separated:
            draw_rule(buf, row.y - 1, above, below)
        if row.y + row.height > 0 and row.y < buf.height:
            is_selected = None if selected is None else _is_part_of(selected, device.key)
            style = device_style(device, view.thresholds, is_selected=is_selected)
            is_failing = device.key in failing and device.status == 'ok'
            buf.paste(row.y, device_rows(shape, device, style, row.height, row.details, is_failing))
        above = (0, layout.area.width - 1) if row.details else below
    draw_rule(buf, layout.bottom_y, above, joints_below, double=True)


def _draw_top(buf: Buffer, layout: DeviceLayout, sample: Sample, version: str) -> None:
    """Draw the border above the headings, with the versions if there is room for them."""
    box = _uprights(layout.cells)
    outer = (box[0], box[-1])
    top = layout.area.y + 1
    if layout.has_versions:
        draw_rule(buf, top, (), outer, double=True)
        draw_versions(buf, top + 1, outer[1] + 1, sample, version)
        draw_rule(buf, top + 2, outer, box)
    else:
        draw_rule(buf, top, (), box, double=True)


# Cached because a key changes at most the style of a few devices between two samples.
@functools.lru_cache(maxsize=256)
def device_rows(
    shape: _Shape,
    device: DeviceSample,
    style: Style,
    height: int,
    details: int,
    is_failing: bool,
) -> tuple[tuple[Span, ...], ...]:
    """Return the spans of one device: ``height`` rows, the last ``details`` of them for details."""
    buf = Buffer(shape.width, height)
    _draw_device(buf, shape, device, style)
    if is_failing:
        buf.write(shape.cells[0].x + LABEL, 0, '!', _FAILING)
    _draw_details(buf, height - details, shape, device)
    return tuple(map(buf.row, range(height)))


def _draw_details(buf: Buffer, y: int, shape: _Shape, device: DeviceSample) -> None:
    lines = range(y, buf.height)
    for line in lines:
        draw_uprights(buf, line, (0,))
    if lines and device.status == 'ok':
        from nvitop.gui.view.panels.device_details import draw_details  # imported only if shown

        draw_details(buf, y, shape.details, device, note=shape.details_note)
    for line in lines:
        draw_uprights(buf, line, (shape.width - 1,))


def _is_part_of(selected: DeviceKey, key: DeviceKey) -> bool:
    """Return whether ``key`` is the selected device or the GPU that contains it."""
    return selected == key or (not key.is_mig and selected.physical_index == key.physical_index)


def _no_devices_message(sample: Sample) -> str:
    if not sample.sequence:
        return 'Looking for GPUs ...'
    reasons = [safe(problem.reason) for problem in sample.problems if problem.subject == 'driver']
    return ': '.join(['No GPU is visible', *reasons[:1]])


def _uprights(cells: Sequence[Cells]) -> tuple[int, ...]:
    return (cells[0].x - 1, *(each.right for each in cells))


def _row_uprights(layout: DeviceLayout, device: DeviceSample) -> tuple[int, ...]:
    """Return the columns of the vertical lines in the row of a device."""
    box = _uprights(layout.cells)
    if device.status != 'ok':
        box = (box[0], box[-1])
    bars = layout.bars
    if not bars:
        return box
    if has_wide_bar(device):
        return (*box, bars[-1].right + 1)
    return (*box, *(bar.right + 1 for bar in bars))


def _draw_cells(
    buf: Buffer, y: int, cells: Sequence[Cells], texts: Sequence[str], style: Style
) -> None:
    """Write the cells of a row, each after its left border."""
    for each, text in zip(cells, texts):
        draw_uprights(buf, y, (each.x - 1,))
        draw_text(buf, each.x, y, fit(text, each.width), style)


def _draw_device(buf: Buffer, shape: _Shape, device: DeviceSample, style: Style) -> None:
    cells = shape.cells
    first, right = cells[0].width, cells[-1].right
    if device.status == 'ok':
        lines = device_cells(device, shape.form, first, shape.traits)
    else:
        cells = (Cells(cells[0].x, right - cells[0].x),)
        lines = lost_cells(device, shape.form, cells[0].width, first)
    for i, texts in enumerate(lines):
        _draw_cells(buf, i, cells, texts, style)
        draw_uprights(buf, i, (right,))
        if shape.bars:
            draw_bars(buf, i, shape.bars, device, style, form=shape.form, view=shape.view)
