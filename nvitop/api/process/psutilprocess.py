# SPDX-License-Identifier: Apache-2.0
"""PsutilProcess: a process as process lists show it, on systems without ``/proc``."""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from typing import TYPE_CHECKING, TypeVar

import psutil

from nvitop.api.process.facts import GONE, HIDDEN, CpuShare, HostFacts
from nvitop.api.timing import timed
from nvitop.platforms.kernel import name_of_user, without_domain

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar('T')


class PsutilProcess:
    """A process as process lists show it, read with psutil; see :class:`LinuxProcess`.

    It is identified when the object is made. A PID that does not exist raises nothing.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.cpu = CpuShare()
        #: Name of the user, ``None`` until it is needed.
        self.username_known: str | None = None
        #: Start time in seconds of :func:`time.monotonic`.
        self._started: float | None = None
        self._process: psutil.Process | None = None
        # OverflowError: an implausible driver result. OSError: no free file descriptor.
        with contextlib.suppress(psutil.NoSuchProcess, OverflowError, OSError):
            self._process = psutil.Process(pid)

    def is_same(self) -> bool:
        """Return whether the PID still belongs to the same process, or still to none."""
        if self._process is None:
            return not psutil.pid_exists(self.pid)
        return self._process.is_running()

    def running_seconds(self, create_time: float) -> float:
        """Return the running time in seconds of this process, which started at this time."""
        # The clock is read once: the running time must not change when it is set.
        if self._started is None:
            self._started = time.monotonic() - max(0.0, time.time() - create_time)
        return time.monotonic() - self._started

    def facts(self) -> HostFacts:
        """Return what a process list shows. Never raises."""
        process = self._process
        try:
            if process is None or not process.is_running():
                return GONE
            with process.oneshot():
                return self._read(process)
        except psutil.AccessDenied:
            return HIDDEN
        except psutil.NoSuchProcess:
            return GONE

    def _read(self, process: psutil.Process) -> HostFacts:
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
        is_zombie = status == psutil.STATUS_ZOMBIE
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

    def measured_again(self, facts: HostFacts) -> HostFacts:
        """Return recent values. Never raises."""
        return self.facts()


def unless_denied(read: Callable[[], T]) -> T | None:
    """Return what ``read`` returns; ``None`` if this user may not read it."""
    try:
        return read()
    except (psutil.AccessDenied, psutil.ZombieProcess):
        return None


def read_cmdline(process: psutil.Process) -> list[str]:
    """Return the command line with psutil, without empty arguments at the end."""
    return '\0'.join(psutil.Process.cmdline(process)).rstrip('\0').split('\0')


def read_username(process: psutil.Process) -> str:
    """Return the name of the user with psutil, without a domain."""
    if sys.platform == 'win32':
        return without_domain(psutil.Process.username(process))
    return name_of_user(process.uids().real)
