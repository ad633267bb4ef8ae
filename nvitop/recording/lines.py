# SPDX-License-Identifier: Apache-2.0
"""Samples as lines of JSON, for other programs."""

from __future__ import annotations

import os
import stat
import sys
import zlib

from nvitop.platforms.files import open_private
from nvitop.platforms.kernel import write_pieces
from nvitop.recording.frames import FrameError, text_of
from nvitop.recording.store import RecordingError, identity
from nvitop.sampling.privacy import CommandFilter
from nvitop.sampling.types import Sample

#: Window bits of zlib for the gzip format, and the first bytes of each of its parts.
GZIP = 31
GZIP_START = b'\x1f\x8b\x08'
#: Name of standard output.
STANDARD = '-'


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
        #: The last bytes of the gzip data in a file; the next line overwrites them.
        self._end = b''
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
            self._file = identity(self.path)
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
        if self.path != STANDARD and identity(self.path) != self._file:
            self.reopen()  # the file was removed, or moved away
        stream, end, kept = self._stream, b'', len(self._end)
        if stream is not None:
            stream = stream.copy()
            data = stream.compress(data) + stream.flush(zlib.Z_SYNC_FLUSH)
            if stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                end = stream.copy().flush()
        begin = os.lseek(self._descriptor, 0, os.SEEK_CUR) - kept if kept else 0
        # What needs room comes first: if there is none, the old end is still there.
        write_pieces(self._descriptor, [data[kept:] + end])
        if kept:
            os.lseek(self._descriptor, begin, os.SEEK_SET)
            write_pieces(self._descriptor, [data[:kept]])
            os.lseek(self._descriptor, 0, os.SEEK_END)
        self._stream, self._end = stream, end

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
        if self._stream is not None and not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            write_pieces(self._descriptor, [self._stream.flush()])
        if self.path != STANDARD:
            os.close(self._descriptor)
        self._descriptor = -1
