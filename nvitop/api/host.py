# SPDX-License-Identifier: Apache-2.0
"""The host: all public names of psutil, and a few more functions.

>>> from nvitop.api import host
>>> host.cpu_count() >= 1, host.virtual_memory().total > 0
(True, True)
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from nvitop.basics.units import NA, NaType
from nvitop.platforms import WSL
from nvitop.platforms.kernel import getuser, sysconf

if TYPE_CHECKING:
    import psutil
    from psutil import *  # noqa: F403 - every public name of psutil is a name of this module
    from psutil import Error as PsutilError


__all__ = [
    'WINDOWS_SUBSYSTEM_FOR_LINUX',
    'WSL',
    'CpuSeconds',
    'MemoryUsage',
    'PsutilError',
    'core_seconds',
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

#: Size of the first read of a file in ``/proc``.
PAGE_BYTES = 4096
#: Name of the distribution in the Windows Subsystem for Linux, otherwise ``None``.
WINDOWS_SUBSYSTEM_FOR_LINUX = WSL


class MemoryUsage(NamedTuple):
    """Memory or swap space of the host."""

    #: Bytes.
    total: int
    #: Bytes that are not available to programs.
    used: int
    #: Used part of the total.
    percent: float


class CpuSeconds(NamedTuple):
    """Time of all CPUs together since boot, in seconds."""

    #: Time that was not idle. Waiting for I/O is idle.
    busy: float
    whole: float


def hostname() -> str:
    """Return the network name of the host."""
    if sys.platform == 'win32':
        import socket  # slow to import

        return socket.gethostname()
    return os.uname().nodename


def load_average() -> tuple[float, float, float] | None:
    """Return the number of runnable processes averaged over 1, 5 and 15 min; ``None`` if unknown."""
    try:
        if sys.platform == 'win32':
            average: tuple[float, float, float] = _psutil().getloadavg()
            return average
        return os.getloadavg()
    except OSError:
        return None


def uptime() -> float:
    """Return the time since boot in seconds, including sleep."""
    if sys.platform != 'linux':
        started: float = _psutil().boot_time()
        return time.time() - started
    return time.clock_gettime(time.CLOCK_BOOTTIME)  # not affected by setting the clock


def memory_usage() -> MemoryUsage:
    """Return the memory of the host; ``used`` is what :func:`psutil.virtual_memory` counts as such."""
    sizes = _meminfo('MemTotal', 'MemAvailable')
    if sizes is not None and 0 < sizes[1] <= sizes[0]:
        total, available = sizes
        return _usage(total, total - available)
    memory = _psutil().virtual_memory()
    return MemoryUsage(memory.total, memory.used, memory.percent)


def swap_usage() -> MemoryUsage:
    """Return the swap space of the host, like :func:`psutil.swap_memory`.

    Raises:
        OSError, RuntimeError: It is not available (disabled performance counters on Windows).
    """
    sizes = _meminfo('SwapTotal', 'SwapFree')
    if sizes is not None and sizes[1] <= sizes[0]:
        total, free = sizes
        return _usage(total, total - free)
    swap = _psutil().swap_memory()
    return MemoryUsage(swap.total, swap.used, swap.percent)


def cpu_seconds() -> CpuSeconds:
    """Return the time of all CPUs since boot. The usage is the difference of two readings."""
    times = _stat_times()
    if times is not None:
        # Linux includes the time of guests, the following values, in user and nice.
        whole = sum(times[:8])
        return CpuSeconds(whole - times[3] - times[4], whole)
    return _counted(_psutil().cpu_times())


def core_seconds() -> tuple[CpuSeconds, ...]:
    """Return the time of each logical CPU since boot. Usages are differences of two readings."""
    return tuple(map(_counted, _psutil().cpu_times(percpu=True)))


def _counted(cpu: Any) -> CpuSeconds:
    """Return the busy and whole time of CPU times of :mod:`psutil`."""
    whole = sum(cpu) - getattr(cpu, 'guest', 0.0) - getattr(cpu, 'guest_nice', 0.0)
    return CpuSeconds(whole - cpu.idle - getattr(cpu, 'iowait', 0.0), whole)


def memory_percent() -> float:
    """Return the used memory of the host in percent, like :func:`psutil.virtual_memory`."""
    return memory_usage().percent


def swap_percent() -> float | NaType:
    """Return the used swap space of the host in percent; :data:`~nvitop.NA` if not available."""
    try:
        return swap_usage().percent
    except (OSError, RuntimeError):  # disabled performance counters on Windows
        return NA


# A report reads the files of Linux: importing psutil takes longer than reading all of them.


def _usage(total: int, used: int) -> MemoryUsage:
    return MemoryUsage(total, used, round(100.0 * used / total, 1) if total else 0.0)


def read_page(path: str) -> bytes:
    """Read the first page of a file; most files in ``/proc`` are shorter."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, PAGE_BYTES)
    finally:
        os.close(descriptor)


def _meminfo(*names: str) -> list[int] | None:
    """Return sizes in bytes from ``/proc/meminfo``; ``None`` if one is missing."""
    try:
        data = b'\n' + read_page(f'{procfs_path()}/meminfo')
        values = [data.partition(f'\n{name}:'.encode())[2].split(None, 1)[0] for name in names]
        return [int(value) * 1024 for value in values]
    except (OSError, ValueError, IndexError):
        return None


def _stat_times() -> list[float] | None:
    """Return the first line of ``/proc/stat`` in seconds: user, nice, system, idle, iowait, …"""
    try:
        fields = read_page(f'{procfs_path()}/stat').split(b'\n', 1)[0].split()[1:]
        ticks = sysconf('SC_CLK_TCK')
        times = [int(field) / ticks for field in fields]
    except (OSError, ValueError):
        return None
    return times if len(times) >= 5 else None


def procfs_path() -> str:
    """Return the mount point of the proc file system: ``psutil.PROCFS_PATH``, or ``/proc``."""
    return getattr(sys.modules.get('psutil'), 'PROCFS_PATH', '/proc')


def ppid_map() -> dict[int, int]:
    """Return the parent's PID of every running process, by PID."""
    read_all = getattr(_psutil(), '_ppid_map', None)
    if read_all is not None:
        return dict(read_all())
    processes = _psutil().process_iter(['pid', 'ppid'])
    return {process.info['pid']: process.info['ppid'] for process in processes}


def reverse_ppid_map() -> dict[int, list[int]]:
    """Return the PIDs of the children of every process that has any, by PID."""
    children: dict[int, list[int]] = {}
    for pid, ppid in ppid_map().items():
        children.setdefault(ppid, []).append(pid)
    return children


# Names of psutil, which is imported on use.


def _psutil() -> Any:
    import psutil

    return psutil


# Type checkers see this function too: without psutil's stubs they do not know its names.
def __getattr__(name: str) -> Any:
    value = None
    if name == '__all__':
        value = [*_OWN_NAMES, *(export for export in _psutil().__all__ if export != '__version__')]
    elif not name.startswith('_'):
        value = getattr(_psutil(), 'Error' if name == 'PsutilError' else name, None)
    if value is None:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *sys.modules[__name__].__all__})


_OWN_NAMES = __all__
if TYPE_CHECKING:
    __all__ += psutil.__all__
else:
    del __all__  # `__getattr__` returns it together with the names of psutil
