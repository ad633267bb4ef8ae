# SPDX-License-Identifier: Apache-2.0
"""The host: all of psutil's public names, and what nvitop asks beside them.

>>> from nvitop.api import host
>>> host.cpu_count() >= 1, host.virtual_memory().total > 0
(True, True)
"""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING

import psutil
from psutil import *  # noqa: F403 - every public name of psutil is a name of this module
from psutil import Error as PsutilError

from nvitop.api.utils import NA

if TYPE_CHECKING:
    from typing import Any

    from nvitop.api.utils import NaType

    def __getattr__(name: str) -> Any:
        """Let names of psutil be known where its type stubs are not installed."""


__all__ = [
    'WINDOWS_SUBSYSTEM_FOR_LINUX',
    'WSL',
    'PsutilError',
    'getuser',
    'hostname',
    'load_average',
    'memory_percent',
    'ppid_map',
    'reverse_ppid_map',
    'swap_percent',
    'uptime',
]
__all__ += psutil.__all__
__all__.remove('__version__')

#: Name of the distribution inside the Windows Subsystem for Linux, ``None`` anywhere else.
WINDOWS_SUBSYSTEM_FOR_LINUX = os.environ.get('WSL_DISTRO_NAME') if psutil.LINUX else None
WSL = WINDOWS_SUBSYSTEM_FOR_LINUX


def getuser() -> str:
    """Name of the user who runs this program.

    It is the name that the user's processes have in process lists. A user unknown to the system
    (in a container, often) has the name from ``LOGNAME`` or the like, that of the login, or the
    number as a text.
    """
    if psutil.POSIX:
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
    return str(os.getuid()) if psutil.POSIX else 'unknown'


def hostname() -> str:
    """Name of this machine in the network."""
    return socket.gethostname()


def load_average() -> tuple[float, float, float] | None:
    """Average number of runnable processes over 1, 5 and 15 minutes; ``None`` where unknown."""
    try:
        return psutil.getloadavg()
    except (AttributeError, OSError):
        return None


def uptime() -> float:
    """Seconds since this machine started, sleep included."""
    if hasattr(time, 'CLOCK_BOOTTIME'):  # steady when the clock on the wall is set
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.time() - psutil.boot_time()


def memory_percent() -> float:
    """Memory in use on the host, in percent, as :func:`psutil.virtual_memory` counts it."""
    return psutil.virtual_memory().percent


def swap_percent() -> float | NaType:
    """Swap space in use on the host, in percent; :data:`~nvitop.NA` where the system hides it."""
    try:
        return psutil.swap_memory().percent
    except (OSError, RuntimeError):  # performance counters switched off, on Windows
        return NA


def ppid_map() -> dict[int, int]:
    """The parent's PID of every running process, by PID."""
    in_one_go = getattr(psutil, '_ppid_map', None)
    if in_one_go is not None:
        return dict(in_one_go())
    processes = psutil.process_iter(['pid', 'ppid'])
    return {process.info['pid']: process.info['ppid'] for process in processes}


def reverse_ppid_map() -> dict[int, list[int]]:
    """The PIDs of the children of every process that has some, by PID."""
    children: dict[int, list[int]] = {}
    for pid, ppid in ppid_map().items():
        children.setdefault(ppid, []).append(pid)
    return children
