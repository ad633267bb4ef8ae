# SPDX-License-Identifier: Apache-2.0
"""Reads the host; a value that cannot be read leaves the others unaffected."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeVar

from nvitop.api import host
from nvitop.api.process.observed import own_ancestry
from nvitop.api.system import system
from nvitop.api.timing import SHORTEST_CPU_SECONDS, Window
from nvitop.sampling.types import (
    DiskSample,
    FilesystemSample,
    HostIo,
    HostSample,
    NetworkSample,
    Problem,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from nvitop.api.host import CpuSeconds

    T = TypeVar('T')


def _busy_percent(before: CpuSeconds, after: CpuSeconds, seconds: float) -> float | None:
    """Return the share of time in which the CPUs were busy between two readings."""
    if after.whole <= before.whole:
        return None
    share = (after.busy - before.busy) / (after.whole - before.whole)
    return round(min(max(100.0 * share, 0.0), 100.0), 1)


def _core_percents(
    before: tuple[CpuSeconds, ...], after: tuple[CpuSeconds, ...], seconds: float
) -> tuple[float, ...]:
    """Return the usage of each CPU; none if a CPU was switched on or off."""
    if len(before) != len(after):
        return ()
    return tuple(_busy_percent(*pair, seconds) or 0.0 for pair in zip(before, after))


class HostReader:
    """Reads the host; CPU % is measured between two readings."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._cpu: Window[CpuSeconds, float | None] = Window(
            _busy_percent, None, shortest=SHORTEST_CPU_SECONDS
        )
        self._cores: Window[tuple[CpuSeconds, ...], tuple[float, ...]] = Window(
            _core_percents, (), shortest=SHORTEST_CPU_SECONDS
        )
        self._problems: dict[str, Problem] = {}
        self._query('cpu_percent', self._cpu_percent)
        self.sample = HostSample(
            hostname=self._query('hostname', system().hostname) or '',
            username=self._query('username', system().username) or '',
            is_superuser=bool(self._query('is_superuser', system().is_superuser)),
            own_ancestry=tuple(sorted(own_ancestry())),
            wsl=host.WSL or '',
            cpu_count=self._query('cpu_count', system().cpu_count),
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why values are missing."""
        return tuple(self._problems.values())

    def read(self, *, cores: bool = False) -> HostSample:
        """Measure now; with ``cores``, also each CPU."""
        memory = self._query('memory', system().memory_usage)
        swap = self._query('swap', system().swap_usage)
        self.sample = self.sample._replace(
            cpu_percent=self._query('cpu_percent', self._cpu_percent),
            cpu_core_percents=(
                (self._query('cpu_core_percents', self._core_percents) or ()) if cores else ()
            ),
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

    def _cpu_percent(self) -> float | None:
        return self._cpu.since_last(system().cpu_seconds, self._clock())

    def _core_percents(self) -> tuple[float, ...]:
        return self._cores.since_last(system().core_seconds, self._clock())

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


def read_host_io() -> HostIo:
    """Read the counters of interfaces and disks, and the usage of local file systems.

    The call blocks while a file system does not respond. A file system that cannot be read is left
    out.

    Raises:
        OSError: The system does not provide the counters.
    """
    return HostIo(
        memory_free_bytes=host.virtual_memory().free,
        networks=tuple(
            NetworkSample(name, io.bytes_sent, io.bytes_recv, io.packets_sent, io.packets_recv)
            for name, io in _by_name(host.net_io_counters(pernic=True))
        ),
        disks=tuple(
            DiskSample(name, io.read_bytes, io.write_bytes)
            for name, io in _by_name(host.disk_io_counters(perdisk=True))
        ),
        filesystems=_filesystems(),
    )


def _by_name(counters: dict[str, Any] | None) -> list[tuple[str, Any]]:
    return sorted((counters or {}).items())


def _filesystems() -> tuple[FilesystemSample, ...]:
    found: dict[str, FilesystemSample] = {}
    for partition in host.disk_partitions(all=False):
        try:
            usage = host.disk_usage(partition.mountpoint)
        except OSError:  # not readable by this user, or unmounted meanwhile
            continue
        found[partition.mountpoint] = FilesystemSample(
            partition.mountpoint, usage.total, usage.used, usage.free, usage.percent
        )
    return tuple(found.values())
