"""Run in a PID namespace of its own: the PID of a process that was shown passes to another one.

Prints, as JSON, how often it did, how often the other one was signalled, and what was told.
"""

from __future__ import annotations

import collections
import json
import os
import signal
import sys
import time

from nvitop.api.process.linux import start_time_of
from nvitop.gui.signals import send_signal
from nvitop.sampling.types import DeviceKey, ProcessKey

_TICK_SECONDS = 1.0 / os.sysconf('SC_CLK_TCK')


def fork() -> int:
    """A child that waits to be killed."""
    pid = os.fork()
    if pid == 0:
        while True:
            signal.pause()
    return pid


def fork_as(pid: int) -> int:
    """A child with this PID, where nobody else takes it first."""
    with open('/proc/sys/kernel/ns_last_pid', 'w', encoding='ascii') as file:
        file.write(str(pid - 1))
    return fork()


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def main(count: int) -> None:
    outcomes: collections.Counter[str] = collections.Counter()
    recycled = signalled = 0
    while recycled < count:
        shown = fork()
        key = ProcessKey(shown, start_time_of(shown), DeviceKey(0))
        end(shown)
        time.sleep(_TICK_SECONDS)  # nobody reads a screen faster
        other = fork_as(shown)
        if other == shown:
            recycled += 1
            outcomes[send_signal(key, 'SIGKILL').outcome] += 1
            signalled += os.waitpid(other, os.WNOHANG)[0] != 0
        try:
            end(other)
        except ChildProcessError:  # it was signalled
            continue
    print(json.dumps({'recycled': recycled, 'signalled': signalled, 'outcomes': outcomes}))


if __name__ == '__main__':
    main(int(sys.argv[1]))
