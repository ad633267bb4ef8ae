"""Reuse PIDs in a PID namespace: ``python -m tests.faults.pid_reuse COUNT WAY``.

Prints JSON: the number of reused PIDs, the number of wrongly signaled processes, and the outcomes.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import pathlib
import signal
import sys
import time
from typing import Callable

import psutil

from nvitop.api.process import HostProcess
from nvitop.api.process.observed import start_time_of
from nvitop.gui.effects import send_signal
from nvitop.sampling.types import DeviceKey, ProcessKey

TICK_SECONDS = 1.0 / os.sysconf('SC_CLK_TCK')


LAST_PID = pathlib.Path('/proc/sys/kernel/ns_last_pid')


def fork() -> int:
    pid = os.fork()
    while pid == 0:
        signal.pause()
    return pid


def fork_as(pid: int) -> int:
    """Start a child with this PID, unless another process gets it first."""
    LAST_PID.write_text(str(pid - 1), encoding='ascii')
    return fork()


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def by_monitor(pid: int) -> Callable[[], str]:
    """Return a function that signals the process like the monitor, and returns the outcome."""
    key = ProcessKey(pid, start_time_of(pid), DeviceKey(0))
    return lambda: send_signal(key, 'SIGKILL').outcome


def by_library(pid: int) -> Callable[[], str]:
    process = HostProcess(pid)

    def kill() -> str:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            return 'reused'
        return 'sent'

    return kill


def by_library_once_gone(pid: int) -> Callable[[], str]:
    """Like :func:`by_library`, but the process exited before it was seen."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return by_library(pid)


WAYS = {way.__name__: way for way in (by_monitor, by_library, by_library_once_gone)}


def main(count: int, way: str) -> None:
    outcomes: collections.Counter[str] = collections.Counter()
    reused = signaled = 0
    while reused < count:
        shown = fork()
        send = WAYS[way](shown)
        with contextlib.suppress(ProcessLookupError):
            end(shown)
        time.sleep(TICK_SECONDS)  # start times differ by at least one tick
        other = fork_as(shown)
        if other == shown:
            reused += 1
            outcomes[send()] += 1
            signaled += os.waitpid(other, os.WNOHANG)[0] != 0
        try:
            end(other)
        except ChildProcessError:  # it was killed
            continue
    print(json.dumps({'reused': reused, 'signaled': signaled, 'outcomes': outcomes}))


if __name__ == '__main__':
    main(int(sys.argv[1]), sys.argv[2])
