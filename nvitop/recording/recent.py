# SPDX-License-Identifier: Apache-2.0
"""The last samples of a running monitor, compressed in memory."""

from __future__ import annotations

import collections
import pickle
from typing import NamedTuple

from nvitop.recording.frames import MAX_TEXT_BYTES, compress, decompress
from nvitop.recording.usage import GpuTimes, RecentUse
from nvitop.sampling.types import Sample
from nvitop.times import format_time

#: Default time (seconds) that is kept, and the maximum memory for it in bytes.
KEPT_SECONDS = 3600.0
MOST_BYTES = 5 << 20
#: Number of samples that are compressed with the same key frame.
SAMPLES_PER_KEY = 30
#: Memory (bytes) of an entry in addition to its data.
ENTRY_BYTES = 200

#: Longest usual interval (seconds) between samples; later ones follow a gap.
LONGEST_INTERVAL = 4.0
_NOT_KEPT = 'no samples are kept from before'


class KeptSample(NamedTuple):
    """A compressed sample."""

    timestamp: float
    monotonic: float
    frame: bytes
    #: The compressed key frame.
    key: bytes
    #: Memory of this entry, which includes the key frame if it is the first one with it.
    size_bytes: int

    def load(self) -> Sample:
        """Return the sample."""
        # The data was made by this process and never left it.
        sample: Sample = pickle.loads(decompress(self.frame, decompress(self.key, b'')))
        return sample


class FoundSample(NamedTuple):
    """A kept sample, or a reason why it is another one than requested."""

    #: ``None``: the present.
    sample: Sample | None
    message: str = ''


class RecentSamples:
    """Keeps the samples of the last hour, or fewer if they need too much memory."""

    def __init__(
        self,
        seconds: float = KEPT_SECONDS,
        most_bytes: int = MOST_BYTES,
        *,
        interval: float = LONGEST_INTERVAL,
    ) -> None:
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._entries: collections.deque[KeptSample] = collections.deque()
        # The key frame, and the number of samples that are compressed with it.
        self._key, self._compressed_key, self._uses = b'', b'', SAMPLES_PER_KEY
        self._use = RecentUse(seconds, max(interval, LONGEST_INTERVAL))
        #: GPU time of each user in the time that is kept.
        self.gpu_times: GpuTimes = {}
        #: Memory in use.
        self.size_bytes = 0
        #: The last sample, until it is compressed.
        self._added: Sample | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, sample: Sample) -> None:
        """Keep a sample; a later one than the samples before."""
        self.compress_added()
        if self._entries and sample.monotonic <= self._entries[-1].monotonic:
            return
        self.gpu_times = self._use.add(sample)
        self._added = sample

    def compress_added(self) -> None:
        """Compress the last sample, which takes longer than adding it."""
        sample, self._added = self._added, None
        if sample is None:
            return
        # Takes a third of the time and memory of JSON.
        text = pickle.dumps(sample, protocol=4)
        if len(text) > MAX_TEXT_BYTES:
            return
        size_bytes = ENTRY_BYTES
        if self._uses == SAMPLES_PER_KEY:
            self._key, self._compressed_key, self._uses = text, compress(text, b''), 0
            size_bytes += len(self._compressed_key)
        self._uses += 1
        frame = compress(text, self._key)
        size_bytes += len(frame)
        self.size_bytes += size_bytes
        self._entries.append(
            KeptSample(sample.timestamp, sample.monotonic, frame, self._compressed_key, size_bytes)
        )
        oldest = sample.monotonic - self._seconds
        while len(self._entries) > 1 and (
            self.size_bytes > self._most_bytes or self._entries[0].monotonic < oldest
        ):
            self.size_bytes -= self._entries.popleft().size_bytes

    def find(self, shown: Sample, unit: str, amount: float) -> FoundSample:
        """Return the sample that is a step away from the one on the screen.

        ``unit`` and ``amount`` are those of a recording, see
        :meth:`nvitop.recording.replay.ReplaySource.travel`.
        """
        self.compress_added()
        if not self._entries:
            return FoundSample(None)
        if unit == 'end':
            return FoundSample(None if amount > 0 else self._entries[0].load())
        if unit == 'frame':
            return self._neighbor(shown, int(amount))
        moment = amount if unit == 'time' else shown.timestamp + amount
        if moment < self._entries[0].timestamp:
            message = f'{_NOT_KEPT} {format_time(self._entries[0].timestamp)}'
            return FoundSample(self._entries[0].load(), message)
        if moment >= self._entries[-1].timestamp:
            return FoundSample(None)
        found = next(entry for entry in reversed(self._entries) if entry.timestamp <= moment)
        return FoundSample(found.load())

    def _neighbor(self, shown: Sample, step: int) -> FoundSample:
        if step > 0:
            later = (entry for entry in self._entries if entry.monotonic > shown.monotonic)
            following = next(later, None)
            if following is None or following is self._entries[-1]:
                return FoundSample(None)
            return FoundSample(following.load())
        earlier = (e for e in reversed(self._entries) if e.monotonic < shown.monotonic)
        found = next(earlier, None)
        if found is None:
            return FoundSample(shown, f'{_NOT_KEPT} {format_time(self._entries[0].timestamp)}')
        return FoundSample(found.load())
