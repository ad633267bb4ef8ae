# SPDX-License-Identifier: GPL-3.0-only
"""Bars right of the cells of the full form: memory, memory bandwidth, utilization and power."""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

from nvitop.api.utils import GiB
from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Cells, Rect
from nvitop.gui.render.style import Style
from nvitop.gui.view.load_style import load_role
from nvitop.gui.view.panels.device_cells import RowState
from nvitop.gui.view.widgets.bar import draw_bar
from nvitop.gui.view.widgets.box import draw_uprights
from nvitop.sampling.types import DeviceSample

#: Cells of the text right of a bar: ``1980 MHz``, ``1005 HOT``, ``141.2 GiB``.
_TEXT = 9


class _Bar(NamedTuple):
    label: str
    percent: float | None
    text: str
    #: The thresholds of its color.
    is_memory: bool = False


def draw_bars(
    buf: Buffer,
    y: int,
    bars: Sequence[Cells],
    device: DeviceSample,
    state: RowState,
    view: ViewState,
) -> bool:
    """Draw the bars of one line of a device, each with its right border; return whether a mark is there."""
    lines = ((_memory, _bandwidth), (_utilization, _power))
    makers: Sequence[Callable[[DeviceSample], _Bar]] = lines[y]
    if device.key.is_mig:
        makers = (_memory,)
    if device.status != 'ok':
        makers = ()
    has_mark = False
    for number, cells in enumerate(bars):
        if number < len(makers):
            has_mark |= _draw_bar(buf, y, cells, makers[number], device, state, view)
        draw_uprights(buf, y, (cells.right + 1,))
    return has_mark


def _draw_bar(
    buf: Buffer,
    y: int,
    cells: Cells,
    make: Callable[[DeviceSample], _Bar],
    device: DeviceSample,
    state: RowState,
    view: ViewState,
) -> bool:
    bar = make(device)
    thresholds = view.thresholds.memory if bar.is_memory else view.thresholds.gpu
    area = Rect(cells.x + 1, y, cells.width - 1, 1)
    has_text = draw_bar(
        buf,
        area,
        bar.label,
        bar.percent,
        Style(load_role(bar.percent, thresholds)),
        text=bar.text,
        text_width=_TEXT,
        colorful=view.colorful,
    )
    if make is not _utilization or state.finding is None or not has_text:
        return False
    mark = state.finding.mark
    # A short word replaces MHz, a long one the clock.
    word = mark if len(mark) <= len('MHz') else mark.rjust(_TEXT - 1)
    buf.write(area.right - len(word), y, word, state.mark_style)
    return True


def _memory(device: DeviceSample) -> _Bar:
    used = device.memory_used_bytes
    text = '' if used is None else f'{used / GiB:.1f} GiB'
    return _Bar('MEM', device.memory_percent, text, is_memory=True)


def _bandwidth(device: DeviceSample) -> _Bar:
    percent = device.memory_utilization_percent
    return _Bar('MBW', percent, _clock(device.memory_clock_mhz), is_memory=True)


def _utilization(device: DeviceSample) -> _Bar:
    return _Bar('UTL', device.gpu_utilization_percent, _clock(device.sm_clock_mhz))


def _power(device: DeviceSample) -> _Bar:
    usage, limit = device.power_usage_mw, device.power_limit_mw
    percent = None if usage is None or not limit else 100.0 * usage / limit
    return _Bar('PWR', percent, '' if usage is None else f'{usage / 1000:.0f} W')


def _clock(mhz: int | None) -> str:
    return '' if mhz is None else f'{mhz:.0f} MHz'
