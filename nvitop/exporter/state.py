# SPDX-License-Identifier: Apache-2.0
"""State that the exporter adds to samples: its own process, and GPU time of users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.api import host
from nvitop.api.process import HostProcess
from nvitop.exporter.identity import user_of
from nvitop.exporter.tables import Family, Point

if TYPE_CHECKING:
    from nvitop.exporter.tables import SeriesType
    from nvitop.sampling.types import DeviceKey, Sample

#: Series about the exporter, with the names that all exporters share: type and help. The text file
#: has none of them, because node_exporter has series of the same names.
PROCESS_SERIES: dict[str, tuple[SeriesType, str]] = {
    'process_cpu_seconds_total': ('counter', 'CPU time of the exporter, user and system'),
    'process_resident_memory_bytes': ('gauge', 'resident memory of the exporter'),
    'process_virtual_memory_bytes': ('gauge', 'virtual memory of the exporter'),
    'process_start_time_seconds': ('gauge', 'when the exporter was started'),
    'process_open_fds': ('gauge', 'number of open file descriptors of the exporter'),
}
#: Time (seconds) for which a user without processes is kept, so that every scraper sees the total.
KEPT_SECONDS = 3600.0
#: Maximum number of users; the least recently seen are dropped first.
MAX_USERS = 1000


def process_families() -> list[Family]:
    """Return the series about this process that this system supports."""
    values = _values()
    return [
        Family(name, kind, text, (Point({}, values[name]),))
        for name, (kind, text) in PROCESS_SERIES.items()
        if name in values
    ]


def _values() -> dict[str, float]:
    process = HostProcess()
    found: dict[str, float] = {}
    try:
        with process.oneshot():
            cpu, memory = process.cpu_times(), process.memory_info()
            found['process_cpu_seconds_total'] = round(cpu.user + cpu.system, 3)
            found['process_resident_memory_bytes'] = memory.rss
            found['process_virtual_memory_bytes'] = memory.vms
            found['process_start_time_seconds'] = process.create_time()
        if hasattr(process, 'num_fds'):  # not on Windows
            found['process_open_fds'] = process.num_fds()
    except (OSError, host.PsutilError):
        pass
    return found


class UserTime:
    """Adds up GPU time by user.

    Args:
        longest: Maximum time (seconds) between two samples that counts; nothing is known about a
            longer gap.
    """

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._seconds: dict[str, float] = {}
        #: When each user last had a process, in ascending order.
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
