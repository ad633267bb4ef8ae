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
from typing import TYPE_CHECKING, Any, Mapping

from nvitop.api.utils import NA
from nvitop.namedtuple import NamedTuple

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

_IS_LINUX = sys.platform.startswith('linux')


def wsl_distribution(environ: Mapping[str, str], release: str) -> str | None:
    """The distribution inside the Windows Subsystem for Linux; ``None`` anywhere else.

    Where the environment does not tell it (services, ``sudo``), the release of the kernel tells at
    least that it is one: ``'WSL'``.
    """
    return environ.get('WSL_DISTRO_NAME') or ('WSL' if 'microsoft' in release.lower() else None)


#: Name of the distribution inside the Windows Subsystem for Linux, ``None`` anywhere else.
WINDOWS_SUBSYSTEM_FOR_LINUX = (
    wsl_distribution(os.environ, os.uname().release) if _IS_LINUX and hasattr(os, 'uname') else None
)
WSL = WINDOWS_SUBSYSTEM_FOR_LINUX


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


def getuser() -> str:
    """Name of the user who runs this program.

    It is the name that the user's processes have in process lists. A user unknown to the system
    (in a container, often) has the name from ``LOGNAME`` or the like, that of the login, or the
    number as a text.
    """
    if hasattr(os, 'getuid'):
        import pwd

        try:
            return pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            pass
    import getpass

    for ask in (getpass.getuser, os.getlogin):
        try:
            return ask()
        except (OSError, KeyError, ImportError):
            continue
    return str(os.getuid()) if hasattr(os, 'getuid') else 'unknown'


def hostname() -> str:
    """Name of this machine in the network."""
    if hasattr(os, 'uname'):
        return os.uname().nodename
    import socket  # slow to import

    return socket.gethostname()


def load_average() -> tuple[float, float, float] | None:
    """Average number of runnable processes over 1, 5 and 15 minutes; ``None`` where unknown."""
    try:
        return os.getloadavg() if hasattr(os, 'getloadavg') else _psutil().getloadavg()
    except (AttributeError, OSError):
        return None


def uptime() -> float:
    """Seconds since this machine started, sleep included."""
    if hasattr(time, 'CLOCK_BOOTTIME'):  # steady when the clock on the wall is set
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    started: float = _psutil().boot_time()
    return time.time() - started


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
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)


def _meminfo(*names: str) -> list[int] | None:
    """Sizes in bytes from ``/proc/meminfo``; ``None`` where it lacks one of them."""
    if not _IS_LINUX:
        return None
    try:
        lines = (line.split() for line in _read(f'{procfs_path()}/meminfo').decode().splitlines())
        sizes = {fields[0]: int(fields[1]) * 1024 for fields in lines if len(fields) > 1}
        return [sizes[f'{name}:'] for name in names]
    except (OSError, ValueError, KeyError):
        return None


def _stat_times() -> list[float] | None:
    """Seconds from the first line of ``/proc/stat``: user, nice, system, idle, iowait, …"""
    if not _IS_LINUX:
        return None
    try:
        fields = _read(f'{procfs_path()}/stat').split(b'\n', 1)[0].split()[1:]
        ticks = os.sysconf('SC_CLK_TCK')
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
