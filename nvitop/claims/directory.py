# SPDX-License-Identifier: Apache-2.0
"""Directories of claims: where they are, and whether they can be trusted.

Claims must be visible to all users and gone after a reboot, so they are in memory file systems.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from typing import Mapping

from nvitop.platforms.shared_files import file_system, user_id

#: Names the directory of claims instead of the usual places.
VARIABLE = 'NVITOP_CLAIMS'
#: The usual places, best first. An administrator makes the first one; see share/tmpfiles.d.
PLACES = ('/run/nvitop', '/run/lock/nvitop', '/dev/shm/nvitop')
#: Places in which the directory may be made.
_CREATABLE = PLACES[1:]
_ALL_USERS = 0o1777
#: File systems whose locks other hosts see too, or that emulate flock.
_REMOTE = frozenset(('nfs', 'nfs4', 'cifs', 'smb3', '9p', 'afs', 'ceph'))


class ClaimsUnavailable(RuntimeError):
    """There is no directory for claims that can be used."""


def directories_to_read(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return all directories that may have claims."""
    places = (environ[VARIABLE],) if environ.get(VARIABLE) else PLACES
    return [place for place in places if not why_unusable(place)]


def directory_to_write(environ: Mapping[str, str] = os.environ) -> str:
    """Return the directory for new claims; create it if there is none.

    Raises:
        ClaimsUnavailable: No place can be used; the text says why.
    """
    chosen = environ.get(VARIABLE)
    reasons = []
    for place in (chosen,) if chosen else PLACES:
        reason = why_unusable(place)
        if not reason:
            return place
        reasons.append(f'{place}: {reason}')
    for place in (chosen,) if chosen else _CREATABLE:
        with contextlib.suppress(OSError):
            make_shared(place)
            if not why_unusable(place):
                return place
    raise ClaimsUnavailable(f'no directory for claims ({"; ".join(reasons)}); set {VARIABLE}')


def make_shared(path: str) -> None:
    """Create a directory in which every user may put files, without a moment of other rights.

    Raises:
        OSError: The directory cannot be created.
    """
    parent, name = os.path.split(path)
    new = tempfile.mkdtemp(prefix=f'.{name}.', dir=parent)
    try:
        os.chmod(new, _ALL_USERS)
        os.rename(new, path)  # replaces only an empty directory
    except OSError:
        os.rmdir(new)
        if not os.path.isdir(path):
            raise


def why_unusable(path: str) -> str:
    """Return why a directory cannot be used for claims; ``''`` if it can."""
    try:
        status = os.lstat(path)
    except OSError as error:
        return error.strerror or str(error)
    if not stat.S_ISDIR(status.st_mode):
        return 'a symbolic link' if stat.S_ISLNK(status.st_mode) else 'not a directory'
    is_sticky = bool(status.st_mode & stat.S_ISVTX)
    if status.st_uid not in (0, user_id()) and not is_sticky:
        return 'it belongs to another user and is not sticky'
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not is_sticky:
        return 'other users can remove files in it, because it is not sticky'
    kind = file_system(status.st_dev)
    return f'it is on {kind}, whose locks cannot be relied on' if kind in _REMOTE else ''
