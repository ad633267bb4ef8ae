# SPDX-License-Identifier: Apache-2.0
"""Writing each row completely or not at all, even on Ctrl-C, a full disk or a closed pipe."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from typing import Sequence

from nvitop.console.lifecycle import Interrupts
from nvitop.platforms.kernel import wait_until_writable, write_pieces

#: Lone UTF-16 surrogates, as in names on Windows, except those that stand for undecodable bytes.
_UNWRITABLE = re.compile('[\ud800-\udc7f\udd00-\udfff]')


class Output:
    """Standard output, or a file that is created or truncated when the first row is written.

    Args:
        path: Name of the file; ``None``: standard output.
        interrupts: Signals that are delayed while a row is written.
    """

    def __init__(self, path: str | None = None, interrupts: Interrupts | None = None) -> None:
        self._path = path
        self._interrupts = interrupts or Interrupts()
        #: ``None``: not open yet; -1: standard output is an object without a file descriptor.
        self._fd: int | None = None

    @property
    def name(self) -> str:
        """Name in messages."""
        return 'standard output' if self._path is None else self._path

    def is_terminal(self) -> bool:
        """Whether the rows appear on a terminal."""
        return self._path is None and sys.stdout is not None and sys.stdout.isatty()

    def write(self, pieces: Sequence[str]) -> None:
        """Write each piece completely or not at all.

        Raises:
            OSError: Not everything could be written; a file has no part of a piece.
        """
        data = [_encoded(piece) for piece in pieces]
        fd = self._fd = self._open() if self._fd is None else self._fd
        if fd < 0:
            with self._interrupts.delayed():
                sys.stdout.write(b''.join(data).decode('utf-8', 'replace'))
                sys.stdout.flush()
            return
        wait_until_writable(fd)  # Ctrl-C ends the program here rather than within a row
        with self._interrupts.delayed():
            write_pieces(fd, data)

    def close(self) -> None:
        """Close the file.

        Raises:
            OSError: Rows were not stored (network file systems, quotas).
        """
        if self._path is not None and self._fd is not None:
            fd, self._fd = self._fd, None
            os.close(fd)

    def _open(self) -> int:
        if self._path is not None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, 'O_BINARY', 0)
            return os.open(self._path, flags, 0o666)
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        sys.stdout.flush()
        try:
            return sys.stdout.fileno()
        except (AttributeError, OSError, io.UnsupportedOperation):
            return -1


def _encoded(text: str) -> bytes:
    """Encode as UTF-8; undecodable bytes of names are restored."""
    try:
        return text.encode('utf-8', 'surrogateescape')
    except UnicodeEncodeError:
        return _UNWRITABLE.sub('\ufffd', text).encode('utf-8', 'surrogateescape')
