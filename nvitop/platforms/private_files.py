# SPDX-License-Identifier: Apache-2.0
"""Files of this user in places where others may put traps, and locks that end with their process."""

from __future__ import annotations

import os
import stat
import sys

if sys.platform == 'win32':
    import msvcrt
else:
    import fcntl


def open_private(path: str) -> int:
    """Open a file for reading and writing; a new file can be used by this user only.

    In a directory where every user may put files, such as /tmp, a symbolic link or a file of another
    user is refused. Returns the file descriptor.

    Raises:
        OSError: The file cannot be opened or is refused.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, 'O_CLOEXEC', 0) | getattr(os, 'O_BINARY', 0)
    is_shared = is_shared_folder(path)
    if is_shared:
        refuse_trap(path)
        flags |= getattr(os, 'O_NOFOLLOW', 0)
    descriptor = os.open(path, flags, 0o600)
    if is_shared and not _is_own(os.fstat(descriptor)):
        os.close(descriptor)
        raise PermissionError(13, 'the file belongs to another user', path)
    return descriptor


def refuse_trap(path: str) -> None:
    """Raise PermissionError if a path is a symbolic link or a file of another user.

    This is for directories in which every user may put files. A missing file is fine.
    """
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(status.st_mode):
        raise PermissionError(13, 'a symbolic link in a directory of all users', path)
    if not _is_own(status):
        raise PermissionError(13, 'the file belongs to another user', path)


def is_shared_folder(path: str) -> bool:
    """Whether every user may put files into the directory of a path, as in /tmp."""
    return bool(os.stat(os.path.dirname(os.path.abspath(path))).st_mode & stat.S_ISVTX)


def _is_own(status: os.stat_result) -> bool:
    return sys.platform == 'win32' or status.st_uid in (os.geteuid(), 0)


def try_lock(descriptor: int) -> bool:
    """Lock a file until it is closed or this process ends; return False if another process has it."""
    try:
        if sys.platform == 'win32':
            # Beyond the end of the file, so that its text can be read.
            os.lseek(descriptor, 1 << 30, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
