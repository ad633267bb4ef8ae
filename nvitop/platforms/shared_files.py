# SPDX-License-Identifier: Apache-2.0
"""Files that several users share, and locks on them. Only on POSIX, except for what says otherwise."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from errno import ENOTSUP

#: Attempts to lock while a reader tests the lock for a moment.
_ATTEMPTS = 5
_PAUSE_SECONDS = 0.01


def user_id() -> int:
    """Return the effective ID of the user; 0 on Windows."""
    if sys.platform == 'win32':
        return 0
    return os.geteuid()


def open_untrusted(path: str) -> int:
    """Open a file of any user for reading, without following links or waiting for a pipe.

    Raises:
        OSError: It cannot be opened.
    """
    if sys.platform == 'win32':
        raise OSError(ENOTSUP, 'not available on Windows')
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def write_new(path: str, data: bytes) -> int:
    """Create a file that all users can read; return its descriptor.

    Raises:
        OSError: It exists, or cannot be written.
    """
    if sys.platform == 'win32':
        raise OSError(ENOTSUP, 'not available on Windows')
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o644)
    try:
        os.fchmod(descriptor, 0o644)  # whatever the umask is
        if os.write(descriptor, data) != len(data):
            raise OSError(28, os.strerror(28), path)
    except OSError:
        os.close(descriptor)
        os.unlink(path)
        raise
    return descriptor


def take_lock(path: str) -> int | None:
    """Lock a file, which is created if it is missing; return its descriptor, ``None`` if it is held.

    The file may belong to any user. It is opened for reading only, because some systems refuse to
    open files of others for writing in sticky directories.

    Raises:
        OSError: It cannot be opened.
    """
    if sys.platform == 'win32':
        raise OSError(ENOTSUP, 'not available on Windows')
    import fcntl

    try:
        descriptor = open_untrusted(path)
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):
            os.close(write_new(path, b''))
        descriptor = open_untrusted(path)
    for attempt in range(_ATTEMPTS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            # Either held, or being tested by is_locked().
            if attempt + 1 < _ATTEMPTS:
                time.sleep(_PAUSE_SECONDS)
        else:
            return descriptor
    os.close(descriptor)
    return None


def is_locked(path: str) -> bool:
    """Return whether a process holds the lock of a file."""
    if sys.platform == 'win32':
        return False
    import fcntl

    try:
        descriptor = open_untrusted(path)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def file_system(device: int) -> str:
    """Return the type of the file system with this device number; ``''`` if it is unknown."""
    if sys.platform == 'win32':
        return ''
    number = f'{os.major(device)}:{os.minor(device)}'
    with contextlib.suppress(OSError), open(
        '/proc/self/mountinfo', encoding='utf-8', errors='replace'
    ) as mounts:
        for line in mounts:
            mount, _, rest = line.partition(' - ')
            if mount.split(' ')[2:3] == [number]:
                return rest.split(' ')[0]
    return ''
