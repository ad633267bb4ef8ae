# SPDX-License-Identifier: GPL-3.0-only
"""Sends signals on every platform, to the process that was shown and to no other."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import signal
import sys
from typing import Callable, Iterator, Mapping

from nvitop.api import host
from nvitop.api.process.observed import start_time_of
from nvitop.gui.state.events import SignalSent
from nvitop.sampling.types import ProcessKey

#: Maximum difference (seconds) of equal start times. Linux counts in hundredths of a second, and a
#: PID may be reused within a few of them.
START_TIME_TOLERANCE = 0.005


def signal_number(
    name: str, *, platform: str = sys.platform, numbers: Mapping[str, object] = vars(signal)
) -> int:
    """Return the number for ``os.kill`` of SIGTERM, SIGKILL or SIGINT.

    Windows has no signals: ``os.kill`` terminates the process with any number except that of
    Ctrl-C. Raises :class:`ValueError` if the platform has no such signal.
    """
    if platform == 'win32':
        name = 'CTRL_C_EVENT' if name == 'SIGINT' else 'SIGTERM'
    number = numbers.get(name)
    if not isinstance(number, int):
        raise ValueError(f'this system has no {name}')
    return int(number)


def status_of(pid: int) -> str:
    """Return the status of a process as named by psutil."""
    return host.Process(pid).status()


def send_signal(
    key: ProcessKey,
    name: str,
    *,
    start_time_of: Callable[[int], float] = start_time_of,
    status_of: Callable[[int], str] = status_of,
    kill: Callable[[int, int], None] = os.kill,
) -> SignalSent:
    """Send a signal to the process with this PID and start time, and to no other.

    If the kernel supports process file descriptors, one is opened before the start time is
    checked, so the PID cannot be reused between the check and the signal.
    """
    if _was_never_seen(key):
        return SignalSent(key, name, 'unseen')
    try:
        number = signal_number(name)
        with _held(key.pid, kill) as send:
            has_exited = is_zombie(key.pid, status_of)
            # Checked last because without a descriptor the PID may be reused.
            outcome = differs(key, start_time_of)
            if outcome:
                return SignalSent(key, name, outcome)
            send(number)  # also to a zombie, whose threads may still run
    except (ProcessLookupError, host.NoSuchProcess):
        return SignalSent(key, name, 'gone')
    except (PermissionError, host.AccessDenied):
        return SignalSent(key, name, 'not permitted')
    except Exception as error:  # report any error; other targets still get their signal
        return SignalSent(key, name, 'failed', str(error) or type(error).__name__)
    return SignalSent(key, name, 'zombie' if has_exited else 'sent')


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
                yield functools.partial(signal.pidfd_send_signal, descriptor)
            finally:
                os.close(descriptor)
            return
    yield functools.partial(kill, pid)


def differs(key: ProcessKey, start_time_of: Callable[[int], float]) -> str:
    """Return how the process differs from the one that was shown; ``''`` if it does not."""
    if _was_never_seen(key):
        return 'unseen'
    if abs(start_time_of(key.pid) - key.start_time) > START_TIME_TOLERANCE:
        return 'reused'
    return ''


def is_zombie(pid: int, status_of: Callable[[int], str] = status_of) -> bool:
    """Return whether a process is a zombie; False if unknown, as only a message depends on it."""
    try:
        return status_of(pid) == host.STATUS_ZOMBIE
    except (OSError, host.PsutilError):
        return False


def _was_never_seen(key: ProcessKey) -> bool:
    """Return whether the process was never visible in this PID namespace."""
    return key.pid <= 0 or key.start_time < 0
