# SPDX-License-Identifier: Apache-2.0
"""System calls that some platforms lack; users, as shown in process lists, and their rights."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import select
import signal
import stat
import sys
import time
import weakref
from typing import IO, Any, Callable

#: The highest possible PID. On Linux it is the limit of the kernel. `pid_max` may be lower in a
#: container than on the host, and NVML reports PIDs of the host.
MAX_PID = 2**22 if sys.platform == 'linux' else 2**32 - 2

#: Signals that request a program to exit. Windows has no SIGHUP.
ENDING: list[signal.Signals] = [
    getattr(signal, name) for name in ('SIGINT', 'SIGTERM', 'SIGHUP') if hasattr(signal, name)
]

#: Signal that asks a service to open its files again; ``None`` on Windows.
HANGUP: signal.Signals | None = getattr(signal, 'SIGHUP', None)


def sysconf(name: str) -> int:
    """Return a POSIX system value; OSError if the platform does not have it."""
    if sys.platform == 'win32':
        raise OSError(f'Windows has no {name}')
    return os.sysconf(name)


def read_small(*parts: str) -> str:
    """Return the text of a small file of the kernel, ``''`` if it cannot be read."""
    try:
        with open(os.path.join(*parts), encoding='utf-8', errors='replace') as file:
            return file.read(4096).strip()
    except OSError:
        return ''


def cpu_nanoseconds(pid: int) -> int | None:
    """Return the CPU time of a process; ``None`` if it does not exist, and on other systems than Linux.

    This reads the clock of ``clock_getcpuclockid(3)``, much faster than a file of ``/proc``.
    """
    if sys.platform != 'linux' or not 0 < pid <= MAX_PID:
        return None
    try:
        return time.clock_gettime_ns(~pid << 3 | 2)
    except OSError:
        return None


def at_fork(**hooks: Callable[[], Any]) -> None:
    """Register hooks with :func:`os.register_at_fork`. Windows does not fork."""
    if sys.platform != 'win32':
        os.register_at_fork(**hooks)


#: Object, class or module → its locks by name, and what makes new ones.
_locks: weakref.WeakKeyDictionary[object, dict[str, Callable[[], object]]] = (
    weakref.WeakKeyDictionary()
)


def renew_in_child(holder: object, **locks: Callable[[], object]) -> None:
    """Give an object new locks in a forked child: the thread that holds one does not exist there.

    Args:
        holder: An object, a class or a module, equal only to itself.
        locks: Names of attributes, and the functions that make the locks, or what else depends on
            threads.
    """
    _locks[holder] = locks


def _renew_locks() -> None:
    for holder, locks in tuple(_locks.items()):
        for name, make in locks.items():
            setattr(holder, name, make())


at_fork(after_in_child=_renew_locks)


def wait_until_writable(descriptor: int) -> None:
    """Block until a file, pipe or terminal accepts data. Windows can wait only for sockets."""
    if sys.platform != 'win32':
        poll = select.poll()  # select.select fails for descriptors above 1023
        poll.register(descriptor, select.POLLOUT)
        poll.poll()


def write_pieces(fd: int, pieces: list[bytes]) -> None:
    """Write each piece completely; if that fails, a file ends with the last whole piece."""
    view = memoryview(b''.join(pieces))
    written = 0
    try:
        while written < len(view):
            try:
                written += os.write(fd, view[written:])
            except BlockingIOError:  # a non-blocking pipe
                wait_until_writable(fd)
    except OSError:
        with contextlib.suppress(OSError):
            _undo(fd, pieces, written)
        raise


def _undo(fd: int, pieces: list[bytes], written: int) -> None:
    """Remove an incomplete piece from the end of a file."""
    whole = 0
    for piece in pieces:
        if whole + len(piece) > written:
            break
        whole += len(piece)
    status = os.fstat(fd)
    end = os.lseek(fd, 0, os.SEEK_CUR)
    # Not if another program has appended something.
    if stat.S_ISREG(status.st_mode) and status.st_size == end and written > whole:
        os.ftruncate(fd, end - (written - whole))
        os.lseek(fd, end - (written - whole), os.SEEK_SET)


def wait_for_signals() -> None:
    """Block until the handler of a signal raises an exception."""
    while True:
        if sys.platform == 'win32':
            time.sleep(1.0)  # Windows handles Ctrl-C between two sleeps
        else:
            signal.pause()


def open_nameless_file() -> IO[bytes]:
    """Open a temporary file without a name, in memory if the kernel supports it."""
    if sys.platform == 'linux' and hasattr(os, 'memfd_create'):
        return open(os.memfd_create('nvitop'), 'w+b')
    import tempfile

    return tempfile.TemporaryFile()


if sys.platform != 'win32':
    import grp
    import pwd


def getuser() -> str:
    """Return the name of the user who runs this program, as shown in process lists.

    For a user without an entry in the user database, which is common in containers, it is the name in
    ``LOGNAME`` or a similar variable, the login name, or the user ID as text.
    """
    if sys.platform != 'win32':
        try:
            return pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            pass
    import getpass

    for lookup in (getpass.getuser, os.getlogin):
        try:
            return lookup()
        except (OSError, KeyError, ImportError):
            continue
    if sys.platform == 'win32':
        return 'unknown'
    return str(os.getuid())


def name_of_user(uid: int) -> str:
    """Return the name of a user, or the user ID as text if the user is unknown."""
    # The lookup may ask a server. Failures are not cached.
    try:
        return _known_name_of_user(uid)
    except KeyError:
        return str(uid)


@functools.lru_cache(maxsize=1024)
def _known_name_of_user(uid: int) -> str:
    if sys.platform != 'win32':
        return pwd.getpwuid(uid).pw_name
    raise KeyError(uid)


@functools.lru_cache(maxsize=None)
def unix_group(user: str) -> str:
    """Return the primary group of a user of this machine, ``''`` if it is not known."""
    if sys.platform != 'win32':
        with contextlib.suppress(KeyError, ValueError):
            return grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name
    return ''


def without_domain(name: str) -> str:
    """Remove the domain from a user name on Windows (psutil returns ``DOMAIN\\name``)."""
    return name.rpartition('\\')[2]


def is_superuser() -> bool:
    """Return whether this program may signal the processes of all users."""
    if sys.platform == 'win32':
        return bool(ctypes.windll.shell32.IsUserAnAdmin())
    return os.geteuid() == 0
