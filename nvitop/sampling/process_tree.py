# SPDX-License-Identifier: Apache-2.0
"""Host usage of a process and its descendants, such as data loaders."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Callable, NamedTuple, Sequence, TypeVar

from nvitop.api import host
from nvitop.api.system import ProcessDetails, TreeUsage, system
from nvitop.api.timing import Window
from nvitop.api.utils import KiB

if TYPE_CHECKING:
    from nvitop.sampling.types import ProcessKey, ProcessSample

_T = TypeVar('_T')
#: Minimum time (seconds) between two readings.
_SHORTEST_SECONDS = 0.5
_UNKNOWN = TreeUsage(None, None)


class _Counters(NamedTuple):
    """What a process and its descendants have used so far."""

    #: When it was read, in seconds since the epoch.
    taken: float
    #: A process by PID and start time → its CPU time (s) and the bytes it has read, ``None``: unknown.
    processes: dict[tuple[int, float], tuple[float, int | None]]


class TreeReader:
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
        self._usage = _UNKNOWN
        self._details = ProcessDetails()

    def add_to(
        self, processes: Sequence[ProcessSample], key: ProcessKey, *, is_due: bool
    ) -> tuple[ProcessSample, ...]:
        """Return the processes, one of them with its usage and details, which are read if due."""
        usage = self._usage
        if is_due or self._key != key:
            usage, self._details = self.read(key), _read_details(key.pid)
        return tuple(
            each._replace(
                tree_cpu_percent=usage.cpu_percent,
                disk_read_kib_per_s=usage.disk_read_kib_per_s,
                thread_count=self._details.thread_count,
                directory=self._details.directory,
            )
            if each.key == key
            else each
            for each in processes
        )

    def read(self, key: ProcessKey) -> TreeUsage:
        """Return the usage since the last reading; the first one has none. Never raises."""
        simulated = system().tree_usage(key.pid)
        if simulated is not None:
            return simulated
        if key != self._key:
            self._key, self._window = key, _new_window()
        self._usage = self._window.since_last(lambda: self._read_counters(key.pid), self._clock())
        return self._usage

    def _read_counters(self, pid: int) -> _Counters | None:
        counters = _read_counters(pid)
        return _Counters(self._wall_clock(), counters) if counters else None


def _read_details(pid: int) -> ProcessDetails:
    simulated = system().process_details(pid)
    if simulated is not None:
        return simulated
    return ProcessDetails(
        _unless_denied(lambda: host.Process(pid).num_threads()),
        _unless_denied(lambda: host.Process(pid).cwd()) or None,
    )


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
    for each, (cpu_seconds, read_bytes) in after.processes.items():
        if each not in before.processes and each[1] < before.taken:
            continue  # older than the reading that missed it, so its usage since then is unknown
        old_seconds, old_bytes = before.processes.get(each, (0.0, 0))
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
