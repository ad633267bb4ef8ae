# SPDX-License-Identifier: GPL-3.0-only
"""Which columns of the device panel are shown, and how wide they are."""

from __future__ import annotations

import functools
from typing import NamedTuple, Sequence

from nvitop.api.utils import GiB
from nvitop.gui.layout.process import PlacedColumn
from nvitop.gui.model.columns import DEVICE_COLUMNS
from nvitop.gui.render.geometry import CLASSIC, inside
from nvitop.gui.render.width import cell_width, safe
from nvitop.sampling.types import DeviceSample

#: Cells of the shortest sparkline, and of five minutes.
_SHORTEST, _FIVE_MINUTES = 9, 15

#: Widths of a power draw in watts and of a memory in GiB, and of two of them with their unit.
_POWER_WIDTH, _BOTH_POWERS = len('700'), len('608/700 W')
_MEMORY_WIDTH, _BOTH_MEMORIES = len('79.6'), len('68.6/79.6G')
#: Uses of the room, the most important first: a column and its width, or that of both bars.
#: A width is an addition to what comes before it; a step that does not fit is skipped.
_STEPS: tuple[tuple[str, int], ...] = (
    ('index', 4),
    ('mark', 1),
    ('memory_percent', 4),
    ('utilization_percent', 4),
    ('bars', 3),
    ('temperature', 4),
    ('clock', 5),
    ('power', _POWER_WIDTH + 2),
    ('bars', 6),
    ('sparkline', _SHORTEST),
    ('bars', 8),
    ('clock', 8),
    ('power', _BOTH_POWERS),
    ('bars', 10),
    ('name', 0),
    ('memory', _MEMORY_WIDTH + 1),
    ('sparkline', _FIVE_MINUTES),
    ('bars', 14),
    ('memory', _BOTH_MEMORIES),
    ('sparkline', 2 * _FIVE_MINUTES),
    ('clock', 14),
    ('fan', 4),
    ('bars', 18),
    ('memory_clock', 8),
    ('performance', 4),
    ('encoder', 4),
    ('decoder', 4),
    ('sparkline', 3 * _FIVE_MINUTES),
    ('bars', 24),
    ('pcie_rx', 10),
    ('pcie_tx', 10),
    ('sparkline', 5 * _FIVE_MINUTES),
)
_BARS = ('memory_bar', 'utilization_bar')
#: Columns that are shown whether or not they have values.
_ALWAYS = frozenset(
    {'index', 'mark', 'memory_percent', 'utilization_percent', 'clock', 'memory', 'sparkline'}
)
#: Column → field of a device that needs a value on any device.
_FIELDS = {
    'temperature': 'temperature_celsius',
    'power': 'power_usage_mw',
    'fan': 'fan_speed_percent',
    'performance': 'performance_state',
    'memory_clock': 'memory_clock_mhz',
    'encoder': 'encoder_utilization_percent',
    'decoder': 'decoder_utilization_percent',
    'pcie_rx': 'pcie_rx_throughput_kib_per_s',
    'pcie_tx': 'pcie_tx_throughput_kib_per_s',
}
#: Columns that the details also have.
IN_DETAILS = frozenset({'encoder', 'decoder', 'pcie_rx', 'pcie_tx'})
#: Columns that are shown only if GPUs differ.
_DIFFERENT = ('performance', 'memory_clock')
_MAKER = 'NVIDIA '


class DeviceTraits(NamedTuple):
    """Properties of all devices together, on which columns and their widths depend."""

    #: Columns that have a value, or may have one, on any device.
    columns: frozenset[str] = frozenset()
    #: Width of the longest name of a GPU; 0 if all that responded have the same one.
    name_width: int = 0
    #: Width of the highest power limit in watts, and of the largest memory in GiB.
    power_width: int = _POWER_WIDTH
    memory_width: int = _MEMORY_WIDTH
    #: Whether any GPU has NVLinks.
    has_nvlink: bool = False
    #: Whether any GPU has a slower PCIe link than possible.
    has_slow_links: bool = False


def traits_of(devices: Sequence[DeviceSample]) -> DeviceTraits:
    """Return the properties of these devices."""
    gpus = [device for device in devices if not device.key.is_mig]
    columns = set(_ALWAYS)
    columns.update(
        name
        for name, field in _FIELDS.items()
        if any(getattr(device, field) is not None for device in gpus)
    )
    for name in _DIFFERENT:
        if len({getattr(device, _FIELDS[name]) for device in gpus if device.status == 'ok'}) < 2:
            columns.discard(name)
    if not any(device.status == 'ok' for device in gpus):
        columns.update(_FIELDS)
    names = {device.info.name for device in gpus if device.info.name is not None}
    if len(names) > 1:
        columns.add('name')
    limits = [device.power_limit_mw or device.power_usage_mw or 0 for device in gpus]
    sizes = [device.info.memory_total_bytes or 0 for device in devices]
    return DeviceTraits(
        frozenset(columns),
        max(map(cell_width, map(product_name, names))) if len(names) > 1 else 0,
        max(_POWER_WIDTH, len(f'{max(limits, default=0) / 1000:.0f}')),
        max(_MEMORY_WIDTH, len(f'{max(sizes, default=0) / GiB:.1f}')),
        any(device.info.nvlink_link_count for device in gpus),
        any(device.pcie_link_down_trained for device in gpus),
    )


def product_name(name: str) -> str:
    """Return the name of a GPU as it is drawn: safe, and without ``NVIDIA``."""
    text = safe(name)
    return text[len(_MAKER) :] if text.startswith(_MAKER) else text


@functools.lru_cache(maxsize=8)  # each frame needs it, and the devices hardly change
def place_device_columns(width: int, traits: DeviceTraits) -> tuple[PlacedColumn, ...]:
    """Lay out the columns in a panel of this width, from left to right."""
    cells = inside(width)
    gap = 2 if width >= CLASSIC else 1
    widths = _choose(cells.width, gap, traits)
    # Bars share what is left.
    rest = cells.width - _total(widths, gap)
    for number, name in enumerate(_BARS):
        widths[name] += (rest + number) // 2
    places: list[PlacedColumn] = []
    x = cells.x
    for column in DEVICE_COLUMNS:
        if column.name in widths:
            x += min(column.gap, gap) if places else 0
            places.append(PlacedColumn(column, x, widths[column.name]))
            x += widths[column.name]
    return tuple(places)


def _choose(room: int, gap: int, traits: DeviceTraits) -> dict[str, int]:
    """Return the widths of the columns that fit, by name."""
    widths: dict[str, int] = {}
    for name, wanted in _STEPS:
        if name == 'bars':
            longer = {**widths, **dict.fromkeys(_BARS, wanted)}
        elif name in traits.columns:
            longer = {**widths, name: _adapted(name, wanted, traits)}
        else:
            continue
        if _total(longer, gap) <= room or _BARS[0] not in widths:
            widths = longer
    return widths


def _adapted(name: str, width: int, traits: DeviceTraits) -> int:
    """Return the width of a column for these devices; each step is made for usual numbers."""
    if name == 'name':
        return traits.name_width
    numbers = 2 if width in (_BOTH_POWERS, _BOTH_MEMORIES) else 1
    if name == 'power':
        return width + numbers * (traits.power_width - _POWER_WIDTH)
    if name == 'memory':
        return width + numbers * (traits.memory_width - _MEMORY_WIDTH)
    return width


def _total(widths: dict[str, int], gap: int) -> int:
    """Return the cells that these columns need, with the gaps between them."""
    columns = [column for column in DEVICE_COLUMNS if column.name in widths]
    return sum(widths.values()) + sum(min(column.gap, gap) for column in columns[1:])
