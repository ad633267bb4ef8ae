# SPDX-License-Identifier: Apache-2.0
"""The last sample as text, made once for each format."""

from __future__ import annotations

import gzip
import threading
import time
from typing import Callable, Sequence

from nvitop.exporter.exposition import MediaType, render
from nvitop.exporter.families import make_families, without_values
from nvitop.exporter.state import UsageCounters, process_families
from nvitop.exporter.tables import Observation, SeriesOptions, has_driver
from nvitop.sampling.types import EMPTY_SAMPLE, Sample

#: A value is exported for at most this number of intervals.
FRESH_INTERVALS = 3
#: Minimum time (seconds) for which a value is exported: one slow call must not remove it.
FRESH_SECONDS = 3.0
#: Favors speed: a higher level makes pages a sixth smaller and takes three times as long.
_GZIP_LEVEL = 1


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
