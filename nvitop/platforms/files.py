# SPDX-License-Identifier: Apache-2.0
"""Files that several users share, files of this user where others may put traps, and locks."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from errno import ENOTSUP

with contextlib.suppress(ImportError):  # Windows
    import fcntl

#: Attempts to lock while a reader tests the lock for a moment.
_ATTEMPTS = 5
_PAUSE_SECONDS = 0.01
_ALL_USERS = 0o1777
#: Maximum size (bytes) of a file that is read.
_MAX_BYTES = 4096
#: Maximum number of brackets in it: Python 3.8 may abort at its recursion limit of 1000.
_MAX_BRACKETS = 500
#: File systems whose locks other hosts see too, or that emulate flock.
_REMOTE = frozenset(('nfs', 'nfs4', 'cifs', 'smb3', '9p', 'afs', 'ceph'))


def user_id() -> int:
    """Return the effective ID of the user; 0 on Windows."""
    if sys.platform == 'win32':
        return 0
    return os.geteuid()


def open_untrusted(path: str) -> int:
    """Open a file of any user for reading, without following links or waiting for a pipe."""
    if sys.platform == 'win32':
        raise OSError(ENOTSUP, 'not available on Windows')
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def write_new(path: str, data: bytes) -> int:
    """Create a file that all users can read; return its descriptor. OSError if it exists."""
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


def write_locked(path: str, data: bytes) -> int:
    """Create or replace a file that all users can read; return its descriptor, which locks it.

    The file appears complete and locked or not at all.
    """
    if sys.platform == 'win32':
        raise OSError(ENOTSUP, 'not available on Windows')
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f'.{name}.new')
    descriptor = write_new(temporary, data)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(temporary, path)
    except OSError:
        os.close(descriptor)
        os.unlink(temporary)
        raise
    return descriptor


def read_json(path: str) -> tuple[bytes, os.stat_result]:
    """Read at most 4 KiB of JSON from a regular file; return the text and the status of the file.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is larger, deeply nested, or not a regular file.
    """
    descriptor = open_untrusted(path)
    try:
        status = os.fstat(descriptor)
        data = os.read(descriptor, _MAX_BYTES + 1) if stat.S_ISREG(status.st_mode) else b''
    finally:
        os.close(descriptor)
    is_small = len(data) <= _MAX_BYTES and data.count(b'[') + data.count(b'{') <= _MAX_BRACKETS
    if not data or not is_small:
        raise ValueError(f'not a small file: {path}')
    return data, status


def take_lock(path: str) -> int | None:
    """Lock a file, which is created if it is missing; return its descriptor, ``None`` if it is held.

    The file may belong to any user. It is opened for reading only, because some systems refuse to
    open files of others for writing in sticky directories.
    """
    if sys.platform == 'win32':
        raise OSError(ENOTSUP, 'not available on Windows')
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


def release_lock(descriptor: int) -> None:
    """Release a lock, of children that inherited it too, and close its descriptor."""
    if sys.platform != 'win32':
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def is_locked(path: str) -> bool:
    if sys.platform == 'win32':
        return False
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


def make_shared(path: str) -> None:
    """Create a directory in which every user may put files, without a moment of other rights."""
    parent, name = os.path.split(path)
    new = os.path.join(parent, f'.{name}.{os.getpid()}.{time.time_ns()}')
    os.mkdir(new, 0o700)
    try:
        os.chmod(new, _ALL_USERS)
        os.rename(new, path)  # replaces only an empty directory
    except OSError:
        os.rmdir(new)
        if not os.path.isdir(path):
            raise


def why_unusable(path: str) -> str:
    """Return why a directory is not for files that several users share; ``''`` if it is."""
    try:
        status = os.lstat(path)
    except OSError as error:
        return error.strerror or str(error)
    if not stat.S_ISDIR(status.st_mode):
        return 'a symbolic link' if stat.S_ISLNK(status.st_mode) else 'not a directory'
    is_sticky = bool(status.st_mode & stat.S_ISVTX)
    if status.st_uid not in (0, user_id()) and not is_sticky:
        return 'it belongs to another user and is not sticky'
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not is_sticky:
        return 'other users can remove files in it, because it is not sticky'
    kind = file_system(status.st_dev)
    return f'it is on {kind}, whose locks cannot be relied on' if kind in _REMOTE else ''


def open_private(path: str) -> int:
    """Open a file for reading and writing; a new file can be used by this user only.

    In a directory where every user may put files, such as /tmp, a symbolic link or a file of another
    user is refused. Returns the file descriptor.
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
    return status.st_uid in (user_id(), 0)


def try_lock(descriptor: int) -> bool:
    """Lock a file until it is closed or this process ends; return False if another process has it."""
    try:
        if sys.platform == 'win32':
            import msvcrt

            # Beyond the end of the file, so that its text can be read.
            os.lseek(descriptor, 1 << 30, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
