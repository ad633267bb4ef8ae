# SPDX-License-Identifier: Apache-2.0
"""HostFacts: the values of a host process that a process list shows, and command lines as text."""

from __future__ import annotations

import functools
import os
import re
from typing import Iterable, NamedTuple

from nvitop.api.process.procfs import ZOMBIE
from nvitop.api.timing import SHORTEST_CPU_SECONDS, Window
from nvitop.platforms import WINDOWS

NO_SUCH_PROCESS = 'No Such Process'
NO_PERMISSIONS = 'No Permissions'
ZOMBIE_PROCESS = 'Zombie Process'
TERMINATED = 'terminated'


class HostFacts(NamedTuple):
    """Values of a process at one moment, as read by ``HostProcess.facts()``; ``None`` if unknown."""

    is_running: bool
    #: One of psutil's ``STATUS_*``, ``'terminated'``, or ``None`` for a hidden process.
    status: str | None = None
    username: str | None = None
    name: str | None = None
    #: Empty for kernel threads and zombies, ``None`` if this user may not read it.
    cmdline: list[str] | None = None
    #: Percent of one CPU; may exceed 100.
    cpu_percent: float | None = None
    memory_percent: float | None = None
    #: Resident memory in bytes.
    host_memory: int | None = None
    #: Seconds since the epoch.
    create_time: float | None = None
    running_time_in_seconds: float | None = None
    thread_count: int | None = None

    @property
    def command(self) -> str:
        """Command line as text, or the reason in words if there is none."""
        return command_join(self.display_cmdline)

    @property
    def display_cmdline(self) -> list[str]:
        """Command line, or a placeholder if there is none, such as ``[kthreadd]`` in ``ps``."""
        if self.cmdline is None:
            return [NO_PERMISSIONS]
        if not self.is_running:
            return [NO_SUCH_PROCESS]
        if self.status == ZOMBIE:
            return [ZOMBIE_PROCESS]
        return self.cmdline or [f'[{self.name}]']


#: A process that does not exist, and one that is hidden from this user.
GONE = HostFacts(False, TERMINATED, cmdline=[])
HIDDEN = HostFacts(True)


class CpuShare:
    """CPU usage of a process between two readings, in percent of one CPU."""

    __slots__ = ('_window',)

    def __init__(self) -> None:
        self._window: Window[float, float] = Window(_percent, 0.0, shortest=SHORTEST_CPU_SECONDS)

    def percent(self, cpu_seconds: float, taken: float, running_seconds: float) -> float:
        """Return the CPU usage since the last reading; the first covers the life of the process.

        A reading less than 0.1 s after the last returns the same value.

        Args:
            cpu_seconds: CPU time used so far.
            taken: When it was read, in seconds of :func:`time.monotonic`.
            running_seconds: Time since the process started.
        """
        if not self._window.has_begun:
            value = _percent(0.0, cpu_seconds, max(SHORTEST_CPU_SECONDS, running_seconds))
            self._window.begin_with(cpu_seconds, taken, value)
            return value
        return self._window.since_last(lambda: cpu_seconds, taken)


def _percent(before: float, after: float, seconds: float) -> float:
    return round(max(0.0, after - before) / seconds * 100.0, 1)


def command_join(cmdline: Iterable[str]) -> str:
    """Join the arguments of a program to one line of text, quoted for the system's shell.

    Control characters and other characters that are not printable are escaped like in Python
    (``\\n``, ``\\x1b``). All other arguments can be read back with :func:`shlex.split`.

    A single argument that is not the path of an existing file is not quoted: it is a title that the
    process gave itself (``sshd: alice [priv]``), not a program name with spaces.

    >>> command_join(['python3', '-c', 'print(1)', 'x y'])
    'python3 -c "print(1)" "x y"'
    >>> command_join(['ray::IDLE worker'])
    'ray::IDLE worker'
    """
    return _join(tuple(cmdline))


# The same few processes are listed every second.
@functools.lru_cache(maxsize=1024)
def _join(cmdline: tuple[str, ...]) -> str:
    if len(cmdline) == 1 and not (os.path.isabs(cmdline[0]) and os.path.isfile(cmdline[0])):
        return _escape(cmdline[0])
    return ' '.join(map(quote, cmdline))


#: Characters and starts of arguments that must be quoted for :func:`shlex.split` or a shell.
_SPECIAL_POSIX = r'[\s\'"\\$`();<>|&]|\A#|\A\Z'


def quote_posix(argument: str) -> str:
    """Quote one argument for a POSIX shell, in double quotes if it reads the same in them."""
    if not argument.isprintable():
        return '"' + _escape(re.sub(r'[\\"$`]', r'\\\g<0>', argument)) + '"'
    if not re.search(_SPECIAL_POSIX, argument):
        return argument
    needs_single = '$' in argument or '`' in argument
    if "'" in argument and not needs_single:
        return '"' + argument.replace('\\', '\\\\').replace('"', '\\"') + '"'
    if needs_single or '"' in argument or '\\' in argument:
        return "'" + argument.replace("'", "'\"'\"'") + "'"
    return f'"{argument}"'


def quote_windows(argument: str) -> str:
    import subprocess  # for Windows only

    return subprocess.list2cmdline([_escape(argument)])


quote = quote_windows if WINDOWS else quote_posix


def _escape(text: str) -> str:
    if text.isprintable():
        return text
    return ''.join(char if char.isprintable() else _escape_sequence(char) for char in text)


def _escape_sequence(char: str) -> str:
    if '\udc80' <= char <= '\udcff':  # a byte that is not UTF-8
        return f'\\x{ord(char) - 0xDC00:02x}'
    return char.encode('unicode_escape').decode()
