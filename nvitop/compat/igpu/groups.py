# SPDX-License-Identifier: Apache-2.0
"""Groups of values of a GPU, printed like in igpu. Unknown values are ``nan`` or ``'N/A'``."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import List

from nvitop.api.utils import NA
from nvitop.printable import printable

_BAR_WIDTH = 25
#: Widths of the columns of a process: PID, name, user, parent, creation time.
_PROCESS_WIDTHS = (6, 20, 20, 8, 20)


def _number(value: float, form: str, unit: str = '') -> str:
    """Format a number with its unit; ``'N/A'`` if it is unknown."""
    return str(NA) if math.isnan(value) else f'{value:{form}}{unit}'


def _bar(percent: float) -> str:
    """Format a percentage as a bar and a number; the bar ends at 100 %."""
    if math.isnan(percent):
        return str(NA)
    filled = int(min(max(percent, 0.0), 100.0) / 100.0 * _BAR_WIDTH)
    return f'[{"|" * filled:<{_BAR_WIDTH}}] {percent:.2f}%'


def _group(title: str, rows: dict[str, str]) -> str:
    """Format a title and rows with aligned values."""
    width = max(map(len, rows))
    return '\n'.join([f'{title}:', *(f'    {key:<{width}} : {rows[key]}' for key in rows)])


class GPUMemoryInfo(SimpleNamespace):
    """Memory of a GPU in MiB; reserved memory is part of ``used``."""

    total: float
    used: float
    free: float
    unit: str

    def __str__(self) -> str:
        rows = {}
        for key, size in (('Total', self.total), ('Used', self.used), ('Free', self.free)):
            share = 100.0 * size / self.total if self.total else math.nan
            rows[key] = f'{_number(size, ".2f"):>10} {self.unit} ({_number(share, "6.2f", "%")})'
        return _group('GPU MEMORY', rows)


class GPUUtilizationInfo(SimpleNamespace):
    """Utilization and fan speed in percent, temperature in °C, performance state (``'P0'``)."""

    gpu: float
    memory: float
    fan: float
    temperature: float
    performance: str

    def __str__(self) -> str:
        rows = {
            'Performance': self.performance,
            'Temperature': _number(self.temperature, '.2f', 'C'),
            'Graphics': _bar(self.gpu),
            'Memory': _bar(self.memory),
            'Fan': _bar(self.fan),
        }
        return _group('GPU UTILIZATION', rows)


class GPUPCIInfo(SimpleNamespace):
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


class GPUClockInfo(SimpleNamespace):
    """Current and maximum clocks in MHz."""

    graphics: float
    sm: float
    memory: float
    video: float
    max_graphics: float
    max_sm: float
    max_memory: float
    max_video: float
    unit: str

    def __str__(self) -> str:
        clocks = {
            'Graphics': (self.graphics, self.max_graphics),
            'SM': (self.sm, self.max_sm),
            'Memory': (self.memory, self.max_memory),
            'Video': (self.video, self.max_video),
        }
        rows = {
            key: f'{_number(clock, ".1f", f" {self.unit}")} (Max: {_number(most, ".1f")})'
            for key, (clock, most) in clocks.items()
        }
        return _group('GPU CLOCK', rows)


class GPUPowerInfo(SimpleNamespace):
    """Power and power limits in W; ``management`` is ``'Supported'`` or ``'N/A'``."""

    management: str
    draw: float
    limit: float
    enforced_limit: float
    default_limit: float
    min_limit: float
    max_limit: float
    unit: str

    def __str__(self) -> str:
        powers = {
            'Draw': self.draw,
            'Limit': self.limit,
            'Enforced Limit': self.enforced_limit,
            'Default Limit': self.default_limit,
            'Min Limit': self.min_limit,
            'Max Limit': self.max_limit,
        }
        rows = {key: _number(power, '.2f', f' {self.unit}') for key, power in powers.items()}
        return _group('POWER INFO', {'Management': self.management, **rows})


class GPUProcessInfo(SimpleNamespace):
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
    #: ``'C'`` (compute), ``'G'`` (graphics) or ``'C+G'``; not in igpu.
    type: str

    def __str__(self) -> str:
        parent = NA if self.parent_pid is None else self.parent_pid
        words = (self.pid, printable(self.name), printable(self.user), parent, self.create_time)
        cells = [f'{word!s:<{width}}' for word, width in zip(words, _PROCESS_WIDTHS)]
        return ' | '.join([*cells, _number(self.gpu_memory, '.0f')])


class GPUProcessesInfo(List[GPUProcessInfo]):
    """The processes on a GPU: a list that prints as a table."""

    def __str__(self) -> str:
        words = ('PID', 'NAME', 'USER', 'PARENT', 'CREATION TIME')
        cells = [f'{word:<{width}}' for word, width in zip(words, _PROCESS_WIDTHS)]
        rows = [' | '.join([*cells, 'GPU MEM']), *map(str, self)]
        return '\n'.join(['PROCESSES', *(f'    {row}' for row in rows)])
