# SPDX-License-Identifier: Apache-2.0
"""Processes of the host as process lists show them, on every platform.

On Linux they are read from ``/proc``, elsewhere through psutil, which is imported on use: it takes
as long to import as reading the processes of eight GPUs.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import sys
import time
from typing import Callable, Iterator, TypeVar

from nvitop.api import host
from nvitop.api.process import procfs
from nvitop.api.process.facts import GONE, HIDDEN, CpuShare, HostFacts
from nvitop.api.process.procfs import UNREADABLE, ZOMBIE
from nvitop.api.system import system
from nvitop.api.timing import timed
from nvitop.platforms import LINUX
from nvitop.platforms.kernel import cpu_nanoseconds, name_of_user, without_domain

P = TypeVar('P')
T = TypeVar('T')

#: Time (seconds) for which a command line counts as current if name and owner stay the same.
_CMDLINE_SECONDS = 10.0
#: Time (seconds) for which the values of a process that has not run count as current: only its
#: memory can change, by swapping.
_IDLE_SECONDS = 30.0


class ObservedProcess:
    """A process of this host that is read at intervals.

    It is identified by its PID and its start time. A PID that does not exist raises nothing.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.cpu = CpuShare()
        #: Name of the user, ``None`` until it is needed.
        self.username_known: str | None = None

    def is_same(self) -> bool:
        """Return whether the PID still belongs to the same process, or still to none."""
        raise NotImplementedError

    def running_seconds(self, create_time: float) -> float:
        """Return the running time in seconds of the process, which started at this time."""
        raise NotImplementedError

    def actual_facts(self, before: HostFacts | None = None) -> HostFacts:
        """Return the values, also of a process whose values a simulated machine replaces."""
        raise NotImplementedError

    def simulated_facts(self, before: HostFacts | None = None) -> HostFacts | None:
        """Return the values of a process of a simulated machine; ``None``: it is not one."""
        return system().process_facts(self.pid, functools.partial(self.actual_facts, before))

    def facts(self, before: HostFacts | None = None) -> HostFacts:
        """Return what a process list shows. Never raises.

        With recent values ``before``, only the CPU usage and the status may be read again.
        """
        return self.simulated_facts(before) or self.actual_facts(before)


class LinuxProcess(ObservedProcess):
    """A process that is read from ``/proc``. The first read decides which process it is."""

    def __init__(self, pid: int) -> None:
        super().__init__(pid)
        #: Start time, see :class:`procfs.Stat`; ``None``: there was no such process.
        self._start_ticks: int | None = None
        self._is_identified = False
        self._owner = -1
        #: Command line, the name and owner that the process had then, and when it was read.
        self._cmdline: list[str] | None = None
        self._cmdline_of = ('', -1)
        self._cmdline_taken = 0.0
        #: CPU time just before the values were read, the values, and what they were read from.
        self._nanoseconds: int | None = None
        self._facts: HostFacts | None = None
        self._stat: procfs.Stat | None = None

    def is_same(self) -> bool:
        try:
            return self._is_at(procfs.read_start_ticks(self.pid))
        except UNREADABLE:
            return True  # there is no sign of another process

    def _is_at(self, start_ticks: int | None) -> bool:
        if not self._is_identified:
            self._start_ticks, self._is_identified = start_ticks, True
        return start_ticks == self._start_ticks

    def running_seconds(self, create_time: float = 0.0) -> float:
        # Both times count from boot, so setting the system clock has no effect.
        started = (self._start_ticks or 0) / procfs.clock_ticks()
        return max(0.0, host.uptime() - started)

    def actual_facts(self, before: HostFacts | None = None) -> HostFacts:
        if before is not None:
            return self._measured_again(before)
        # Elsewhere, PIDs are those of another machine or namespace.
        nanoseconds = cpu_nanoseconds(self.pid) if host.procfs_path() == '/proc' else None
        if nanoseconds is not None and nanoseconds == self._nanoseconds:
            facts = self._unchanged(time.monotonic())
            if facts is not None:
                return facts
        self._nanoseconds, self._facts = nanoseconds, None
        try:
            self._facts = self._read()
        except (FileNotFoundError, ProcessLookupError):
            return GONE
        except UNREADABLE:
            return HIDDEN
        return self._facts

    def _unchanged(self, now: float) -> HostFacts | None:
        """Return the values of a process that has not run since they were read, unless too old."""
        facts, stat = self._facts, self._stat
        if facts is None or stat is None or now - stat.taken >= _IDLE_SECONDS:
            return None
        running = self.running_seconds()
        return facts._replace(
            cpu_percent=self.cpu.percent(stat.cpu_seconds, now, running),
            running_time_in_seconds=None if facts.running_time_in_seconds is None else running,
        )

    def _read(self) -> HostFacts:
        stat = self._stat = procfs.cached_stat(self.pid)
        cmdline = self._cmdline
        if not cmdline or stat is None or not self._is_cmdline_current(stat):
            cmdline = self._cmdline = None
            try:
                cmdline = procfs.read_cmdline(self.pid)
                if not cmdline:  # a kernel thread, or the process is exiting
                    stat = self._stat = procfs.read_stat(self.pid)
            except PermissionError:
                pass
            if stat is not None:
                self._cmdline, self._cmdline_of = cmdline, (stat.name, stat.owner)
                self._cmdline_taken = stat.taken
        if not self._is_at(None if stat is None else stat.start_ticks) or stat is None:
            self._stat = None
            return HIDDEN if stat is None and procfs.is_hidden(self.pid) else GONE
        if self.username_known is None or stat.owner != self._owner:
            self.username_known = name_of_user(procfs.read_uid(self.pid))
            self._owner = stat.owner
        rss = procfs.read_rss(self.pid)
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
            # Some sandboxes report 0 for all processes, which is the time of the boot.
            running_time_in_seconds=running if stat.start_ticks or self.pid == 1 else None,
            thread_count=stat.thread_count,
        )

    def _is_cmdline_current(self, stat: procfs.Stat) -> bool:
        """Return whether the command line need not be read again.

        Starting another program changes the name, and so do most programs that set a title.
        """
        return (
            stat.taken - self._cmdline_taken < _CMDLINE_SECONDS
            and (stat.name, stat.owner) == self._cmdline_of
            and stat.status != ZOMBIE
        )

    def _measured_again(self, facts: HostFacts) -> HostFacts:
        try:
            stat = procfs.read_stat(self.pid)
        except UNREADABLE:
            return HIDDEN
        if stat is None or not self._is_at(stat.start_ticks):
            return self.actual_facts()
        share = self.cpu.percent(stat.cpu_seconds, stat.taken, self.running_seconds())
        return facts._replace(cpu_percent=share, status=stat.status, thread_count=stat.thread_count)


class PsutilProcess(ObservedProcess):
    """A process that is read with psutil, and identified when the object is made."""

    def __init__(self, pid: int) -> None:
        super().__init__(pid)
        #: Start time in seconds of :func:`time.monotonic`.
        self._started: float | None = None
        self._process: host.Process | None = None
        # OverflowError: an implausible driver result. OSError: no free file descriptor.
        with contextlib.suppress(host.NoSuchProcess, OverflowError, OSError):
            self._process = host.Process(pid)

    def is_same(self) -> bool:
        if self._process is None:
            return not host.pid_exists(self.pid)
        return self._process.is_running()

    def running_seconds(self, create_time: float) -> float:
        # The clock is read once: the running time must not change when it is set.
        if self._started is None:
            self._started = time.monotonic() - max(0.0, time.time() - create_time)
        return time.monotonic() - self._started

    def actual_facts(self, before: HostFacts | None = None) -> HostFacts:
        process = self._process
        try:
            if process is None or not process.is_running():
                return GONE
            with process.oneshot():
                return self._read(process)
        except host.AccessDenied:
            return HIDDEN
        except host.NoSuchProcess:
            return GONE

    def _read(self, process: host.Process) -> HostFacts:
        created = unless_denied(process.create_time)
        running = None if created is None else self.running_seconds(created)
        share = None
        times, taken = timed(functools.partial(unless_denied, process.cpu_times))
        if times is not None and running is not None:
            share = self.cpu.percent(times.user + times.system, taken, running)
        if self.username_known is None:
            self.username_known = unless_denied(functools.partial(read_username, process))
        memory = unless_denied(process.memory_info)
        status = process.status()
        is_zombie = status == host.STATUS_ZOMBIE
        return HostFacts(
            is_running=True,
            status=status,
            username=self.username_known,
            name=unless_denied(process.name),
            cmdline=[] if is_zombie else unless_denied(functools.partial(read_cmdline, process)),
            cpu_percent=share,
            memory_percent=unless_denied(process.memory_percent),
            host_memory=None if memory is None else memory.rss,
            create_time=created,
            running_time_in_seconds=running,
            thread_count=unless_denied(process.num_threads),
        )


def unless_denied(read: Callable[[], T]) -> T | None:
    """Return what ``read`` returns; ``None`` if this user may not read it."""
    try:
        return read()
    except (host.AccessDenied, host.ZombieProcess):
        return None


def read_cmdline(process: host.Process) -> list[str]:
    """Return the command line with psutil, without empty arguments at the end."""
    return '\0'.join(host.Process.cmdline(process)).rstrip('\0').split('\0')


def read_username(process: host.Process) -> str:
    """Return the name of the user with psutil, without a domain."""
    if sys.platform == 'win32':
        return without_domain(host.Process.username(process))
    return name_of_user(process.uids().real)


def since_epoch(start_ticks: int) -> float:
    """Convert a start time of :class:`procfs.Stat` to seconds since the epoch."""
    return start_ticks / procfs.clock_ticks() + _boot_time()


# Read once: the start time identifies a process and must not change when the clock is set.
@functools.lru_cache(maxsize=None)
def _boot_time() -> float:
    return procfs.read_boot_time()


@functools.lru_cache(maxsize=None)
def memory_total() -> int:
    return host.memory_usage().total


def observed(pid: int) -> ObservedProcess:
    return LinuxProcess(pid) if LINUX else PsutilProcess(pid)


def start_time_of(pid: int) -> float:
    """Return the start time of a process, equal to that of :func:`observed`.

    Within a :func:`stat_cache` block the cache is used.

    Raises:
        ProcessLookupError, psutil.NoSuchProcess: There is no such process.
        PermissionError, psutil.AccessDenied: The process is hidden from this user.
    """
    return system().start_time(pid, _actual_start_time(pid))


def _actual_start_time(pid: int) -> float:
    if not LINUX:
        created: float = host.Process(pid).create_time()
        return created
    stat = procfs.cached_stat(pid)
    if stat is None:
        raise ProcessLookupError(pid)
    return since_epoch(stat.start_ticks)


def ancestry(start: P, parent_of: Callable[[P], P | None]) -> Iterator[P]:
    """Yield a process and its ancestors, each once, until ``parent_of`` returns nothing or 0."""
    seen = set()
    process: P | None = start
    while process and process not in seen:
        seen.add(process)
        yield process
        process = parent_of(process)


def _parent(pid: int) -> int:
    return name_and_parent(pid)[1]


@functools.lru_cache(maxsize=None)
def own_ancestry() -> frozenset[int]:
    return frozenset(ancestry(os.getpid(), _parent))


def names_above(count: int) -> list[str]:
    """Return the program names of up to ``count`` ancestors of this process, the parent first."""
    above = itertools.islice(ancestry(os.getppid(), _parent), count)
    return [name_and_parent(pid)[0] for pid in above]


def name_and_parent(pid: int) -> tuple[str, int]:
    """Return the program name of a process and the PID of its parent, ``('', 0)`` if unknown."""
    if not LINUX:
        try:
            process = host.Process(pid)
            return process.name(), process.ppid()
        except host.PsutilError:
            return '', 0
    try:
        stat = procfs.read_stat(pid)
    except procfs.UNREADABLE:
        return '', 0
    return ('', 0) if stat is None else (stat.name, stat.parent_pid)
