# SPDX-License-Identifier: Apache-2.0
"""The last sample as text, made once for each format, with what the exporter adds to it.

It adds its own process, and counters of the use of GPUs.
"""

from __future__ import annotations

import collections
import contextlib
import gzip
import threading
import time
from typing import TYPE_CHECKING, Callable, Iterable, Iterator, Mapping, Sequence

from nvitop.api import host
from nvitop.api.process import HostProcess
from nvitop.exporter.dialects import Family, GpuUse, Observation, Point, SeriesOptions, has_driver
from nvitop.exporter.exposition import MediaType, render
from nvitop.exporter.families import make_families, without_values
from nvitop.exporter.values import UNKNOWN, label_value, owner_properties
from nvitop.recording.shares import NO_USER, UNKNOWN_USER, Share, UsageKey
from nvitop.recording.usage import Meter, Tick
from nvitop.sampling.types import EMPTY_SAMPLE, Sample

if TYPE_CHECKING:
    from nvitop.exporter.dialects import Holder, SeriesType

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
#: Maximum number of users and owners; the least recently seen are dropped first.
MAX_HOLDERS = 1000
#: Delay (seconds) of counters, at least the usual interval between scrapes.
DELAY_SECONDS = 60.0
#: A value is exported for at most this number of intervals.
FRESH_INTERVALS = 3
#: Minimum time (seconds) for which a value is exported: one slow call must not remove it.
FRESH_SECONDS = 3.0
#: Favors speed: a higher level makes pages a sixth smaller and takes three times as long.
_GZIP_LEVEL = 1


def process_families() -> list[Family]:
    """Return the series about this process that this system supports."""
    process = HostProcess()
    found: dict[str, float] = {}
    with contextlib.suppress(OSError, host.PsutilError):
        with process.oneshot():
            cpu, memory = process.cpu_times(), process.memory_info()
            found['process_cpu_seconds_total'] = round(cpu.user + cpu.system, 3)
            found['process_resident_memory_bytes'] = memory.rss
            found['process_virtual_memory_bytes'] = memory.vms
            found['process_start_time_seconds'] = process.create_time()
        if hasattr(process, 'num_fds'):  # not on Windows
            found['process_open_fds'] = process.num_fds()
    return [
        Family(name, *PROCESS_SERIES[name], (Point({}, value),)) for name, value in found.items()
    ]


class UsageCounters:
    """Adds up the use of GPUs by user and, if wanted, by owner, since the exporter was started.

    Counters are late by :data:`DELAY_SECONDS`, and new ones begin at 0 without delay: Prometheus
    counts only what comes after the first value that it scrapes.

    Args:
        longest: Maximum time (seconds) between two samples that counts; nothing is known about a
            longer gap.
        owners: Whether owners are counted.
    """

    def __init__(self, longest: float, *, owners: bool = False) -> None:
        self._meter = Meter(longest)
        self._with_owners = owners
        self._totals: dict[Holder, list[float]] = {}
        #: When each holder was last seen, in ascending order.
        self._seen: dict[Holder, float] = {}
        self._late: collections.deque[tuple[float, dict[Holder, list[float]]]] = collections.deque()

    def add(self, sample: Sample) -> None:
        """Count the time since the last sample for those who held GPUs."""
        now = sample.monotonic
        seconds, ticks = self._meter.read(sample)
        if seconds:
            added = self._added(sample, seconds, ticks)
            self._late.append((now, added))
            for holder in added:
                self._totals.setdefault(holder, [0.0] * len(GpuUse()))
                self._seen.pop(holder, None)
                self._seen[holder] = now
        while self._late and self._late[0][0] <= now - DELAY_SECONDS:
            for holder, amounts in self._late.popleft()[1].items():
                if holder in self._totals:
                    _add(self._totals, holder, amounts)
        self._forget(now)

    def _added(
        self, sample: Sample, seconds: float, ticks: list[Tick]
    ) -> dict[Holder, list[float]]:
        """Return the use of GPUs in the time that a sample covers."""
        owners = {
            (process.owner.kind, process.owner.id): owner_properties(process)
            for process in sample.processes
            if self._with_owners and process.owner is not None and process.owner.kind
        }
        added: dict[Holder, list[float]] = {}
        for tick in ticks:
            for share in tick.shares.shares:
                for holder in _holders(share.key, owners):
                    _add(added, holder, _use(share, seconds))
            for key, energy in tick.energies.items():
                for holder in _holders(key, owners):
                    _add(added, holder, GpuUse(energy_joules=energy / 1000))
        return added

    def _forget(self, now: float) -> None:
        excess = len(self._seen) - MAX_HOLDERS
        for number, (holder, seen) in enumerate(list(self._seen.items())):
            if number >= excess and now - seen <= KEPT_SECONDS:
                return
            del self._seen[holder], self._totals[holder]

    def totals(self) -> dict[Holder, GpuUse]:
        """Return the current values of the counters."""
        return {
            holder: GpuUse(*(round(amount, 3) for amount in amounts))
            for holder, amounts in self._totals.items()
        }


def _holders(
    key: UsageKey, owners: Mapping[tuple[str, str], Mapping[str, str]]
) -> Iterator[Holder]:
    """Yield the labels of the counters for a row of usage; none are for free time."""
    if key.user == NO_USER:
        yield ()
        return
    user = ('user', UNKNOWN if key.user == UNKNOWN_USER else label_value(key.user))
    yield (user,)
    owner = owners.get((key.owner_kind, key.owner_id))
    if owner:
        # A pod may have several containers.
        yield (user, *((name, text) for name, text in owner.items() if name != 'container'))


def _use(share: Share, seconds: float) -> GpuUse:
    time = seconds * share.part
    is_idle = not share.is_used and bool(share.key.user)
    known = 0.0 if share.percent is None else seconds
    percent = share.percent or 0
    return GpuUse(
        0.0 if is_idle else time, time if is_idle else 0.0, 0.0, known * percent / 100, known
    )


def _add(sums: dict[Holder, list[float]], holder: Holder, amounts: Iterable[float]) -> None:
    before = sums.setdefault(holder, [0.0] * len(GpuUse()))
    sums[holder] = [old + new for old, new in zip(before, amounts)]


class Pages:
    """Makes pages from the last sample, each format once.

    A scrape may wait a few milliseconds for another one's page, but never for the driver.

    Args:
        names: Names of the dialects.
        options: Which series are made.
        interval: Seconds between two samples.
        clock: Monotonic seconds, the clock of the samples.
    """

    def __init__(
        self,
        names: Sequence[str],
        options: SeriesOptions,
        *,
        interval: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._names = tuple(names)
        self._options = options
        self._longest_age = max(FRESH_INTERVALS * interval, FRESH_SECONDS)
        self._clock = clock
        #: Guards everything below.
        self._lock = threading.Lock()
        self._sample = EMPTY_SAMPLE
        self._usage = UsageCounters(self._longest_age, owners=options.owners)
        self._totals = self._usage.totals()
        self._failures = 0
        #: What the pages were made from, by format and whether they are compressed.
        self._made_from = Observation(EMPTY_SAMPLE)
        self._pages: dict[tuple[MediaType, bool], bytes] = {}

    @property
    def has_sample(self) -> bool:
        """Whether a sample was taken."""
        return self._sample.sequence > 0

    def write(self, sample: Sample) -> None:
        """Replace the sample."""
        with self._lock:
            self._sample = sample
            self._usage.add(sample)
            self._totals = self._usage.totals()
            self._failures += not has_driver(sample)

    def page(self, media: MediaType, *, is_compressed: bool = False) -> bytes:
        """Return the page of the last sample."""
        with self._lock:
            observation = self._observation()
            if observation != self._made_from:
                self._made_from, self._pages = observation, {}
            return self._page(media, is_compressed)

    def _page(self, media: MediaType, is_compressed: bool) -> bytes:
        page = self._pages.get((media, is_compressed))
        if page is None and is_compressed:
            page = gzip.compress(self._page(media, False), _GZIP_LEVEL)
        elif page is None:
            families = make_families(self._names, self._made_from)
            page = render([*families, *process_families()], media).encode()
        self._pages[media, is_compressed] = page
        return page

    def file_content(self) -> bytes:
        """Return the series of the last sample as text, without those about this process."""
        with self._lock:
            observation = self._observation()
        return render(make_families(self._names, observation)).encode()

    def _is_recent(self, monotonic: float) -> bool:
        return self._clock() - monotonic <= self._longest_age

    def _observation(self) -> Observation:
        sample = self._sample
        is_fresh = sample.sequence > 0 and self._is_recent(sample.monotonic)
        has_fresh_processes = is_fresh and self._is_recent(sample.processes_monotonic)
        if not is_fresh:
            sample = without_values(sample, f'no sample for {self._longest_age:g} s')
        return Observation(
            sample,
            self._options,
            is_fresh=is_fresh,
            has_fresh_processes=has_fresh_processes,
            usage=self._totals,
            failures=self._failures,
        )
