# SPDX-License-Identifier: Apache-2.0
"""Driver calls that never return, of this process and of processes that could not end because of them.

A thread in uninterruptible sleep (state D) survives SIGKILL, and its process remains as a zombie. Such
a process leaves a file that says which calls hang, and keeps a lock on it for as long as it exists: the
next command leaves those GPUs alone, so repeated checks do not pile up.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import threading
import time
from typing import Iterable, Iterator, NamedTuple, Union

#: What is called: a GPU, by its index, or the driver as a whole.
Subject = Union[int, str]
DRIVER = 'driver'
#: A call that takes longer than this (seconds) when the process ends counts as stuck.
STUCK_SECONDS = 0.2
_MAX_BYTES = 1 << 16

#: Whether this process writes and heeds the file: not for a simulated driver.
_is_on = False
#: Thread → what it is calling, and since when.
_calls: dict[int, tuple[Subject, float]] = {}


class StuckCall(NamedTuple):
    """A call of another process that has not returned."""

    subject: Subject
    pid: int
    since: float

    def __str__(self) -> str:
        moment = time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(self.since))
        return f'no response since {moment}: process {self.pid} hangs in a call to the driver'


def heed() -> None:
    """Leave alone what hangs in other processes, and leave a file if this process cannot end."""
    global _is_on
    _is_on = True


@contextlib.contextmanager
def calling(subject: Subject) -> Iterator[None]:
    """Mark driver calls about a subject.

    Raises:
        TimeoutError: A call about the subject, or about the driver, hangs in another process.
    """
    if _is_on:
        for call in stuck_calls():
            if call.subject in (subject, DRIVER):
                raise TimeoutError(str(call))
    thread = threading.get_ident()
    outer = _calls.get(thread)
    _calls[thread] = (subject, time.time())
    try:
        yield
    finally:
        if outer is None:
            del _calls[thread]
        else:
            _calls[thread] = outer


def stuck_calls() -> list[StuckCall]:
    """Return the calls that hang in processes of root or of this user."""
    calls: list[StuckCall] = []
    if sys.platform == 'win32':
        return calls
    for path in {_path(0), _path(os.getuid())}:
        with contextlib.suppress(OSError):
            calls += _read(path)
    return calls


def leave_file() -> None:
    """Before the end of this process: write down the calls that hang, if there are any."""
    now = time.time()
    calls = [call for call in [*_calls.values()] if now - call[1] > STUCK_SECONDS]
    if not _is_on or not calls or sys.platform == 'win32':
        return
    import fcntl  # rarely needed, as json
    import json

    lines = ''.join(f'{json.dumps([subject, os.getpid(), since])}\n' for subject, since in calls)
    with contextlib.suppress(OSError):
        path = _path(os.getuid())
        try:
            descriptor = _open(path, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
        with contextlib.suppress(OSError):  # not if another process hangs, too
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        os.write(descriptor, lines.encode())


def _path(user: int) -> str:
    """Return the path of the file, in a directory where no other user can put it."""
    return '/run/nvitop-stuck' if user == 0 else f'/dev/shm/nvitop-stuck-{user}'


def _open(path: str, flags: int) -> int:
    """Open the file if it is what its name says: anybody can write to /dev/shm."""
    if sys.platform == 'win32':
        raise PermissionError(path)
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid not in (0, os.getuid()):
        os.close(descriptor)
        raise PermissionError(path)
    return descriptor


def _read(path: str) -> Iterable[StuckCall]:
    if sys.platform == 'win32':
        return []
    descriptor = _open(path, os.O_RDONLY)
    import fcntl
    import json

    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lines = os.read(descriptor, _MAX_BYTES).decode('ascii', 'replace').splitlines()
        else:  # none of the processes exists any longer
            return []
    finally:
        os.close(descriptor)
    calls = []
    for line in lines:
        with contextlib.suppress(ValueError, TypeError):
            call = StuckCall(*json.loads(line))
            if os.path.exists(f'/proc/{call.pid}'):
                calls.append(call)
    return calls
