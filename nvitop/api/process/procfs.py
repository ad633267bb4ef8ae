# SPDX-License-Identifier: Apache-2.0
"""What Linux tells of a process in a few short reads, for looking at many of them every second.

psutil stays the reference: it answers every single question, and all of them on other systems. It is
not imported here.
"""

from __future__ import annotations

import functools
import os
import sys
import time

from nvitop.api.host import procfs_path, uptime
from nvitop.namedtuple import NamedTuple
from nvitop.platforms import LINUX
from nvitop.platforms.kernel import sysconf

#: The word of psutil for what ``ps`` shows as a letter: its ``STATUS_*``.
ZOMBIE = 'zombie'
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

#: As much as is read at first: all of it, but for long command lines.
_PAGE = 4096
_ENCODING = sys.getfilesystemencoding()
#: Linux cuts names of programs to this many bytes.
_LONGEST_NAME = 15

#: Inode of the PID namespace that a Linux machine starts with: PROC_PID_INIT_INO of its source.
INITIAL_PID_NAMESPACE = 'pid:[4026531836]'


class Stat(NamedTuple):
    """The part of ``/proc/<pid>/stat`` that nvitop shows."""

    #: Name of the program, cut to 15 bytes.
    name: str
    #: Whether the name may have been cut.
    is_name_cut: bool
    #: One of psutil's ``STATUS_*``.
    status: str
    #: Seconds of CPU time used so far.
    cpu_seconds: float
    #: When the process started, in clock ticks since the machine did: with the PID, its identity.
    start_ticks: int
    #: The user the file belongs to. Not always the process's, but it changes when that does.
    owner: int
    thread_count: int = 1
    parent_pid: int = 0


@functools.lru_cache(maxsize=None)
def clock_ticks() -> int:
    """How many ticks the kernel counts in a second."""
    return sysconf('SC_CLK_TCK')


@functools.lru_cache(maxsize=None)
def _page_size() -> int:
    return sysconf('SC_PAGE_SIZE')


def _open(pid: int, file: str) -> int:
    return os.open(f'{procfs_path()}/{pid}/{file}', os.O_RDONLY)


def _read(pid: int, file: str) -> bytes:
    """First page of a file of a process; OSError as it comes."""
    descriptor = _open(pid, file)
    try:
        return os.read(descriptor, _PAGE)
    finally:
        os.close(descriptor)


def _decoded(text: bytes) -> str:
    """What :func:`os.fsdecode` makes of it."""
    return text.decode(_ENCODING, 'surrogateescape')


def read_stat(pid: int) -> Stat | None:
    """Read ``/proc/<pid>/stat``; ``None`` for no such process, PermissionError where hidden."""
    try:
        descriptor = _open(pid, 'stat')
        try:
            return parse_stat(os.read(descriptor, _PAGE), os.fstat(descriptor).st_uid)
        finally:
            os.close(descriptor)
    except (FileNotFoundError, ProcessLookupError):
        return None


def parse_stat(content: bytes, owner: int = 0) -> Stat:
    """Take ``/proc/<pid>/stat`` apart. The name may hold blanks and parentheses."""
    opened, closed = content.index(b'('), content.rindex(b')')
    fields = content[closed + 2 :].split(b' ', 20)
    name = content[opened + 1 : closed]
    return Stat(
        _decoded(name),
        len(name) >= _LONGEST_NAME,
        STATUSES.get(fields[0], '?'),
        (int(fields[11]) + int(fields[12])) / clock_ticks(),
        int(fields[19]),
        owner,
        int(fields[17]),
        int(fields[1]),
    )


def read_start_ticks(pid: int) -> int | None:
    """When a process started, see :class:`Stat`; ``None`` for none, and for a hidden one."""
    try:
        content = _read(pid, 'stat')
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    return int(content[content.rindex(b')') + 2 :].split(b' ', 20)[19])


def read_uid(pid: int) -> int:
    """Read the user a process belongs to, the real one, from ``/proc/<pid>/status``.

    OSError as it comes.
    """
    _, _, after = _read(pid, 'status').partition(b'\nUid:')
    return int(after.split(None, 1)[0])


def read_boot_time() -> float:
    """Read when the machine started, in whole seconds since the epoch; OSError as it comes."""
    with open(f'{procfs_path()}/stat', 'rb') as file:
        for line in file:
            if line.startswith(b'btime'):
                return float(line.split()[1])
    return time.time() - uptime()


def read_rss(pid: int) -> int:
    """Read the resident memory in bytes from ``/proc/<pid>/statm``, more exact than ``stat``'s.

    OSError as it comes.
    """
    return int(_read(pid, 'statm').split(b' ', 2)[1]) * _page_size()


def read_cmdline(pid: int) -> list[str]:
    """Read ``/proc/<pid>/cmdline``: empty for a kernel thread, a zombie and a vanished process.

    PermissionError where hidden.
    """
    try:
        descriptor = _open(pid, 'cmdline')
        try:
            content = chunk = os.read(descriptor, _PAGE)
            while len(chunk) >= _PAGE:
                chunk = os.read(descriptor, 16 * _PAGE)
                content += chunk
        finally:
            os.close(descriptor)
    except (FileNotFoundError, ProcessLookupError):
        return []
    return parse_cmdline(content)


def parse_cmdline(content: bytes) -> list[str]:
    """Take ``/proc/<pid>/cmdline`` apart.

    A title that the process wrote over its arguments is one text, blanks and all.
    """
    arguments = _decoded(content).rstrip('\0').split('\0')
    if len(arguments) == 1:
        title = arguments[0].rstrip()
        return [title] if title else []
    return arguments


def is_hidden(pid: int) -> bool:
    """Whether a process exists that this user may not see (``/proc`` mounted with hidepid)."""
    if not LINUX:  # on Windows the call below would end the process
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return not os.path.exists(f'{procfs_path()}/{pid}')


def uses_gpu(pid: int) -> bool | None:
    """Whether a process has a device of NVIDIA open, as each has that a driver lists.

    ``None`` where this user may not see that, and for a process that is ending.
    """
    folder = f'{procfs_path()}/{pid}/fd'
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    for name in names:
        try:
            target = os.readlink(f'{folder}/{name}')
        except OSError:  # closed meanwhile
            continue
        if '/nvidia' in target or '/dxg' in target:  # dxg: in the Windows Subsystem for Linux
            return True
    return False if names else None


def in_pid_namespace() -> bool:
    """Whether this program runs in a PID namespace of its own, as in most containers.

    There NVML may give PIDs of the machine, which do not exist here.
    """
    try:
        return os.readlink(f'{procfs_path()}/self/ns/pid') != INITIAL_PID_NAMESPACE
    except OSError:
        return False
