# SPDX-License-Identifier: Apache-2.0
"""Processes as lists show them, read from the files of Linux: without psutil, which takes as long
to import as it takes to read the processes of eight GPUs.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from typing import TYPE_CHECKING, Protocol

from nvitop.api import host
from nvitop.api.process import procfs
from nvitop.api.process.facts import GONE, HIDDEN, CpuShare, HostFacts
from nvitop.platforms import LINUX
from nvitop.platforms.users import name_of_user

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What reading a process that exists ends with where this user, or nobody just now, may read it:
#: no permission, no more file descriptors, a file that is cut.
UNREADABLE = (OSError, ValueError, IndexError)


class ObservedProcess(Protocol):
    """A process that is looked at again and again."""

    @property
    def pid(self) -> int:
        """The process ID."""

    def is_same(self) -> bool:
        """Whether this PID is still the process it was, or still is none."""

    def facts(self) -> HostFacts:
        """What a list of processes shows; raises nothing."""

    def measured_again(self, facts: HostFacts) -> HostFacts:
        """The facts of a moment ago with the CPU time measured since; raises nothing."""

    def num_threads(self) -> int:
        """How many threads it has."""


def observed(pid: int) -> ObservedProcess:
    """The process of this PID, to be looked at: on Linux without psutil."""
    if LINUX:
        return LinuxProcess(pid)
    from nvitop.api.process.hostprocess import HostProcess

    return HostProcess(pid)


def start_time_of(pid: int) -> float:
    """When a process started, as :attr:`HostFacts.create_time` tells it.

    Raises:
        ProcessLookupError, psutil.NoSuchProcess: There is no such process.
        PermissionError, psutil.AccessDenied: This user may not see it.
    """
    if not LINUX:
        from nvitop.api.process.hostprocess import HostProcess

        return HostProcess(pid).create_time()
    stat = procfs.read_stat(pid)
    if stat is None:
        raise ProcessLookupError(pid)
    return _since_epoch(stat.start_ticks)


def names_above(count: int) -> list[str]:
    """Names of the programs that started this one, the nearest first, as far as they are known."""
    names: list[str] = []
    pid = os.getppid()
    while pid > 0 and len(names) < count:
        name, pid = _name_and_parent(pid)
        names.append(name)
    return names


def _name_and_parent(pid: int) -> tuple[str, int]:
    if not LINUX:
        try:
            process = host.Process(pid)
            return process.name(), process.ppid()
        except host.PsutilError:
            return '', 0
    try:
        stat = procfs.read_stat(pid)
    except UNREADABLE:
        return '', 0
    return ('', 0) if stat is None else (stat.name, stat.parent_pid)


class _Look(threading.local):
    """What a thread has read in its block of :func:`one_look`, by PID."""

    stats: dict[int, procfs.Stat | None] | None = None


_look = _Look()


@contextlib.contextmanager
def one_look() -> Iterator[None]:
    """Let whether a process is still the same and its facts be one reading of its ``stat``.

    For the block, in this thread. Nothing in it may take long: facts are as old as the block.
    """
    _look.stats = {}
    try:
        yield
    finally:
        _look.stats = None


def _stat(pid: int) -> procfs.Stat | None:
    """What :func:`procfs.read_stat` reads; in a block of :func:`one_look`, once."""
    stats = _look.stats
    if stats is None:
        return procfs.read_stat(pid)
    if pid not in stats:
        stats[pid] = procfs.read_stat(pid)
    return stats[pid]


class LinuxProcess:
    """A process of this machine: its PID and the moment it started.

    It is the process that has the PID when it is looked at first. A PID that does not exist raises
    nothing here.
    """

    __slots__ = ('_is_identified', '_owner', '_start_ticks', 'cpu', 'pid', 'username_known')

    def __init__(self, pid: int) -> None:
        """Nothing is read yet."""
        self.pid = pid
        self.cpu = CpuShare()
        #: When it started, see :class:`procfs.Stat`; ``None``: there was no such process.
        self._start_ticks: int | None = None
        self._is_identified = False
        #: Name of its user, ``None`` as long as nobody asked.
        self.username_known: str | None = None
        self._owner = -1

    def is_same(self) -> bool:
        """Whether this PID is still the process it was, or still is none."""
        try:
            if _look.stats is None:
                return self._is_at(procfs.read_start_ticks(self.pid))
            stat = _stat(self.pid)
            return self._is_at(None if stat is None else stat.start_ticks)
        except PermissionError:
            return self._is_at(None)
        except UNREADABLE:
            return True  # nothing says that it is not

    def _is_at(self, start_ticks: int | None) -> bool:
        if not self._is_identified:
            self._start_ticks, self._is_identified = start_ticks, True
        return start_ticks == self._start_ticks

    def running_seconds(self) -> float:
        """How long the process has been running, in seconds."""
        # Both are counted from the start of the machine: no change of the clock disturbs them.
        started = (self._start_ticks or 0) / procfs.clock_ticks()
        return max(0.0, host.uptime() - started)

    def facts(self) -> HostFacts:
        """What a list of processes shows, in three short reads; raises nothing."""
        try:
            return self._facts()
        except (FileNotFoundError, ProcessLookupError):
            return GONE
        except UNREADABLE:
            return HIDDEN

    def _facts(self) -> HostFacts:
        stat = _stat(self.pid)
        cmdline = None
        try:
            cmdline = procfs.read_cmdline(self.pid)
            if not cmdline:  # a kernel thread, or it is just ending
                stat = procfs.read_stat(self.pid)
        except PermissionError:
            pass
        if not self._is_at(None if stat is None else stat.start_ticks) or stat is None:
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
            cpu_percent=self.cpu.percent(stat.cpu_seconds, running),
            memory_percent=rss / memory_total() * 100.0,
            host_memory=rss,
            create_time=_since_epoch(stat.start_ticks),
            running_time_in_seconds=running,
        )

    def measured_again(self, facts: HostFacts) -> HostFacts:
        """The facts of a moment ago with the CPU time measured since; raises nothing."""
        try:
            stat = procfs.read_stat(self.pid)
        except UNREADABLE:
            return HIDDEN
        if stat is None or not self._is_at(stat.start_ticks):
            return self.facts()
        share = self.cpu.percent(stat.cpu_seconds, self.running_seconds())
        return facts._replace(cpu_percent=share, status=stat.status)

    def num_threads(self) -> int:
        """How many threads it has.

        Raises:
            ProcessLookupError: It does not exist any more.
            PermissionError: This user may not see it.
        """
        stat = procfs.read_stat(self.pid)
        if stat is None or not self._is_at(stat.start_ticks):
            raise ProcessLookupError(self.pid)
        return stat.thread_count


def _since_epoch(start_ticks: int) -> float:
    return start_ticks / procfs.clock_ticks() + _boot_time()


# Read once: a process keeps its start time, by which it is known, when the clock is set.
@functools.lru_cache(maxsize=None)
def _boot_time() -> float:
    return procfs.read_boot_time()


@functools.lru_cache(maxsize=None)
def memory_total() -> int:
    """Memory of the host in bytes."""
    return host.memory_usage().total
