# SPDX-License-Identifier: Apache-2.0
"""The last sample as text, with the exporter's own process and counters of the use of GPUs."""

from __future__ import annotations

import collections
import contextlib
import gzip
import os
import threading
import time
from typing import TYPE_CHECKING, Callable, Iterator, Mapping, Sequence

from nvitop.accounting.shares import NO_USER, UNKNOWN_USER, UsageKey
from nvitop.accounting.usage import Meter, MinuteRows, Tick, Usage, add_tick
from nvitop.api import host
from nvitop.api.process import HostProcess
from nvitop.exporter.dialects import Family, Observation, Point, SeriesOptions, has_driver
from nvitop.exporter.families import (
    UNKNOWN,
    label_value,
    make_families,
    owner_properties,
    render,
    without_values,
)
from nvitop.sampling.threads import Watchdog
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
#: Maximum time (seconds) to write or remove the text file.
WRITE_SECONDS = 2.0


def process_families() -> list[Family]:
    """Return the series about this process that this system supports."""
    process = HostProcess()
    values: dict[str, float] = {}
    with contextlib.suppress(OSError, host.PsutilError):
        with process.oneshot():
            cpu, memory = process.cpu_times(), process.memory_info()
            values['process_cpu_seconds_total'] = round(cpu.user + cpu.system, 3)
            values['process_resident_memory_bytes'] = memory.rss
            values['process_virtual_memory_bytes'] = memory.vms
            values['process_start_time_seconds'] = process.create_time()
        if hasattr(process, 'num_fds'):  # not on Windows
            values['process_open_fds'] = process.num_fds()
    return [
        Family(name, *PROCESS_SERIES[name], [Point({}, value)]) for name, value in values.items()
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
        self._totals: dict[Holder, Usage] = {}
        #: When each holder was last seen, in ascending order.
        self._seen: dict[Holder, float] = {}
        self._late: collections.deque[tuple[float, dict[Holder, Usage]]] = collections.deque()

    def add(self, sample: Sample) -> None:
        """Count the time since the last sample for those who held GPUs."""
        now = sample.monotonic
        seconds, ticks = self._meter.read(sample._replace(jobs=()))
        if seconds:
            uses = self._uses(sample, seconds, ticks)
            self._late.append((now, uses))
            for holder in uses:
                self._totals.setdefault(holder, Usage())
                self._seen.pop(holder, None)
                self._seen[holder] = now
        while self._late and self._late[0][0] <= now - DELAY_SECONDS:
            for holder, use in self._late.popleft()[1].items():
                if holder in self._totals:
                    self._totals[holder].add(use)
        self._forget(now)

    def _uses(self, sample: Sample, seconds: float, ticks: list[Tick]) -> dict[Holder, Usage]:
        """Return the use of GPUs in the time that a sample covers."""
        owners = {
            (process.owner.kind, process.owner.id): owner_properties(process)
            for process in sample.processes
            if self._with_owners and process.owner is not None and process.owner.kind
        }
        rows = MinuteRows(0, {}, {})
        for tick in ticks:
            add_tick(rows, tick, 1000 * seconds, 1.0)
        uses: dict[Holder, Usage] = {}
        for key, usage in rows.usage.items():
            for holder in _holders(key, owners):
                uses.setdefault(holder, Usage()).add(usage)
        return uses

    def _forget(self, now: float) -> None:
        excess = len(self._seen) - MAX_HOLDERS
        for number, (holder, seen) in enumerate(list(self._seen.items())):
            if number >= excess and now - seen <= KEPT_SECONDS:
                return
            del self._seen[holder], self._totals[holder]

    def totals(self) -> dict[Holder, dict[str, float]]:
        """Return the current values of the counters."""
        return {
            holder: {
                'seconds': round((use.share_ms - use.idle_held_ms) / 1000, 3),
                'held_idle_seconds': round(use.idle_held_ms / 1000, 3),
                'energy_joules': round(use.energy_mj / 1000, 3),
                'kernel_seconds': round(use.sm_percent_ms / 1000 / 100, 3),
                'measured_seconds': round(use.measured_ms / 1000, 3),
            }
            for holder, use in self._totals.items()
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


class Pages:
    """Makes the page of the last sample, once.

    A scrape may wait a few milliseconds for another one's page, but never for the driver.

    Args:
        names: Names of the dialects.
        options: Which series are made.
        interval: Seconds between two samples.
        past_xids: Xids before the exporter was started, see :class:`Observation`.
        clock: Monotonic seconds, the clock of the samples.
    """

    def __init__(
        self,
        names: Sequence[str],
        options: SeriesOptions,
        *,
        interval: float,
        past_xids: Mapping[tuple[str, int], float] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._names = tuple(names)
        self._past_xids = past_xids or {}
        self._options = options
        self._longest_age = max(FRESH_INTERVALS * interval, FRESH_SECONDS)
        self._clock = clock
        #: Guards everything below.
        self._lock = threading.Lock()
        self._sample = EMPTY_SAMPLE
        self._usage = UsageCounters(self._longest_age, owners=options.owners)
        self._failures = 0
        #: What the page was made from, and the page by whether it is compressed.
        self._made_from = Observation(EMPTY_SAMPLE)
        self._pages: dict[bool, bytes] = {}

    @property
    def has_sample(self) -> bool:
        """Whether a sample was taken."""
        return self._sample.sequence > 0

    def write(self, sample: Sample) -> None:
        """Replace the sample."""
        with self._lock:
            self._sample = sample
            self._usage.add(sample)
            self._failures += not has_driver(sample)

    def page(self, *, is_compressed: bool = False) -> bytes:
        """Return the page of the last sample."""
        with self._lock:
            observation = self._observation()
            if observation != self._made_from or not self._pages:
                families = [*make_families(self._names, observation), *process_families()]
                self._made_from, self._pages = observation, {False: render(families).encode()}
            if is_compressed and True not in self._pages:
                self._pages[True] = gzip.compress(self._pages[False], _GZIP_LEVEL)
            return self._pages[is_compressed]

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
            usage=self._usage.totals(),
            failures=self._failures,
            past_xids=self._past_xids,
        )


class TextFile:
    """A file with the last series, for the textfile collector of node_exporter.

    Readers see the old or the new content, never a part. A slow disk delays samples by at most
    :data:`WRITE_SECONDS`, once.

    Args:
        path: Name of the file.
        pages: Makes the content.
        on_problem: Gets the text of a failure, once while it lasts.

    Raises:
        OSError: The file cannot be written.
    """

    def __init__(self, path: str, pages: Pages, on_problem: Callable[[str], None]) -> None:
        self._path = path
        directory, name = os.path.split(path)
        #: The collector reads only names that end in ``.prom``.
        self._new_path = os.path.join(directory, f'.{name}.{os.getpid()}.new')
        self._pages = pages
        self._on_problem = on_problem
        self._last_problem = ''
        self._watchdog = Watchdog('nvitop-textfile')
        self._write(b'')

    def replace(self) -> None:
        """Replace the file by one with the last sample of the pages."""
        steps = {'write': lambda: self._write(self._pages.file_content())}
        outcome = self._watchdog.run(steps, limit=WRITE_SECONDS)['write']
        error, problem = outcome.error, ''
        if outcome.timed_out:
            problem = f'cannot write {self._path}: the disk does not respond'
        elif isinstance(error, OSError):
            problem = f'cannot write {self._path}: {error.strerror}'
        elif error is not None:
            problem = f'{self._path} failed: {type(error).__name__}: {error}'
        if problem and problem != self._last_problem:
            self._on_problem(problem)
        self._last_problem = problem

    def close(self) -> None:
        """Remove the file, because its values would become stale, unless the disk does not respond."""
        self._watchdog.run({'remove': lambda: os.unlink(self._path)}, limit=WRITE_SECONDS)

    def _write(self, content: bytes) -> None:
        try:
            with open(self._new_path, 'wb') as file:
                file.write(content)
            os.replace(self._new_path, self._path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(self._new_path)
            raise
