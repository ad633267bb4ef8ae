# SPDX-License-Identifier: Apache-2.0
"""Differences between Linux, WSL, Windows and macOS; where this machine keeps data, and its identity."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Callable, Mapping, NamedTuple

from nvitop.platforms.kernel import read_small

LINUX = sys.platform == 'linux'
WINDOWS = sys.platform == 'win32'


def wsl_distribution(environ: Mapping[str, str], release: str) -> str | None:
    """Return the name of the WSL distribution, None outside of WSL.

    Services and ``sudo`` do not have the variable with the name. The kernel release still identifies
    WSL; the name is ``'WSL'`` then.
    """
    return environ.get('WSL_DISTRO_NAME') or ('WSL' if 'microsoft' in release.lower() else None)


#: Name of the distribution in the Windows Subsystem for Linux, None elsewhere.
WSL: str | None = None
if sys.platform == 'linux':
    WSL = wsl_distribution(os.environ, os.uname().release)


def is_container() -> bool:
    marks = ('/.dockerenv', '/run/.containerenv')
    return any(map(os.path.exists, marks)) or 'KUBERNETES_SERVICE_HOST' in os.environ


def surroundings(
    platform: str = sys.platform,
    wsl: str | None = WSL,
    is_container: Callable[[], bool] = is_container,
) -> str:
    """Return where this process gets the NVIDIA driver from.

    Returns:
        ``'linux'``, ``'windows'``, ``'macos'``, ``'wsl'`` (the driver of Windows) or ``'container'``
        (the driver of the host).
    """
    if platform in ('win32', 'darwin'):
        return 'windows' if platform == 'win32' else 'macos'
    # A container in WSL gets its driver like any other container.
    return 'container' if is_container() else 'wsl' if wsl is not None else 'linux'


def settings_folder(platform: str = sys.platform, environ: Mapping[str, str] = os.environ) -> str:
    """Return the directory for the user's settings of nvitop."""
    if platform == 'linux':
        # The rule of platformdirs, without the 6 ms of importing it.
        base = environ.get('XDG_CONFIG_HOME', '').strip() or os.path.expanduser('~/.config')
        return os.path.join(base, 'nvitop')
    folder: str = folders().user_config_dir('nvitop', appauthor=False)
    return folder


def folders() -> ModuleType:
    """Return the package platformdirs, which Linux does not need."""
    import platformdirs

    return platformdirs


def config_file() -> str:
    """Return the path of the configuration file, unless ``--config`` is given."""
    return os.path.join(settings_folder(), 'config.toml')


def saved_file(config_path: str) -> str:
    """Return the path of the saved settings, next to the configuration file and read after it."""
    return os.path.join(os.path.dirname(os.path.realpath(config_path)), 'saved.toml')


def continue_in_child() -> Callable[[int], None]:
    """Continue in a child process that the parent does not wait for; see :mod:`nvitop.platforms.guard`. On Linux only."""
    if sys.platform != 'linux':
        return lambda _status: None
    from nvitop.platforms import guard  # it uses what only Linux has

    return guard.continue_in_child()


def machine_id() -> str:
    """ID that distinguishes machines of equal names, ``''`` if there is none. It is confidential."""
    return read_small('/etc/machine-id')


def boot_id() -> str:
    """ID of this start of the system, ``''`` if it has none. PIDs are unique only within a start."""
    return read_small('/proc/sys/kernel/random/boot_id')


def state_folder() -> str:
    """Folder for data that programs keep: of the system for root, otherwise of the user."""
    if sys.platform != 'linux':
        return str(folders().user_data_dir('nvitop', appauthor=False))
    if os.geteuid() == 0:
        return '/var/lib/nvitop'
    state = os.environ.get('XDG_STATE_HOME', '')
    if not os.path.isabs(state):
        state = os.path.expanduser('~/.local/state')
    return os.path.join(state, 'nvitop')


def default_recording() -> str:
    return os.path.join(state_folder(), 'record.db')


class ProcessIdentity(NamedTuple):
    """A process that is not confused with one of the same PID, after a reboot or in a container."""

    pid: int
    #: Clock ticks from the start of the system to that of the process (``/proc/PID/stat``).
    start_time: int
    boot_id: str
    #: Inode of the PID namespace.
    namespace: str


def this_process() -> ProcessIdentity:
    pid = os.getpid()
    return ProcessIdentity(pid, _start_time(pid) or 1, boot_id(), _namespace())


def is_running(process: ProcessIdentity) -> bool:
    """Return whether a process of this system runs; False if that cannot be known."""
    is_of_this_system = (process.boot_id, process.namespace) == (boot_id(), _namespace())
    return is_of_this_system and _start_time(process.pid) == process.start_time


def _start_time(pid: int) -> int | None:
    """Return the start time of a running process in clock ticks; ``None`` if it has exited."""
    try:
        with open(f'/proc/{pid}/stat', 'rb') as file:
            words = file.read().rpartition(b')')[2].split()
        return None if words[0] in (b'Z', b'X') else int(words[19])
    except (OSError, IndexError, ValueError):
        return None


def _namespace() -> str:
    try:
        return os.readlink('/proc/self/ns/pid')
    except OSError:
        return ''
