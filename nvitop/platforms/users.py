# SPDX-License-Identifier: Apache-2.0
"""Users: their names as shown in process lists, and the rights of the current one."""

from __future__ import annotations

import ctypes
import functools
import os
import sys

if sys.platform != 'win32':
    import pwd


def getuser() -> str:
    """Return the name of the user who runs this program, as shown in process lists.

    For a user without an entry in the user database, which is common in containers, it is the name in
    ``LOGNAME`` or a similar variable, the login name, or the user ID as text.
    """
    if sys.platform != 'win32':
        try:
            return pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            pass
    import getpass

    for lookup in (getpass.getuser, os.getlogin):
        try:
            return lookup()
        except (OSError, KeyError, ImportError):
            continue
    if sys.platform == 'win32':
        return 'unknown'
    return str(os.getuid())


def name_of_user(uid: int) -> str:
    """Return the name of a user, or the user ID as text if the user is unknown."""
    # The lookup may ask a server. Failures are not cached.
    try:
        return _known_name_of_user(uid)
    except KeyError:
        return str(uid)


@functools.lru_cache(maxsize=1024)
def _known_name_of_user(uid: int) -> str:
    if sys.platform != 'win32':
        return pwd.getpwuid(uid).pw_name
    raise KeyError(uid)


def without_domain(name: str) -> str:
    """Remove the domain from a user name on Windows (psutil returns ``DOMAIN\\name``)."""
    return name.rpartition('\\')[2]


def is_superuser() -> bool:
    """Return whether this program may signal the processes of all users."""
    if sys.platform == 'win32':
        return bool(ctypes.windll.shell32.IsUserAnAdmin())
    return os.geteuid() == 0
