# SPDX-License-Identifier: Apache-2.0
"""Samples as small compressed frames, reading frames that may be hostile, and the last ones in memory.

A frame is the JSON of a sample, compressed by zlib with the JSON of an earlier sample, the key frame,
as the dictionary. The window of zlib is 32 KiB, so the text is compressed in blocks of 16 KiB, each
with the part of the key frame around the same place as its dictionary. The blocks are whole zlib
streams, one after the other.
"""

from __future__ import annotations

import collections
import pickle
import zlib
from typing import NamedTuple

from nvitop.accounting.usage import GpuTimes, RecentUse
from nvitop.basics.times import LATEST_TIME, format_time
from nvitop.sampling.serialization import SerializationError, dumps, loads
from nvitop.sampling.types import Sample

#: Size of the blocks (bytes), and how far the dictionary reaches beyond each end of its block.
BLOCK_BYTES = 16 << 10
MARGIN_BYTES = 8 << 10
LEVEL = 6

#: Maximum size (bytes) of the JSON of a sample: more than 7,000 processes.
MAX_TEXT_BYTES = 4 << 20
#: Maximum number of commas and opening brackets in it, which bounds the memory that parsing takes.
MAX_MARKS = 300_000

#: Maximum size of a frame, as a part of its key frame; a larger one becomes a key frame.
MAX_PART_OF_KEY = 0.5
#: Time (seconds) after which a new key frame is written anyway.
KEY_SECONDS = 3600.0

_MARKS = (b',', b'[', b'{')
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


class FrameError(ValueError):
    """A frame is damaged, hostile, or in a format that this version cannot read."""


def compress(text: bytes, key: bytes) -> bytes:
    """Compress a text with the text of its key frame as the dictionary."""
    parts = []
    for at in range(0, len(text), BLOCK_BYTES):
        dictionary = key[max(0, at - MARGIN_BYTES) : at + BLOCK_BYTES + MARGIN_BYTES]
        # zlib takes an empty dictionary for a missing one.
        stream = (
            zlib.compressobj(LEVEL, zdict=dictionary) if dictionary else zlib.compressobj(LEVEL)
        )
        parts += [stream.compress(text[at : at + BLOCK_BYTES]), stream.flush()]
    return b''.join(parts)


def decompress(blob: bytes, key: bytes) -> bytes:
    """Return the text that :func:`compress` was given.

    Raises:
        FrameError: The frame is damaged, or its text is too large.
    """
    parts: list[bytes] = []
    at = 0
    while blob:
        dictionary = key[max(0, at - MARGIN_BYTES) : at + BLOCK_BYTES + MARGIN_BYTES]
        stream = zlib.decompressobj(zdict=dictionary) if dictionary else zlib.decompressobj()
        try:
            # One byte more than a block shows a stream that is too long.
            part = stream.decompress(blob, BLOCK_BYTES + 1)
        except zlib.error as error:
            raise FrameError(f'damaged frame ({error})') from None
        blob = stream.unused_data
        is_whole = stream.eof and 0 < len(part) <= BLOCK_BYTES
        # Only the last block may be short. Otherwise tiny blocks would take quadratic time.
        if not is_whole or (blob and len(part) < BLOCK_BYTES):
            raise FrameError('damaged frame')
        parts.append(part)
        at += len(part)
        if at > MAX_TEXT_BYTES:
            raise FrameError(f'a frame of more than {MAX_TEXT_BYTES >> 20} MiB')
    return b''.join(parts)


def parse_text(text: bytes) -> Sample:
    """Return the sample in a JSON text of bounded size and memory.

    Raises:
        FrameError: The text is not a sample, or too large.
    """
    if len(text) > MAX_TEXT_BYTES:
        raise FrameError(f'a sample of more than {MAX_TEXT_BYTES >> 20} MiB')
    if sum(map(text.count, _MARKS)) > MAX_MARKS:
        raise FrameError('a sample of too many values')
    try:
        sample = loads(text)
    except SerializationError as error:
        raise FrameError(str(error)) from None
    if not 0 <= sample.timestamp < LATEST_TIME:
        raise FrameError('a sample of an impossible time')
    return sample


def text_of(sample: Sample) -> bytes:
    """Return the JSON of a sample as ASCII text.

    If the sample would be too large to be read, its host processes are left out.

    Raises:
        FrameError: The sample is too large even so.
    """
    text = dumps(sample).encode('ascii')
    if len(text) > MAX_TEXT_BYTES and sample.host_processes:
        text = dumps(sample._replace(host_processes=())).encode('ascii')
    if len(text) > MAX_TEXT_BYTES:
        raise FrameError(f'a sample of more than {MAX_TEXT_BYTES >> 20} MiB')
    return text


class KeyFrame(NamedTuple):
    """A sample on which frames depend."""

    text: bytes
    #: Size (bytes) of the text when compressed by itself.
    size: int
    #: Time of the sample on the monotonic clock.
    monotonic: float
    #: Labels and UUIDs of the devices.
    devices: tuple[object, ...]


class FrameEncoder:
    """Compresses samples one after the other, and decides when a new key frame is due."""

    def __init__(self) -> None:
        self._key: KeyFrame | None = None

    def encode(self, sample: Sample, text: bytes = b'') -> tuple[bytes, bytes | None]:
        """Return the frame of a sample, and the text of its key frame if that is a new one.

        ``text`` is the JSON of the sample, if it is known.

        Raises:
            FrameError: The sample is too large.
        """
        text = text or text_of(sample)
        key = self._key
        devices = tuple(device.key for device in sample.devices)
        if (
            key is not None
            and key.devices == devices
            and 0 <= sample.monotonic - key.monotonic < KEY_SECONDS
        ):
            frame = compress(text, key.text)
            if len(frame) <= MAX_PART_OF_KEY * key.size:
                return frame, None
        self._key = KeyFrame(text, len(compress(text, b'')), sample.monotonic, devices)
        return compress(text, text), text

    def restart(self) -> None:
        """Begin with a new key frame, as after one that could not be stored."""
        self._key = None


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
