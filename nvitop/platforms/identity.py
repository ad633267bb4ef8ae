# SPDX-License-Identifier: Apache-2.0
"""Identities of processes that other programs can check later. Only Linux has them."""

from __future__ import annotations

import os
from typing import NamedTuple

from nvitop.platforms.machine import boot_id


class ProcessIdentity(NamedTuple):
    """A process that is not confused with one of the same PID, after a reboot or in a container."""

    pid: int
    #: Clock ticks from the start of the system to that of the process (``/proc/PID/stat``).
    start_time: int
    boot_id: str
    #: Inode of the PID namespace.
    namespace: str


def this_process() -> ProcessIdentity:
    """Return the identity of this process."""
    pid = os.getpid()
    return ProcessIdentity(pid, _start_time(pid) or 1, boot_id(), _namespace())


def is_running(process: ProcessIdentity) -> bool:
    """Return whether a process of this system runs; False if that cannot be known."""
    is_of_this_system = (process.boot_id, process.namespace) == (boot_id(), _namespace())
    return is_of_this_system and _start_time(process.pid) == process.start_time


def _start_time(pid: int) -> int | None:
    """Return the start time of a running process in clock ticks; ``None`` if it has exited."""
    try:
        with open(f'/proc/{pid}/stat', 'rb') as file:
            words = file.read().rpartition(b')')[2].split()
        return None if words[0] in (b'Z', b'X') else int(words[19])
    except (OSError, IndexError, ValueError):
        return None


def _namespace() -> str:
    try:
        return os.readlink('/proc/self/ns/pid')
    except OSError:
        return ''
