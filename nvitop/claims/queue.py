# SPDX-License-Identifier: Apache-2.0
"""The queue of programs that wait for GPUs: first come, first served.

Each of them has a ticket, a locked file whose name begins with the time. The first one keeps what it
has locked while it waits for more, so that requests for many GPUs do not starve. If two collect at
the same time, because one was suspended or late, the later one gives back what it has.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from typing import Iterator, Sequence

from nvitop.claims.directory import ClaimError
from nvitop.platforms.shared_files import (
    is_locked,
    make_shared,
    read_json,
    why_unusable,
    write_locked,
)

#: A program that has not looked at the queue for this time (seconds), because it is suspended or its
#: driver hangs, is skipped until it does, unless it holds locks.
STALE_SECONDS = 15.0
_NAME = re.compile(r'\d{20}\.\d{1,10}\.ticket')


class Ticket:
    """A place in the queue of a directory of claims, until :meth:`close`."""

    def __init__(self, directory: str, uuids: Sequence[str]) -> None:
        """Take the last place.

        Args:
            directory: Directory of claims.
            uuids: Devices that may be used. Only programs that want one of them wait for each other.

        Raises:
            ClaimError: The directory of the queue cannot be trusted.
            OSError: The file cannot be written.
        """
        self._folder = os.path.join(directory, 'queue')
        if not os.path.lexists(self._folder):
            make_shared(self._folder)
        reason = why_unusable(self._folder)
        if reason:
            raise ClaimError(f'{self._folder}: {reason}')
        self._uuids = frozenset(uuids)
        self._is_collecting = False
        name = f'{time.time_ns():020}.{os.getpid()}.ticket'
        self._path = os.path.join(self._folder, name)
        self._lock = write_locked(self._path, self._text())

    def _text(self) -> bytes:
        # Of the same length for both values of is_collecting, because it is overwritten.
        values = {'uuids': sorted(self._uuids), 'is_collecting': int(self._is_collecting)}
        return json.dumps(values).encode()

    def close(self) -> None:
        """Leave the queue."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)
        os.close(self._lock)

    def set_collecting(self, is_collecting: bool) -> None:
        """Tell others whether this program holds locks, or is about to take some."""
        if is_collecting != self._is_collecting:
            self._is_collecting = is_collecting
            os.lseek(self._lock, 0, os.SEEK_SET)
            os.write(self._lock, self._text())
        os.utime(self._path)

    def programs_ahead(self) -> int:
        """Return how many programs come first; 0: this one may collect.

        A later program is ahead if this one was skipped, and it has begun to collect.
        """
        own = os.path.basename(self._path)
        ahead = 0
        for name, is_collecting, is_stale in self._others():
            if name < own:
                ahead += is_collecting or not is_stale
            elif is_collecting and not self._is_collecting:
                ahead += 1
        return ahead

    def _others(self) -> Iterator[tuple[str, bool, bool]]:
        """Yield name, whether it collects, and whether it is stale, for live tickets in the way."""
        for name in os.listdir(self._folder):
            path = os.path.join(self._folder, name)
            if _NAME.fullmatch(name) is None or path == self._path:
                continue
            if not is_locked(path):
                with contextlib.suppress(OSError):  # one of another user stays
                    os.unlink(path)
                continue
            try:
                text, status = read_json(path)
                values = json.loads(text)
                uuids, is_collecting = frozenset(values['uuids']), bool(values['is_collecting'])
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                continue
            if uuids & self._uuids:
                yield name, is_collecting, time.time() - status.st_mtime > STALE_SECONDS
