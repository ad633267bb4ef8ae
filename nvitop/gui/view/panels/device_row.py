# SPDX-License-Identifier: GPL-3.0-only
"""The row of a device in the form with one row for each device.

All columns, which no screen is wide enough for::

     GPU  NAME      TEMP   FAN  PERF      POWER  MEM                         UTIL              CLOCK
       0! H100 PCIe 91°C   80%  P0    608/700 W  ■■■■■■■■·· 86%  68.6/79.6G  ■■■■■■■■■· 89%  1005 MHz HOT
       1  H100 PCIe 30°C   30%  P8     71/700 W  ·········· 0%    0.0/79.6G  ··········  0%  idle
     1:0   1g.10gb                               ■■■······· 31%   3.1/ 9.8G
       2! H100 PCIe  GPU is lost
"""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence, Tuple

from nvitop.api.utils import GiB
from nvitop.gui.layout.process import PlacedColumn
from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import cell_width, clip, safe
from nvitop.gui.view import format as fmt
from nvitop.gui.view.load_style import load_style, row_role
from nvitop.gui.view.panels.device_cells import RowState
from nvitop.gui.view.widgets.bar import draw_meter
from nvitop.sampling.types import DeviceSample

_DIM = Style(Role.DIM)
_ERROR = Style(Role.ERROR, bold=True)
_IDLE = Style(Role.IDLE)
#: Marks the device of the selected process, left of its index.
_SELECTED_MARK = '►'


class _Row(NamedTuple):
    """Everything the text of a cell depends on, except its column."""

    device: DeviceSample
    state: RowState
    view: ViewState
    #: Style of ordinary text in this row.
    style: Style


Pieces = Sequence[Tuple[str, Style]]


def draw_device_row(
    buf: Buffer,
    y: int,
    columns: Sequence[PlacedColumn],
    device: DeviceSample,
    state: RowState,
    view: ViewState,
) -> None:
    """Draw the row of a device."""
    style = Style(row_role(device, view.thresholds), bold=state.is_marked)
    row = _Row(device, state, view, style)
    if device.status != 'ok':
        _draw_lost(buf, y, columns, row)
    else:
        for place in columns:
            name = place.column.name
            if device.key.is_mig and name not in _OF_MIG_DEVICES:
                continue
            if name.endswith('_bar'):
                _draw_meter(buf, y, place, row)
            elif name == 'sparkline':
                _draw_sparkline(buf, place.x, y, row)
            else:
                _draw_cell(buf, y, place, row)
        if device.key.is_mig:
            _draw_profile(buf, y, columns, row)
    if state.is_marked:
        buf.write(
            columns[0].x - 1 + (columns[0].x == 1), y, _SELECTED_MARK, Style(Role.KEY, bold=True)
        )
    if state.is_selected:
        _highlight(buf, y, columns, device)


#: Columns with values of MIG devices, and columns in colors that show the value.
_OF_MIG_DEVICES = frozenset({'index', 'mark', 'memory_bar', 'memory_percent', 'memory', 'clock'})
_IN_COLORS = frozenset({'memory_bar', 'utilization_bar', 'sparkline'})


def _highlight(buf: Buffer, y: int, columns: Sequence[PlacedColumn], device: DeviceSample) -> None:
    """Draw the cursor around bars and the sparkline, which keep their colors."""
    kept = _IN_COLORS & _OF_MIG_DEVICES if device.key.is_mig else _IN_COLORS
    left = 1
    for place in columns if device.status == 'ok' else ():
        if place.column.name in kept:
            buf.restyle(Rect(left, y, place.x - left, 1), role=Role.SELECTED)
            left = place.right
    buf.restyle(Rect(left, y, buf.width - 1 - left, 1), role=Role.SELECTED)


def _draw_cell(buf: Buffer, y: int, place: PlacedColumn, row: _Row) -> None:
    pieces = CELLS[place.column.name](row, place.width)
    x = place.x
    if place.column.align == '>':
        x = place.right - sum(cell_width(text) for text, _ in pieces)
    for text, style in pieces:
        style = _DIM if text == fmt.NOT_AVAILABLE else style
        x += buf.write(x, y, text, style, width=max(0, place.right - x))


def _draw_meter(buf: Buffer, y: int, place: PlacedColumn, row: _Row) -> None:
    percent, thresholds = _measured(row, place.column.name)
    style = load_style(percent, thresholds, row.view)
    draw_meter(buf, Rect(place.x, y, place.width, 1), percent, style, colorful=row.view.colorful)


def _measured(row: _Row, column: str) -> tuple[float | None, tuple[int, int]]:
    """Return the percentage of a bar and its thresholds."""
    if column.startswith('memory'):
        return row.device.memory_percent, row.view.thresholds.memory
    return row.device.gpu_utilization_percent, row.view.thresholds.gpu


def _draw_sparkline(buf: Buffer, x: int, y: int, row: _Row) -> None:
    for text, percent in row.state.sparkline:
        x += buf.write(x, y, text, load_style(percent, row.view.thresholds.gpu, row.view))


def _draw_lost(buf: Buffer, y: int, columns: Sequence[PlacedColumn], row: _Row) -> None:
    """Draw index, mark, name if there are different ones, and why nothing else is measured."""
    x = 0
    for place in columns:
        if place.column.name in ('index', 'mark', 'name'):
            _draw_cell(buf, y, place, row)
        elif not x:
            x = place.x
    right = columns[-1].right
    x += buf.write(x, y, clip(safe(row.device.reason or row.device.status), right - x), _ERROR)
    buf.write(x, y, row.state.advice(right - x), _DIM)


def _draw_profile(buf: Buffer, y: int, columns: Sequence[PlacedColumn], row: _Row) -> None:
    """Draw the profile of a MIG device between its index and its memory."""
    left = columns[1].right + 1
    right = next(place.x for place in columns if place.column.name == 'memory_bar')
    text = fmt.format_word(row.device.info.mig_profile)
    buf.write(left + 1, y, clip(text, max(0, right - left - 2)), row.style)


def _is_wrong(row: _Row) -> bool:
    return row.device.status != 'ok' or row.state.is_wrong


def _index(row: _Row, _: int) -> Pieces:
    return ((row.device.key.label, _ERROR if _is_wrong(row) else row.style),)


def _mark(row: _Row, _: int) -> Pieces:
    return (('!', _ERROR),) if _is_wrong(row) else ()


def _name(row: _Row, width: int) -> Pieces:
    style = _ERROR if row.device.status != 'ok' else row.style
    return ((fmt.format_device_name(row.device.info.name, width), style),)


def _temperature(row: _Row, width: int) -> Pieces:
    text = fmt.format_temperature(row.device.temperature_celsius)
    finding = row.state.finding
    style = _ERROR if finding is not None and finding.mark == 'HOT' else row.style
    return ((text.replace('C', '°C') if len(text) < width else text, style),)


def _power(row: _Row, width: int) -> Pieces:
    usage, limit = row.device.power_usage_mw, row.device.power_limit_mw
    if usage is None:
        return ((fmt.NOT_AVAILABLE, row.style),)
    text = f'{usage / 1000:.0f}'
    bound = f'/{limit / 1000:.0f} W' if limit else ''
    if not bound or len(text) + len(bound) > width:
        return ((f'{text} W', row.style),)
    return ((text, row.style), (bound, _DIM))


def _percentage(column: str) -> Callable[[_Row, int], Pieces]:
    def pieces(row: _Row, _: int) -> Pieces:
        return ((fmt.format_share(_measured(row, column)[0]), row.style),)

    return pieces


def _memory(row: _Row, width: int) -> Pieces:
    used, total = row.device.memory_used_bytes, row.device.info.memory_total_bytes
    if used is None:
        return ((fmt.NOT_AVAILABLE, row.style),)
    bound = '' if total is None else f'/{total / GiB:.1f}G'
    text = f'{used / GiB:.1f}'
    if not bound or len(text) + len(bound) > width:
        return ((f'{text}G', row.style),)
    return ((text, row.style), (bound, _DIM))


def _clock(row: _Row, width: int) -> Pieces:
    finding = row.state.finding
    clock = row.device.sm_clock_mhz
    if finding is None and row.state.is_idle:
        return (('idle', _IDLE),)
    if row.device.key.is_mig:
        return ()
    number = fmt.NOT_AVAILABLE if clock is None else f'{clock:4.0f}'
    if finding is None:
        return ((f'{number} MHz' if width >= 8 and clock is not None else number, row.style),)
    text = '' if clock is None else f'{number} MHz ' if width >= 14 else f'{number} '
    if len(text) + len(finding.mark) > width:
        text = ''
    return ((text, row.style), (clip(finding.mark, width - len(text), ''), row.state.mark_style))


def _plain(text_of: Callable[[DeviceSample], str]) -> Callable[[_Row, int], Pieces]:
    return lambda row, _: ((text_of(row.device), row.style),)


# fmt: off
#: Column → the pieces of its text, for a row and the width of the column.
CELLS: dict[str, Callable[[_Row, int], Pieces]] = {
    'index': _index,
    'mark': _mark,
    'name': _name,
    'temperature': _temperature,
    'fan': _plain(lambda device: fmt.format_short_percent(device.fan_speed_percent)),
    'performance': _plain(lambda device: clip(fmt.format_word(device.performance_state), 4, '+')),
    'power': _power,
    'memory_percent': _percentage('memory'),
    'memory': _memory,
    'utilization_percent': _percentage('utilization'),
    'clock': _clock,
    'memory_clock': _plain(lambda device: fmt.format_measured('MHz', device.memory_clock_mhz)),
    'encoder': _plain(lambda device: fmt.format_share(device.encoder_utilization_percent)),
    'decoder': _plain(lambda device: fmt.format_share(device.decoder_utilization_percent)),
    'pcie_rx': _plain(lambda device: fmt.format_rate(device.pcie_rx_throughput_kib_per_s)),
    'pcie_tx': _plain(lambda device: fmt.format_rate(device.pcie_tx_throughput_kib_per_s)),
}
# fmt: on
