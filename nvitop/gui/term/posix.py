# SPDX-License-Identifier: GPL-3.0-only
"""The terminal on POSIX, with one blocking wait for keys, signals and wake-ups."""

from __future__ import annotations

import contextlib
import curses
import os
import select
import signal
import sys
import time
from typing import Callable, Iterator

from nvitop.gui.state.events import Event, InputEnded, KeyPressed, Resized, Suspended, Terminated
from nvitop.gui.term.curses import CursesTerminal, TerminalError, terminal_type
from nvitop.gui.term.keys import Decoder

assert sys.platform != 'win32'  # says to mypy which platforms these lines are for

#: How long after an escape character the rest of a sequence may come, in seconds.
ESCAPE_DELAY = 0.025
#: A paste that pauses for so long, in seconds, has lost its end: what comes now are keys again.
PASTE_PAUSE = 2.0
READ_SIZE = 1 << 14

#: Press and release reports with any coordinates (SGR); and pastes between marks.
MOUSE_ON, MOUSE_OFF = '\x1b[?1000h\x1b[?1006h', '\x1b[?1006l\x1b[?1000l'
PASTE_ON, PASTE_OFF = '\x1b[?2004h', '\x1b[?2004l'

#: Signals that are events. SIGTSTP is not among them: Ctrl-Z arrives as a key, and a SIGTSTP sent
#: from outside is turned into the same event.
SIGNALS = (
    signal.SIGWINCH,
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGTSTP,
    signal.SIGCONT,
)


def escape_delay(environ_value: str | None) -> float:
    """The delay in seconds that ``ESCDELAY`` (milliseconds) asks for."""
    if environ_value is not None and environ_value.isdecimal():
        return min(int(environ_value), 1000) / 1000
    return ESCAPE_DELAY


class PosixInput:
    """Keys from a file descriptor, signals of the process, and wake-ups from other threads.

    Signals interrupt nothing: the C handler writes their number to a pipe that is waited for
    together with the keys, so none is lost between a check and the wait.
    """

    def __init__(
        self, fd: int, size: Callable[[], tuple[int, int]], *, delay: float = ESCAPE_DELAY
    ) -> None:
        self._fd = fd
        self._size = size
        self._delay = delay
        self._decoder = Decoder()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._has_ended = False
        #: When bytes were read last.
        self._read_at = 0.0

    def close(self) -> None:
        """Close the pipe."""
        read, write = self._wake_read, self._wake_write
        # Another file may get these numbers, and a late wake-up shall not be written into it.
        self._wake_read = self._wake_write = -1
        os.close(read)
        os.close(write)

    @contextlib.contextmanager
    def signals_caught(self) -> Iterator[None]:
        """Turn signals into events for the block, and put the former handlers back after it."""
        former = {number: signal.signal(number, _ignore) for number in SIGNALS}
        former_fd = signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(former_fd)
            for number, handler in former.items():
                signal.signal(number, handler if handler is not None else signal.SIG_DFL)

    def wake(self) -> None:
        """Make :meth:`wait` return. Any thread may call it, also after :meth:`close`."""
        # Full: there are wake-ups enough in it. Closed: nobody waits any more.
        with contextlib.suppress(OSError):
            os.write(self._wake_write, b'\0')

    def wait(self, timeout: float | None) -> list[Event]:
        """Block until there are events, a wake-up, or the seconds are over."""
        if self._decoder.is_pasting and time.monotonic() - self._read_at > PASTE_PAUSE:
            return [*self._decoder.end_paste()]
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            remaining = None if deadline is None else max(0.0, deadline - time.monotonic())
            if self._decoder.is_waiting:
                remaining = self._delay if remaining is None else min(self._delay, remaining)
            fds = [self._wake_read] if self._has_ended else [self._fd, self._wake_read]
            ready, _, _ = select.select(fds, [], [], remaining)
            if not ready:
                return [*self._decoder.flush()]
            events: list[Event] = []
            woken = self._wake_read in ready
            if woken:
                events += self._read_wakes()
            if self._fd in ready:
                events += self._read_keys()
            if events or woken:
                return events

    def _read_keys(self) -> list[Event]:
        try:
            data = os.read(self._fd, READ_SIZE)
        except BlockingIOError:
            return []
        except OSError:  # EIO: the terminal hung up
            data = b''
        if not data:
            # Readable for ever without a byte: end of input, asked no more.
            self._has_ended = True
            return [*self._decoder.flush(), InputEnded()]
        self._read_at = time.monotonic()
        return [*self._decoder.feed(data)]

    def _read_wakes(self) -> list[Event]:
        try:
            numbers = os.read(self._wake_read, READ_SIZE)
        except BlockingIOError:
            return []
        # Each kind once: ten resizes in a row are one.
        # A library may catch signals of its own: they are none of ours.
        return [self._event_of(number) for number in dict.fromkeys(numbers) if number in SIGNALS]

    def _event_of(self, number: int) -> Event:
        if number == signal.SIGWINCH:
            return Resized(*self._size())
        if number == signal.SIGINT:
            return KeyPressed('Ctrl-C')
        if number in (signal.SIGTSTP, signal.SIGCONT):
            return Suspended(resumed=number == signal.SIGCONT)
        return Terminated(signal.Signals(number).name)


def _ignore(number: int, frame: object) -> None:
    """A handler that does nothing: it is there so that the wake-up pipe is written to."""


class PosixTerminal(CursesTerminal):
    """A terminal whose keys are read past curses, from the file descriptor.

    A single wait has to cover keys, signals and samples.
    """

    def _check_type(self) -> None:
        # Asked first: where initscr finds nothing it ends the process.
        curses.setupterm(fd=sys.stdout.fileno())
        if curses.tigetstr('cup') is None:
            raise TerminalError(f'a terminal of type {terminal_type()} cannot place its cursor')

    def _open_input(self) -> PosixInput:
        delay = escape_delay(os.environ.get('ESCDELAY'))
        return PosixInput(sys.stdin.fileno(), self.size, delay=delay)

    def _set_modes(self, *, mouse: bool) -> None:
        _write(PASTE_ON + (MOUSE_ON if mouse else MOUSE_OFF))

    def _unset_modes(self) -> None:
        _write(MOUSE_OFF + PASTE_OFF)

    def _let_all_lines_scroll(self, height: int) -> None:
        # A frame that was on its way while the window grew has set those of the former size.
        sequence = curses.tigetstr('csr')
        if sequence:
            _write(curses.tparm(sequence, 0, height - 1).decode('ascii'))

    def suspend(self) -> None:
        """Give the terminal back and stop; returns when the shell has continued us."""
        self._leave()
        # SIGSTOP, not SIGTSTP, which is caught; to the whole group, as Ctrl-Z does it.
        os.kill(0, signal.SIGSTOP)
        self._enter()
        assert self._screen is not None
        # curses takes its screen back, and the place of the cursor with it, when it draws: first
        # of all, for margins send the cursor to the top, and the report would begin there.
        self._screen.erase()
        self._screen.refresh()
        self.forget()


def _write(text: str) -> None:
    """Write past curses what it has no function for."""
    # The terminal may be gone; then there is nothing to set back either.
    with contextlib.suppress(OSError):
        os.write(sys.stdout.fileno(), text.encode('ascii'))
