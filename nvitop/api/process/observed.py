# SPDX-License-Identifier: Apache-2.0
"""Processes of the host as the monitor needs them, on every platform.

On Linux they are read from ``/proc``, elsewhere through psutil, which is imported on use: it takes
as long to import as reading the processes of eight GPUs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from nvitop.api import host
from nvitop.api.process import procfs
from nvitop.api.process.linux import LinuxProcess, since_epoch
from nvitop.platforms import LINUX

if TYPE_CHECKING:
    from nvitop.api.process.facts import HostFacts


class ObservedProcess(Protocol):
    """A process that is read at intervals."""

    @property
    def pid(self) -> int:
        """The process ID."""

    def is_same(self) -> bool:
        """Return whether the PID still belongs to the same process, or still to none."""

    def facts(self) -> HostFacts:
        """Return what a process list shows. Never raises."""

    def measured_again(self, facts: HostFacts) -> HostFacts:
        """Return recent values with the CPU usage and the status read again. Never raises."""

    def num_threads(self) -> int:
        """Return the number of threads."""


def observed(pid: int) -> ObservedProcess:
    """Return the process with this PID."""
    if LINUX:
        return LinuxProcess(pid)
    from nvitop.api.process.hostprocess import HostProcess

    return HostProcess(pid)


def start_time_of(pid: int) -> float:
    """Return the start time of a process, equal to :attr:`HostFacts.create_time`.

    Raises:
        ProcessLookupError, psutil.NoSuchProcess: There is no such process.
        PermissionError, psutil.AccessDenied: The process is hidden from this user.
    """
    if not LINUX:
        from nvitop.api.process.hostprocess import HostProcess

        return HostProcess(pid).create_time()
    stat = procfs.read_stat(pid)
    if stat is None:
        raise ProcessLookupError(pid)
    return since_epoch(stat.start_ticks)


def names_above(count: int) -> list[str]:
    """Return the program names of up to ``count`` ancestors of this process, the parent first."""
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
    except procfs.UNREADABLE:
        return '', 0
    return ('', 0) if stat is None else (stat.name, stat.parent_pid)
