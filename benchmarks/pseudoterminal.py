"""A program in a pseudo-terminal: its keyboard, window and output. POSIX only."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from typing import Any, Mapping, Sequence

#: Time (seconds) to wait for the end of a program, which is much on a busy machine.
PATIENCE = 60.0

#: Makes the terminal the controlling one of a new session, then becomes the program. (``preexec_fn``
#: would run between fork and exec, which is unsafe with threads.)
_LAUNCHER = (
    'import fcntl, os, sys, termios\n'
    'os.setsid()\n'
    'fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n'
    'os.execvpe(sys.argv[1], sys.argv[1:], os.environ)'
)


class Pseudoterminal:
    """A program in a pseudo-terminal of this size.

    Its standard error is a file, or the terminal with ``joins_errors``. At the end of a ``with``
    block the program is killed if it still runs, and the terminal is closed.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        columns: int = 80,
        rows: int = 24,
        environment: Mapping[str, str] | None = None,
        joins_errors: bool = False,
    ) -> None:
        self._keyboard, terminal = os.openpty()
        self.is_hung_up = False
        # Set before the program starts, which must not see another size.
        self._set_size(columns, rows)
        #: Attributes of the terminal before the program.
        self.attributes = termios.tcgetattr(self._keyboard)
        self._errors, path = tempfile.mkstemp()
        os.unlink(path)
        self.process = subprocess.Popen(
            [sys.executable, '-S', '-E', '-c', _LAUNCHER, *command],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal if joins_errors else self._errors,
            env=dict(os.environ if environment is None else environment),
        )
        os.close(terminal)

    def __enter__(self) -> Pseudoterminal:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait(PATIENCE)
        self.hang_up()
        os.close(self._errors)

    def _set_size(self, columns: int, rows: int) -> None:
        size = struct.pack('HHHH', rows, columns, 0, 0)
        fcntl.ioctl(self._keyboard, termios.TIOCSWINSZ, size)

    def resize(self, columns: int, rows: int) -> None:
        self._set_size(columns, rows)

    def present_attributes(self) -> list[Any]:
        """Return the attributes of the terminal, for comparison with :attr:`attributes`."""
        return termios.tcgetattr(self._keyboard)

    def type(self, text: str | bytes) -> None:
        data = text.encode() if isinstance(text, str) else text
        while data:
            data = data[os.write(self._keyboard, data) :]

    def read(self, timeout: float) -> bytes:
        """Return output of the program; ``b''`` after a timeout or if the program has exited."""
        if self.is_hung_up or not select.select([self._keyboard], [], [], max(0.0, timeout))[0]:
            return b''
        try:
            return os.read(self._keyboard, 1 << 16)
        except OSError:  # EIO: the terminal is no longer open in any program
            # This returns at once, and callers read in a loop.
            time.sleep(min(0.01, max(0.0, timeout)))
            return b''

    def hang_up(self) -> None:
        if not self.is_hung_up:
            self.is_hung_up = True
            os.close(self._keyboard)

    def errors(self) -> str:
        return os.pread(self._errors, 1 << 20, 0).decode()
