# SPDX-License-Identifier: Apache-2.0
"""What Linux tells of a process in a few short reads, for looking at many of them every second.

psutil stays the reference: it answers every single question, and all of them on other systems.
"""

from __future__ import annotations

import functools
import os
from typing import NamedTuple

import psutil

STATUSES = {
    'R': psutil.STATUS_RUNNING,
    'S': psutil.STATUS_SLEEPING,
    'D': psutil.STATUS_DISK_SLEEP,
    'T': psutil.STATUS_STOPPED,
    't': psutil.STATUS_TRACING_STOP,
    'Z': psutil.STATUS_ZOMBIE,
    'X': psutil.STATUS_DEAD,
    'x': psutil.STATUS_DEAD,
    'W': psutil.STATUS_WAKING,
    'I': psutil.STATUS_IDLE,
    'P': psutil.STATUS_PARKED,
}

#: Inode of the PID namespace that a Linux machine starts with: PROC_PID_INIT_INO of its source.
INITIAL_PID_NAMESPACE = 'pid:[4026531836]'


class Stat(NamedTuple):
    """The part of ``/proc/<pid>/stat`` that nvitop shows."""

    #: Name of the program, cut to 15 bytes.
    name: str
    #: One of psutil's ``STATUS_*``.
    status: str
    #: Seconds of CPU time used so far.
    cpu_seconds: float
    #: When the process started, in clock ticks since the machine did: with the PID, its identity.
    start_ticks: int
    #: The user the file belongs to. Not always the process's, but it changes when that does.
    owner: int


@functools.lru_cache(maxsize=None)
def _clock_ticks() -> int:
    return os.sysconf('SC_CLK_TCK')


@functools.lru_cache(maxsize=None)
def _page_size() -> int:
    return os.sysconf('SC_PAGE_SIZE')


def _read(pid: int, file: str) -> tuple[bytes, int]:
    """Content and owner of a file of a process; OSError as it comes."""
    descriptor = os.open(f'{psutil.PROCFS_PATH}/{pid}/{file}', os.O_RDONLY | os.O_CLOEXEC)
    try:
        owner = os.fstat(descriptor).st_uid
        chunks = [os.read(descriptor, 4096)]
        while len(chunks[-1]) >= 4096:
            chunks.append(os.read(descriptor, 65536))
    finally:
        os.close(descriptor)
    return b''.join(chunks), owner


def read_stat(pid: int) -> Stat | None:
    """Read ``/proc/<pid>/stat``; ``None`` for no such process, PermissionError where hidden."""
    try:
        content, owner = _read(pid, 'stat')
    except (FileNotFoundError, ProcessLookupError):
        return None
    return parse_stat(content, owner)


def parse_stat(content: bytes, owner: int = 0) -> Stat:
    """Take ``/proc/<pid>/stat`` apart. The name may hold blanks and parentheses."""
    opened, closed = content.index(b'('), content.rindex(b')')
    fields = content[closed + 2 :].split()
    return Stat(
        name=os.fsdecode(content[opened + 1 : closed]),
        status=STATUSES.get(fields[0].decode(), '?'),
        cpu_seconds=(int(fields[11]) + int(fields[12])) / _clock_ticks(),
        start_ticks=int(fields[19]),
        owner=owner,
    )


def read_rss(pid: int) -> int:
    """Read the resident memory in bytes from ``/proc/<pid>/statm``, more exact than ``stat``'s.

    OSError as it comes.
    """
    return int(_read(pid, 'statm')[0].split()[1]) * _page_size()


def read_cmdline(pid: int) -> list[str]:
    """Read ``/proc/<pid>/cmdline``: empty for a kernel thread, a zombie and a vanished process.

    PermissionError where hidden.
    """
    try:
        content, _ = _read(pid, 'cmdline')
    except (FileNotFoundError, ProcessLookupError):
        return []
    return parse_cmdline(content)


def parse_cmdline(content: bytes) -> list[str]:
    """Take ``/proc/<pid>/cmdline`` apart.

    A title that the process wrote over its arguments is one text, blanks and all.
    """
    arguments = os.fsdecode(content).rstrip('\0').split('\0')
    if len(arguments) == 1:
        title = arguments[0].rstrip()
        return [title] if title else []
    return arguments


def is_hidden(pid: int) -> bool:
    """Whether a process exists that this user may not see (``/proc`` mounted with hidepid)."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return not os.path.exists(f'{psutil.PROCFS_PATH}/{pid}')


def in_pid_namespace() -> bool:
    """Whether this program runs in a PID namespace of its own, as in most containers.

    There NVML may give PIDs of the machine, which do not exist here.
    """
    try:
        return os.readlink(f'{psutil.PROCFS_PATH}/self/ns/pid') != INITIAL_PID_NAMESPACE
    except OSError:
        return False
