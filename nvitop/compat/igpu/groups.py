# SPDX-License-Identifier: Apache-2.0
"""Groups of values of a GPU, with their text. Unknown values are ``nan`` or ``'N/A'``."""

from __future__ import annotations

import math
from typing import List

from nvitop.api.utils import NA
from nvitop.namedtuple import NamedTuple
from nvitop.printable import printable

_BAR_WIDTH = 25


def _text(value: object, unit: str = '', digits: int = 2) -> str:
    """Return a value with its unit; ``'N/A'`` if it is unknown."""
    if not isinstance(value, (int, float)):
        return str(value)
    return str(NA) if math.isnan(value) else f'{value:.{digits}f}{unit}'


def _percent(part: float, total: float) -> float:
    return 100.0 * part / total if total else math.nan


def _bar(percent: float) -> str:
    """Return a percentage as a bar and a number; the bar ends at 100 %."""
    if math.isnan(percent):
        return str(NA)
    filled = round(min(max(percent, 0.0), 100.0) / 100.0 * _BAR_WIDTH)
    return f'[{"|" * filled:<{_BAR_WIDTH}}] {percent:.2f}%'


def _group(title: str, rows: dict[str, str]) -> str:
    """Return a title and rows with aligned values."""
    width = max(map(len, rows))
    return '\n'.join([f'{title}:', *(f'    {key:<{width}} : {rows[key]}' for key in rows)])


class GPUMemoryInfo(NamedTuple):
    """Memory of a GPU in MiB; reserved memory is part of ``used``."""

    total: float
    used: float
    free: float
    unit: str = 'MiB'

    def __str__(self) -> str:
        sizes = {'Total': self.total, 'Used': self.used, 'Free': self.free}
        rows = {
            key: f'{_text(size):>10} {self.unit} {_bar(_percent(size, self.total))}'
            for key, size in sizes.items()
        }
        return _group('GPU MEMORY', rows)


class GPUUtilizationInfo(NamedTuple):
    """Utilization and fan speed in percent, temperature in °C, performance state (``'P0'``)."""

    gpu: float
    memory: float
    fan: float
    temperature: float
    performance: str

    def __str__(self) -> str:
        rows = {
            'Performance': self.performance,
            'Temperature': _text(self.temperature, 'C'),
            'Graphics': _bar(self.gpu),
            'Memory': _bar(self.memory),
            'Fan': _bar(self.fan),
        }
        return _group('GPU UTILIZATION', rows)


class GPUPCIInfo(NamedTuple):
    """PCI location and link of a GPU, as text."""

    bus: str
    bus_id: str
    device: str
    device_id: str
    sub_system_id: str
    current_link_gen: str
    max_link_gen: str
    current_link_width: str
    max_link_width: str

    def __str__(self) -> str:
        rows = {
            'Bus': self.bus,
            'Bus ID': self.bus_id,
            'Device': self.device,
            'Device ID': self.device_id,
            'Sub-System ID': self.sub_system_id,
            'Generation': f'{self.current_link_gen} (Max: {self.max_link_gen})',
            'Link Width': f'{self.current_link_width} (Max: {self.max_link_width})',
        }
        return _group('PCI INFO', rows)


class GPUClockInfo(NamedTuple):
    """Current and maximum clocks in MHz."""

    graphics: float
    sm: float
    memory: float
    max_graphics: float
    max_sm: float
    max_memory: float
    video: float = math.nan
    max_video: float = math.nan
    unit: str = 'MHz'

    def __str__(self) -> str:
        clocks = {
            'Graphics': (self.graphics, self.max_graphics),
            'SM': (self.sm, self.max_sm),
            'Memory': (self.memory, self.max_memory),
            'Video': (self.video, self.max_video),
        }
        rows = {
            key: f'{_text(clock, f" {self.unit}", 1)} (Max: {_text(most, "", 1)})'
            for key, (clock, most) in clocks.items()
        }
        return _group('GPU CLOCK', rows)


class GPUPowerInfo(NamedTuple):
    """Power and power limits in W; ``management`` is ``'Supported'`` or ``'N/A'``."""

    management: str
    draw: float
    limit: float
    min_limit: float
    max_limit: float
    enforced_limit: float = math.nan
    default_limit: float = math.nan
    unit: str = 'W'

    def __str__(self) -> str:
        powers = {
            'Draw': self.draw,
            'Limit': self.limit,
            'Enforced Limit': self.enforced_limit,
            'Default Limit': self.default_limit,
            'Min Limit': self.min_limit,
            'Max Limit': self.max_limit,
        }
        rows = {key: _text(power, f' {self.unit}') for key, power in powers.items()}
        return _group('POWER INFO', {'Management': self.management, **rows})


class GPUProcessInfo(NamedTuple):
    """A process on a GPU. Values of an exited process are ``'N/A'``."""

    pid: int
    name: str
    user: str
    #: PID of the parent; 0 if there is none, ``None`` if it is unknown.
    parent_pid: int | None
    parent_name: str
    #: Local time: ``'2026-01-31 23:59:59'``.
    create_time: str
    #: In MiB; ``nan`` if unknown.
    gpu_memory: float
    #: ``'C'`` (compute), ``'G'`` (graphics) or ``'C+G'``.
    type: str = str(NA)

    def __str__(self) -> str:
        parent = NA if self.parent_pid is None else self.parent_pid
        memory = _text(self.gpu_memory, digits=0)
        name, user = printable(self.name), printable(self.user)
        return (
            f'{self.pid:<8} | {self.type:<4} | {name:<20} | {user:<16} | '
            f'{parent!s:<8} | {self.create_time:<19} | {memory}'
        )


class GPUProcessesInfo(List[GPUProcessInfo]):
    """The processes on a GPU: a list that prints as a table."""

    def __str__(self) -> str:
        heading = (
            f'{"PID":<8} | {"TYPE":<4} | {"NAME":<20} | {"USER":<16} | '
            f'{"PARENT":<8} | {"CREATION TIME":<19} | GPU MEM (MiB)'
        )
        rows = [str(process) for process in self] or ['none']
        return '\n'.join(['PROCESSES:', *(f'    {row}' for row in (heading, *rows))])
