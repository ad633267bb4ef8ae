# SPDX-License-Identifier: Apache-2.0
"""Processes of the host as the monitor needs them, on every platform.

On Linux they are read from ``/proc``, elsewhere through psutil, which is imported on use: it takes
as long to import as reading the processes of eight GPUs.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from nvitop.api import host
from nvitop.api.process import procfs
from nvitop.api.process.linux import LinuxProcess, since_epoch
from nvitop.api.system import system
from nvitop.platforms import LINUX

if TYPE_CHECKING:
    from nvitop.api.process.facts import ObservedProcess


def observed(pid: int) -> ObservedProcess:
    """Return the process with this PID."""
    if LINUX:
        return system().process(LinuxProcess(pid))
    from nvitop.api.process.hostprocess import HostProcess

    return system().process(HostProcess(pid))


def start_time_of(pid: int) -> float:
    """Return the start time of a process, equal to that of :func:`observed`.

    Raises:
        ProcessLookupError, psutil.NoSuchProcess: There is no such process.
        PermissionError, psutil.AccessDenied: The process is hidden from this user.
    """
    return system().start_time(pid, _actual_start_time(pid))


def _actual_start_time(pid: int) -> float:
    if not LINUX:
        from nvitop.api.process.hostprocess import HostProcess

        return HostProcess(pid).create_time()
    stat = procfs.read_stat(pid)
    if stat is None:
        raise ProcessLookupError(pid)
    return since_epoch(stat.start_ticks)


@functools.lru_cache(maxsize=None)
def own_line() -> frozenset[int]:
    """Return the PIDs of this process and its ancestors."""
    pids, pid = set(), os.getpid()
    while pid > 0 and pid not in pids:
        pids.add(pid)
        pid = name_and_parent(pid)[1]
    return frozenset(pids)


def names_above(count: int) -> list[str]:
    """Return the program names of up to ``count`` ancestors of this process, the parent first."""
    names: list[str] = []
    pid = os.getppid()
    while pid > 0 and len(names) < count:
        name, pid = name_and_parent(pid)
        names.append(name)
    return names


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
