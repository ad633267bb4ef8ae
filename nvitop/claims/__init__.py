# SPDX-License-Identifier: Apache-2.0
"""Claims: locks on GPUs that every user of a machine sees; ``nvitop run`` and :func:`nvitop.claim`.

A claim is a ``flock`` on a file named after the UUID of a GPU, and a small file that says who holds
it. Nothing enforces claims: they coordinate programs that look at them.

The files must be visible to all users and gone after a reboot, so they are in memory file systems.
This module knows the directories, and whether they can be trusted.
"""

from __future__ import annotations

import contextlib
import os
from typing import Mapping

from nvitop.platforms.files import make_shared, why_unusable

#: Names the directory of claims instead of the usual places.
VARIABLE = 'NVITOP_CLAIMS'
#: The usual places, best first. For the first one, see share/systemd/nvitop-claims.conf.
PLACES = ('/run/nvitop', '/run/lock/nvitop', '/dev/shm/nvitop')


class ClaimError(RuntimeError):
    """Devices cannot be claimed, however long a program waits."""


def _places(environ: Mapping[str, str]) -> tuple[str, ...]:
    return (environ[VARIABLE],) if environ.get(VARIABLE) else PLACES


def directories_to_read(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return all directories that may have claims."""
    return [place for place in _places(environ) if not why_unusable(place)]


def directory_to_write(environ: Mapping[str, str] = os.environ) -> str:
    """Return the directory for new claims; create it if there is none.

    Raises:
        ClaimError: No place can be used; the text says why.
    """
    for existing in directories_to_read(environ):
        return existing
    for place in _places(environ):
        if not os.path.lexists(place):  # the mode of an existing one is its owner's decision
            with contextlib.suppress(OSError):
                make_shared(place)
        if not why_unusable(place):
            return place
    reasons = '; '.join(f'{place}: {why_unusable(place)}' for place in _places(environ))
    raise ClaimError(f'no directory for claims ({reasons}); set {VARIABLE}')
