# SPDX-License-Identifier: Apache-2.0
"""Writing rows whole or not at all: also on Ctrl-C, with a full disk, to a reader that goes away."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import signal
import stat
import sys
import threading
from typing import TYPE_CHECKING, Any, Iterator, Sequence

from nvitop.platforms.kernel import ENDING, wait_until_writable

if TYPE_CHECKING:
    from types import FrameType, TracebackType

#: Halves of UTF-16 pairs, which names in Windows may have; Python keeps odd bytes between these.
_UNWRITABLE = re.compile('[\ud800-\udc7f\udd00-\udfff]')


class InterruptedByUser(BaseException):
    """The program was asked to end, by a signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Interrupts:
    """Turns signals to end into :class:`InterruptedByUser`, but not amid a row.

    Handlers are those of this object inside its ``with`` block, if that is in the main thread.
    """

    def __init__(self) -> None:
        self._is_held = False
        self._pending = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in ENDING:
                # What a parent has told to ignore (nohup, a job in the background) stays ignored.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, frame: FrameType | None) -> None:
        # A second one counts at once: the reader of a pipe may be asleep for ever.
        if self._is_held and not self._pending:
            self._pending = number
            return
        raise InterruptedByUser(number)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let signals wait until the block is done."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
        pending, self._pending = self._pending, 0
        if pending:
            raise InterruptedByUser(pending)


class Output:
    """Standard output, or a file that is made, or made empty, when the first row is written.

    Args:
        path: Name of the file; ``None``: standard output.
        interrupts: Signals that have to wait until a row is whole.
    """

    def __init__(self, path: str | None = None, interrupts: Interrupts | None = None) -> None:
        self._path = path
        self._interrupts = interrupts or Interrupts()
        self._fd = -1
        self._is_open = False

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return 'standard output' if self._path is None else self._path

    def is_terminal(self) -> bool:
        """Whether a person reads it as it is written."""
        return self._path is None and sys.stdout is not None and sys.stdout.isatty()

    def write(self, pieces: Sequence[str]) -> None:
        """Write each piece whole or not at all.

        Raises:
            OSError: Not all could be written. In a file no part of a piece is left.
        """
        data = [_encoded(piece) for piece in pieces]
        if not self._is_open:
            self._open()
        if self._fd < 0:
            # Standard output was replaced by something that is no file.
            with self._interrupts.held():
                sys.stdout.write(b''.join(data).decode('utf-8', 'replace'))
                sys.stdout.flush()
            return
        wait_until_writable(self._fd)  # where Ctrl-C ends the program, rather than amid a row
        with self._interrupts.held():
            self._write_all(data)

    def close(self) -> None:
        """Close the file.

        Raises:
            OSError: What was written has not arrived (network file systems, quotas).
        """
        if self._path is not None and self._fd >= 0:
            fd, self._fd, self._is_open = self._fd, -1, False
            os.close(fd)

    def _open(self) -> None:
        if self._path is not None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, 'O_BINARY', 0)
            self._fd = os.open(self._path, flags, 0o666)
        elif sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        else:
            sys.stdout.flush()
            try:
                self._fd = sys.stdout.fileno()
            except (AttributeError, OSError, io.UnsupportedOperation):
                self._fd = -1
        self._is_open = True

    def _write_all(self, data: list[bytes]) -> None:
        view = memoryview(b''.join(data))
        written = 0
        try:
            while written < len(view):
                try:
                    written += os.write(self._fd, view[written:])
                except BlockingIOError:  # somebody made it so
                    wait_until_writable(self._fd)
        except OSError:
            with contextlib.suppress(OSError):
                self._take_back(data, written)
            raise

    def _take_back(self, data: list[bytes], written: int) -> None:
        """Cut a piece that was begun from the end of a file."""
        whole = 0
        for piece in data:
            if whole + len(piece) > written:
                break
            whole += len(piece)
        status = os.fstat(self._fd)
        end = os.lseek(self._fd, 0, os.SEEK_CUR)
        # Somebody else may have written behind it: that is left alone.
        if stat.S_ISREG(status.st_mode) and status.st_size == end and written > whole:
            os.ftruncate(self._fd, end - (written - whole))
            os.lseek(self._fd, end - (written - whole), os.SEEK_SET)


def _encoded(text: str) -> bytes:
    """UTF-8; bytes of names in another encoding stay what they are."""
    try:
        return text.encode('utf-8', 'surrogateescape')
    except UnicodeEncodeError:
        return _UNWRITABLE.sub('\ufffd', text).encode('utf-8', 'surrogateescape')
