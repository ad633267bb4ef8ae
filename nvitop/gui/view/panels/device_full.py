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
from nvitop.gui.layout.device import AROUND_NAME, DevicePlace, DeviceTraits
from nvitop.gui.model import format as fmt
from nvitop.gui.model.choices import ViewState, load_style
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Cells, Rect
from nvitop.gui.render.style import Role
from nvitop.gui.render.width import cell_width, clip, fit, pad, safe
from nvitop.gui.view.charts import draw_bar
from nvitop.gui.view.text import draw_uprights
from nvitop.sampling.types import DeviceSample

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


def headings(width: int, traits: DeviceTraits, columns: Sequence[DevicePlace]) -> list[list[str]]:
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


def _in_columns(columns: Sequence[DevicePlace], left: str, right: str) -> str:
    """Return texts in the columns of the third cell."""
    state, user = columns
    return f' {pad(left, state.width)}{" " * (user.x - state.right)}{pad(right, user.width)} '


def device_cells(
    device: DeviceSample, width: int, traits: DeviceTraits, columns: Sequence[DevicePlace]
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


def lost_cells(device: DeviceSample, width: int, first: int) -> list[list[str]]:
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
    name = fmt.format_device_name(device.info.name, first - AROUND_NAME)
    bus_id = fmt.format_word(device.info.bus_id)
    # The bus ID begins in the same column as those of other rows.
    return [
        [f'{label}  {pad(name, first - LABEL)}{bus_id}'],
        [_with_reason(' ' * (LABEL + 2), reason, width)],
    ]


def _with_reason(left: str, reason: str, width: int) -> str:
    return f'{left}{clip(reason, width - cell_width(left) - 1)} '


def _spread(left: str, right: str, width: int) -> str:
    """Return a text at the left end and one at the right end of a cell."""
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


#: Cells of the text right of a bar: ``1980 MHz``, ``141.2 GiB``.
_TEXT = 9
#: Cells of the label of a bar.
_LABEL = len('UTIL')


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
    view: ViewState,
) -> None:
    """Draw the bars of one line of a device, each with its right border."""
    shown = _bars_of(device)[y] if device.status == 'ok' else ()
    for number, cells in enumerate(bars):
        if number < len(shown):
            bar = shown[number]
            thresholds = view.thresholds.memory if bar.is_memory else view.thresholds.gpu
            role = Role.MEMORY if bar.label == 'MEM' else Role.UTILIZATION
            draw_bar(
                buf,
                Rect(cells.x + 1, y, cells.width - 1, 1),
                f'{bar.label:<{_LABEL}}',
                bar.percent,
                load_style(bar.percent, thresholds, view, role),
                text=bar.text,
                text_width=_TEXT,
            )
        draw_uprights(buf, y, (cells.right + 1,))


def _bars_of(device: DeviceSample) -> tuple[tuple[_Bar, ...], ...]:
    """Return the bars by line."""
    used, usage, limit = device.memory_used_bytes, device.power_usage_mw, device.power_limit_mw
    text = '' if used is None else f'{used / GiB:.1f} GiB'
    memory = _Bar('MEM', device.memory_percent, text, is_memory=True)
    if device.key.is_mig:
        return ((memory,),)
    clock = _clock(device.memory_clock_mhz)
    bandwidth = _Bar('MBW', device.memory_utilization_percent, clock, is_memory=True)
    utilization = _Bar('UTIL', device.gpu_utilization_percent, _clock(device.sm_clock_mhz))
    percent = None if usage is None or not limit else 100.0 * usage / limit
    power = _Bar('PWR', percent, '' if usage is None else f'{usage / 1000:.0f} W')
    return ((memory, bandwidth), (utilization, power))


def _clock(mhz: int | None) -> str:
    return '' if mhz is None else f'{mhz:.0f} MHz'
