# SPDX-License-Identifier: Apache-2.0
"""What differs between Linux, WSL, Windows and macOS, one module for each subject. Imports nothing else."""

from __future__ import annotations

import os
import sys
from typing import Callable, Mapping

LINUX = sys.platform == 'linux'
WINDOWS = sys.platform == 'win32'


def wsl_distribution(environ: Mapping[str, str], release: str) -> str | None:
    """The distribution inside the Windows Subsystem for Linux; ``None`` anywhere else.

    Where the environment does not tell it (services, ``sudo``), the release of the kernel tells at
    least that it is one: ``'WSL'``.
    """
    return environ.get('WSL_DISTRO_NAME') or ('WSL' if 'microsoft' in release.lower() else None)


#: Name of the distribution inside the Windows Subsystem for Linux, ``None`` anywhere else.
WSL: str | None = None
if sys.platform == 'linux':
    WSL = wsl_distribution(os.environ, os.uname().release)


def is_container(
    exists: Callable[[str], bool] = os.path.exists, environ: Mapping[str, str] = os.environ
) -> bool:
    """Whether this process runs in a container, as far as it can tell."""
    marks = ('/.dockerenv', '/run/.containerenv')
    return any(map(exists, marks)) or 'KUBERNETES_SERVICE_HOST' in environ


def surroundings(
    platform: str = sys.platform,
    wsl: str | None = WSL,
    is_container: Callable[[], bool] = is_container,
) -> str:
    """Whose driver this process would use: that of ``'linux'``, ``'windows'`` or ``'macos'``, that of
    Windows through ``'wsl'``, or that of the host of a ``'container'``, as far as it can tell.
    """
    if platform in ('win32', 'darwin'):
        return 'windows' if platform == 'win32' else 'macos'
    # One inside WSL is given its driver like any other.
    return 'container' if is_container() else 'wsl' if wsl is not None else 'linux'


def settings_folder(platform: str = sys.platform, environ: Mapping[str, str] = os.environ) -> str:
    """Where the settings of nvitop live: the platform's own folder for those of its user."""
    if platform == 'linux':
        # The rule platformdirs follows here too, without the 6 ms of importing it.
        base = environ.get('XDG_CONFIG_HOME', '').strip() or os.path.expanduser('~/.config')
        return os.path.join(base, 'nvitop')
    import platformdirs

    return platformdirs.user_config_dir('nvitop', appauthor=False)
