# SPDX-License-Identifier: Apache-2.0
"""The host: all of psutil's public names, and what nvitop asks beside them.

>>> from nvitop.api import host
>>> host.cpu_count() >= 1, host.virtual_memory().total > 0
(True, True)
"""

from __future__ import annotations

import os
import sys
import time
from types import ModuleType
from typing import TYPE_CHECKING, Any

from nvitop.api.utils import NA
from nvitop.namedtuple import NamedTuple
from nvitop.platforms import WSL
from nvitop.platforms.kernel import sysconf
from nvitop.platforms.users import getuser

if TYPE_CHECKING:
    import psutil
    from psutil import *  # noqa: F403 - every public name of psutil is a name of this module
    from psutil import Error as PsutilError

    from nvitop.api.utils import NaType


__all__ = [
    'WINDOWS_SUBSYSTEM_FOR_LINUX',
    'WSL',
    'CpuSeconds',
    'MemoryUsage',
    'PsutilError',
    'cpu_seconds',
    'getuser',
    'hostname',
    'load_average',
    'memory_percent',
    'memory_usage',
    'ppid_map',
    'reverse_ppid_map',
    'swap_percent',
    'swap_usage',
    'uptime',
]

#: Name of the distribution inside the Windows Subsystem for Linux, ``None`` anywhere else.
WINDOWS_SUBSYSTEM_FOR_LINUX = WSL


class MemoryUsage(NamedTuple):
    """The memory of the host, or its swap space."""

    #: Bytes.
    total: int
    #: Bytes that programs cannot get.
    used: int
    #: Used of the total.
    percent: float


class CpuSeconds(NamedTuple):
    """Time of all CPUs since the machine started, in seconds."""

    #: Time with something to do. Waiting for disks is idle.
    busy: float
    whole: float


def hostname() -> str:
    """Name of this machine in the network."""
    if sys.platform == 'win32':
        import socket  # slow to import

        return socket.gethostname()
    return os.uname().nodename


def load_average() -> tuple[float, float, float] | None:
    """Average number of runnable processes over 1, 5 and 15 minutes; ``None`` where unknown."""
    try:
        if sys.platform == 'win32':
            average: tuple[float, float, float] = _psutil().getloadavg()
            return average
        return os.getloadavg()
    except OSError:
        return None


def uptime() -> float:
    """Seconds since this machine started, sleep included."""
    if sys.platform != 'linux':
        started: float = _psutil().boot_time()
        return time.time() - started
    return time.clock_gettime(time.CLOCK_BOOTTIME)  # steady when the clock on the wall is set


def memory_usage() -> MemoryUsage:
    """Memory of the host, as :func:`psutil.virtual_memory` counts it; used is what nobody can get."""
    sizes = _meminfo('MemTotal', 'MemAvailable')
    if sizes is not None and 0 < sizes[1] <= sizes[0]:
        total, available = sizes
        return _usage(total, total - available)
    memory = _psutil().virtual_memory()
    return MemoryUsage(memory.total, memory.used, memory.percent)


def swap_usage() -> MemoryUsage:
    """Swap space of the host, as :func:`psutil.swap_memory` counts it.

    Raises:
        OSError, RuntimeError: The system hides it (performance counters switched off, on Windows).
    """
    sizes = _meminfo('SwapTotal', 'SwapFree')
    if sizes is not None and sizes[1] <= sizes[0]:
        total, free = sizes
        return _usage(total, total - free)
    swap = _psutil().swap_memory()
    return MemoryUsage(swap.total, swap.used, swap.percent)


def cpu_seconds() -> CpuSeconds:
    """Time of all CPUs since the machine started: the difference of two readings gives a share."""
    times = _stat_times()
    if times is not None:
        # Linux counts the time of guests in user and nice as well: what stands behind is that.
        whole = sum(times[:8])
        return CpuSeconds(whole - times[3] - times[4], whole)
    cpu = _psutil().cpu_times()
    whole = sum(cpu) - getattr(cpu, 'guest', 0.0) - getattr(cpu, 'guest_nice', 0.0)
    return CpuSeconds(whole - cpu.idle - getattr(cpu, 'iowait', 0.0), whole)


def memory_percent() -> float:
    """Memory in use on the host, in percent, as :func:`psutil.virtual_memory` counts it."""
    return memory_usage().percent


def swap_percent() -> float | NaType:
    """Swap space in use on the host, in percent; :data:`~nvitop.NA` where the system hides it."""
    try:
        return swap_usage().percent
    except (OSError, RuntimeError):  # performance counters switched off, on Windows
        return NA


# What a report shows is read from files of Linux: psutil takes longer to import than all of them.


def _usage(total: int, used: int) -> MemoryUsage:
    return MemoryUsage(total, used, round(100.0 * used / total, 1) if total else 0.0)


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)


def _meminfo(*names: str) -> list[int] | None:
    """Sizes in bytes from ``/proc/meminfo``; ``None`` where it lacks one of them."""
    try:
        data = b'\n' + _read(f'{procfs_path()}/meminfo')
        values = [data.partition(f'\n{name}:'.encode())[2].split(None, 1)[0] for name in names]
        return [int(value) * 1024 for value in values]
    except (OSError, ValueError, IndexError):
        return None


def _stat_times() -> list[float] | None:
    """Seconds from the first line of ``/proc/stat``: user, nice, system, idle, iowait, …"""
    try:
        fields = _read(f'{procfs_path()}/stat').split(b'\n', 1)[0].split()[1:]
        ticks = sysconf('SC_CLK_TCK')
        times = [int(field) / ticks for field in fields]
    except (OSError, ValueError):
        return None
    return times if len(times) >= 5 else None


def procfs_path() -> str:
    """Where Linux shows its processes; :data:`psutil.PROCFS_PATH` may say another place."""
    return getattr(sys.modules.get('psutil'), 'PROCFS_PATH', '/proc')


def ppid_map() -> dict[int, int]:
    """The parent's PID of every running process, by PID."""
    in_one_go = getattr(_psutil(), '_ppid_map', None)
    if in_one_go is not None:
        return dict(in_one_go())
    processes = _psutil().process_iter(['pid', 'ppid'])
    return {process.info['pid']: process.info['ppid'] for process in processes}


def reverse_ppid_map() -> dict[int, list[int]]:
    """The PIDs of the children of every process that has some, by PID."""
    children: dict[int, list[int]] = {}
    for pid, ppid in ppid_map().items():
        children.setdefault(ppid, []).append(pid)
    return children


# psutil's names, imported when one of them is first used.


def _psutil() -> Any:
    import psutil

    return psutil


class _HostModule(ModuleType):
    @property
    def __all__(self) -> list[str]:
        own: list[str] = vars(self)['__all__']
        return [*own, *(name for name in _psutil().__all__ if name != '__version__')]


if TYPE_CHECKING:
    __all__ += psutil.__all__
else:

    def __getattr__(name):
        value = None
        if not name.startswith('_'):
            value = getattr(_psutil(), 'Error' if name == 'PsutilError' else name, None)
        if value is None:
            raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *sys.modules[__name__].__all__})


sys.modules[__name__].__class__ = _HostModule
