# SPDX-License-Identifier: GPL-3.0-only
"""Bars right of the rows of the device panel: memory, memory bandwidth, utilization and power."""

from __future__ import annotations

from typing import Callable, Sequence

from nvitop.gui.layout.device import FULL, Cells
from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Style
from nvitop.gui.render.width import clip
from nvitop.gui.view import format as fmt
from nvitop.gui.view.load_style import load_role
from nvitop.gui.view.widgets.bar import draw_bar
from nvitop.gui.view.widgets.box import draw_uprights
from nvitop.sampling.types import DeviceSample

_DrawBar = Callable[[Buffer, Rect, DeviceSample, ViewState, Style], None]


def draw_bars(
    buf: Buffer,
    line: int,
    bars: Sequence[Cells],
    device: DeviceSample,
    style: Style,
    *,
    form: str,
    view: ViewState,
) -> None:
    """Draw the bars of one line of a device, each with its right border."""
    if has_wide_bar(device):
        area = Rect(bars[0].x, line, bars[-1].right - bars[0].x, 1)
        if device.status == 'ok':
            _draw_memory_bar(buf, area, device, view, style)
        draw_uprights(buf, line, (area.right + 1,))
        return
    drawers: tuple[_DrawBar, ...] = (_draw_memory_bar, _draw_utilization_bar)
    if form == FULL:
        drawers = (
            (_draw_utilization_bar, _draw_power_bar)
            if line
            else (_draw_memory_bar, _draw_bandwidth_bar)
        )
    for bar, draw in zip(bars, drawers):
        draw(buf, Rect(bar.x, line, bar.width, 1), device, view, style)
        draw_uprights(buf, line, (bar.right + 1,))


def has_wide_bar(device: DeviceSample) -> bool:
    """Return whether a device has one bar as wide as all bars of a GPU."""
    return device.key.is_mig or device.status != 'ok'


def _draw_memory_bar(
    buf: Buffer, area: Rect, device: DeviceSample, view: ViewState, style: Style
) -> None:
    percent = device.memory_percent
    texts = [fmt.format_bytes(device.memory_used_bytes)]
    style = style._replace(role=load_role(percent, view.thresholds.memory))
    draw_bar(buf, area, 'MEM', percent, style, texts=texts, colorful=view.colorful)


def _draw_bandwidth_bar(
    buf: Buffer, area: Rect, device: DeviceSample, view: ViewState, style: Style
) -> None:
    percent = device.memory_utilization_percent
    style = style._replace(role=load_role(percent, view.thresholds.memory))
    extra = _at_clock(device.memory_clock_mhz)
    draw_bar(buf, area, 'MBW', percent, style, extra=extra, colorful=view.colorful)


def _draw_utilization_bar(
    buf: Buffer, area: Rect, device: DeviceSample, view: ViewState, style: Style
) -> None:
    percent = device.gpu_utilization_percent
    style = style._replace(role=load_role(percent, view.thresholds.gpu))
    extra = _at_clock(device.sm_clock_mhz)
    draw_bar(buf, area, 'UTL', percent, style, extra=extra, colorful=view.colorful)


def _draw_power_bar(
    buf: Buffer, area: Rect, device: DeviceSample, view: ViewState, style: Style
) -> None:
    usage, limit = device.power_usage_mw, device.power_limit_mw
    percent = None if usage is None or not limit else 100.0 * usage / limit
    text = fmt.format_power(usage)
    style = style._replace(role=load_role(percent, view.thresholds.gpu))
    if percent is None and usage is not None:
        # Without a limit there is no percentage to draw.
        buf.write(area.x, area.y, clip(f'PWR: {text}', area.width), style)
        return
    draw_bar(buf, area, 'PWR', percent, style, texts=[text], colorful=view.colorful)


def _at_clock(mhz: int | None) -> str:
    return '' if mhz is None else f'@ {fmt.format_clock(mhz)}'
