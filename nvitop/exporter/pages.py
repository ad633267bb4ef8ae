# SPDX-License-Identifier: Apache-2.0
"""The last sample as text, made at most once for each format however often it is scraped."""

from __future__ import annotations

import gzip
import threading
import time
from typing import Callable, Sequence

from nvitop.exporter.exposition import MediaType, render
from nvitop.exporter.families import make_families, without_values
from nvitop.exporter.tables import Observation, SeriesOptions
from nvitop.exporter.users import UserTime
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import EMPTY_SAMPLE, Sample

#: A value is exported for at most this number of intervals.
FRESH_INTERVALS = 3
#: Least time (seconds) for which a value is exported: one slow call must not remove it.
FRESH_SECONDS = 3.0
#: Favors speed: a higher level makes pages a sixth smaller and takes three times as long.
_GZIP_LEVEL = 1


class _State(NamedTuple):
    """State that determines the pages."""

    sample: Sample
    is_fresh: bool
    has_fresh_processes: bool


class Pages:
    """Makes pages from samples; a sink of the sampler.

    Scrapes never wait for the driver.

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
        self._sample = EMPTY_SAMPLE
        self._users = UserTime(self._longest_age)
        self._user_seconds: dict[str, float] = {}
        self._failures = 0
        #: Guards the pages, not the sample, so that the sampler never waits for a page.
        self._lock = threading.Lock()
        self._made_from = _State(EMPTY_SAMPLE, False, False)
        self._pages: dict[tuple[MediaType, bool], bytes] = {}

    @property
    def has_sample(self) -> bool:
        """Whether a sample was taken."""
        return self._sample.sequence > 0

    def write(self, sample: Sample) -> None:
        """Replace the sample."""
        self._users.add(sample)
        self._user_seconds = self._users.totals()
        self._failures += not has_driver(sample)
        self._sample = sample

    def close(self) -> None:
        """Do nothing: pages need no end."""

    def page(self, media: MediaType, *, is_compressed: bool = False) -> bytes:
        """Return the page of the last sample."""
        with self._lock:
            state = self._state()
            if state != self._made_from:
                self._pages, self._made_from = {}, state
            page = self._pages.get((media, is_compressed))
            if page is None:
                page = self._pages.get((media, False)) or self._make(media, state)
                self._pages[media, False] = page
                if is_compressed:
                    page = self._pages[media, True] = gzip.compress(page, _GZIP_LEVEL)
            return page

    def observation(self) -> Observation:
        """Return what pages are made from now."""
        return self._observation(self._state())

    def _state(self) -> _State:
        sample = self._sample
        is_fresh = sample.sequence > 0 and self._is_recent(sample.monotonic)
        return _State(sample, is_fresh, is_fresh and self._is_recent(sample.processes_monotonic))

    def _is_recent(self, monotonic: float) -> bool:
        return self._clock() - monotonic <= self._longest_age

    def _observation(self, state: _State) -> Observation:
        sample = state.sample
        if not state.is_fresh:
            sample = without_values(sample, f'no sample for {self._longest_age:g} s')
        return Observation(
            sample,
            self._options,
            is_fresh=state.is_fresh,
            has_fresh_processes=state.has_fresh_processes,
            user_seconds=self._user_seconds,
            failures=self._failures,
        )

    def _make(self, media: MediaType, state: _State) -> bytes:
        return render(make_families(self._names, self._observation(state)), media).encode()


def has_driver(sample: Sample) -> bool:
    """Return whether the driver responded when the sample was taken."""
    return not any(
        problem.subject in ('driver', 'monitor') and problem.is_failure
        for problem in sample.problems
    )
