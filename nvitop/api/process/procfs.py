# SPDX-License-Identifier: Apache-2.0
"""Processes as ``/proc`` of Linux describes them, in few short reads.

The monitor reads hundreds of processes every second; psutil needs several times as many reads and
takes long to import. psutil remains the reference for single queries and for other systems.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import time
from typing import Iterator, NamedTuple

from nvitop.api.host import PAGE_BYTES, procfs_path, read_page, uptime
from nvitop.api.timing import timed
from nvitop.platforms import LINUX
from nvitop.platforms.kernel import sysconf

#: Errors of reading a process that exists: no permission, no free file descriptor, a truncated file.
UNREADABLE = (OSError, ValueError, IndexError)

#: psutil's ``STATUS_ZOMBIE``.
ZOMBIE = 'zombie'
#: State letter of ``ps`` → psutil's ``STATUS_*``.
STATUSES = {
    b'R': 'running',
    b'S': 'sleeping',
    b'D': 'disk-sleep',
    b'T': 'stopped',
    b't': 'tracing-stop',
    b'Z': ZOMBIE,
    b'X': 'dead',
    b'x': 'dead',
    b'W': 'waking',
    b'I': 'idle',
    b'P': 'parked',
}

_ENCODING = sys.getfilesystemencoding()
#: Length at which the kernel truncates program names, in bytes.
_MAX_NAME_BYTES = 15

#: Initial PID namespace of a Linux system: PROC_PID_INIT_INO in the kernel source.
INITIAL_PID_NAMESPACE = 'pid:[4026531836]'


class Stat(NamedTuple):
    """The fields of ``/proc/<pid>/stat`` that nvitop shows."""

    #: Program name, truncated to 15 bytes.
    name: str
    #: Whether the name may be truncated.
    is_name_cut: bool
    #: One of psutil's ``STATUS_*``.
    status: str
    #: CPU time used so far, in seconds.
    cpu_seconds: float
    #: Start time in clock ticks since boot. Together with the PID it identifies the process.
    start_ticks: int
    #: Owner of the file. Not always the user of the process, but it changes when that changes.
    owner: int
    thread_count: int = 1
    parent_pid: int = 0
    #: When the CPU time was read, in seconds of :func:`time.monotonic`.
    taken: float = 0.0


@functools.lru_cache(maxsize=None)
def clock_ticks() -> int:
    return sysconf('SC_CLK_TCK')


@functools.lru_cache(maxsize=None)
def _page_size() -> int:
    return sysconf('SC_PAGE_SIZE')


def _read(pid: int, file: str) -> bytes:
    return read_page(f'{procfs_path()}/{pid}/{file}')


def read_file(pid: int, name: str, limit: int = 1 << 30) -> bytes:
    """Read a file of a process, about as far as the limit in bytes."""
    descriptor = os.open(f'{procfs_path()}/{pid}/{name}', os.O_RDONLY)
    try:
        content = chunk = os.read(descriptor, PAGE_BYTES)
        while chunk and len(content) < limit:
            chunk = os.read(descriptor, 16 * PAGE_BYTES)
            content += chunk
    finally:
        os.close(descriptor)
    return content


def _decoded(text: bytes) -> str:
    """Decode like :func:`os.fsdecode`."""
    return text.decode(_ENCODING, 'surrogateescape')


def read_stat(pid: int) -> Stat | None:
    """Read ``/proc/<pid>/stat``, ``None``: no such process; PermissionError if it is hidden."""
    try:
        (content, owner), taken = timed(functools.partial(_read_with_owner, pid))
    except (FileNotFoundError, ProcessLookupError):
        return None
    return parse_stat(content, owner, taken)


def _read_with_owner(pid: int) -> tuple[bytes, int]:
    descriptor = os.open(f'{procfs_path()}/{pid}/stat', os.O_RDONLY)
    try:
        return os.read(descriptor, PAGE_BYTES), os.fstat(descriptor).st_uid
    finally:
        os.close(descriptor)


class _StatCache(threading.local):
    """The results of the current :func:`stat_cache` block of a thread, by PID."""

    stats: dict[int, Stat | None] | None = None


_cache = _StatCache()


@contextlib.contextmanager
def stat_cache() -> Iterator[None]:
    """Read ``/proc/<pid>/stat`` of each process at most once within the block, in this thread.

    The block should be short: values are as old as its first read.
    """
    _cache.stats = {}
    try:
        yield
    finally:
        _cache.stats = None


def cached_stat(pid: int) -> Stat | None:
    """Return :func:`read_stat`, from the cache within a :func:`stat_cache` block."""
    stats = _cache.stats
    if stats is None:
        return read_stat(pid)
    if pid not in stats:
        stats[pid] = read_stat(pid)
    return stats[pid]


def parse_stat(content: bytes, owner: int = 0, taken: float = 0.0) -> Stat:
    """Parse ``/proc/<pid>/stat``. The program name may contain spaces and parentheses."""
    opened, closed = content.index(b'('), content.rindex(b')')
    fields = content[closed + 2 :].split(b' ', 20)
    name = content[opened + 1 : closed]
    return Stat(
        _decoded(name),
        len(name) >= _MAX_NAME_BYTES,
        STATUSES.get(fields[0], '?'),
        (int(fields[11]) + int(fields[12])) / clock_ticks(),
        int(fields[19]),
        owner,
        int(fields[17]),
        int(fields[1]),
        taken,
    )


def read_start_ticks(pid: int) -> int | None:
    """Read the start time as in :class:`Stat`; ``None`` for no process and for a hidden one.

    Within a :func:`stat_cache` block the cache is used.
    """
    try:
        if _cache.stats is not None:
            stat = cached_stat(pid)
            return None if stat is None else stat.start_ticks
        content = _read(pid, 'stat')
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    return int(content[content.rindex(b')') + 2 :].split(b' ', 20)[19])


def read_uid(pid: int) -> int:
    """Read the real user ID of a process from ``/proc/<pid>/status``."""
    _, _, after = _read(pid, 'status').partition(b'\nUid:')
    return int(after.split(None, 1)[0])


def namespace_pids(pid: int) -> tuple[int, ...]:
    """Read the PIDs of a process in its PID namespaces, from here to the innermost; ``()`` if unknown."""
    try:
        _, _, after = _read(pid, 'status').partition(b'\nNSpid:')
        return tuple(map(int, after.partition(b'\n')[0].split()))
    except UNREADABLE:
        return ()


def read_boot_time() -> float:
    """Read the boot time, in whole seconds since the epoch."""
    with open(f'{procfs_path()}/stat', 'rb') as file:
        for line in file:
            if line.startswith(b'btime'):
                return float(line.split()[1])
    return time.time() - uptime()


def read_rss(pid: int) -> int:
    """Read the resident memory in bytes from ``statm``; ``stat`` has a rougher value."""
    return int(_read(pid, 'statm').split(b' ', 2)[1]) * _page_size()


def read_cmdline(pid: int) -> list[str]:
    """Read the command line, empty if there is none; PermissionError if the process is hidden."""
    try:
        return parse_cmdline(read_file(pid, 'cmdline'))
    except (FileNotFoundError, ProcessLookupError):
        return []


def parse_cmdline(content: bytes) -> list[str]:
    """Parse ``/proc/<pid>/cmdline``.

    A title that the process wrote over its arguments is a single text with spaces.
    """
    arguments = _decoded(content).rstrip('\0').split('\0')
    if len(arguments) == 1:
        title = arguments[0].rstrip()
        return [title] if title else []
    return arguments


def mount_namespace(pid: int) -> str:
    """Return the mount namespace of a process; ``''`` if this user may not see it."""
    try:
        return os.readlink(f'{procfs_path()}/{pid}/ns/mnt')
    except (OSError, OverflowError):
        return ''


def is_hidden(pid: int) -> bool:
    """Return whether a process exists but is hidden from this user (``/proc`` with ``hidepid``)."""
    if not LINUX:  # On Windows os.kill() would terminate the process.
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return not os.path.exists(f'{procfs_path()}/{pid}')


def uses_gpu(pid: int) -> bool | None:
    """Return whether a process has an NVIDIA device open, as every process on a GPU has.

    ``None`` if this user may not see that, and for a process that is exiting.
    """
    folder = f'{procfs_path()}/{pid}/fd'
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    for name in names:
        try:
            target = os.readlink(f'{folder}/{name}')
        except OSError:  # closed in the meantime
            continue
        if '/nvidia' in target or '/dxg' in target:  # dxg: Windows Subsystem for Linux
            return True
    return False if names else None


def in_pid_namespace() -> bool:
    """Return whether this program runs in a PID namespace of its own, as in most containers.

    NVML may then report PIDs of the host, which do not exist here.
    """
    try:
        return os.readlink(f'{procfs_path()}/self/ns/pid') != INITIAL_PID_NAMESPACE
    except OSError:
        return False
