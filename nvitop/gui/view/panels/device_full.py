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

from typing import NamedTuple, Sequence

from nvitop.basics.units import GiB
from nvitop.gui.model import format as fmt
from nvitop.gui.model.choices import ViewState, load_style, row_role
from nvitop.gui.model.device_columns import DEVICE_COLUMNS_BY_NAME
from nvitop.gui.model.device_rows import GpuRow
from nvitop.gui.model.main_rows import is_separated
from nvitop.gui.model.table import Placed
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import CLASSIC, WITH_BAR, Cells, Rect
from nvitop.gui.render.style import DIM, HEADING, PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, clip, fit, pad, safe
from nvitop.gui.view.charts import draw_meter
from nvitop.gui.view.panels.device import DeviceView, machine_notes, total_notes
from nvitop.gui.view.table import draw_cell
from nvitop.gui.view.text import draw_border, draw_rule, draw_text, draw_uprights
from nvitop.sampling.types import DeviceSample

#: Inner widths of the three cells, and most columns by which the third one grows.
_CELL_WIDTHS, _MORE_USER = (31, 22, 22), 25
#: Widths of the state if users have no room for jobs and if they have, and of a user with a job.
_NARROW_STATE, _WIDE_STATE, _USER_WITH_JOB = len('GPU-Util'), len('busy remap'), 16
#: Columns of the first cell that the name of a GPU cannot use.
_AROUND_NAME = 12
#: Minimum columns to the right of these cells for a bar.
_BAR_ROOM = 17
#: Cells of the fields in the pictures above.
LABEL = 4
_FAN, _TEMPERATURE, _PERFORMANCE, _POWER = 3, 4, 4, 13
_MODE, _BUS_ID, _ECC = 4, 16, 3
_MEMORY, _MEMORY_TOTAL, _MIG_INSTANCE = 20, 8, 4
#: Place of the temperature in the first cell.
TEMPERATURE = Cells(1 + _FAN + 2, _TEMPERATURE)
#: Cells of a performance state in the compact form.
_SHORT_PERFORMANCE = 3

_PERSISTENCE, _DRIVER_MODEL, _MIG = 'Persistence-M', 'TCC/WDDM ', 'MIG M. '


def _headings(width: int, traits: _Traits, columns: Sequence[Placed]) -> list[list[str]]:
    """Return the headings by line; ``width`` is that of the first cell, the third one has ``columns``."""
    right = _MIG if traits.has_mig else _PERSISTENCE
    right = _DRIVER_MODEL if traits.has_driver_model else right
    state, user = (place.column.title.capitalize() for place in columns)
    return [
        [
            _spread(' GPU  Name', right, width),
            ' Bus-Id   Uncorr. ECC ',
            _in_columns(columns, state, user),
        ],
        [
            _spread(' Fan  Temp  Perf', 'Pwr:Usage/Cap', width),
            '         Memory-Usage ',
            _in_columns(columns, 'GPU-Util', 'Compute M.'),
        ],
    ]


def _in_columns(columns: Sequence[Placed], left: str, right: str) -> str:
    state, user = columns
    return f' {pad(left, state.width)}{" " * (user.x - state.right)}{pad(right, user.width)} '


def _device_cells(
    device: DeviceSample, width: int, traits: _Traits, columns: Sequence[Placed]
) -> list[list[str]]:
    """Return the texts of a device that responds, by line, without those of ``columns``.

    ``width`` is that of the first cell.
    """
    if device.key.is_mig:
        return [_mig_cells(device, width)]
    mode = device.mig_mode if traits.has_mig else device.persistence_mode
    if traits.has_driver_model:
        text = fmt.format_driver_model(device.current_driver_model)
    else:
        text = fmt.format_switch(mode)
    text = clip(text, _MODE)
    room = width - LABEL - 2 - 1 - cell_width(text) - 1
    name = pad(fmt.format_device_name(device.info.name, room), room)
    bus_id = fit(fmt.format_word(device.info.bus_id), _BUS_ID)
    ecc = clip(fmt.format_count(device.total_volatile_uncorrected_ecc_errors), _ECC, '+')
    fan = fmt.format_short_percent(device.fan_speed_percent)
    temperature = fmt.format_temperature(device.temperature_celsius, _TEMPERATURE)[:_TEMPERATURE]
    performance = clip(fmt.format_word(device.performance_state), _SHORT_PERFORMANCE, '+')
    left = f' {fan:>{_FAN}}  {temperature:>{_TEMPERATURE}}  {performance:^{_PERFORMANCE}} '
    utilization = fmt.format_percent(device.gpu_utilization_percent)
    # One column left of the end of its heading, as in nvidia-smi.
    utilization = f'{clip(utilization, columns[0].width - 1):>{len("GPU-Util") - 1}}'
    compute_mode = clip(fmt.format_compute_mode(device.compute_mode), columns[1].width)
    return [
        [f'{device.key.label:>{LABEL}}  {name} {text} ', f' {bus_id} {ecc:>{_ECC}} '],
        [
            _spread(left, f'{_power(device, _POWER)} ', width),
            f' {_memory(device):>{_MEMORY}} ',
            _in_columns(columns, utilization, compute_mode),
        ],
    ]


def _lost_cells(device: DeviceSample, width: int, first: int) -> list[list[str]]:
    """Return the row of a device that does not respond: its name, and the reason across the row.

    ``width`` is that of the row, ``first`` that of the first cell of other rows.
    """
    reason = safe(device.reason or device.status)
    if device.status == 'not permitted':
        reason = f'{device.status}: {reason}'
    label = f'{device.key.label:>{LABEL}}'
    if device.key.is_mig:
        return [[_with_reason(f'{label}  ', reason, width)]]
    if device.info.name is None:
        # It has never responded: its name would only repeat the reason.
        return [[_with_reason(f'{label}  ', reason, width)], ['']]
    name = fmt.format_device_name(device.info.name, first - _AROUND_NAME)
    bus_id = fmt.format_word(device.info.bus_id)
    # The bus ID begins in the same column as those of other rows.
    return [
        [f'{label}  {pad(name, first - LABEL)}{bus_id}'],
        [_with_reason(' ' * (LABEL + 2), reason, width)],
    ]


def _with_reason(left: str, reason: str, width: int) -> str:
    return f'{left}{clip(reason, width - cell_width(left) - 1)} '


def _spread(left: str, right: str, width: int) -> str:
    return left + pad(right, width - cell_width(left), '>')


def _mig_cells(device: DeviceSample, width: int) -> list[str]:
    info = device.info
    instance = fmt.NOT_AVAILABLE
    if info.gpu_instance_id is not None and info.compute_instance_id is not None:
        instance = f'{info.gpu_instance_id}/{info.compute_instance_id}'
    right = f' @ GI/CI:{instance:>{_MIG_INSTANCE}} '
    profile = clip(fmt.format_word(info.mig_profile), width - LABEL - 1 - len(right))
    return [
        _spread(f'{device.key.label:>{LABEL}} ', f'{profile}{right}', width),
        f' {_memory(device):>{_MEMORY}} ',
    ]


def _memory(device: DeviceSample) -> str:
    used = fmt.format_bytes(device.memory_used_bytes)
    total = fmt.format_bytes(device.info.memory_total_bytes)
    return clip(f'{used} / {total:>{_MEMORY_TOTAL}}', _MEMORY)


def _power(device: DeviceSample, room: int) -> str:
    text = fmt.format_power_usage(device.power_usage_mw, device.power_limit_mw)
    if len(text) > room:
        text = text.replace(' / ', '/')
    return clip(text, room, '+')


#: Cells of the text right of a bar (``1980 MHz``, ``141.2 GiB``), and minimum cells left of one.
_TEXT, _LEAST_WITH_TEXT = 9, 14
#: Cells of the label of a bar.
_LABEL = len('UTIL')


def _draw_bars(buf: Buffer, y: int, cells: Cells, device: DeviceSample, view: ViewState) -> None:
    used, clock = device.memory_used_bytes, device.sm_clock_mhz
    memory = '' if used is None else f'{used / GiB:.1f} GiB'
    bars = (
        ('MEM', device.memory_percent, memory, view.thresholds.memory, Role.MEMORY),
        (
            *('UTIL', device.gpu_utilization_percent),
            *('' if clock is None else f'{clock} MHz', view.thresholds.gpu, Role.UTILIZATION),
        ),
    )
    for line, (label, percent, text, thresholds, role) in enumerate(bars[: 2 - device.key.is_mig]):
        draw_uprights(buf, y + line, (cells.right + 1,))
        if device.status == 'ok':
            style = load_style(percent, thresholds, view, role)
            area = Rect(cells.x + 1, y + line, cells.width - 1, 1)
            _draw_bar(buf, area, label, percent, text, style)


def _draw_bar(
    buf: Buffer, area: Rect, label: str, percent: float | None, text: str, style: Style
) -> None:
    x = area.x + buf.write(area.x, area.y, f'{label:<{_LABEL}}') + 1
    right = area.right - _TEXT - 1
    if right - x < _LEAST_WITH_TEXT:
        right = area.right
    else:
        buf.write(area.right - len(text), area.y, text)
    share = fmt.format_share(percent)
    draw_meter(buf, Rect(x, area.y, max(0, right - 5 - x), 1), percent, style)
    buf.write(right - len(share), area.y, share, PLAIN if percent is not None else DIM)


class _Traits(NamedTuple):
    """Properties of all devices together, on which the headings depend."""

    #: Whether any GPU can be divided into MIG devices, and whether any has a driver model (Windows).
    has_mig: bool
    has_driver_model: bool


def draw_full_devices(
    buf: Buffer, area: Rect, rows: Sequence[GpuRow], view: ViewState, shown: DeviceView
) -> tuple[int, ...]:
    """Draw the panel without its bottom border; return the columns of the vertical lines above that."""
    devices = [row.device for row in rows]
    traits = _Traits(
        any(device.mig_mode is not None for device in devices),
        any(device.current_driver_model is not None for device in devices),
    )
    names = [cell_width(_name(device)) for device in devices if not device.key.is_mig]
    cells = _cells(area.width, max(names, default=0))
    box = cells[-1].right + 1
    bar = Cells(box + 1, area.width - box - 3) if area.width >= WITH_BAR else None
    columns = _place(cells[-1])
    uprights = (0, *(cell.right for cell in cells), *(() if bar is None else (bar.right + 1,)))
    across = (0, *uprights[len(cells) :])

    draw_border(buf, area.y, (), uprights, machine_notes(rows, shown), total_notes(rows))
    for y, texts in enumerate(_headings(cells[0].width, traits, columns), area.y + 1):
        draw_uprights(buf, y, uprights)
        for cell, text in zip(cells, texts):
            draw_text(buf, cell.x, y, fit(text, cell.width), HEADING)
    y = area.y + 3
    above, before = uprights, None
    for row in rows:
        below = uprights if row.device.status == 'ok' else across
        if before is None or is_separated(before, row):
            draw_rule(buf, y, above, below)
            y += 1
        above, before = below, row
        height = 1 if row.device.key.is_mig else 2
        buf.hit(Rect(1, y, area.width - 2, height), 'device', row.device.key)
        _draw_device(buf, y, row, (cells, bar, columns), traits, view, below)
        if row.device.key == shown.selected:
            buf.restyle(Rect(1, y, cells[-1].right - 1, height), role=Role.SELECTED)
        y += height
    return above


def _name(device: DeviceSample) -> str:
    return fmt.product_name(device.info.name or '')


def _draw_device(
    buf: Buffer,
    y: int,
    row: GpuRow,
    places: tuple[Sequence[Cells], Cells | None, Sequence[Placed]],
    traits: _Traits,
    view: ViewState,
    uprights: Sequence[int],
) -> None:
    cells, bar, columns = places
    device = row.device
    style = Style(row_role(device, view))
    if device.status == 'ok':
        lines = _device_cells(device, cells[0].width, traits, columns)
    else:
        first = cells[0].width
        cells = (Cells(cells[0].x, cells[-1].right - cells[0].x),)
        lines = _lost_cells(device, cells[0].width, first)
    for number, texts in enumerate(lines):
        draw_uprights(buf, y + number, uprights)
        for cell, text in zip(cells, texts):
            draw_text(buf, cell.x, y + number, fit(text, cell.width), style)
    if bar is not None:
        _draw_bars(buf, y, bar, device, view)
    if device.status == 'ok':
        for each in columns:
            draw_cell(buf, each.x, y, each, each.column.text(row, each.width), style)
        if row.finding is not None and row.finding.mark == 'hot' and not device.key.is_mig:
            place = Rect(cells[0].x + TEMPERATURE.x, y + 1, TEMPERATURE.width, 1)
            buf.restyle(place, role=row.mark_style.role, bold=True)
    elif row.advice:
        last = len(lines) - 1 if lines[-1][0] else 0
        x = cells[0].x + cell_width(lines[last][0].rstrip())
        if x + 3 + cell_width(row.advice) < cells[0].right:
            buf.write(x, y + last, f' · {row.advice}', DIM)
    if row.is_wrong:
        buf.write(cells[0].x, y, f'{device.key.label:>{LABEL}}!', row.mark_style)


def _cells(width: int, name_width: int) -> tuple[Cells, ...]:
    """Return the three cells with their padding.

    Names and users widen their cells as far as bars have enough room, and users take a third of it.
    """
    first, second, third = _CELL_WIDTHS
    if width < WITH_BAR:
        first += width - CLASSIC
    else:
        room = width - CLASSIC - _BAR_ROOM
        more = min(max(0, name_width + _AROUND_NAME - first), room)
        first += more
        third += min(_MORE_USER, (room - more) // 3)
    return (
        Cells(1, first),
        Cells(first + 2, second),
        Cells(first + second + 3, third),
    )


def _place(cells: Cells) -> tuple[Placed, ...]:
    state, user = (DEVICE_COLUMNS_BY_NAME[name] for name in ('state', 'user'))
    room = cells.width - 2 - user.gap
    width = _WIDE_STATE if room >= _WIDE_STATE + _USER_WITH_JOB else _NARROW_STATE
    x = cells.x + 1
    return (
        Placed(state, x, width),
        Placed(user, x + width + user.gap, room - width),
    )
