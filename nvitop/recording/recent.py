# SPDX-License-Identifier: Apache-2.0
"""The last samples of a running monitor, compressed in memory."""

from __future__ import annotations

import collections
import pickle
import zlib

from nvitop.namedtuple import NamedTuple
from nvitop.recording.times import format_time
from nvitop.sampling.types import DeviceInfo, DeviceKey, Sample

#: Default time (seconds) that is kept, and the maximum memory for it in bytes.
KEPT_SECONDS = 3600.0
MOST_BYTES = 4 << 20
#: Number of samples for each key sample.
SAMPLES_PER_KEY = 600
#: Memory (bytes) of an entry in addition to its data.
ENTRY_BYTES = 200
#: Size (bytes) of the window of zlib.
WINDOW_BYTES = 32 << 10
#: As fast as the first level, because samples hardly differ.
LEVEL = 6

_NOT_KEPT = 'no samples are kept from before'


#: Placeholder for constant properties, which are kept outside of the compressed data.
_NO_INFO = DeviceInfo(DeviceKey(-1), -1)


class KeptSample(NamedTuple):
    """A compressed sample."""

    timestamp: float
    monotonic: float
    data: bytes
    #: The dictionary with which it was compressed.
    key: bytes
    #: Constant properties of its devices, which entries share.
    infos: tuple[DeviceInfo, ...]


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
        self._key, self._uses = b'', 0
        #: Memory in use.
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, sample: Sample) -> None:
        """Keep a sample; a later one than the samples before."""
        infos = tuple(device.info for device in sample.devices)
        last = self._entries[-1] if self._entries else None
        if last is not None and sample.monotonic <= last.monotonic:
            return
        is_same = last is not None and len(last.infos) == len(infos)
        if last is not None and last.infos == infos:
            infos = last.infos
        bare = tuple(device._replace(info=_NO_INFO) for device in sample.devices)
        text = pickle.dumps(sample._replace(devices=bare), protocol=4)
        if self._uses % SAMPLES_PER_KEY == 0 or not is_same:
            self._key, self._uses = text[:WINDOW_BYTES], 0
            self.size_bytes += len(self._key)
        self._uses += 1
        stream = zlib.compressobj(LEVEL, zdict=self._key)
        data = stream.compress(text) + stream.flush()
        self._entries.append(KeptSample(sample.timestamp, sample.monotonic, data, self._key, infos))
        self.size_bytes += len(data) + ENTRY_BYTES
        oldest = sample.monotonic - self._seconds
        while self._entries[0].monotonic < oldest or self.size_bytes > self._most_bytes:
            if len(self._entries) == 1:
                break
            self._drop()

    def _drop(self) -> None:
        entry = self._entries.popleft()
        self.size_bytes -= len(entry.data) + ENTRY_BYTES
        if self._entries[0].key is not entry.key:
            self.size_bytes -= len(entry.key)

    def find(self, shown: Sample, unit: str, amount: float) -> FoundSample:
        """Return the sample that is a step away from the one on the screen.

        ``unit`` and ``amount`` are those of a recording, see
        :meth:`nvitop.recording.replay.ReplaySource.travel`.
        """
        if not self._entries:
            return FoundSample(None)
        if unit == 'end':
            return FoundSample(None if amount > 0 else _load(self._entries[0]))
        if unit == 'frame':
            return self._neighbor(shown, int(amount))
        moment = amount if unit == 'time' else shown.timestamp + amount
        if moment < self._entries[0].timestamp:
            message = f'{_NOT_KEPT} {format_time(self._entries[0].timestamp)}'
            return FoundSample(_load(self._entries[0]), message)
        if moment >= self._entries[-1].timestamp:
            return FoundSample(None)
        found = next(entry for entry in reversed(self._entries) if entry.timestamp <= moment)
        return FoundSample(_load(found))

    def _neighbor(self, shown: Sample, step: int) -> FoundSample:
        if step > 0:
            later = (entry for entry in self._entries if entry.monotonic > shown.monotonic)
            following = next(later, None)
            if following is None or following is self._entries[-1]:
                return FoundSample(None)
            return FoundSample(_load(following))
        earlier = (e for e in reversed(self._entries) if e.monotonic < shown.monotonic)
        found = next(earlier, None)
        if found is None:
            return FoundSample(shown, f'{_NOT_KEPT} {format_time(self._entries[0].timestamp)}')
        return FoundSample(_load(found))


def _load(entry: KeptSample) -> Sample:
    stream = zlib.decompressobj(zdict=entry.key)
    # The data was made by this process and never left it.
    sample: Sample = pickle.loads(stream.decompress(entry.data) + stream.flush())
    devices = (device._replace(info=info) for device, info in zip(sample.devices, entry.infos))
    return sample._replace(devices=tuple(devices))
