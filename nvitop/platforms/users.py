# SPDX-License-Identifier: Apache-2.0
"""Users: their names as process lists show them, and what this one may do."""

from __future__ import annotations

import contextlib
import functools
import os
import sys


def getuser() -> str:
    """Name of the user who runs this program.

    It is the name that the user's processes have in process lists. A user unknown to the system
    (in a container, often) has the name from ``LOGNAME`` or the like, that of the login, or the
    number as a text.
    """
    if sys.platform != 'win32':
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
    if sys.platform == 'win32':
        return 'unknown'
    return str(os.getuid())


def name_of_user(uid: int) -> str:
    """The name of a user, the number as a text for one who is unknown to the system."""
    # Asking may mean asking a server; only answers are remembered.
    try:
        return _known_name_of_user(uid)
    except KeyError:
        return str(uid)


@functools.lru_cache(maxsize=1024)
def _known_name_of_user(uid: int) -> str:
    if sys.platform == 'win32':
        raise KeyError(uid)
    import pwd

    return pwd.getpwuid(uid).pw_name


def without_domain(name: str) -> str:
    """A user of Windows, whom psutil calls ``DOMAIN\\name``, by the name alone."""
    return name.rpartition('\\')[2]


def ids_of_user(name: str) -> tuple[int, int] | None:
    """The numbers of a user and of their group; ``None`` for one whom the system does not know."""
    if sys.platform != 'win32':
        import pwd

        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)[2:4]
    return None


def is_superuser() -> bool:
    """Whether this program may signal the processes of everybody."""
    if sys.platform == 'win32':
        import ctypes

        return bool(ctypes.windll.shell32.IsUserAnAdmin())
    return os.geteuid() == 0
