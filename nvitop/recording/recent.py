# SPDX-License-Identifier: Apache-2.0
"""The last samples of a running monitor, compressed in memory."""

from __future__ import annotations

import collections
import io
import pickle
import zlib
from typing import NamedTuple

from nvitop.sampling.types import Sample
from nvitop.times import format_time

#: Default time (seconds) that is kept, and the maximum memory for it in bytes.
KEPT_SECONDS = 3600.0
MOST_BYTES = 4 << 20
#: Number of samples in a block. Longer ones are smaller, and take longer to load.
SAMPLES_PER_BLOCK = 10
#: Memory (bytes) of an entry in addition to its data.
ENTRY_BYTES = 200
#: The fastest level of zlib.
LEVEL = 1

_NOT_KEPT = 'no samples are kept from before'


class _Block:
    """Successive samples in one compressed stream, in which what they share is only once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._compressor = zlib.compressobj(LEVEL)
        # The samples and their pickler while others can be added.
        self._samples: list[Sample] = []
        self._pickler: pickle.Pickler | None = pickle.Pickler(self, protocol=4)

    def write(self, data: bytes) -> None:
        """Append what the pickler writes."""
        self.data += self._compressor.compress(data)

    def add(self, sample: Sample) -> int:
        """Append a sample; return its index."""
        assert self._pickler is not None
        self._pickler.dump(sample)
        self._samples.append(sample)
        return len(self._samples) - 1

    def complete(self) -> None:
        """Keep the compressed data only."""
        self.data += self._compressor.flush()
        self._samples = []
        self._pickler = None

    def load(self, index: int) -> Sample:
        """Return a sample."""
        if self._samples:
            return self._samples[index]
        # The data was made by this process and never left it.
        unpickler = pickle.Unpickler(io.BytesIO(zlib.decompress(self.data)))
        for _ in range(index):
            unpickler.load()
        sample: Sample = unpickler.load()
        return sample


class KeptSample(NamedTuple):
    """Where a sample is kept."""

    timestamp: float
    monotonic: float
    block: _Block
    #: Its number in the block, from 0.
    number: int

    def load(self) -> Sample:
        """Return the sample."""
        return self.block.load(self.number)


class FoundSample(NamedTuple):
    """A kept sample, or a reason why it is another one than requested."""

    #: ``None``: the present.
    sample: Sample | None
    message: str = ''


class RecentSamples:
    """Keeps the samples of the last hour, or fewer if they need too much memory."""

    def __init__(self, seconds: float = KEPT_SECONDS, most_bytes: int = MOST_BYTES) -> None:
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._entries: collections.deque[KeptSample] = collections.deque()
        self._block = _Block()
        #: Memory in use.
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, sample: Sample) -> None:
        """Keep a sample; a later one than the samples before."""
        if self._entries and sample.monotonic <= self._entries[-1].monotonic:
            return
        block = self._block
        before = len(block.data)
        index = block.add(sample)
        if index == SAMPLES_PER_BLOCK - 1:
            block.complete()
            self._block = _Block()
        self._entries.append(KeptSample(sample.timestamp, sample.monotonic, block, index))
        self.size_bytes += len(block.data) - before + ENTRY_BYTES
        oldest = sample.monotonic - self._seconds
        while len(self._entries) > SAMPLES_PER_BLOCK:
            if self._entries[SAMPLES_PER_BLOCK].monotonic > oldest and (
                self.size_bytes <= self._most_bytes
            ):
                break
            self._drop_block()

    def _drop_block(self) -> None:
        self.size_bytes -= len(self._entries[0].block.data)
        for _ in range(SAMPLES_PER_BLOCK):
            self._entries.popleft()
            self.size_bytes -= ENTRY_BYTES

    def find(self, shown: Sample, unit: str, amount: float) -> FoundSample:
        """Return the sample that is a step away from the one on the screen.

        ``unit`` and ``amount`` are those of a recording, see
        :meth:`nvitop.recording.replay.ReplaySource.travel`.
        """
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
