# SPDX-License-Identifier: GPL-3.0-only
"""Effects on live processes: send a signal, read the environment, find the owner."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
from functools import partial
from typing import Callable, Iterator, Mapping

from nvitop.api import host
from nvitop.api.process.observed import start_time_of
from nvitop.api.process.procfs import UNREADABLE
from nvitop.gui.state import events
from nvitop.owner.types import OwnerReading
from nvitop.sampling.types import ProcessKey

#: Maximum difference (seconds) of equal start times. Linux counts in hundredths of a second, and a
#: PID may be reused within a few of them.
START_TIME_TOLERANCE = 0.005


def signal_number(
    name: str, *, platform: str = sys.platform, numbers: Mapping[str, object] = vars(signal)
) -> int:
    """Return the number for ``os.kill`` of a signal.

    Windows has no signals: ``os.kill`` terminates the process with any number except that of
    Ctrl-C. Raises :class:`ValueError` if the platform has no such signal.
    """
    if platform == 'win32':
        same = {'SIGINT': 'CTRL_C_EVENT', 'SIGTERM': 'SIGTERM', 'SIGKILL': 'SIGTERM'}
        number = numbers.get(same.get(name, ''))
    else:
        number = numbers.get(name)
    if not isinstance(number, int):
        raise ValueError(f'this system has no {name}')
    return int(number)


def status_of(pid: int) -> str:
    return host.Process(pid).status()


def send_signal(
    key: ProcessKey,
    name: str,
    *,
    start_time_of: Callable[[int], float] = start_time_of,
    status_of: Callable[[int], str] = status_of,
    kill: Callable[[int, int], None] = os.kill,
) -> events.SignalSent:
    """Send a signal to the process with this PID and start time, and to no other.

    If the kernel supports process file descriptors, one is opened before the start time is
    checked, so the PID cannot be reused between the check and the signal.
    """
    if key.pid <= 0 or key.start_time < 0:  # never visible in this PID namespace
        return events.SignalSent(key, name, 'unseen')
    try:
        number = signal_number(name)
        with _held(key.pid, kill) as send:
            has_exited = is_zombie(key.pid, status_of)
            # Checked last because without a descriptor the PID may be reused.
            if abs(start_time_of(key.pid) - key.start_time) > START_TIME_TOLERANCE:
                return events.SignalSent(key, name, 'reused')
            send(number)  # also to a zombie, whose threads may still run
    except (ProcessLookupError, host.NoSuchProcess):
        return events.SignalSent(key, name, 'gone')
    except (PermissionError, host.AccessDenied):
        return events.SignalSent(key, name, 'not permitted')
    except Exception as error:  # report any error; other targets still get their signal
        return events.SignalSent(key, name, 'failed', str(error) or type(error).__name__)
    return events.SignalSent(key, name, 'zombie' if has_exited else 'sent')


@contextlib.contextmanager
def _held(pid: int, kill: Callable[[int, int], None]) -> Iterator[Callable[[int], None]]:
    """Give a function that sends a signal, from Linux 5.3 on through a descriptor of the process."""
    if sys.platform == 'linux' and hasattr(os, 'pidfd_open'):
        try:
            descriptor = os.pidfd_open(pid)
        except OSError as error:
            if error.errno == errno.ESRCH:
                raise
            # A sandbox or an old kernel rejects it: rely on the start time alone.
        else:
            try:
                yield partial(signal.pidfd_send_signal, descriptor)
            finally:
                os.close(descriptor)
            return
    yield partial(kill, pid)


def is_zombie(pid: int, status_of: Callable[[int], str] = status_of) -> bool:
    """Return whether a process is a zombie; False if unknown, as only a message depends on it."""
    try:
        return status_of(pid) == host.STATUS_ZOMBIE
    except (OSError, host.PsutilError):
        return False


def read_environment(pid: int, start_time: float) -> events.EnvironmentRead:
    """Read the environment of a process when it started, sorted by name."""
    variables: tuple[tuple[str, str], ...] = ()
    error = ''
    try:
        if start_time < 0:
            error = 'the process is not visible in this PID namespace'
        elif abs(start_time_of(pid) - start_time) > START_TIME_TOLERANCE:
            error = 'the process has exited; its PID belongs to another process now'
        else:
            variables = tuple(sorted(host.Process(pid).environ().items()))
    except (ProcessLookupError, host.NoSuchProcess):
        # psutil 5.6 raises this for zombies too.
        error = 'a zombie has no environment' if is_zombie(pid) else 'the process has exited'
    except (PermissionError, host.AccessDenied):
        error = 'permission denied'
    except (OSError, OverflowError, ValueError, host.PsutilError) as cause:
        error = f'cannot be read: {cause}'
    return events.EnvironmentRead(pid, start_time, variables, error)


def find_owner(pid: int, start_time: float, names: str) -> OwnerReading:
    """Return what a process belongs to, or why that is unknown."""
    from nvitop.owner.reading import ELSEWHERE, EXITED, read_owner

    if start_time < 0:
        return OwnerReading(None, ELSEWHERE)
    reading = read_owner(pid, names)
    try:
        is_same = abs(start_time_of(pid) - start_time) <= START_TIME_TOLERANCE
    except UNREADABLE:
        is_same = False
    return reading if is_same or reading.owner is None else OwnerReading(None, EXITED)
