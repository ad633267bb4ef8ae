# SPDX-License-Identifier: GPL-3.0-only
"""The short row of a device on a screen that is too narrow for three cells.

Headings of the three variants::

    │ GPU Name           Fan Temp   Pwr:Usg/Cap        Memory-Usage Util│
    │ GPU Fan Temp Perf   Pwr:Usg/Cap      Memory Mem% Util│
    │ GPU Temp Power   Memory Mem% Util│
"""

from __future__ import annotations

from typing import Callable

from nvitop.gui.render.width import fit, pad
from nvitop.gui.view import format as fmt
from nvitop.gui.view.widgets.bar import bar_blocks
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import DeviceSample

#: Cells of the index of a device.
_LABEL = 4
#: Minimum number of cells for a bar.
_LEAST_BAR = 4


class _Part(NamedTuple):
    """A column: its heading, its width in cells, and its text."""

    title: str
    width: int
    text: Callable[[DeviceSample], str]


def _power_usage(device: DeviceSample) -> str:
    text = fmt.format_power_usage(device.power_usage_mw, device.power_limit_mw)
    return text if len(text) <= 13 else text.replace(' / ', '/')


def _memory_usage(device: DeviceSample) -> str:
    used = fmt.format_bytes(device.memory_used_bytes)
    return f'{used} / {fmt.format_bytes(device.info.memory_total_bytes):>8}'


_FAN = _Part('Fan', 3, lambda device: fmt.format_fan_speed(device.fan_speed_percent))
_TEMPERATURE = _Part('Temp', 4, lambda d: fmt.format_temperature(d.temperature_celsius))
_PERFORMANCE = _Part('Perf', 4, lambda device: fmt.format_word(device.performance_state))
_POWER = _Part('Power', 5, lambda device: fmt.format_short_power(device.power_usage_mw))
_POWER_USAGE = _Part('Pwr:Usg/Cap', 13, _power_usage)
_MEMORY = _Part('Memory', 8, lambda device: fmt.format_bytes(device.memory_used_bytes))
_MEMORY_PERCENT = _Part('Mem%', 4, lambda d: fmt.format_short_percent(d.memory_percent))
_MEMORY_USAGE = _Part('Memory-Usage', 19, _memory_usage)
_LOAD = _Part('Util', 4, lambda device: fmt.format_percent(device.gpu_utilization_percent))

#: Minimum width of the row, whether the name of the device comes first, and the columns.
_VARIANTS: tuple[tuple[int, bool, tuple[_Part, ...]], ...] = (
    (68, True, (_FAN, _TEMPERATURE, _POWER_USAGE, _MEMORY_USAGE, _LOAD)),
    (55, False, (_FAN, _TEMPERATURE, _PERFORMANCE, _POWER_USAGE, _MEMORY, _MEMORY_PERCENT, _LOAD)),
    (0, False, (_TEMPERATURE, _POWER, _MEMORY, _MEMORY_PERCENT, _LOAD)),
)


def _variant(width: int) -> tuple[int, bool, tuple[_Part, ...]]:
    """Return the cells for a name or a bar, whether it is a name, and the columns."""
    _, has_name, parts = next(variant for variant in _VARIANTS if width >= variant[0])
    return width - _LABEL - 1 - sum(part.width + 1 for part in parts), has_name, parts


def heading(width: int) -> str:
    """Return the headings of :func:`row`."""
    spare, has_name, parts = _variant(width)
    titles = [f' {part.title:>{part.width}}' for part in parts]
    if has_name:
        titles.insert(0, f' {"Name":<{spare - 1}}')
    elif spare <= _LEAST_BAR:
        titles.insert(parts.index(_MEMORY), ' ' * spare)
    return ' GPU' + ''.join(titles)


def row(device: DeviceSample, width: int) -> str:
    """Return the row of a device in a cell of this width."""
    spare, has_name, parts = _variant(width)
    texts = [f' {fit(part.text(device), part.width, ">")}' for part in parts]
    first = parts.index(_MEMORY_USAGE if has_name else _MEMORY)
    if device.key.is_mig:
        # A MIG device has no fan, temperature and power of its own.
        room = sum(part.width + 1 for part in parts[:first])
        profile = '' if has_name else f' {fmt.format_word(device.info.mig_profile)}'
        texts[:first] = [fit(profile, room)]
        first = 1
    if has_name:
        name = fmt.format_device_name(device.info.mig_profile or device.info.name, spare - 1)
        texts.insert(0, f' {pad(name, spare - 1)}')
    elif spare <= _LEAST_BAR:
        texts.insert(first, ' ' * spare)
    elif device.gpu_utilization_percent is not None:
        texts.append(f' {bar_blocks(device.gpu_utilization_percent, spare - 1)}')
    return f'{device.key.label:>{_LABEL}}{"".join(texts)}'
