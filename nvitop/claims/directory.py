# SPDX-License-Identifier: Apache-2.0
"""Directories of claims: where they are, and whether they can be trusted.

Claims must be visible to all users and gone after a reboot, so they are in memory file systems.
"""

from __future__ import annotations

import contextlib
import os
from typing import Mapping

from nvitop.platforms.shared_files import make_shared, why_unusable

#: Names the directory of claims instead of the usual places.
VARIABLE = 'NVITOP_CLAIMS'
#: The usual places, best first. An administrator makes the first one; see share/tmpfiles.d.
PLACES = ('/run/nvitop', '/run/lock/nvitop', '/dev/shm/nvitop')
#: Places in which the directory may be made.
_CREATABLE = PLACES[1:]


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
