# SPDX-License-Identifier: GPL-3.0-only
"""The full form of the device panel: the table of nvidia-smi, with bars to its right if there is room.

There are two lines for a GPU and one for a MIG device, each with columns in three cells::

    │ GPU  Name        Persistence-M│ Bus-Id   Uncorr. ECC │ State     User       │
    │ Fan  Temp  Perf  Pwr:Usage/Cap│         Memory-Usage │ GPU-Util  Compute M. │
    ├───────────────────────────────┼──────────────────────┼──────────────────────┤
    │   0  H100 80GB HBM3        On │ 00000000:1B:00.0   0 │ busy      ann        │
    │ N/A  64°C   P0    637W / 700W │  68.25GiB / 79.65GiB │     94%   Default    │
    │ 1:0  1g.10gb      @ GI/CI:7/0 │   1.22GiB /  9.50GiB │ in use    bob        │
"""

from __future__ import annotations

from typing import Callable, Sequence

from nvitop.basics.units import GiB
from nvitop.gui.model import format as fmt
from nvitop.gui.model.device_columns import DEVICE_COLUMNS_BY_NAME, bar_pieces
from nvitop.gui.model.device_rows import GpuRow
from nvitop.gui.model.main_layout import is_separated
from nvitop.gui.model.table import CLASSIC, WITH_BAR, Column, Placed, place
from nvitop.gui.render.buffer import Buffer, Cells, Rect
from nvitop.gui.render.theme import DIM, PLAIN, Pieces, Role, Style
from nvitop.gui.render.width import cell_width, clip, safe
from nvitop.gui.view.panels.device import DeviceView, machine_notes, total_notes
from nvitop.gui.view.table import draw_cell, draw_headings
from nvitop.gui.view.text import draw_border, draw_rule, draw_uprights
from nvitop.sampling.types import DeviceSample

#: Widths of the three cells, and the most columns by which the third one grows.
_CELL_WIDTHS, _MORE_USER = (31, 22, 22), 25
#: Columns of the first cell that the name of a GPU cannot use, and columns of the third one for a
#: GPU with a problem.
_AROUND_NAME, _PROBLEM = 12, 2
#: Minimum columns to the right of these cells for a bar.
_BAR_ROOM = 17


def draw_full_devices(
    buf: Buffer, area: Rect, rows: Sequence[GpuRow], view: DeviceView
) -> tuple[int, ...]:
    """Draw the panel without its bottom border; return the columns of the lines that it joins."""
    cells = _cells(area.width, [row.device for row in rows])
    ends = (0, area.width - 1)
    uprights = (0, *(cell.right for cell in cells))
    draw_border(buf, area.y, (), uprights, machine_notes(rows, view), total_notes(rows))
    first, second, mig = (
        [placed for columns, cell in zip(line, cells) for placed in _place(columns, cell)]
        for line in (_first_line(rows), _SECOND_LINE, _MIG_LINE)
    )
    y = area.y + 1
    for line in (first, second):
        draw_uprights(buf, y, uprights)
        draw_headings(buf, y, line)
        y += 1
    above, before = uprights, None
    for row in rows:
        device = row.device
        below = uprights if device.status == 'ok' else ends
        if before is None or is_separated(before, row):
            draw_rule(buf, y, above, below)
            y += 1
        above, before = below, row
        lines = [mig] if device.key.is_mig else [first, second]
        for number, line in enumerate(lines, y):
            draw_uprights(buf, number, below)
            for cell in line if device.status == 'ok' else ():
                draw_cell(buf, number, cell, cell.column.text(row, cell.width), PLAIN)
        if device.status != 'ok':
            _draw_silent(buf, y, row, lines)
        box = Rect(1, y, area.width - 2, len(lines))
        buf.hit(box, 'device', device.key)
        if device.key == view.selected:
            buf.restyle(Rect(1, y, cells[2].right - 1, len(lines)), back=Role.SELECTED)
        y += len(lines)
    return above


def _draw_silent(buf: Buffer, y: int, row: GpuRow, lines: Sequence[Sequence[Placed]]) -> None:
    """Draw a device without values: its name, the reason, and what to do."""
    device = row.device
    style = Style(Role.ERROR if device.is_failing else Role.DIM)
    names = ['index', 'mark', *(['name', 'bus_id'] if device.info.name is not None else [])]
    for cell in lines[0]:
        if cell.column.name in names:
            draw_cell(buf, y, cell, cell.column.text(row, cell.width), style)
    reason = safe(device.reason or device.status)
    if device.status == 'not permitted':
        reason = f'{device.status}: {reason}'
    x, right = lines[0][2].x, buf.width - 2
    y += len(lines) - 1
    x += buf.write(x, y, clip(reason, right - x), style)
    if row.advice and x + 3 + cell_width(row.advice) <= right:
        buf.write(x, y, f' · {row.advice}', DIM)


def _cells(width: int, devices: Sequence[DeviceSample]) -> tuple[Cells, ...]:
    """Return the cells between vertical lines: three with texts, and one with bars if it has room.

    Names and users widen their cells as far as bars have enough room. Users take a third of it, or
    what a state with a problem needs.
    """
    first, second, third = _CELL_WIDTHS
    if width < WITH_BAR:
        more = min(width - CLASSIC, _PROBLEM)
        first, third = first + width - CLASSIC - more, third + more
    else:
        names = [fmt.product_name(gpu.info.name or '') for gpu in devices if not gpu.key.is_mig]
        longest = max(map(cell_width, names), default=0)
        room = width - CLASSIC - _BAR_ROOM
        more = min(max(0, longest + _AROUND_NAME - first), room)
        first += more
        third += min(_MORE_USER, max(min(room - more, _PROBLEM), (room - more) // 3))
    cells = [Cells(1, first), Cells(first + 2, second), Cells(first + second + 3, third)]
    if width >= WITH_BAR:
        x = cells[-1].right + 1
        cells.append(Cells(x, width - 1 - x))
    return tuple(cells)


def _place(columns: Sequence[Column], cell: Cells) -> tuple[Placed, ...]:
    """Place columns in a cell. Headings of the first cell reach its line, so its values end in a space."""
    is_first = cell.x == 1
    return place(columns, cell if is_first else Cells(cell.x, cell.width - 1))


def _column(
    name: str,
    title: str,
    sizes: tuple[int, ...],
    text: Callable[[GpuRow, int], str | Pieces],
    align: str = '>',
    gap: int = 1,
    rank: int = 0,
) -> Column:
    return Column(name, title, sizes, '', text, align, gap, rank=rank)


def _index(row: GpuRow, _: int) -> str | Pieces:
    label = row.device.key.label
    return ((label, row.mark_style),) if row.is_wrong else label


def _instance(row: GpuRow, _: int) -> str:
    ids = row.device.info.gpu_instance_id, row.device.info.compute_instance_id
    return f'@ GI/CI:{fmt.NOT_AVAILABLE if None in ids else "/".join(map(str, ids)):>4} '


def _power(row: GpuRow, width: int) -> Pieces:
    watts = (row.device.power_usage_mw, row.device.power_limit_mw)
    usage, limit = (fmt.format_measured('W', mw).replace(' ', '') for mw in watts)
    slash = ' / ' if len(usage) + len(limit) + 4 <= width else '/'
    return ((usage, PLAIN), (slash, PLAIN), (limit, PLAIN), (' ', PLAIN))


def _memory(row: GpuRow, _: int) -> Pieces:
    """Used and installed memory, in one unit for all rows."""
    sizes = row.device.memory_used_bytes, row.device.info.memory_total_bytes
    used, total = (fmt.NOT_AVAILABLE if size is None else f'{size / GiB:.2f}GiB' for size in sizes)
    return ((used, PLAIN), (' / ', PLAIN), (f'{total:>8}', PLAIN))


def _compute_mode(row: GpuRow, _: int) -> str:
    return fmt.format_word(row.device.compute_mode).replace('Exclusive', 'E.')


def _switch(devices: Sequence[DeviceSample]) -> Column:
    """Return the column right of the names of GPUs."""
    title, name = 'Persistence-M', 'persistence_mode'
    if any(device.current_driver_model is not None for device in devices):  # on Windows
        title, name = 'TCC/WDDM ', 'current_driver_model'
    elif any(device.mig_mode is not None for device in devices):
        title, name = 'MIG M. ', 'mig_mode'

    def text(row: GpuRow, _: int) -> str:
        word = fmt.format_switch(getattr(row.device, name))
        return f'{"TCC" if word == "WDM" else word} '  # as the driver may call it

    return _column('switch', title, (5 if 'WDDM' in title else 4,), text)


def _bar_columns(
    label: str,
    role: Role,
    percent_of: Callable[[DeviceSample], float | None],
    text: Callable[[GpuRow, int], str | Pieces],
) -> tuple[Column, ...]:
    """Return the columns of a bar: its label, which is its heading too, its percentage, and a text if it fits."""

    def bar(row: GpuRow, width: int) -> Pieces:
        return bar_pieces(percent_of(row.device), width, Style(role))

    return (
        _column('label', label, (4,), lambda *_: label, '<'),
        _column('bar', '', (5, 0), bar, '<'),
        _column('share', '', (4,), lambda row, _: fmt.format_share(percent_of(row.device))),
        _column('value', '', (9,), text, gap=2, rank=1),
    )


def _used_memory(row: GpuRow, _: int) -> str:
    used = row.device.memory_used_bytes
    return fmt.NOT_AVAILABLE if used is None else f'{used / GiB:.1f} GiB'


# fmt: off
_INDEX = (
    _column('index', 'GPU', (4,), _index),
    DEVICE_COLUMNS_BY_NAME['mark'],
)
_MEMORY = (_column('memory', 'Memory-Usage', (0,), _memory),)
_STATE = (
    DEVICE_COLUMNS_BY_NAME['state']._replace(title='State', sizes=(8, 10)),
    DEVICE_COLUMNS_BY_NAME['user']._replace(title='User', sizes=(10, 0), rank=0),
)
_MEMORY_BAR = _bar_columns('MEM', Role.MEMORY, lambda device: device.memory_percent, _used_memory)
_UTILIZATION_BAR = _bar_columns('UTIL', Role.UTILIZATION, lambda device: device.gpu_utilization_percent, DEVICE_COLUMNS_BY_NAME['clock'].text)


def _first_line(rows: Sequence[GpuRow]) -> tuple[Sequence[Column], ...]:
    """Return the columns of the first line of a GPU in each cell."""
    name = _column('name', 'Name', (0,), lambda row, width: fmt.format_device_name(row.device.info.name, width), '<')
    bus_id = _column('bus_id', 'Bus-Id', (16,), lambda row, _: fmt.format_word(row.device.info.bus_id), '<')
    ecc = _column('ecc', 'Uncorr. ECC', (3,), lambda row, _: fmt.format_count(row.device.total_volatile_uncorrected_ecc_errors))
    return (*_INDEX, name, _switch([row.device for row in rows])), (bus_id, ecc), _STATE, _MEMORY_BAR


_SECOND_LINE: tuple[Sequence[Column], ...] = (
    (
        _column('fan', 'Fan', (4,), lambda row, _: fmt.format_short_percent(row.device.fan_speed_percent)),
        DEVICE_COLUMNS_BY_NAME['temperature']._replace(title='Temp'),
        _column('performance', 'Perf', (4,), lambda row, _: f'{fmt.format_word(row.device.performance_state):^4}', '<', gap=2),
        _column('power', 'Pwr:Usage/Cap', (0,), _power),
    ),
    _MEMORY,
    (
        # One column left of the end of its heading, as in nvidia-smi.
        _column('utilization', 'GPU-Util', (8, 10), lambda row, _: f'{fmt.format_percent(row.device.gpu_utilization_percent):>7}', '<'),
        _column('compute', 'Compute M.', (10, 0), _compute_mode, '<', gap=2),
    ),
    _UTILIZATION_BAR,
)
_MIG_LINE: tuple[Sequence[Column], ...] = (
    (
        *_INDEX,
        _column('name', '', (0,), lambda row, _: fmt.format_word(row.device.info.mig_profile), '<', gap=0),
        _column('instance', '', (13,), _instance),
    ),
    _MEMORY,
    _STATE,
    _MEMORY_BAR,
)
# fmt: on
