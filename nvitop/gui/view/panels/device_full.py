# SPDX-License-Identifier: GPL-3.0-only
"""The full form of the device panel: texts in three cells, and bars to their right.

There are two lines for a GPU and one for a MIG device. The letters mark the cells of each field; a
wider box widens the first and the third cell, which has the columns STATE and USER of the other form::

    │ GPU  Name        Persistence-M│ Bus-Id   Uncorr. ECC │ State     User       │
    │ Fan  Temp  Perf  Pwr:Usage/Cap│         Memory-Usage │ GPU-Util  Compute M. │
    ├───────────────────────────────┼──────────────────────┼──────────────────────┤
    │llll  nnnnnnnnnnnnnnnnnnnn sss │ bbbbbbbbbbbbbbbb eee │ state     user       │
    │ fff  tttt  pppp wwwwwwwwwwwww │ mmmmmmmmmmmmmmmmmmmm │ uuuuuuuu  cccccccccc │
    │llll rrrrrrrrrrrr @ GI/CI:iiii │ mmmmmmmmmmmmmmmmmmmm │ state     user       │
"""

from __future__ import annotations

from typing import Callable, Sequence

from nvitop.basics.units import GiB
from nvitop.gui.model import format as fmt
from nvitop.gui.model.choices import ViewState
from nvitop.gui.model.device_columns import DEVICE_COLUMNS_BY_NAME
from nvitop.gui.model.device_rows import GpuRow
from nvitop.gui.model.main_rows import is_separated
from nvitop.gui.model.table import Placed
from nvitop.gui.render.buffer import CLASSIC, WITH_BAR, Buffer, Cells, Rect
from nvitop.gui.render.theme import DIM, HEADING, PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, clip, fit, pad, safe
from nvitop.gui.view.charts import draw_meter
from nvitop.gui.view.panels.device import DeviceView, machine_notes, total_notes
from nvitop.gui.view.table import draw_cell
from nvitop.gui.view.text import draw_border, draw_rule, draw_text, draw_uprights
from nvitop.sampling.types import DeviceSample

#: Inner widths of the three cells, and most columns by which the third one grows.
_CELL_WIDTHS, _MORE_USER = (31, 22, 22), 25
#: Widths of the state without and with room for what a GPU is doing and its problem, and least of users.
_NARROW_STATE, _WIDE_STATE, _LEAST_USER = len('GPU-Util'), len('unreadable'), len('Compute M.')
#: Columns of the first cell that the name of a GPU cannot use.
_AROUND_NAME = 12
#: Minimum columns to the right of these cells for a bar.
_BAR_ROOM = 17
#: Columns of the first cell before the temperature, and those of the temperature.
_BEFORE_TEMPERATURE, _TEMPERATURE = 6, 4
#: Cells of the text right of a bar (``1980 MHz``, ``141.2 GiB``), and minimum cells left of one.
_TEXT, _LEAST_WITH_TEXT = 9, 14

_Switch = Callable[[DeviceSample], str]


def draw_full_devices(
    buf: Buffer, area: Rect, rows: Sequence[GpuRow], view: ViewState, shown: DeviceView
) -> tuple[int, ...]:
    """Draw the panel without its bottom border; return the columns of the vertical lines above that."""
    devices = [row.device for row in rows]
    switch_title, switch = _switch_of(devices)
    cells = _cells(area.width, devices)
    box = cells[-1].right + 1
    bar = Cells(box + 1, area.width - box - 3) if area.width >= WITH_BAR else None
    state, user = columns = _place(cells[-1])
    uprights = (0, *(cell.right for cell in cells), *(() if bar is None else (bar.right + 1,)))
    across = (0, *uprights[len(cells) :])
    first = cells[0].width
    headings = [
        [
            _spread(' GPU  Name', switch_title, first),
            ' Bus-Id   Uncorr. ECC ',
            _in_columns(columns, *(each.column.title.capitalize() for each in columns)),
        ],
        [
            _spread(' Fan  Temp  Perf', 'Pwr:Usage/Cap', first),
            '         Memory-Usage ',
            _in_columns(columns, 'GPU-Util', 'Compute M.'),
        ],
    ]
    draw_border(buf, area.y, (), uprights, machine_notes(rows, shown), total_notes(rows))
    for y, texts in enumerate(headings, area.y + 1):
        _draw_texts(buf, y, uprights, cells, texts, HEADING)
    y = area.y + 3
    above, before = uprights, None
    for row in rows:
        device = row.device
        below = uprights if device.status == 'ok' else across
        if before is None or is_separated(before, row):
            draw_rule(buf, y, above, below)
            y += 1
        above, before = below, row
        height = 1 if device.key.is_mig else 2
        buf.hit(Rect(1, y, area.width - 2, height), 'device', device.key)
        style = PLAIN
        if device.status != 'ok':
            style = Style(Role.ERROR if device.is_failing else Role.DIM)
        if device.status == 'ok':
            lines = _device_cells(device, first, columns, switch)
            for number, texts in enumerate(lines, y):
                _draw_texts(buf, number, uprights, cells, texts, style)
            for each in (state, user):
                draw_cell(buf, each.x, y, each, each.column.text(row, each.width), style)
            if row.finding is not None and row.finding.mark == 'hot' and not device.key.is_mig:
                place = Rect(cells[0].x + _BEFORE_TEMPERATURE, y + 1, _TEMPERATURE, 1)
                buf.restyle(place, role=row.mark_style.role, bold=True)
        else:
            whole = Cells(cells[0].x, cells[-1].right - cells[0].x)
            _draw_lost(buf, y, row, whole, first, across, style)
        if bar is not None:
            _draw_bars(buf, y, bar, device, view)
        if row.is_wrong:
            buf.write(cells[0].x, y, f'{device.key.label:>4}!', row.mark_style)
        if device.key == shown.selected:
            buf.restyle(Rect(1, y, cells[-1].right - 1, height), role=Role.SELECTED)
        y += height
    return above


def _switch_of(devices: Sequence[DeviceSample]) -> tuple[str, _Switch]:
    """Return the heading and the text of what is right of the names of GPUs."""
    if any(device.current_driver_model is not None for device in devices):  # on Windows
        names = {'WDM': 'TCC'}  # as the driver may call it
        return 'TCC/WDDM ', lambda device: fmt.format_word(
            names.get(device.current_driver_model or '', device.current_driver_model)
        )
    if any(device.mig_mode is not None for device in devices):
        return 'MIG M. ', lambda device: fmt.format_switch(device.mig_mode)
    return 'Persistence-M', lambda device: fmt.format_switch(device.persistence_mode)


def _draw_texts(
    buf: Buffer,
    y: int,
    uprights: Sequence[int],
    cells: Sequence[Cells],
    texts: Sequence[str],
    style: Style,
) -> None:
    draw_uprights(buf, y, uprights)
    for cell, text in zip(cells, texts):
        draw_text(buf, cell.x, y, fit(text, cell.width), style)


def _in_columns(columns: Sequence[Placed], left: str, right: str) -> str:
    state, user = columns
    return f' {pad(left, state.width)}{" " * (user.x - state.right)}{pad(right, user.width)} '


def _device_cells(
    device: DeviceSample, width: int, columns: Sequence[Placed], switch: _Switch
) -> list[list[str]]:
    """Return the texts of a device that responds, by line, without those of ``columns``.

    ``width`` is that of the first cell.
    """
    info, label = device.info, f'{device.key.label:>4}'
    total = fmt.format_bytes(info.memory_total_bytes)
    memory = clip(f'{fmt.format_bytes(device.memory_used_bytes)} / {total:>8}', 20)
    if device.key.is_mig:
        ids = info.gpu_instance_id, info.compute_instance_id
        instance = fmt.NOT_AVAILABLE if None in ids else '/'.join(map(str, ids))
        right = f' @ GI/CI:{instance:>4} '
        profile = clip(fmt.format_word(info.mig_profile), width - len(label) - 1 - len(right))
        return [[_spread(f'{label} ', f'{profile}{right}', width), f' {memory:>20} ']]
    text = clip(switch(device), 4)
    room = width - len(label) - 4 - cell_width(text)
    name = pad(fmt.format_device_name(info.name, room), room)
    bus_id = fit(fmt.format_word(info.bus_id), 16)
    ecc = clip(fmt.format_count(device.total_volatile_uncorrected_ecc_errors), 3)
    fan = fmt.format_short_percent(device.fan_speed_percent)
    temperature = fmt.format_temperature(device.temperature_celsius)[:_TEMPERATURE]
    performance = clip(fmt.format_word(device.performance_state), 3)
    watts = (device.power_usage_mw, device.power_limit_mw)
    power = ' / '.join(fmt.format_measured('W', mw).replace(' ', '') for mw in watts)
    power = clip(power if len(power) <= 13 else power.replace(' / ', '/'), 13)
    # One column left of the end of its heading, as in nvidia-smi.
    utilization = fmt.format_percent(device.gpu_utilization_percent)
    utilization = f'{clip(utilization, columns[0].width - 1):>7}'
    mode = fmt.format_word(device.compute_mode).replace('Exclusive', 'E.')
    compute_mode = clip(mode, min(11, columns[1].width))
    return [
        [f'{label}  {name} {text} ', f' {bus_id} {ecc:>3} '],
        [
            _spread(f' {fan:>3}  {temperature:>4}  {performance:^4} ', f'{power} ', width),
            f' {memory:>20} ',
            _in_columns(columns, utilization, compute_mode),
        ],
    ]


def _draw_lost(
    buf: Buffer,
    y: int,
    row: GpuRow,
    cells: Cells,
    first: int,
    uprights: Sequence[int],
    style: Style,
) -> None:
    """Draw a device that does not respond: its name, the reason, and what to do.

    ``first`` is the width of the first cell of other rows.
    """
    device = row.device
    reason = safe(device.reason or device.status)
    if device.status == 'not permitted':
        reason = f'{device.status}: {reason}'
    left, lines = f'{device.key.label:>4}  ', []
    if device.info.name is not None and not device.key.is_mig:
        name = fmt.format_device_name(device.info.name, first - _AROUND_NAME)
        # The bus ID begins in the same column as those of other rows.
        lines = [f'{left}{pad(name, first - 4)}{fmt.format_word(device.info.bus_id)}']
        left = ' ' * len(left)
    last = y + len(lines)
    lines.append(f'{left}{clip(reason, cells.width - cell_width(left) - 1)} ')
    # One that has never responded has no name, which leaves a line empty.
    lines += [''] * (2 - device.key.is_mig - len(lines))
    for number, text in enumerate(lines, y):
        _draw_texts(buf, number, uprights, [cells], [text], style)
    x = cells.x + cell_width(lines[last - y].rstrip())
    if row.advice and x + 3 + cell_width(row.advice) < cells.right:
        buf.write(x, last, f' · {row.advice}', DIM)


def _spread(left: str, right: str, width: int) -> str:
    return left + pad(right, width - cell_width(left), '>')


def _draw_bars(buf: Buffer, y: int, cells: Cells, device: DeviceSample, view: ViewState) -> None:
    """Draw memory and utilization: label, bar, percentage, and a text at the right end if it fits."""
    used, clock = device.memory_used_bytes, device.sm_clock_mhz
    memory = '' if used is None else f'{used / GiB:.1f} GiB'
    clock_text = '' if clock is None else f'{clock} MHz'
    bars = (
        ('MEM ', device.memory_percent, memory, Role.MEMORY),
        ('UTIL', device.gpu_utilization_percent, clock_text, Role.UTILIZATION),
    )
    for line, (label, percent, text, role) in enumerate(bars[: 2 - device.key.is_mig], y):
        draw_uprights(buf, line, (cells.right + 1,))
        if device.status != 'ok':
            continue
        x = cells.x + 1 + buf.write(cells.x + 1, line, label) + 1
        right = cells.right - _TEXT - 1
        if right - x < _LEAST_WITH_TEXT:
            right = cells.right
        else:
            buf.write(cells.right - len(text), line, text)
        share = fmt.format_share(percent)
        style = Style(Role.UNKNOWN if percent is None else role)
        draw_meter(buf, Rect(x, line, max(0, right - 5 - x), 1), percent, style)
        buf.write(right - len(share), line, share, PLAIN if percent is not None else DIM)


def _cells(width: int, devices: Sequence[DeviceSample]) -> tuple[Cells, ...]:
    """Return the three cells with their padding.

    Names and users widen their cells as far as bars have enough room. Users take a third of it, or
    what a state with a problem needs.
    """
    first, second, third = _CELL_WIDTHS
    if width < WITH_BAR:
        more = min(width - CLASSIC, _WIDE_STATE - _NARROW_STATE)
        first, third = first + width - CLASSIC - more, third + more
    else:
        names = [fmt.product_name(gpu.info.name or '') for gpu in devices if not gpu.key.is_mig]
        longest = max(map(cell_width, names), default=0)
        room = width - CLASSIC - _BAR_ROOM
        more = min(max(0, longest + _AROUND_NAME - first), room)
        first += more
        least = min(room - more, _WIDE_STATE - _NARROW_STATE)
        third += min(_MORE_USER, max(least, (room - more) // 3))
    return Cells(1, first), Cells(first + 2, second), Cells(first + second + 3, third)


def _place(cells: Cells) -> tuple[Placed, Placed]:
    state, user = (DEVICE_COLUMNS_BY_NAME[name] for name in ('state', 'user'))
    room = cells.width - 2 - user.gap
    width = _WIDE_STATE if room >= _WIDE_STATE + _LEAST_USER else _NARROW_STATE
    x = cells.x + 1
    return Placed(state, x, width), Placed(user, x + width + user.gap, room - width)
