# SPDX-License-Identifier: Apache-2.0
"""PIDs for the processes of a scenario: real lightweight children, given numbers, or made-up ones.

Each child runs as the user of this program, who can therefore signal it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

from nvitop.platforms import WINDOWS
from nvitop.platforms.kernel import at_fork
from nvitop.simulation.world import Pids, Task, World

#: First made-up PID: above the PIDs that Linux assigns by default (32768) and below the maximum
#: (4194304), so it looks real and belongs to no process.
FIRST_FIXED_PID = 4_100_000
#: Reads standard input to its end.
PROGRAM = 'cat'
#: Maximum time (seconds) that all children together get to exit before they are killed.
END_TIMEOUT_SECONDS = 2.0
#: Interval (seconds) between checks for processes whose time is over.
SWEEP_SECONDS = 1.0


class FixedPids(Pids):
    """PIDs that look real, are the same in each run, and do not exist."""

    def pid(self, task: Task) -> int | None:
        return FIRST_FIXED_PID + task.number

    def number(self, pid: int) -> int | None:
        return pid - FIRST_FIXED_PID


class Children(Pids):
    """Real child processes.

    All children read from one pipe, which is never written to. They exit when its other end is
    closed: by :meth:`close`, or because this process is gone, however it died.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._lock = threading.Lock()
        self._swept = -SWEEP_SECONDS
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        #: Number of the process → PID, of those that the parent of this forked process started.
        self._siblings: dict[int, int] = {}
        #: Number of the process by PID.
        self._numbers: dict[int, int] = {}
        self._is_closed = False
        self._read_end, self._write_end = os.pipe()
        _ALL.add(self)

    def pid(self, task: Task) -> int | None:
        if task.spec.state in ('gone', 'listed'):
            return FixedPids().pid(task)
        t = self._world.seconds()
        with self._lock:
            # A call in another thread may outlive the machine.
            if self._is_closed:
                return None
            self._end_old(t)
            sibling = self._siblings.get(task.number)
            if sibling is not None:
                return sibling if task.runs(t) and _exists(sibling) else None
            child = self._children.get(task.number)
            if child is None:
                if not task.runs(t):
                    return None
                child = self._children[task.number] = start_child(
                    task, self._world.visible_devices(task), self._read_end
                )
                self._numbers[child.pid] = task.number
            if task.spec.state == 'running' and child.poll() is not None:
                task.ended = t
                return None
            return child.pid

    def number(self, pid: int) -> int | None:
        number = self._numbers.get(pid)
        if number is None:
            return FixedPids().number(pid)
        if number in self._siblings:
            return number if _exists(pid) else None
        # The system may give the PID to another process once the child was reaped.
        return None if self._children[number].returncode is not None else number

    def _end_old(self, t: float) -> None:
        if 0.0 <= t - self._swept < SWEEP_SECONDS:
            return
        self._swept = t
        for number, child in self._children.items():
            # A zombie must not be polled, which reaps it, before its time is over.
            if not self._world.tasks[number].runs(t) and child.poll() is None:
                child.kill()

    def close(self) -> None:
        """End all children that this process started."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            os.close(self._write_end)
            os.close(self._read_end)
        deadline = time.monotonic() + END_TIMEOUT_SECONDS
        for child in self._children.values():
            try:
                child.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:  # stopped by a signal, for example
                child.kill()
                child.wait()

    def after_fork(self) -> None:
        """Show the children of the parent, start others: only a parent can wait for its children."""
        self._lock = threading.Lock()
        if not self._is_closed:
            self._siblings.update({n: child.pid for n, child in self._children.items()})
            self._children = {}
            # Its write end would keep the children of the parent from exiting with the parent.
            os.close(self._write_end)
            os.close(self._read_end)
            self._read_end, self._write_end = os.pipe()


_ALL: weakref.WeakSet[Children] = weakref.WeakSet()


def _after_fork() -> None:
    for children in tuple(_ALL):
        children.after_fork()


at_fork(after_in_child=_after_fork)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def start_child(task: Task, visible_devices: str, pipe: int) -> subprocess.Popen[bytes]:
    """Start the child of a process. It exits when the other end of *pipe* is closed.

    Its own command line is not that of the process, which :class:`SimulatedSystem` shows. The child
    of a zombie exits at once and is not reaped.
    """
    options: dict[str, Any] = {
        'env': {**_environment(task), 'CUDA_VISIBLE_DEVICES': visible_devices},
        'stdin': subprocess.DEVNULL if task.spec.state == 'zombie' else pipe,
        'stdout': subprocess.DEVNULL,
        'stderr': subprocess.DEVNULL,
    }
    if not WINDOWS:
        options['start_new_session'] = True  # Ctrl-C in the terminal does not reach it
        with contextlib.suppress(OSError):
            return subprocess.Popen([PROGRAM], **options)
    read_all = 'import sys; sys.stdin.buffer.read()'
    return subprocess.Popen([sys.executable, '-c', read_all], **options)


def _environment(task: Task) -> dict[str, str]:
    items = (item.partition('=') for item in task.spec.environ)
    given = {name: value for name, _, value in items}
    user = task.spec.user
    if not user or WINDOWS:
        return {**os.environ, **given}
    # Yours would be shown as that of another user.
    return {
        'HOME': f'/home/{user}',
        'LANG': 'C.UTF-8',
        'LOGNAME': user,
        'PATH': '/usr/local/bin:/usr/bin:/bin',
        'SHELL': '/bin/bash',
        'USER': user,
        **given,
    }
