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
from typing import IO, BinaryIO, ContextManager, Iterator

from nvitop.recording.events import CLEAR_SECONDS, EventDetector, RecordedEvent, with_others
from nvitop.recording.frames import MAX_TEXT_BYTES, FrameError, parse_text
from nvitop.recording.reader import Span
from nvitop.recording.schema import RecordingError
from nvitop.sampling.types import Sample

#: Maximum number of frames: 23 days, with one a second.
MAX_FRAMES = 2_000_000
#: Level of zlib for copies: not much larger than those of higher ones, in half of the time.
LEVEL = 3
#: Number of frames in a block, of blocks in which events are searched at a time, and of frames before a
#: block that are compared to know what had happened already.
FRAMES_PER_BLOCK = 360
BLOCKS_PER_SEARCH = 50
MOST_BEFORE = 60
_CHUNK = 64 << 10
_GZIP = 31
_GZIP_START = b'\x1f\x8b'
_TIME = re.compile(rb'"timestamp":\s*(\d{1,11}(?:\.\d+)?)[,}]')
#: Number of bytes at the beginning of a line that contain its time.
_HEAD = 200
_NO_COPY = 'cannot make a temporary copy; TMPDIR sets the folder'


class _OriginalLines:
    """Lines of a file that can be read again. Only their positions are kept."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self._positions = array('q')

    def add(self, line: bytes, position: int) -> None:
        self._positions.append(position)

    def read(self, number: int) -> bytes:
        self.file.seek(self._positions[number])
        return self.file.readline(MAX_TEXT_BYTES)


class _CopiedLines:
    """Lines in a temporary file, each of them compressed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._ends = array('q', [0])

    def add(self, line: bytes, position: int) -> None:
        with _errors_as(_NO_COPY):
            self._ends.append(self._ends[-1] + self._file.write(zlib.compress(line, LEVEL)))

    def read(self, number: int) -> bytes:
        begin, end = self._ends[number : number + 2]
        self._file.seek(begin)
        return zlib.decompress(self._file.read(end - begin))


class LineRecording:
    """Lines of JSON. Those of a pipe or a gzip file are copied to a temporary file.

    Lines that are not samples are ignored, such as an incomplete last one.
    """

    def __init__(self, path: str) -> None:
        """Read a file; ``'-'`` is standard input.

        Raises:
            RecordingError: It cannot be read, is not a recording, or holds no sample.
        """
        self.path = 'standard input' if path == '-' else path
        self._times = array('d')
        self._events: dict[int, list[RecordedEvent]] = {}
        #: Number of bytes up to the end of the last sample.
        self._end = 0
        self._lines: _OriginalLines | _CopiedLines
        with contextlib.ExitStack() as stack, self._reading():
            file = sys.stdin.buffer if path == '-' else stack.enter_context(open(path, 'rb'))
            # The terminal takes the place of standard input later.
            if path == '-' or not file.seekable() or _is_gzip(file):
                with _errors_as(_NO_COPY):
                    self._lines = _CopiedLines(stack.enter_context(tempfile.TemporaryFile()))
            else:
                self._lines = _OriginalLines(file)
            self._add_lines(file)
            if not self._times:
                raise RecordingError(f'{self.path} holds no samples')
            self._files = stack.pop_all()

    def _reading(self) -> ContextManager[None]:
        return _errors_as(f'cannot read {self.path}')

    def _add_lines(self, file: BinaryIO) -> None:
        """Add the lines from the present position of a file on."""
        begin = self._end
        for position, line in lines_of(file):
            self._end = begin + position
            found = _TIME.search(line, 0, _HEAD)
            if found is None:
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
            if len(self._times) >= MAX_FRAMES:
                raise RecordingError(f'{self.path} holds more than {MAX_FRAMES} samples; split it')
            self._lines.add(line, self._end)
            self._times.append(float(found.group(1)))
            self._end += len(line)

    def _follow(self) -> None:
        """Add the lines that were written since the file was last read."""
        if isinstance(self._lines, _OriginalLines):
            last = (len(self._times) - 1) // FRAMES_PER_BLOCK
            # A file that became unreadable ends with the last line that was read.
            with contextlib.suppress(RecordingError), self._reading():
                self._lines.file.seek(self._end)
                self._add_lines(self._lines.file)
            self._events.pop(last, None)

    def span(self) -> Span:
        """Return the present ends; the last one moves while the file is being written."""
        self._follow()
        return Span(0, len(self._times) - 1, self._times[0], self._times[-1])

    def at(self, moment: float) -> int:
        """Return the last frame that is not after a time, or the first frame."""
        found = (i for i in range(len(self._times) - 1, -1, -1) if self._times[i] <= moment)
        return next(found, 0)

    def neighbor(self, frame: int, step: int) -> int | None:
        """Return the next (1) or previous (-1) frame; ``None``: there is none."""
        if frame + step == len(self._times):
            self._follow()
        return frame + step if 0 <= frame + step < len(self._times) else None

    def time_of(self, frame: int) -> float:
        """Return when a frame was taken."""
        return self._times[frame]

    def sample(self, frame: int) -> Sample:
        """Return the sample of a frame; raise FrameError if it is damaged."""
        with self._reading():
            return parse_text(self._lines.read(frame))

    def frames_before(self, frame: int, moment: float, most: int) -> list[int]:
        """Return at most ``most`` frames up to a frame, none before a time, oldest first."""
        begin = max(0, frame + 1 - most)
        return [i for i in range(begin, frame + 1) if self._times[i] >= moment]

    def event(self, moment: float, step: int) -> RecordedEvent | None:
        """Return the next (1) or previous (-1) event after or before a time.

        Lines have no events: samples are compared with each other. A long search ends with an event
        of the kind ``'note'``, from which the next call goes on.
        """
        at = self.at(moment) // FRAMES_PER_BLOCK
        last = (len(self._times) - 1) // FRAMES_PER_BLOCK
        blocks = range(at, last + 1) if step > 0 else range(at, -1, -1)
        for block in blocks[:BLOCKS_PER_SEARCH]:
            found = [each for each in self._events_in(block) if (each.time - moment) * step > 0]
            if found:
                time = found[0 if step > 0 else -1].time
                events = [event for event in found if event.time == time]
                return events[0]._replace(text=with_others(events[0].text, len(events)))
        if len(blocks) <= BLOCKS_PER_SEARCH:
            return None
        end = blocks[BLOCKS_PER_SEARCH] * FRAMES_PER_BLOCK + (
            0 if step > 0 else FRAMES_PER_BLOCK - 1
        )
        text = 'no event up to here; press the key again to continue'
        return RecordedEvent(self._times[end], 'note', text)

    def _events_in(self, block: int) -> list[RecordedEvent]:
        """Return the events in a block of frames, which are kept."""
        found = self._events.get(block)
        if found is None:
            found = self._events[block] = []
            begin = block * FRAMES_PER_BLOCK
            detector = EventDetector(self.interval(begin))
            before = self.frames_before(begin, self._times[begin] - CLEAR_SECONDS, MOST_BEFORE)
            for frame in (
                *before[:-1],
                *range(begin, min(begin + FRAMES_PER_BLOCK, len(self._times))),
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
        """Close the file, and delete its copy."""
        self._files.close()


@contextlib.contextmanager
def _errors_as(text: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RecordingError(f'{text}: {error.strerror}') from None


def _is_gzip(file: BinaryIO) -> bool:
    start = file.read(len(_GZIP_START))
    file.seek(0)
    return start == _GZIP_START


def lines_of(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that may be compressed by gzip, without line ends.

    Each line comes with its position, counted in bytes from the first one. A file that was cut off
    ends at its last readable byte.

    Raises:
        RecordingError: A line is larger than any sample.
    """
    rest, position = b'', 0
    for data in _unpacked(file):
        *lines, rest = (rest + data).split(b'\n')
        for line in lines:
            if line:
                yield position, line
            position += len(line) + 1
        if len(rest) > MAX_TEXT_BYTES:
            raise RecordingError(f'a line of more than {MAX_TEXT_BYTES >> 20} MiB')
    if rest:
        yield position, rest


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    """Yield pieces of bounded size."""
    data = file.read(_CHUNK)
    if data[:2] != _GZIP_START:
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
