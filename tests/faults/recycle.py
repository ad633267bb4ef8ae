"""Run in a PID namespace of its own: the PID of a process that was shown passes to another one.

Prints, as JSON, how often it did, how often the other one was signalled, and what was told.
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
from nvitop.gui.signals import send_signal
from nvitop.sampling.types import DeviceKey, ProcessKey

TICK_SECONDS = 1.0 / os.sysconf('SC_CLK_TCK')


LAST_PID = pathlib.Path('/proc/sys/kernel/ns_last_pid')
#: Nothing comes out of it as long as this process runs: the other end is its own alone.
_NOTHING, _END = os.pipe()


def fork(name: str = '') -> int:
    """A child that waits to be killed, under its own name or another."""
    pid = os.fork()
    if pid == 0:
        if name:
            os.dup2(_NOTHING, 0)
            os.execv('/bin/sh', [name, '-c', 'read line'])
        while True:
            signal.pause()
    return pid


def fork_as(pid: int, name: str = '') -> int:
    """A child with this PID, where nobody else takes it first."""
    LAST_PID.write_text(str(pid - 1), encoding='ascii')
    return fork(name)


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def by_monitor(pid: int) -> Callable[[], str]:
    """Sends a signal to the process that has this PID now, as the monitor does; what came of it."""
    key = ProcessKey(pid, start_time_of(pid), DeviceKey(0))
    return lambda: send_signal(key, 'SIGKILL').outcome


def by_library(pid: int) -> Callable[[], str]:
    """The same by the library."""
    process = HostProcess(pid)

    def kill() -> str:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            return 'reused'
        return 'sent'

    return kill


def by_library_once_gone(pid: int) -> Callable[[], str]:
    """The same where the process was already gone when it was looked at first."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return by_library(pid)


WAYS = {way.__name__: way for way in (by_monitor, by_library, by_library_once_gone)}


def main(count: int, way: str) -> None:
    outcomes: collections.Counter[str] = collections.Counter()
    recycled = signalled = 0
    while recycled < count:
        shown = fork()
        send = WAYS[way](shown)
        with contextlib.suppress(ProcessLookupError):
            end(shown)
        time.sleep(TICK_SECONDS)  # nobody reads a screen faster
        other = fork_as(shown)
        if other == shown:
            recycled += 1
            outcomes[send()] += 1
            signalled += os.waitpid(other, os.WNOHANG)[0] != 0
        try:
            end(other)
        except ChildProcessError:  # it was signalled
            continue
    print(json.dumps({'recycled': recycled, 'signalled': signalled, 'outcomes': outcomes}))


if __name__ == '__main__':
    main(int(sys.argv[1]), sys.argv[2])
