# SPDX-License-Identifier: Apache-2.0
"""Asking the host: each question on its own, so that one that fails takes nothing with it."""

from __future__ import annotations

import os
import time
from typing import Callable, TypeVar

from nvitop.api import host
from nvitop.platforms.users import is_superuser
from nvitop.sampling.types import HostSample, Problem

T = TypeVar('T')

#: CPU time is counted in steps of 10 ms: below this time its share says nothing.
SHORTEST_CPU_INTERVAL = 0.05


class HostReader:
    """The host; CPU % is measured between two readings."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._problems: dict[str, Problem] = {}
        #: When CPU times were read, the busy and the whole time, and the share they gave.
        self._cpu: tuple[float, float, float, float | None] | None = None
        self._ask('cpu_percent', self._read_cpu_percent)
        self.sample = HostSample(
            hostname=self._ask('hostname', host.hostname) or '',
            username=self._ask('username', host.getuser) or '',
            is_superuser=bool(self._ask('is_superuser', is_superuser)),
            wsl=host.WSL or '',
            cpu_count=self._ask('cpu_count', os.cpu_count),
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why something is missing."""
        return tuple(self._problems.values())

    def read(self) -> HostSample:
        """Measure now."""
        memory = self._ask('memory', host.memory_usage)
        swap = self._ask('swap', host.swap_usage)
        self.sample = self.sample._replace(
            cpu_percent=self._ask('cpu_percent', self._read_cpu_percent),
            load_average=self._ask('load_average', host.load_average),
            memory_total_bytes=getattr(memory, 'total', None),
            memory_used_bytes=getattr(memory, 'used', None),
            memory_percent=getattr(memory, 'percent', None),
            swap_total_bytes=getattr(swap, 'total', None),
            swap_used_bytes=getattr(swap, 'used', None),
            swap_percent=getattr(swap, 'percent', None),
            uptime_seconds=self._ask('uptime', host.uptime),
        )
        return self.sample

    def _ask(self, what: str, question: Callable[[], T | None]) -> T | None:
        try:
            answer = question()
        except Exception as error:
            is_denied = isinstance(error, (PermissionError, host.AccessDenied))
            reason = f'{type(error).__name__}: {error}'
            self._problems[what] = Problem('host', what, reason, 'denied' if is_denied else 'na')
            return None
        self._problems.pop(what, None)
        return answer

    def _read_cpu_percent(self) -> float | None:
        """Share of time in which the CPUs were busy since the last reading, ``None`` at first."""
        now = self._clock()
        if self._cpu is not None and now - self._cpu[0] < SHORTEST_CPU_INTERVAL:
            return self._cpu[3]
        busy, whole = host.cpu_seconds()
        percent = None
        if self._cpu is not None and whole > self._cpu[2]:
            share = (busy - self._cpu[1]) / (whole - self._cpu[2])
            percent = round(min(max(100.0 * share, 0.0), 100.0), 1)
        self._cpu = (now, busy, whole, percent)
        return percent
