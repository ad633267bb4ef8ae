# SPDX-License-Identifier: Apache-2.0
"""The last sample as text, made at most once for each format however often it is scraped."""

from __future__ import annotations

import gzip
import threading
import time
from typing import Callable, NamedTuple, Sequence

from nvitop.exporter.exposition import MediaType, render
from nvitop.exporter.families import make_families, without_values
from nvitop.exporter.own_process import process_families
from nvitop.exporter.tables import Observation, SeriesOptions, has_driver
from nvitop.exporter.users import UserTime
from nvitop.sampling.types import EMPTY_SAMPLE, Sample

#: A value is exported for at most this number of intervals.
FRESH_INTERVALS = 3
#: Least time (seconds) for which a value is exported: one slow call must not remove it.
FRESH_SECONDS = 3.0
#: Time (seconds) for which a format that no client uses is still made.
KEPT_SECONDS = 60.0
#: Favors speed: a higher level makes pages a sixth smaller and takes three times as long.
_GZIP_LEVEL = 1


class _State(NamedTuple):
    """State that determines the pages."""

    sample: Sample
    is_fresh: bool
    has_fresh_processes: bool


class _Made(NamedTuple):
    """Pages of one state, by format and whether they are compressed."""

    state: _State
    pages: dict[tuple[MediaType, bool], bytes]


class Pages:
    """Makes pages from samples.

    Scrapes never wait for the driver. Formats that clients use are made when a sample arrives; until they
    are ready, clients get the previous ones.

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
        #: Guards pages that are made for a client.
        self._lock = threading.Lock()
        self._made = _Made(_State(EMPTY_SAMPLE, False, False), {})
        #: Format → when a client last got it.
        self._used: dict[tuple[MediaType, bool], float] = {}
        #: Whether the pages of the last sample are being made.
        self._is_preparing = False

    @property
    def has_sample(self) -> bool:
        """Whether a sample was taken."""
        return self._sample.sequence > 0

    def write(self, sample: Sample) -> None:
        """Replace the sample."""
        self._users.add(sample)
        self._user_seconds = self._users.totals()
        self._failures += not has_driver(sample)
        now = self._clock()
        wanted = [key for key, used in list(self._used.items()) if now - used <= KEPT_SECONDS]
        self._is_preparing = bool(wanted)
        try:
            self._sample = sample
            made = _Made(self._state(sample), {})
            for key in wanted:
                self._add(made, *key)
            if wanted:
                self._made = made
        finally:
            self._is_preparing = False

    def page(self, media: MediaType, *, is_compressed: bool = False) -> bytes:
        """Return the page of the last sample."""
        key = media, is_compressed
        self._used[key] = self._clock()
        made = self._made
        page = made.pages.get(key)
        if page is not None and self._is_current(made.state):
            return page
        with self._lock:
            state = self._state(self._sample)
            if state != self._made.state:
                self._made = _Made(state, {})
            return self._add(self._made, media, is_compressed)

    def _is_current(self, state: _State) -> bool:
        is_last = state.sample is self._sample or self._is_preparing
        return is_last and state == self._state(state.sample)

    def _add(self, made: _Made, media: MediaType, is_compressed: bool) -> bytes:
        """Make a page, unless it exists."""
        page = made.pages.get((media, is_compressed))
        if page is None and is_compressed:
            page = gzip.compress(self._add(made, media, False), _GZIP_LEVEL)
        elif page is None:
            families = make_families(self._names, self._observation(made.state))
            families += process_families()
            page = render(families, media).encode()
        made.pages[media, is_compressed] = page
        return page

    def file_content(self) -> bytes:
        """Return the series of the last sample as text, without those about this process."""
        observation = self._observation(self._state(self._sample))
        return render(make_families(self._names, observation)).encode()

    def _state(self, sample: Sample) -> _State:
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
