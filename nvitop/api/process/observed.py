# SPDX-License-Identifier: Apache-2.0
"""Processes of the host as the monitor needs them, on every platform.

On Linux they are read from ``/proc``, elsewhere through psutil, which is imported on use: it takes
as long to import as reading the processes of eight GPUs.
"""

from __future__ import annotations

import functools
import itertools
import os
from typing import TYPE_CHECKING, TypeVar

from nvitop.api import host
from nvitop.api.process import procfs
from nvitop.api.process.linux import LinuxProcess, since_epoch
from nvitop.api.system import system
from nvitop.platforms import LINUX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nvitop.api.process.facts import ObservedProcess

P = TypeVar('P')


def observed(pid: int) -> ObservedProcess:
    """Return the process with this PID."""
    if LINUX:
        return system().process(LinuxProcess(pid))
    from nvitop.api.process.hostprocess import PsutilProcess

    return system().process(PsutilProcess(pid))


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
def own_line() -> frozenset[int]:
    """Return the PIDs of this process and its ancestors."""
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
