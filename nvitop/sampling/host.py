# SPDX-License-Identifier: Apache-2.0
"""Reads the host; a value that cannot be read leaves the others unaffected."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from nvitop.api import host
from nvitop.api.process.observed import own_line
from nvitop.api.system import system
from nvitop.sampling.types import HostSample, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    T = TypeVar('T')

#: Shortest interval (seconds) over which CPU % is meaningful: CPU time counts in steps of 10 ms.
SHORTEST_CPU_INTERVAL = 0.05


class HostCpuShare:
    """Share of time in which the CPUs were busy between two readings."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: Time of the last reading, its busy and whole CPU time, and the share.
        self._last: tuple[float, float, float, float | None] | None = None

    def percent(self) -> float | None:
        """Return the share since the last reading, ``None`` at the first."""
        now, last = self._clock(), self._last
        if last is not None and now - last[0] < SHORTEST_CPU_INTERVAL:
            return last[3]
        busy, whole = system().cpu_seconds()
        percent = None
        if last is not None and whole > last[2]:
            share = (busy - last[1]) / (whole - last[2])
            percent = round(min(max(100.0 * share, 0.0), 100.0), 1)
        self._last = (now, busy, whole, percent)
        return percent


class HostReader:
    """Reads the host; CPU % is measured between two readings."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._cpu = HostCpuShare(clock)
        self._problems: dict[str, Problem] = {}
        self._query('cpu_percent', self._cpu.percent)
        self.sample = HostSample(
            hostname=self._query('hostname', system().hostname) or '',
            username=self._query('username', system().username) or '',
            is_superuser=bool(self._query('is_superuser', system().is_superuser)),
            own_line=tuple(sorted(own_line())),
            wsl=host.WSL or '',
            cpu_count=self._query('cpu_count', system().cpu_count),
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why values are missing."""
        return tuple(self._problems.values())

    def read(self) -> HostSample:
        """Measure now."""
        memory = self._query('memory', system().memory_usage)
        swap = self._query('swap', system().swap_usage)
        self.sample = self.sample._replace(
            cpu_percent=self._query('cpu_percent', self._cpu.percent),
            load_average=self._query('load_average', system().load_average),
            memory_total_bytes=getattr(memory, 'total', None),
            memory_used_bytes=getattr(memory, 'used', None),
            memory_percent=getattr(memory, 'percent', None),
            swap_total_bytes=getattr(swap, 'total', None),
            swap_used_bytes=getattr(swap, 'used', None),
            swap_percent=getattr(swap, 'percent', None),
            uptime_seconds=self._query('uptime', system().uptime),
        )
        return self.sample

    def _query(self, what: str, function: Callable[[], T | None]) -> T | None:
        try:
            value = function()
        except Exception as error:
            is_denied = isinstance(error, (PermissionError, host.AccessDenied))
            reason = f'{type(error).__name__}: {error}'
            self._problems[what] = Problem('host', what, reason, 'denied' if is_denied else 'na')
            return None
        self._problems.pop(what, None)
        return value
