# SPDX-License-Identifier: Apache-2.0
"""Differences between Linux, WSL, Windows and macOS, with one module for each subject."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Callable, Mapping

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


def is_container(
    exists: Callable[[str], bool] = os.path.exists, environ: Mapping[str, str] = os.environ
) -> bool:
    """Return whether there are signs that this process runs in a container."""
    marks = ('/.dockerenv', '/run/.containerenv')
    return any(map(exists, marks)) or 'KUBERNETES_SERVICE_HOST' in environ


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


def continue_in_child() -> Callable[[int], None]:
    """Continue in a child process that the parent does not wait for; see :mod:`nvitop.platforms.guard`. On Linux only."""
    if sys.platform != 'linux':
        return lambda _status: None
    from nvitop.platforms import guard  # it uses what only Linux has

    return guard.continue_in_child()
