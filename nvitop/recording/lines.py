# SPDX-License-Identifier: Apache-2.0
"""Samples as lines of JSON: written to files and pipes, and read back into a temporary database."""

from __future__ import annotations

import collections
import contextlib
import os
import re
import sqlite3
import stat
import statistics
import sys
import zlib
from typing import BinaryIO, Generator, Iterable, Iterator

from nvitop.accounting.shares import gpu_of
from nvitop.accounting.usage import UsageAccount
from nvitop.platforms.files import open_private
from nvitop.platforms.kernel import write_pieces
from nvitop.recording.events import EventDetector
from nvitop.recording.frames import (
    MAX_TEXT_BYTES,
    FrameEncoder,
    FrameError,
    compress,
    parse_text,
    text_of,
)
from nvitop.recording.reader import DatabaseRecording, Span
from nvitop.recording.store import (
    TABLES,
    RecordingError,
    write_devices,
    write_events,
    write_minutes,
)
from nvitop.sampling.privacy import CommandFilter
from nvitop.sampling.types import DeviceSample, Sample

#: Window bits of zlib for the gzip format, and the first bytes of each of its parts.
GZIP = 31
GZIP_START = b'\x1f\x8b\x08'
#: Name of standard input and output.
STANDARD = '-'
#: Maximum number of samples: 23 days, with one a second.
MAX_SAMPLES = 2_000_000
#: Number of samples before and after one whose times show how often samples were taken.
NEAR = 5
_CHUNK = 64 << 10
_TIME = re.compile(rb'"timestamp":\s*\d{1,11}(?:\.\d+)?[,}]')
#: Number of bytes at the beginning of a line that contain its time.
_HEAD = 200


class LineWriter:
    """A sink that appends a line of JSON for each sample.

    After each line the file is complete up to there, gzip files included.
    """

    def __init__(self, path: str, *, commands: str = 'name', mode: int | None = None) -> None:
        """Open or create a file; ``'-'`` is standard output, and ``.gz`` compresses.

        Raises:
            RecordingError: The file cannot be opened.
        """
        self.path = path
        self._commands = CommandFilter(commands)
        self._mode = mode
        self._open()

    def _open(self) -> None:
        self._stream = (
            zlib.compressobj(6, zlib.DEFLATED, GZIP) if self.path.endswith('.gz') else None
        )
        if self.path == STANDARD:
            sys.stdout.flush()
            self._descriptor = sys.stdout.fileno()
            return
        try:
            self._descriptor = open_private(self.path)
            self._check_start()
            if self._mode is not None:
                os.chmod(self.path, self._mode)
            os.lseek(self._descriptor, 0, os.SEEK_END)
        except OSError as error:
            raise RecordingError(f'cannot open {self.path}: {error.strerror}') from None

    def _check_start(self) -> None:
        """Refuse to append to a file of another program, or to a database."""
        if stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            start = os.read(self._descriptor, 3)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            if start and not start.startswith(b'{"' if self._stream is None else GZIP_START):
                os.close(self._descriptor)
                self._descriptor = -1
                what = 'lines of JSON' if self._stream is None else 'gzip data'
                raise RecordingError(f'{self.path} has no {what} to append to')

    def write(self, sample: Sample) -> None:
        """Append a sample; one that is too large is left out.

        Raises:
            OSError: The file cannot be written; it ends with the last whole line.
        """
        try:
            data = text_of(self._commands.apply(sample)) + b'\n'
        except FrameError:
            return
        before = self._stream
        if before is not None:
            self._stream = before.copy()
            data = self._stream.compress(data) + self._stream.flush(zlib.Z_SYNC_FLUSH)
        try:
            write_pieces(self._descriptor, [data])
        except OSError:
            self._stream = before
            raise

    def reopen(self) -> None:
        """Close the file and open its path again, as after it was moved away.

        Raises:
            RecordingError: It cannot be opened again.
        """
        self.close()
        self._open()

    def close(self) -> None:
        """Finish the file."""
        if self._descriptor < 0:
            return  # reopening it failed
        if self._stream is not None:
            write_pieces(self._descriptor, [self._stream.flush()])
        if self.path != STANDARD:
            os.close(self._descriptor)
        self._descriptor = -1


class LineRecording(DatabaseRecording):
    """Lines of JSON, copied to a temporary database, which SQLite deletes in any case.

    Lines that are not samples are skipped. A file that grows is read on.
    """

    def __init__(self, path: str) -> None:
        """Read a file; ``'-'`` is standard input.

        Raises:
            RecordingError: It cannot be read, is not a recording, or holds no sample.
        """
        name = 'standard input' if path == STANDARD else path
        self._count = 0
        self._encoder = FrameEncoder()
        self._detector = EventDetector(float('inf'))
        self._times: collections.deque[float] = collections.deque(maxlen=2 * NEAR + 1)
        self._account = UsageAccount(0.0)
        self._seen: dict[str, DeviceSample] = {}
        #: The first samples, until they show how often samples were taken.
        self._first: list[Sample] = []
        # A pipe can be read only once; later, the terminal takes the place of standard input.
        self._grows = path != STANDARD and os.path.isfile(path)
        with contextlib.ExitStack() as stack:
            try:
                # A database without a name is in the temporary directory.
                db = sqlite3.connect('', isolation_level=None, check_same_thread=False)
                stack.callback(db.close)
                db.execute('PRAGMA journal_mode = OFF').fetchall()
                for statement in TABLES.split(';'):
                    db.execute(statement)
                file = (
                    sys.stdin.buffer if path == STANDARD else stack.enter_context(open(path, 'rb'))
                )
                self._lines = LineStream(file)
                super().__init__(name, db)
                self._import()
            except OSError as error:
                raise RecordingError(f'cannot read {name}: {error.strerror}') from None
            except sqlite3.Error as error:
                text = f'cannot make a temporary copy: {error}; TMPDIR sets the directory'
                raise RecordingError(text) from None
            super().span()
            self._files = stack.pop_all()

    def _import(self) -> None:
        """Copy the lines that were written since the file was last read."""
        for line in self._lines.new():
            try:
                if not _TIME.search(line, 0, _HEAD):
                    raise RecordingError(f'{self.path} is not a recording of nvitop')
                sample = parse_text(line)
            except (FrameError, RecordingError) as error:
                if self._count:
                    continue
                if isinstance(error, RecordingError):
                    raise
                raise RecordingError(f'cannot read {self.path}: {error}') from None
            if self._count >= MAX_SAMPLES:
                raise RecordingError(f'{self.path} holds more than {MAX_SAMPLES} samples; split it')
            self._count += 1
            self._add(sample, line)

    def _add(self, sample: Sample, line: bytes) -> None:
        frame, key = self._encoder.encode(sample, line)
        if key is not None:
            self._db.execute('INSERT INTO keyframe (z) VALUES (?)', (compress(key, b''),))
        self._db.execute(
            'INSERT INTO frame (t, run, keyframe, z) VALUES '
            '(?, 0, (SELECT max(id) FROM keyframe), ?)',
            (int(sample.timestamp * 1000), frame),
        )
        self._detector.interval = _interval(self._times, default=float('inf'))
        self._times.append(sample.timestamp)
        write_events(self._db, 0, self._detector.compare(sample))
        if self._count == 1:
            host = sample.host.hostname
            self._db.execute('INSERT INTO meta (key, value) VALUES (?, ?)', ('host', host))
        self._first.append(sample)
        if self._count >= NEAR:
            self._count_minutes()

    def _count_minutes(self) -> None:
        """Count the use of GPUs up to the last whole minute."""
        self._account.expect(_interval(self._times, default=0.0))
        for sample in self._first:
            self._account.add(sample)
            minutes = self._account.take(sample.timestamp)
            write_minutes(self._db, minutes)
            if minutes or not self._seen.keys() >= {gpu_of(d.key) for d in sample.devices}:
                write_devices(self._db, sample.timestamp, sample.devices, self._seen)
        self._first.clear()

    def count_use(self) -> sqlite3.Connection:
        """Count the use of GPUs up to the last sample; return the database."""
        self._count_minutes()
        write_minutes(self._db, self._account.take())
        self._db.execute(
            'INSERT INTO run (started, ended, interval_ms) SELECT min(t), max(t), 0 FROM frame'
        )
        return self._db

    def _follow(self) -> None:
        # A file that became unreadable ends with the last line that was read.
        with contextlib.suppress(RecordingError, OSError, sqlite3.Error):
            if self._grows:
                self._import()

    def span(self) -> Span:
        """Return the current ends; the last one moves while the file is being written."""
        self._follow()
        return super().span()

    def neighbor(self, frame: int, step: int) -> int | None:
        """Return the next (1) or previous (-1) frame; ``None``: there is none."""
        if frame + step > self._count:
            self._follow()
        return super().neighbor(frame, step)

    def interval(self, frame: int) -> float:
        """Return the usual seconds between the frames around a frame."""
        near = self._all(
            'SELECT t / 1000.0 FROM frame WHERE id BETWEEN ? AND ? ORDER BY id',
            frame - NEAR,
            frame + NEAR,
        )
        return _interval([float(str(row[0])) for row in near], default=1.0)

    def close(self) -> None:
        """Close the file, and delete its copy."""
        self._files.close()


def _interval(times: Iterable[float], *, default: float) -> float:
    """Return the usual seconds between successive times."""
    times = list(times)
    steps = [later - earlier for earlier, later in zip(times, times[1:]) if later > earlier]
    return statistics.median(steps) if steps else default


class LineStream:
    """Lines of a file that may be compressed by gzip, and may still be written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._rest = b''
        self._pieces = self._unpack()

    def new(self) -> Iterator[bytes]:
        """Yield the lines up to the current end of the file, an incomplete one at its end included.

        Raises:
            RecordingError: A line is larger than any sample.
        """
        for data in self._pieces:
            if data is None:
                break
            *lines, self._rest = (self._rest + data).split(b'\n')
            yield from filter(None, lines)
            if len(self._rest) > MAX_TEXT_BYTES:
                raise RecordingError(f'a line of more than {MAX_TEXT_BYTES >> 20} MiB')
        # Without the end of a line, it is either complete or continued later.
        if self._rest.endswith(b'}'):
            rest, self._rest = self._rest, b''
            yield rest

    def _unpack(self) -> Iterator[bytes | None]:
        """Yield pieces of bounded size, and ``None`` at each current end of the file."""
        data = self._file.read(_CHUNK)
        stream = zlib.decompressobj(GZIP) if data.startswith(GZIP_START) else None
        while True:
            if not data or stream is None:
                yield data or None
                data = self._file.read(_CHUNK)
                continue
            before = stream.copy()
            try:
                yield stream.decompress(data, 16 * _CHUNK)
                data = stream.unconsumed_tail or stream.unused_data
                is_over = stream.eof
            except zlib.error:
                # Its writer was killed. Another one may have continued the file.
                data = yield from _readable_part(before, data)
                data = data[data.find(GZIP_START) :] if GZIP_START in data else data[-2:]
                is_over = True
            if is_over:
                stream = zlib.decompressobj(GZIP)


def _readable_part(stream: zlib._Decompress, data: bytes) -> Generator[bytes | None, None, bytes]:
    """Yield what data contain before their first damaged byte; return the rest."""
    for at in range(len(data)):
        try:
            yield stream.decompress(data[at : at + 1])
        except zlib.error:
            return data[at:]
    return b''
