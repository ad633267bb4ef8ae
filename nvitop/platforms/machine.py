# SPDX-License-Identifier: Apache-2.0
"""Identity of this machine and of its processes, and where it keeps data.

Other programs can check the identity of a process later. Only Linux has it.
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from nvitop.platforms import folders
from nvitop.platforms.kernel import read_small


def machine_id() -> str:
    """ID that distinguishes machines of equal names, ``''`` if there is none. It is confidential."""
    return read_small('/etc/machine-id')


def boot_id() -> str:
    """ID of this start of the system, ``''`` if it has none. PIDs are unique only within a start."""
    return read_small('/proc/sys/kernel/random/boot_id')


def state_folder() -> str:
    """Folder for data that programs keep: of the system for root, otherwise of the user."""
    if sys.platform != 'linux':
        return str(folders().user_data_dir('nvitop', appauthor=False))
    if os.geteuid() == 0:
        return '/var/lib/nvitop'
    state = os.environ.get('XDG_STATE_HOME', '')
    if not os.path.isabs(state):
        state = os.path.expanduser('~/.local/state')
    return os.path.join(state, 'nvitop')


def default_recording() -> str:
    """Return the path of the recording of this machine."""
    return os.path.join(state_folder(), 'record.db')


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
