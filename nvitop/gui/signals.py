# SPDX-License-Identifier: GPL-3.0-only
"""Sends signals, each to the process that was shown and to no other, on every platform."""

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

#: Start times are compared to this many seconds. Linux counts in hundredths, and a PID may pass on
#: within a few of them.
START_TIME_TOLERANCE = 0.005


def signal_number(
    name: str, *, platform: str = sys.platform, numbers: Mapping[str, object] = vars(signal)
) -> int:
    """What ``os.kill`` takes for SIGTERM, SIGKILL or SIGINT.

    Windows has no signals: ``os.kill`` ends the process at once, whatever the number, but for that
    of the console's Ctrl-C. Raises :class:`ValueError` where the platform has nothing like it.
    """
    if platform == 'win32':
        name = 'CTRL_C_EVENT' if name == 'SIGINT' else 'SIGTERM'
    number = numbers.get(name)
    if not isinstance(number, int):
        raise ValueError(f'this system has no {name}')
    return int(number)


def status_of(pid: int) -> str:
    """The status of a process, as psutil names it."""
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

    Where the kernel has process file descriptors, one is opened before the start time is checked,
    so the PID cannot pass to another process between the check and the signal.
    """
    if _was_never_seen(key):
        return SignalSent(key, name, 'unseen')
    try:
        number = signal_number(name)
        with _held(key.pid, kill) as send:
            has_ended = is_zombie(key.pid, status_of)
            outcome = differs(key, start_time_of)  # last: without a descriptor, a PID may pass on
            if outcome:
                return SignalSent(key, name, outcome)
            send(number)  # to a zombie too: threads of it may run on
    except (ProcessLookupError, host.NoSuchProcess):
        return SignalSent(key, name, 'gone')
    except (PermissionError, host.AccessDenied):
        return SignalSent(key, name, 'not permitted')
    except Exception as error:
        # Whatever it is, it has to be told, and the other targets get their signal.
        return SignalSent(key, name, 'failed', str(error) or type(error).__name__)
    return SignalSent(key, name, 'zombie' if has_ended else 'sent')


@contextlib.contextmanager
def _held(pid: int, kill: Callable[[int, int], None]) -> Iterator[Callable[[int], None]]:
    """What sends a signal: through a descriptor that stays with the process, from Linux 5.3 on."""
    if sys.platform == 'linux' and hasattr(os, 'pidfd_open'):
        try:
            descriptor = os.pidfd_open(pid)
        except OSError as error:
            if error.errno == errno.ESRCH:
                raise
            # A sandbox or an old kernel forbids it: the start time alone has to do.
        else:
            try:
                yield functools.partial(signal.pidfd_send_signal, descriptor)
            finally:
                os.close(descriptor)
            return
    yield functools.partial(kill, pid)


def differs(key: ProcessKey, start_time_of: Callable[[int], float]) -> str:
    """Why the process is not the one that was shown; ``''``: it is."""
    if _was_never_seen(key):
        return 'unseen'
    if abs(start_time_of(key.pid) - key.start_time) > START_TIME_TOLERANCE:
        return 'reused'
    return ''


def is_zombie(pid: int, status_of: Callable[[int], str] = status_of) -> bool:
    """Whether it has ended. Only what is said depends on it: where it cannot be read, no."""
    try:
        return status_of(pid) == host.STATUS_ZOMBIE
    except (OSError, host.PsutilError):
        return False


def _was_never_seen(key: ProcessKey) -> bool:
    """Whether it was never alive here: the PID belongs to another namespace, or to nobody."""
    return key.pid <= 0 or key.start_time < 0
