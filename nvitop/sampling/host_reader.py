# SPDX-License-Identifier: Apache-2.0
"""Usage of the host, and of one process with its descendants, such as data loaders."""

from __future__ import annotations

import time
from typing import Any, Callable, NamedTuple, Sequence, TypeVar

from nvitop.api import host
from nvitop.api.host import CpuSeconds
from nvitop.api.process.observed import own_ancestry
from nvitop.api.system import system
from nvitop.api.timing import SHORTEST_CPU_SECONDS, Window
from nvitop.basics.units import KiB
from nvitop.sampling.types import (
    DiskSample,
    FilesystemSample,
    HostIo,
    HostSample,
    NetworkSample,
    Problem,
    ProcessKey,
    ProcessSample,
)

_T = TypeVar('_T')
#: Minimum time (seconds) between two readings.
_SHORTEST_SECONDS = 0.5


class TreeUsage(NamedTuple):
    """Usage of a process and its descendants; ``None`` if unknown."""

    #: Percent of one core.
    tree_cpu_percent: float | None = None
    disk_read_kib_per_s: int | None = None


_UNKNOWN = TreeUsage()


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

    def _query(self, what: str, function: Callable[[], _T | None]) -> _T | None:
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
    filesystems: dict[str, FilesystemSample] = {}
    for partition in host.disk_partitions(all=False):
        try:
            usage = host.disk_usage(partition.mountpoint)
        except OSError:  # not readable by this user, or unmounted meanwhile
            continue
        filesystems[partition.mountpoint] = FilesystemSample(
            partition.mountpoint, usage.total, usage.used, usage.free, usage.percent
        )
    return tuple(filesystems.values())


class _Counters(NamedTuple):
    """What a process and its descendants have used so far."""

    #: When it was read, in seconds since the epoch.
    taken: float
    #: A process by PID and start time → its CPU time (s) and the bytes it has read, ``None``: unknown.
    processes: dict[tuple[int, float], tuple[float, int | None]]


class ProcessTreeReader:
    """Reads one process and its descendants at intervals."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._wall_clock = wall_clock
        self._key: ProcessKey | None = None
        self._window = _new_window()
        self._details: dict[str, Any] = {}

    def add_to(
        self, processes: Sequence[ProcessSample], key: ProcessKey, *, is_due: bool
    ) -> tuple[ProcessSample, ...]:
        """Return the processes, one of them with its usage and details, which are read if due."""
        if is_due or self._key != key:
            self._details = {
                **self.read(key)._asdict(),
                'thread_count': _unless_denied(lambda: host.Process(key.pid).num_threads()),
                'directory': _unless_denied(lambda: host.Process(key.pid).cwd()) or None,
                **system().process_details(key.pid),
            }
        return tuple(
            process._replace(**self._details) if process.key == key else process
            for process in processes
        )

    def read(self, key: ProcessKey) -> TreeUsage:
        """Return the usage since the last reading; the first one has none. Never raises."""
        if key != self._key:
            self._key, self._window = key, _new_window()
        return self._window.since_last(lambda: self._read_counters(key.pid), self._clock())

    def _read_counters(self, pid: int) -> _Counters | None:
        counters = _read_counters(pid)
        return _Counters(self._wall_clock(), counters) if counters else None


def _unless_denied(read: Callable[[], _T]) -> _T | None:
    """Return a value; ``None`` if this user cannot know it, or the process has exited."""
    try:
        return read()
    except (OSError, host.PsutilError):
        return None


def _new_window() -> Window[_Counters, TreeUsage]:
    return Window(_usage, _UNKNOWN, shortest=_SHORTEST_SECONDS)


def _usage(before: _Counters, after: _Counters, seconds: float) -> TreeUsage:
    cpu = 0.0
    read: list[int] = []
    for process, (cpu_seconds, read_bytes) in after.processes.items():
        if process not in before.processes and process[1] < before.taken:
            continue  # older than the reading that missed it, so its usage since then is unknown
        old_seconds, old_bytes = before.processes.get(process, (0.0, 0))
        cpu += max(0.0, cpu_seconds - old_seconds)
        if read_bytes is not None and old_bytes is not None:
            read.append(max(0, read_bytes - old_bytes))
    return TreeUsage(
        round(100.0 * cpu / seconds, 1), round(sum(read) / seconds / KiB) if read else None
    )


def _read_counters(pid: int) -> dict[tuple[int, float], tuple[float, int | None]]:
    """Return the counters of a process and its descendants; nothing if it has exited."""
    try:
        root = host.Process(pid)
        processes = [root, *root.children(recursive=True)]
    except (OSError, host.PsutilError):
        return {}
    counters = {}
    for process in processes:
        try:
            with process.oneshot():
                times = process.cpu_times()
                identity = process.pid, process.create_time()
        except (OSError, host.PsutilError):
            continue
        counters[identity] = times.user + times.system, _read_bytes(process)
    return counters


def _read_bytes(process: host.Process) -> int | None:
    """Return the bytes read from disks; ``None`` if this user or system cannot know."""
    io_counters = getattr(process, 'io_counters', None)  # macOS has none
    try:
        return None if io_counters is None else int(io_counters().read_bytes)
    except (AttributeError, NotImplementedError, OSError, host.PsutilError):
        return None
