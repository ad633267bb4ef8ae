# SPDX-License-Identifier: Apache-2.0
"""LinuxProcess: a process as process lists show it, read from ``/proc`` without psutil."""

from __future__ import annotations

import functools
import os

from nvitop.api import host
from nvitop.api.process import procfs
from nvitop.api.process.facts import GONE, HIDDEN, CpuShare, HostFacts
from nvitop.api.process.procfs import UNREADABLE, ZOMBIE
from nvitop.platforms.users import name_of_user

#: Time (seconds) for which the command line counts as current if name and owner stay the same, and
#: host memory if the process has not run.
_LASTING_SECONDS = 10.0


class LinuxProcess:
    """A process of this host, identified by its PID and its start time.

    The first read decides which process it is. A PID that does not exist raises nothing here.
    """

    __slots__ = (
        '_cmdline',
        '_is_identified',
        '_last',
        '_owner',
        '_read_at',
        '_rss',
        '_start_ticks',
        'cpu',
        'pid',
        'username_known',
    )

    def __init__(self, pid: int) -> None:
        """Read nothing yet."""
        self.pid = pid
        self.cpu = CpuShare()
        #: Start time, see :class:`procfs.Stat`; ``None``: there was no such process.
        self._start_ticks: int | None = None
        self._is_identified = False
        #: Name of the user, ``None`` until it is needed.
        self.username_known: str | None = None
        self._owner = -1
        #: Last command line, memory in bytes, and the state of the process at that time.
        self._cmdline: list[str] | None = None
        self._rss = 0
        self._last: procfs.Stat | None = None
        #: When the command line was read.
        self._read_at = 0.0

    def is_same(self) -> bool:
        """Return whether the PID still belongs to the same process, or still to none."""
        try:
            return self._is_at(procfs.read_start_ticks(self.pid))
        except UNREADABLE:
            return True  # there is no sign of another process

    def _is_at(self, start_ticks: int | None) -> bool:
        if not self._is_identified:
            self._start_ticks, self._is_identified = start_ticks, True
        return start_ticks == self._start_ticks

    def running_seconds(self) -> float:
        """Return the running time in seconds."""
        # Both times count from boot, so setting the system clock has no effect.
        started = (self._start_ticks or 0) / procfs.clock_ticks()
        return max(0.0, host.uptime() - started)

    def facts(self) -> HostFacts:
        """Return what a process list shows, from a few short reads. Never raises."""
        try:
            return self._read()
        except (FileNotFoundError, ProcessLookupError):
            return GONE
        except UNREADABLE:
            return HIDDEN

    def _read(self) -> HostFacts:
        stat = procfs.cached_stat(self.pid)
        last, cmdline = self._last, self._cmdline
        is_current = stat is not None and self._is_current(stat)
        if not is_current:
            cmdline = None
            try:
                cmdline = procfs.read_cmdline(self.pid)
                if not cmdline:  # a kernel thread, or the process is exiting
                    stat = procfs.read_stat(self.pid)
            except PermissionError:
                pass
        if not self._is_at(None if stat is None else stat.start_ticks) or stat is None:
            return HIDDEN if stat is None and procfs.is_hidden(self.pid) else GONE
        if self.username_known is None or stat.owner != self._owner:
            self.username_known = name_of_user(procfs.read_uid(self.pid))
            self._owner = stat.owner
        if not is_current or last is None or _has_run(last, stat):
            self._rss = procfs.read_rss(self.pid)
        if not is_current:
            self._read_at = stat.taken
        self._last, self._cmdline, rss = stat, cmdline, self._rss
        name = stat.name
        if cmdline and stat.is_name_cut:
            full_name = os.path.basename(cmdline[0])
            name = full_name if full_name.startswith(name) else name
        running = self.running_seconds()
        return HostFacts(
            is_running=True,
            status=stat.status,
            username=self.username_known,
            name=name,
            cmdline=cmdline,
            cpu_percent=self.cpu.percent(stat.cpu_seconds, stat.taken, running),
            memory_percent=rss / memory_total() * 100.0,
            host_memory=rss,
            create_time=since_epoch(stat.start_ticks),
            running_time_in_seconds=running,
        )

    def _is_current(self, stat: procfs.Stat) -> bool:
        """Return whether the command line need not be read again.

        Starting another program changes the name, and so do most programs that set a title.
        """
        last = self._last
        return (
            last is not None
            and bool(self._cmdline)
            and stat.taken - self._read_at < _LASTING_SECONDS
            and stat.name == last.name
            and stat.owner == last.owner
            and stat.status != ZOMBIE
        )

    def measured_again(self, facts: HostFacts) -> HostFacts:
        """Return recent values with the CPU usage and the status read again. Never raises."""
        try:
            stat = procfs.read_stat(self.pid)
        except UNREADABLE:
            return HIDDEN
        if stat is None or not self._is_at(stat.start_ticks):
            return self.facts()
        share = self.cpu.percent(stat.cpu_seconds, stat.taken, self.running_seconds())
        return facts._replace(cpu_percent=share, status=stat.status)

    def num_threads(self) -> int:
        """Return the number of threads.

        Raises:
            ProcessLookupError: The process has exited.
            PermissionError: The process is hidden from this user.
        """
        stat = procfs.read_stat(self.pid)
        if stat is None or not self._is_at(stat.start_ticks):
            raise ProcessLookupError(self.pid)
        return stat.thread_count


def _has_run(before: procfs.Stat, now: procfs.Stat) -> bool:
    """Return whether a process has used CPU time or memory meanwhile."""
    return now.cpu_seconds != before.cpu_seconds or now.fault_count != before.fault_count


def since_epoch(start_ticks: int) -> float:
    """Convert a start time of :class:`procfs.Stat` to seconds since the epoch."""
    return start_ticks / procfs.clock_ticks() + _boot_time()


# Read once: the start time identifies a process and must not change when the clock is set.
@functools.lru_cache(maxsize=None)
def _boot_time() -> float:
    return procfs.read_boot_time()


@functools.lru_cache(maxsize=None)
def memory_total() -> int:
    """Return the memory of the host in bytes."""
    return host.memory_usage().total
