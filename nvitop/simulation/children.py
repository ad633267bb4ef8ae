# SPDX-License-Identifier: Apache-2.0
"""Where the processes of a scenario get their PIDs: real light children, given or made-up numbers."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from typing import Any, Sequence

from nvitop.platforms import WINDOWS
from nvitop.platforms.users import ids_of_user, is_superuser
from nvitop.simulation.world import Task, World

#: Made-up PIDs begin here: above what a Linux system gives out by default (32768) and below what a
#: PID can be (4194304), so they look right and belong to nobody.
FIRST_FIXED_PID = 4_100_000
SHELL = '/bin/sh'
END_TIMEOUT_SECONDS = 2.0
#: So long the system may take to put the arguments of a new child in place.
ARGUMENTS_TIMEOUT_SECONDS = 30.0
#: Processes whose time is over are looked for so often.
SWEEP_SECONDS = 1.0


class FixedPids:
    """PIDs that look right, are the same each time, and do not exist."""

    def pid(self, task: Task) -> int | None:
        """The PID of a process."""
        return FIRST_FIXED_PID + task.number


class GivenPids:
    """PIDs given by the caller to the first processes of the scenario; the others do not exist."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = tuple(pids)

    def pid(self, task: Task) -> int | None:
        """The PID of a process."""
        return self._pids[task.number] if task.number < len(self._pids) else None


class Children:
    """Real children, each under its command line, that end when this process does.

    A child is a shell that reads a pipe: when the other end closes, by :meth:`close` or because this
    process is gone however it died, the shell ends.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._swept = -SWEEP_SECONDS
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._is_closed = False

    def pid(self, task: Task) -> int | None:
        """The PID of a process; starts it where its time has come, notices when it was killed."""
        if task.spec.state == 'gone':
            return FixedPids().pid(task)
        t = self._world.seconds()
        with self._lock:
            self._end_old(t)
            child = self._children.get(task.number)
            if child is None:
                # Closed: a call in another thread has outlived the machine.
                if self._is_closed or not task.runs(t):
                    return None
                child = self._children[task.number] = start_child(
                    task, self._world.visible_devices(task)
                )
            if task.spec.state == 'running' and child.poll() is not None:
                task.ended = t
                return None
            return child.pid

    def _end_old(self, t: float) -> None:
        if 0.0 <= t - self._swept < SWEEP_SECONDS:
            return
        self._swept = t
        for number, child in self._children.items():
            if not self._world.tasks[number].runs(t):
                _close_pipe(child)
                child.poll()

    def close(self) -> None:
        """End all. In a process forked from the one that started them: do nothing."""
        if os.getpid() != self._owner:
            return
        with self._lock:
            self._is_closed = True
            children, self._children = list(self._children.values()), {}
        for child in children:
            _close_pipe(child)
        for child in children:
            end_child(child)


def start_child(task: Task, visible_devices: str) -> subprocess.Popen[bytes]:
    """Start the child of a process."""
    command = list(task.spec.command)
    environment = dict(os.environ)
    environment['CUDA_VISIBLE_DEVICES'] = visible_devices
    options: dict[str, Any] = {
        'stdin': subprocess.DEVNULL if task.spec.state == 'zombie' else subprocess.PIPE,
        'stdout': subprocess.DEVNULL,
        'stderr': subprocess.DEVNULL,
        'env': environment,
        **_user_options(task.spec.user),
    }
    if not WINDOWS:
        options['start_new_session'] = True  # a Ctrl-C in the terminal is not for it
        line = ' '.join(command)
        with contextlib.suppress(OSError):
            child = subprocess.Popen([line], executable=SHELL, **options)
            if child.stdin is not None:
                _dress(child, command)
            return child
    child = subprocess.Popen(
        [sys.executable, '-c', 'import sys; sys.stdin.buffer.read()', *command[1:]], **options
    )
    if child.stdin is not None:
        _arguments(child)
    return child


def end_child(child: subprocess.Popen[bytes]) -> None:
    """End a child and reap it."""
    _close_pipe(child)
    try:
        child.wait(END_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:  # stopped by a signal, say
        child.kill()
        child.wait()


def _close_pipe(child: subprocess.Popen[bytes]) -> None:
    if child.stdin is not None:
        with contextlib.suppress(OSError):  # it has ended, and not read everything
            child.stdin.close()


def _user_options(user: str) -> dict[str, Any]:
    """Run it as its user, where this process may do that and the system knows the user."""
    ids = ids_of_user(user) if sys.version_info >= (3, 9) else None
    if ids is None or not is_superuser():
        return {}
    return {'user': ids[0], 'group': ids[1], 'extra_groups': []}


def _dress(child: subprocess.Popen[bytes], command: list[str]) -> None:
    """Give a shell the name and the arguments of another program. What the system refuses is left.

    The shell was started with the whole line as its name. Where the arguments are separated by
    spaces, its memory gets the NUL that the system separates them with: same length, same place.
    """
    assert child.stdin is not None
    name = os.path.basename(command[0])[:15]
    if name.replace('-', '').replace('.', '').replace('_', '').isalnum():
        with contextlib.suppress(OSError):
            child.stdin.write(f'printf %s {name} >/proc/$$/comm\n'.encode())
            child.stdin.flush()
    if _arguments(child) != ' '.join(command).encode() + b'\0':
        return
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open(f'/proc/{child.pid}/stat', 'rb') as stat:
            fields = stat.read().rpartition(b')')[2].split()
        start = int(fields[45])  # arg_start, the 48th field
        arguments = '\0'.join(command).encode()
        with open(f'/proc/{child.pid}/mem', 'r+b', buffering=0) as memory:
            memory.seek(start)
            memory.write(arguments)


def _arguments(child: subprocess.Popen[bytes]) -> bytes:
    """The arguments of a child as the system has them, empty where it does not tell.

    A child counts as started a moment before the system has put its arguments in place.
    """
    deadline = time.monotonic() + ARGUMENTS_TIMEOUT_SECONDS
    while True:
        try:
            with open(f'/proc/{child.pid}/cmdline', 'rb') as cmdline:
                arguments = cmdline.read()
        except OSError:
            return b''
        # One that has ended has none.
        if arguments or child.poll() is not None or time.monotonic() > deadline:
            return arguments
        time.sleep(0.0005)
