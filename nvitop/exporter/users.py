# SPDX-License-Identifier: Apache-2.0
"""Time for which users have held GPUs, added up over samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.exporter.identity import user_of

if TYPE_CHECKING:
    from nvitop.sampling.types import DeviceKey, Sample

#: Time (seconds) for which a user without processes is kept, so that every scraper sees the total.
KEPT_SECONDS = 3600.0
#: Maximum number of users; those with processes longest ago are dropped first.
MAX_USERS = 1000


class UserTime:
    """Adds up GPU time by user.

    Args:
        longest: Longest time (seconds) between two samples that counts, because nothing is known
            about a longer one.
    """

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._seconds: dict[str, float] = {}
        #: When each user last had a process, the longest ago first.
        self._seen: dict[str, float] = {}
        self._last = 0.0

    def add(self, sample: Sample) -> None:
        """Count the time since the last sample for the users of its processes."""
        now = sample.processes_monotonic
        elapsed = now - self._last
        if elapsed <= 0:
            return
        if elapsed > self._longest:
            elapsed = 0.0
        self._last = now
        held: dict[str, set[DeviceKey]] = {}
        for process in sample.processes:
            if process.is_outdated:
                continue
            held.setdefault(user_of(process), set()).add(process.key.device)
        for user, devices in held.items():
            self._seconds[user] = self._seconds.get(user, 0.0) + elapsed * len(devices)
            self._seen.pop(user, None)
            self._seen[user] = now
        self._forget(now)

    def _forget(self, now: float) -> None:
        excess = len(self._seen) - MAX_USERS
        for number, (user, seen) in enumerate(list(self._seen.items())):
            if number >= excess and now - seen <= KEPT_SECONDS:
                return
            del self._seen[user], self._seconds[user]

    def totals(self) -> dict[str, float]:
        """Return seconds × GPUs by user."""
        return {user: round(seconds, 3) for user, seconds in self._seconds.items()}
