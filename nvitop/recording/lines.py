# SPDX-License-Identifier: Apache-2.0
"""Samples as lines of JSON, for other programs."""

from __future__ import annotations

import os
import stat
import sys

from nvitop.platforms.files import open_private
from nvitop.platforms.kernel import write_pieces
from nvitop.recording.frames import FrameError, text_of
from nvitop.recording.store import RecordingError, identity
from nvitop.sampling.serialization import CommandFilter
from nvitop.sampling.types import Sample

#: Name of standard output.
STANDARD = '-'


class LineWriter:
    """A sink that appends a line of JSON for each sample. The file always ends with a whole line."""

    def __init__(self, path: str, *, commands: str = 'name', mode: int | None = None) -> None:
        """Open or create a file; ``'-'`` is standard output.

        Raises:
            RecordingError: The file cannot be opened.
        """
        self.path = path
        self._commands = CommandFilter(commands)
        self._mode = mode
        self._open()

    def _open(self) -> None:
        if self.path == STANDARD:
            sys.stdout.flush()
            self._descriptor = sys.stdout.fileno()
            return
        try:
            self._descriptor = open_private(self.path)
            is_file = stat.S_ISREG(os.fstat(self._descriptor).st_mode)
            if is_file and os.read(self._descriptor, 2) not in (b'', b'{"'):
                self.close()
                raise RecordingError(f'{self.path} has no lines of JSON to append to')
            if self._mode is not None:
                os.chmod(self.path, self._mode)
            if is_file:
                os.lseek(self._descriptor, 0, os.SEEK_END)
            self._file = identity(self.path)
        except OSError as error:
            raise RecordingError(f'cannot open {self.path}: {error.strerror}') from None

    def write(self, sample: Sample) -> None:
        """Append a sample; one that is too large is left out.

        Raises:
            OSError: The file cannot be written; it ends with the last whole line.
        """
        try:
            line = text_of(self._commands.apply(sample)) + b'\n'
        except FrameError:
            return
        if self.path != STANDARD and identity(self.path) != self._file:
            self.reopen()  # the file was removed, or moved away
        write_pieces(self._descriptor, [line])

    def reopen(self) -> None:
        """Close the file and open its path again, as after it was moved away.

        Raises:
            RecordingError: It cannot be opened again.
        """
        self.close()
        self._open()

    def close(self) -> None:
        """Finish the file."""
        descriptor, self._descriptor = self._descriptor, -1
        if self.path != STANDARD and descriptor >= 0:
            os.close(descriptor)
