# SPDX-License-Identifier: Apache-2.0
"""Reading lines of JSON: files, gzip files and pipes."""

from __future__ import annotations

import contextlib
import re
import statistics
import sys
import tempfile
import zlib
from array import array
from typing import BinaryIO, Iterator

from nvitop.recording.events import CLEAR_SECONDS, EventDetector, RecordedEvent, with_others
from nvitop.recording.frames import (
    MAX_TEXT_BYTES,
    FrameError,
    compress,
    decompress,
    parse_text,
)
from nvitop.recording.reader import KEYS_KEPT, Span
from nvitop.recording.schema import RecordingError
from nvitop.sampling.types import Sample

#: Maximum number of frames, and the number of frames for each key frame.
MAX_FRAMES = 500_000
FRAMES_PER_KEY = 360
#: Number of blocks of as many frames in which events are searched at a time, and of frames before a
#: block that are compared to know what had happened already.
BLOCKS_PER_SEARCH = 50
MOST_BEFORE = 60
_CHUNK = 64 << 10
_GZIP = 31
_TIME = re.compile(rb'"timestamp":\s*(-?\d{1,12}(?:\.\d{1,9})?)\d*[,}]')
#: Number of bytes at the beginning of a line that contain its time.
_HEAD = 200


class LineRecording:
    """Lines of JSON, copied to a temporary file of compressed frames.

    Lines that are not samples are ignored, such as an incomplete last one.
    """

    def __init__(self, path: str) -> None:
        """Read a file; ``'-'`` is standard input.

        Raises:
            RecordingError: It cannot be read, is not a recording, or holds no sample.
        """
        self.path = 'standard input' if path == '-' else path
        self._times = array('d')
        self._offsets = array('q', [0])
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._keys: dict[int, bytes] = {}
        self._events: dict[int, list[RecordedEvent]] = {}
        with contextlib.ExitStack() as stack:
            stack.callback(self._file.close)
            try:
                if path == '-':
                    self._copy(sys.stdin.buffer)
                else:
                    with open(path, 'rb') as file:
                        self._copy(file)
            except OSError as error:
                raise RecordingError(f'cannot read {self.path}: {error.strerror}') from None
            if not self._times:
                raise RecordingError(f'{self.path} holds no samples')
            stack.pop_all()

    def _copy(self, file: BinaryIO) -> None:
        key = b''
        for line in lines_of(file):
            found = _TIME.search(line, 0, _HEAD)
            if found is None or len(self._times) >= MAX_FRAMES:
                if not self._times:
                    raise RecordingError(f'{self.path} is not a recording of nvitop')
                continue
            if not self._times or line[-1:] != b'}':
                try:
                    parse_text(line)
                except FrameError as error:
                    if not self._times:
                        raise RecordingError(f'cannot read {self.path}: {error}') from None
                    continue
            is_key = len(self._times) % FRAMES_PER_KEY == 0
            blob = compress(line, b'' if is_key else key)
            key = line if is_key else key
            self._file.write(blob)
            self._times.append(float(found.group(1)))
            self._offsets.append(self._offsets[-1] + len(blob))

    def span(self) -> Span:
        """Return the ends."""
        return Span(0, len(self._times) - 1, self._times[0], self._times[-1])

    def at(self, moment: float) -> int:
        """Return the last frame that is not after a time, or the first frame."""
        found = (i for i in range(len(self._times) - 1, -1, -1) if self._times[i] <= moment)
        return next(found, 0)

    def neighbor(self, frame: int, step: int) -> int | None:
        """Return the next (1) or previous (-1) frame; ``None``: there is none."""
        return frame + step if 0 <= frame + step < len(self._times) else None

    def time_of(self, frame: int) -> float:
        """Return when a frame was taken."""
        return self._times[frame]

    def sample(self, frame: int) -> Sample:
        """Return the sample of a frame; raise FrameError if it is damaged."""
        first = frame - frame % FRAMES_PER_KEY
        key = self._keys.get(first)
        if key is None:
            if len(self._keys) >= KEYS_KEPT:
                self._keys.clear()
            key = self._keys[first] = decompress(self._read(first), b'')
        return parse_text(key if frame == first else decompress(self._read(frame), key))

    def _read(self, frame: int) -> bytes:
        self._file.seek(self._offsets[frame])
        return self._file.read(self._offsets[frame + 1] - self._offsets[frame])

    def frames_before(self, frame: int, moment: float, most: int) -> list[int]:
        """Return at most ``most`` frames up to a frame, none before a time, oldest first."""
        begin = max(0, frame + 1 - most)
        return [i for i in range(begin, frame + 1) if self._times[i] >= moment]

    def event(self, moment: float, step: int) -> RecordedEvent | None:
        """Return the next (1) or previous (-1) event after or before a time.

        Lines have no events: samples are compared with each other. A long search ends with an event
        of the kind ``'note'``, from which the next call goes on.
        """
        at = self.at(moment) // FRAMES_PER_KEY
        last = (len(self._times) - 1) // FRAMES_PER_KEY
        blocks = range(at, last + 1) if step > 0 else range(at, -1, -1)
        for block in blocks[:BLOCKS_PER_SEARCH]:
            found = [each for each in self._events_in(block) if (each.time - moment) * step > 0]
            if found:
                time = found[0 if step > 0 else -1].time
                events = [event for event in found if event.time == time]
                return events[0]._replace(text=with_others(events[0].text, len(events)))
        if len(blocks) <= BLOCKS_PER_SEARCH:
            return None
        end = blocks[BLOCKS_PER_SEARCH] * FRAMES_PER_KEY + (0 if step > 0 else FRAMES_PER_KEY - 1)
        text = 'no event up to here; press the key again to continue'
        return RecordedEvent(self._times[end], 'note', text)

    def _events_in(self, block: int) -> list[RecordedEvent]:
        """Return the events in a block of frames, which are kept."""
        found = self._events.get(block)
        if found is None:
            found = self._events[block] = []
            begin = block * FRAMES_PER_KEY
            detector = EventDetector(self.interval(begin))
            before = self.frames_before(begin, self._times[begin] - CLEAR_SECONDS, MOST_BEFORE)
            for frame in (
                *before[:-1],
                *range(begin, min(begin + FRAMES_PER_KEY, len(self._times))),
            ):
                with contextlib.suppress(FrameError):
                    events = detector.compare(self.sample(frame))
                    found += events if frame >= begin else ()
        return found

    def interval(self, frame: int) -> float:
        """Return the usual seconds between the frames around a frame."""
        near = self._times[max(0, frame - 5) : frame + 6]
        times = [b - a for a, b in zip(near, near[1:]) if b > a]
        return statistics.median(times) if times else 1.0

    def close(self) -> None:
        """Delete the temporary file."""
        self._file.close()


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file that may be compressed by gzip, without line ends.

    A file that was cut off ends at its last readable byte.

    Raises:
        RecordingError: A line is larger than any sample.
    """
    rest = b''
    for data in _unpacked(file):
        *lines, rest = (rest + data).split(b'\n')
        yield from filter(None, lines)
        if len(rest) > MAX_TEXT_BYTES:
            raise RecordingError(f'a line of more than {MAX_TEXT_BYTES >> 20} MiB')
    if rest:
        yield rest


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    """Yield pieces of bounded size."""
    data = file.read(_CHUNK)
    if data[:2] != b'\x1f\x8b':
        while data:
            yield data
            data = file.read(_CHUNK)
        return
    stream = zlib.decompressobj(_GZIP)
    try:
        while data:
            yield stream.decompress(data, 16 * _CHUNK)
            data = stream.unconsumed_tail or stream.unused_data or file.read(_CHUNK)
            if stream.eof:
                stream = zlib.decompressobj(_GZIP)
    except zlib.error:
        return  # damaged from here on
