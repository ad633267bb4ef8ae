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
from typing import Any

from nvitop.platforms import WINDOWS
from nvitop.simulation.world import Task, World

#: First made-up PID: above the PIDs that Linux assigns by default (32768) and below the maximum
#: (4194304), so it looks real and belongs to no process.
FIRST_FIXED_PID = 4_100_000
SHELL = '/bin/sh'
#: Maximum time (seconds) that all children together get to exit before they are killed.
END_TIMEOUT_SECONDS = 2.0
#: Maximum time (seconds) for the system to make the arguments of a new child visible.
ARGUMENTS_TIMEOUT_SECONDS = 30.0
#: Interval (seconds) between checks for processes whose time is over.
SWEEP_SECONDS = 1.0


class FixedPids:
    """PIDs that look real, are the same in each run, and do not exist."""

    def pid(self, task: Task) -> int | None:
        """The PID of a process."""
        return FIRST_FIXED_PID + task.number

    def number(self, pid: int) -> int | None:
        """The number of the process with this PID."""
        return pid - FIRST_FIXED_PID


class Children:
    """Real child processes with the command lines of the scenario.

    All children read from one pipe, which is never written to. They exit when its other end is
    closed: by :meth:`close`, or because this process is gone, however it died.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._swept = -SWEEP_SECONDS
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        #: Number of the process by PID.
        self._numbers: dict[int, int] = {}
        self._is_closed = False
        self._read_end, self._write_end = os.pipe()

    def pid(self, task: Task) -> int | None:
        """The PID of a process. Starts it when its time has come; notices if it was killed."""
        if task.spec.state in ('gone', 'listed'):
            return FixedPids().pid(task)
        t = self._world.seconds()
        with self._lock:
            # A call in another thread may outlive the machine.
            if self._is_closed:
                return None
            self._end_old(t)
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
        """The number of the process with this PID; :data:`None` if it is not a child."""
        number = self._numbers.get(pid)
        if number is None:
            return FixedPids().number(pid)
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
        """End all children. Does nothing in a fork of the process that started them."""
        if os.getpid() != self._owner:
            return
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


def start_child(task: Task, visible_devices: str, pipe: int) -> subprocess.Popen[bytes]:
    """Start the child of a process. It exits when the other end of *pipe* is closed."""
    command = list(task.spec.command)
    options: dict[str, Any] = {
        'env': {**_environment(task), 'CUDA_VISIBLE_DEVICES': visible_devices},
        'stderr': subprocess.DEVNULL,
    }
    is_zombie = task.spec.state == 'zombie'
    if not WINDOWS:
        options['start_new_session'] = True  # Ctrl-C in the terminal does not reach it
        with contextlib.suppress(OSError):
            return _start_shell(command, pipe, is_zombie, options)
    child = subprocess.Popen(
        [sys.executable, '-c', 'import sys; sys.stdin.buffer.read()', *command[1:]],
        stdin=subprocess.DEVNULL if is_zombie else pipe,
        stdout=subprocess.DEVNULL,
        **options,
    )
    if not is_zombie:
        _arguments(child)
    return child


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


def _start_shell(
    command: list[str], pipe: int, is_zombie: bool, options: dict[str, Any]
) -> subprocess.Popen[bytes]:
    """Start a shell whose only argument, its name, is the whole command line.

    Its script comes through standard input. The pipe is its standard output, because a shell cannot
    read from descriptors above 9. A zombie gets no script, exits at once, and is not reaped.
    """
    script_end, script_source = os.pipe()
    try:
        if not is_zombie:
            os.write(script_source, f'{_rename(command)}read -r _ <&1\n'.encode())
        child = subprocess.Popen(
            [' '.join(command)], executable=SHELL, stdin=script_end, stdout=pipe, **options
        )
    finally:
        os.close(script_end)
        os.close(script_source)
    if not is_zombie:
        _separate_arguments(child, command)
    return child


def _rename(command: list[str]) -> str:
    """The line of a script that gives the shell the name of the program (Linux)."""
    name = os.path.basename(command[0])[:15]
    if not name.replace('-', '').replace('.', '').replace('_', '').isalnum():
        return ''
    return f'printf %s {name} >/proc/$$/comm\n'


def _separate_arguments(child: subprocess.Popen[bytes], command: list[str]) -> None:
    """Replace the spaces between a shell's arguments by NULs in its memory (Linux).

    The length and the place stay the same. Where the system refuses, the spaces stay.
    """
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
    """The arguments of a child as the system reports them; empty if it does not.

    Popen returns a moment before the system has put the arguments of the child in place.
    """
    deadline = time.monotonic() + ARGUMENTS_TIMEOUT_SECONDS
    while True:
        try:
            with open(f'/proc/{child.pid}/cmdline', 'rb') as cmdline:
                arguments = cmdline.read()
        except OSError:
            return b''
        # A process that has exited has no arguments.
        if arguments or child.poll() is not None or time.monotonic() > deadline:
            return arguments
        time.sleep(0.0005)
