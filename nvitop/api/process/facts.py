# SPDX-License-Identifier: Apache-2.0
"""What a list of processes shows of a process of the host, at one moment."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nvitop.api.process.command import command_join
from nvitop.api.process.procfs import ZOMBIE
from nvitop.api.utils import NA
from nvitop.namedtuple import NamedTuple

if TYPE_CHECKING:
    from nvitop.api.utils import NaType

NO_SUCH_PROCESS = 'No Such Process'
NO_PERMISSIONS = 'No Permissions'
ZOMBIE_PROCESS = 'Zombie Process'
TERMINATED = 'terminated'

#: CPU time is counted in ticks of 10 ms: over less than this many seconds it says nothing.
_SHORTEST_SECONDS = 0.1


class HostFacts(NamedTuple):
    """What is known of a process at one moment, as :meth:`HostProcess.facts` reads it."""

    is_running: bool
    #: One of psutil's ``STATUS_*``, ``'terminated'``, or :data:`~nvitop.NA` for a hidden process.
    status: str
    username: str
    name: str
    #: Empty for kernel threads and zombies, ``None`` where this user may not read it.
    cmdline: list[str] | None
    #: Of one CPU, so that it may exceed 100.
    cpu_percent: float | NaType
    memory_percent: float | NaType
    #: Resident memory in bytes.
    host_memory: int | NaType
    #: In seconds since the epoch.
    create_time: float | NaType
    running_time_in_seconds: float | NaType

    @property
    def command(self) -> str:
        """The command line as one text, or, where there is none, the reason in words."""
        return command_join(self.display_cmdline)

    @property
    def display_cmdline(self) -> list[str]:
        """The command line, or, where there is none, a text in its place, as ps shows it."""
        if self.cmdline is None:
            return [NO_PERMISSIONS]
        if not self.is_running:
            return [NO_SUCH_PROCESS]
        if self.status == ZOMBIE:
            return [ZOMBIE_PROCESS]
        return self.cmdline or [f'[{self.name}]']


#: Of a process that does not exist (any more), and of one that this user may not see.
GONE = HostFacts(False, TERMINATED, NA, NA, [], NA, NA, NA, NA, NA)
HIDDEN = HostFacts(True, NA, NA, NA, None, NA, NA, NA, NA, NA)


class CpuShare:
    """The CPU time of a process between two readings, in percent of one CPU."""

    __slots__ = ('_last',)

    def __init__(self) -> None:
        #: Time, CPU seconds and CPU percent of the last reading.
        self._last: tuple[float, float, float] | None = None

    def percent(self, cpu_seconds: float, running_seconds: float) -> float:
        """CPU time used since the last reading; the first gives the mean since the process started.

        A reading less than 0.1 s after another gives the same again.
        """
        now = time.monotonic()
        last = self._last
        if last is None:
            since = max(_SHORTEST_SECONDS, running_seconds)
            used = cpu_seconds
        else:
            since = now - last[0]
            used = cpu_seconds - last[1]
            if since < _SHORTEST_SECONDS:
                return last[2]
        percent = round(max(0.0, used) / since * 100.0, 1)
        self._last = (now, cpu_seconds, percent)
        return percent


# Where users find it is where it says it is, in reprs, pickles and documents.
HostFacts.__module__ = 'nvitop.api.process'
