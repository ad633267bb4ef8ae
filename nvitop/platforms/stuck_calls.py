# SPDX-License-Identifier: Apache-2.0
"""Driver calls that never return, and the processes that cannot end because of them.

A thread in uninterruptible sleep (state D) survives SIGKILL, and its process remains as a zombie. So
that repeated and overlapping commands do not pile up, each locks the GPU that it calls. The kernel
keeps the lock for as long as the process exists. A command waits for the process that it finds
inside a call, and leaves the GPU alone if that process is not going to return.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import struct
import sys
import threading
import time
from typing import Iterator, NamedTuple, Union

#: What is called: a GPU, by its index, or the driver as a whole.
Subject = Union[int, str]
DRIVER = 'driver'
#: A call that has taken this long (seconds) will not return …
HANGING_SECONDS = 60.0
#: … and neither will a call of a process that should have ended, after this time (seconds).
ENDED_SECONDS = 1.0
_PAUSE_SECONDS = 0.01
#: In the file, for each subject: the process inside, and when it entered on the monotonic clock.
_RECORD = struct.Struct('qd')
#: C's ``struct flock``.
_FLOCK = struct.Struct('hhqqi4x')

#: The file of this user. Closing it would release its locks. Empty: this process neither locks nor
#: waits, as with a simulated driver.
_files: list[int] = []
#: Why the file cannot be used, in one line; ``''``: it can, or it is not needed.
problem = ''
_guard = threading.Lock()
#: Thread → what it calls.
_calls: dict[int, Subject] = {}
_locked: set[Subject] = set()


class Holder(NamedTuple):
    """A process of this user inside a call."""

    pid: int
    seconds: float
    state: str

    @property
    def hangs(self) -> bool:
        """Whether the call is not expected to return."""
        return self.seconds > (ENDED_SECONDS if self.state == 'Z' else HANGING_SECONDS)

    def __str__(self) -> str:
        since = time.localtime(time.time() - self.seconds)
        moment = time.strftime('%Y-%m-%d %H:%M:%S', since)
        return f'no response since {moment}: process {self.pid} hangs in a call to the driver'


def heed() -> None:
    """Lock what this process calls, and leave alone what hangs in other processes."""
    if sys.platform == 'win32':
        return
    global problem
    path = _path(os.geteuid())
    try:
        _files.append(_open(path))
    except OSError as error:
        problem = (
            f'{path} cannot be used: {error.strerror}; '
            'if the driver hangs, each command may leave a process'
        )


def process_state(pid: int) -> str:
    """Return the state of a process, such as ``'Z'`` (zombie), from ``/proc``."""
    with open(f'/proc/{pid}/stat', 'rb') as file:
        return file.read().rpartition(b')')[2].split()[0].decode()


def find_holder(subject: Subject) -> Holder | None:
    """Return the other process of this user that is inside a call about the subject."""
    if sys.platform == 'win32':
        return None
    import fcntl

    for file in _files:
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, _offset(subject), 1, 0)
        with contextlib.suppress(OSError, ValueError):
            kind, _, _, _, pid = _FLOCK.unpack(fcntl.fcntl(file, fcntl.F_GETLK, asked))
            if kind == fcntl.F_UNLCK:
                continue
            state = process_state(pid)
            record = os.pread(file, _RECORD.size, _offset(subject))
            writer, since = _RECORD.unpack(record.ljust(_RECORD.size, b'\0'))
            if state not in 'Tt':  # stopped, as by Ctrl-Z: that is not the driver's fault
                return Holder(pid, time.monotonic() - since if writer == pid else 0.0, state)
    return None


@contextlib.contextmanager
def calling(subject: Subject) -> Iterator[None]:
    """Wait for the process that is inside a call about the subject, and lock it in this block.

    Raises:
        TimeoutError: A call about the subject, or about the driver, hangs in another process.
    """
    outer = _calls.get(threading.get_ident())
    first, is_second_try = 0, False
    while _files:
        holder = find_holder(subject)
        for caller in (holder, find_holder(DRIVER)):
            if caller is not None and caller.hangs:
                raise TimeoutError(str(caller))
        if holder is not None and first in (0, holder.pid):
            first = holder.pid
            time.sleep(_PAUSE_SECONDS)
        # After the first process, do not wait for others: the GPU responds.
        elif _enter(subject, even_unlocked=first > 0 or is_second_try):
            break
        else:
            is_second_try = True
    try:
        yield
    finally:
        _enter(outer)


def _enter(subject: Subject | None, *, even_unlocked: bool = True) -> bool:
    """Lock what this thread calls from now on, and unlock what it called before."""
    if sys.platform == 'win32' or not _files:
        return True
    import fcntl

    thread = threading.get_ident()
    with _guard:
        if subject is not None and subject not in _locked:
            try:
                fcntl.lockf(_files[0], fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _offset(subject))
                record = _RECORD.pack(os.getpid(), time.monotonic())
                os.pwrite(_files[0], record, _offset(subject))
                _locked.add(subject)
            except OSError:  # another process was faster, or the disk is full
                # A lock without a record, which nothing would release, makes others wait.
                with contextlib.suppress(OSError):
                    fcntl.lockf(_files[0], fcntl.LOCK_UN, 1, _offset(subject))
                if not even_unlocked:
                    return False
        before = _calls.pop(thread, None)
        if subject is not None:
            _calls[thread] = subject
        if before in _locked and before not in _calls.values():
            _locked.remove(before)
            os.pwrite(_files[0], bytes(_RECORD.size), _offset(before))
            fcntl.lockf(_files[0], fcntl.LOCK_UN, 1, _offset(before))
    return True


def _offset(subject: Subject) -> int:
    return _RECORD.size * (0 if isinstance(subject, str) else subject + 1)


def _path(user: int) -> str:
    """Return the path of the file, in a directory where no other user can put it."""
    if user == 0:
        return '/run/nvitop-calls'
    # systemd removes what a service with a dynamic user leaves in /dev/shm.
    service = os.environ.get('RUNTIME_DIRECTORY', '').partition(':')[0]
    return f'{service}/nvitop-calls' if service else f'/dev/shm/nvitop-calls-{user}'


def _open(path: str) -> int:
    """Open the file if it is what its name says: anybody can write to /dev/shm.

    No other user can read it, because anyone who can read a file can lock it.
    """
    if sys.platform == 'win32':
        raise PermissionError(path)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    status = os.fstat(file)
    if (
        not stat.S_ISREG(status.st_mode)
        or status.st_uid != os.geteuid()
        or status.st_nlink > 1
        or status.st_mode & 0o077
    ):
        os.close(file)
        raise PermissionError(errno.EPERM, 'not a file of this user alone', path)
    return file
