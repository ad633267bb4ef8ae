# SPDX-License-Identifier: Apache-2.0
"""Calls that not every kernel has: process IDs, signals, forks, numbers and files of POSIX."""

from __future__ import annotations

import os
import select
import signal
import sys
from typing import IO, Any, Callable

#: The highest PID a system can give. On Linux the limit of all kernels, not `pid_max`, which may be
#: lower in a container than on the host whose PIDs NVML tells.
MAX_PID = 2**22 if sys.platform == 'linux' else 2**32 - 2

#: The signals that ask a program to end; Windows has no SIGHUP.
ENDING: list[signal.Signals] = [
    getattr(signal, name) for name in ('SIGINT', 'SIGTERM', 'SIGHUP') if hasattr(signal, name)
]


def sysconf(name: str) -> int:
    """What POSIX systems tell under this name; OSError where there is no such thing."""
    if sys.platform == 'win32':
        raise OSError(f'Windows has no {name}')
    return os.sysconf(name)


def at_fork(**hooks: Callable[[], Any]) -> None:
    """Have hooks called around each fork: :func:`os.register_at_fork`. Windows does not fork."""
    if sys.platform != 'win32':
        os.register_at_fork(**hooks)


def wait_until_writable(descriptor: int) -> None:
    """Block until a file, pipe or terminal takes bytes; Windows can wait for sockets alone."""
    if sys.platform != 'win32':
        select.select([], [descriptor], [])


def open_nameless_file() -> IO[bytes]:
    """A file that nobody else sees, in memory where the kernel can do that."""
    if sys.platform == 'linux' and hasattr(os, 'memfd_create'):
        return open(os.memfd_create('nvitop'), 'w+b')
    import tempfile

    return tempfile.TemporaryFile()
