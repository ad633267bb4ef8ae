# SPDX-License-Identifier: GPL-3.0-only
"""Carries out effects off the UI thread: signals and environments, by identity and never by row."""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import signal
import threading
from typing import Callable, Iterable, Iterator, Tuple

from nvitop.api import host
from nvitop.api.process.linux import start_time_of
from nvitop.gui.state.effects import ReadEnvironment, SendSignal
from nvitop.gui.state.events import EnvironmentRead, Event, SignalSent
from nvitop.sampling.types import ProcessKey

#: Start times are compared to this many seconds: the clock tick of a kernel is a hundredth.
START_TIME_TOLERANCE = 0.05

#: Work for the runner.
Job = Callable[[], Tuple[Event, ...]]


class EffectRunner:
    """A daemon thread that does what may block, and posts what came of it as events."""

    def __init__(self, post: Callable[[Event], None]) -> None:
        self._post = post
        self._jobs: queue.Queue[Job] = queue.Queue()
        self._thread: threading.Thread | None = None

    def run(self, effect: SendSignal | ReadEnvironment) -> None:
        """Carry out an effect, some time soon."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name='nvitop-effects', daemon=True)
            self._thread.start()
        if isinstance(effect, SendSignal):
            self._jobs.put(lambda: tuple(send_signal(key, effect.signal) for key in effect.targets))
        else:
            self._jobs.put(lambda: (read_environment(effect.pid, effect.start_time),))

    def _work(self) -> None:
        while True:
            for event in self._jobs.get()():
                self._post(event)


def send_signal(
    key: ProcessKey,
    name: str,
    *,
    start_time_of: Callable[[int], float] = start_time_of,
    kill: Callable[[int, int], None] = os.kill,
) -> SignalSent:
    """Send a signal to the process with this PID and start time, and to no other.

    Where the kernel has process file descriptors, one is opened before the start time is checked,
    so the PID cannot pass to another process between the check and the signal.
    """
    number = getattr(signal, name)
    try:
        with _opened_pidfd(key.pid) as descriptor:
            outcome = _check(key, start_time_of)
            if outcome:
                return SignalSent(key, name, outcome)
            if descriptor is not None:
                signal.pidfd_send_signal(descriptor, number)
            else:
                kill(key.pid, number)
    except (ProcessLookupError, host.NoSuchProcess):
        return SignalSent(key, name, 'gone')
    except (PermissionError, host.AccessDenied):
        return SignalSent(key, name, 'not permitted')
    except (OSError, OverflowError, host.PsutilError) as error:
        return SignalSent(key, name, 'failed', str(error))
    return SignalSent(key, name, 'sent')


@contextlib.contextmanager
def _opened_pidfd(pid: int) -> Iterator[int | None]:
    """A descriptor that stays with the process; ``None`` where there are none (Linux < 5.3)."""
    if not (hasattr(os, 'pidfd_open') and hasattr(signal, 'pidfd_send_signal')):
        yield None
        return
    try:
        descriptor = os.pidfd_open(pid)
    except OSError as error:
        if error.errno == errno.ESRCH:
            raise
        # A sandbox or an old kernel forbids it: the start time alone has to do.
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _check(key: ProcessKey, start_time_of: Callable[[int], float]) -> str:
    """Why the process is not the one that was shown; ``''``: it is."""
    if key.pid <= 0 or key.start_time < 0:
        return 'gone'  # never seen alive here: the PID belongs to another namespace, or to nobody
    if abs(start_time_of(key.pid) - key.start_time) > START_TIME_TOLERANCE:
        return 'reused'
    return ''


def read_environment(pid: int, start_time: float) -> EnvironmentRead:
    """The environment of a process as it was at its start, sorted by name; PID 0: of nvitop."""
    if pid == 0:
        return EnvironmentRead(0, start_time, _sorted(os.environ.items()))
    try:
        if start_time >= 0 and abs(start_time_of(pid) - start_time) > START_TIME_TOLERANCE:
            return EnvironmentRead(pid, start_time, error='the process is gone, its PID is another')
        return EnvironmentRead(pid, start_time, _sorted(host.Process(pid).environ().items()))
    except (ProcessLookupError, host.NoSuchProcess):
        return EnvironmentRead(pid, start_time, error='the process is gone')
    except (PermissionError, host.AccessDenied):
        return EnvironmentRead(pid, start_time, error='no permission: it belongs to another user')
    except (OSError, OverflowError, ValueError, host.PsutilError) as error:
        return EnvironmentRead(pid, start_time, error=f'cannot be read: {error}')


def _sorted(items: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(items))
