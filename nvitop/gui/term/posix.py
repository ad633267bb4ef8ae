# SPDX-License-Identifier: GPL-3.0-only
"""The terminal on POSIX, with one blocking wait for keys, signals and wake-ups."""

from __future__ import annotations

import contextlib
import curses
import os
import selectors
import signal
import sys
import time
from typing import Callable, Iterator

from nvitop.gui.render.ansi import RESET
from nvitop.gui.state.events import INPUT_ENDED, Event, KeyPressed, Resized, Suspended, Terminated
from nvitop.gui.term.curses_terminal import CursesTerminal, TerminalError, handling, terminal_type
from nvitop.gui.term.keys import Decoder
from nvitop.platforms.kernel import write_pieces

assert sys.platform != 'win32'  # for mypy

#: Maximum time (seconds) between an escape character and the rest of its sequence.
ESCAPE_DELAY = 0.025
#: Pause (seconds) in a paste after which its end mark is considered lost.
PASTE_PAUSE = 2.0
READ_SIZE = 1 << 14

#: Report mouse buttons with any coordinates (SGR), and put marks around pastes.
MOUSE_ON, MOUSE_OFF = '\x1b[?1000h\x1b[?1006h', '\x1b[?1006l\x1b[?1000l'
PASTE_ON, PASTE_OFF = '\x1b[?2004h', '\x1b[?2004l'
#: Query of the color of the background, and of the attributes: all terminals reply to the latter, so
#: that its reply ends the wait for the former. Prefixes of terminals that reply or ignore it.
BACKGROUND_QUERY = '\x1b]11;?\x07\x1b[c'
#: Maximum time (seconds) for these replies, which must not reach the shell after a quick exit.
REPLY_SECONDS = 2.0
_WITH_BACKGROUND = ('xterm', 'tmux', 'rxvt', 'alacritty', 'foot', 'kitty', 'wezterm', 'ghostty')

#: Beginnings of types whose terminals understand what xterm does, or what screen does.
_FAMILIES = (
    *('xterm', 'ghostty', 'kitty', 'wezterm', 'foot', 'alacritty', 'contour', 'rio', 'konsole'),
    *('vte', 'gnome', 'iterm', 'mintty', 'mlterm', 'rxvt', 'st-', 'stterm', 'putty'),
    *('tmux', 'screen'),
)

#: Signals that become events. Ctrl-Z arrives as a key; SIGTSTP comes from other programs only.
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
    if environ_value is not None and environ_value.isdecimal():
        return min(int(environ_value), 1000) / 1000
    return ESCAPE_DELAY


class PosixInput:
    """Keys from a file descriptor, signals to the process, and wake-ups from other threads.

    The C signal handler writes signal numbers to a pipe. The wait covers pipe and keys, so no
    signal is lost between a check and the wait, and none interrupts anything.
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
        # poll takes any descriptor: select fails above 1023, epoll refuses files.
        self._selector = selectors.PollSelector()
        for descriptor in (fd, self._wake_read):
            self._selector.register(descriptor, selectors.EVENT_READ)
        #: Monotonic times of the last read, and of the end of the wait for replies.
        self._read_at = self._replies_until = 0.0

    def close(self) -> None:
        self._selector.close()
        read, write = self._wake_read, self._wake_write
        # Another file may get these descriptors; a late wake-up must not write to it.
        self._wake_read = self._wake_write = -1
        os.close(read)
        os.close(write)

    @contextlib.contextmanager
    def signals_caught(self) -> Iterator[None]:
        # A signal needs a handler for its number to be written to the pipe.
        with handling(SIGNALS, lambda *_: None):
            previous = signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
            try:
                yield
            finally:
                signal.set_wakeup_fd(previous)

    def wake(self) -> None:
        # A full pipe wakes anyway, and after close() no thread waits.
        with contextlib.suppress(OSError):
            os.write(self._wake_write, b'\0')

    def wait(self, timeout: float | None) -> list[Event]:
        if self._decoder.is_pasting and time.monotonic() - self._read_at > PASTE_PAUSE:
            return [*self._decoder.end_paste()]
        deadline = None if timeout is None else time.monotonic() + timeout
        if time.monotonic() > self._replies_until:  # the terminal replies to nothing
            self._decoder.awaits_reply = False
        while True:
            delay = REPLY_SECONDS if self._decoder.is_in_reply else self._delay
            flush_at = self._read_at + delay if self._decoder.is_waiting else None
            ends = [end for end in (deadline, flush_at) if end is not None]
            remaining = max(0.0, min(ends) - time.monotonic()) if ends else None
            ready = {key.fd for key, _ in self._selector.select(remaining)}
            if not ready:
                is_whole = flush_at is not None and time.monotonic() >= flush_at
                return [*self._decoder.flush()] if is_whole else []
            events: list[Event] = []
            woken = self._wake_read in ready
            if woken:
                events += self._read_wakes()
            if self._fd in ready:
                events += self._read_keys()
            if events or woken:
                return events

    def expect_replies(self) -> None:
        """Note that the terminal was queried now."""
        self._decoder.awaits_reply = True
        self._replies_until = time.monotonic() + REPLY_SECONDS

    def drop_replies(self) -> None:
        """Read and drop what arrives until the terminal has replied, before the program leaves it."""
        while self._decoder.awaits_reply or self._decoder.is_in_reply:
            until = self._replies_until
            if self._decoder.is_in_reply:
                until = max(until, self._read_at + self._delay + REPLY_SECONDS / 4)
            ready = {key.fd for key, _ in self._selector.select(max(0.0, until - time.monotonic()))}
            if self._wake_read in ready:
                self._read_wakes()
            keys = self._read_keys() if self._fd in ready else []
            if not ready or any(key is INPUT_ENDED for key in keys):
                break
        self._decoder.awaits_reply = False

    def _read_keys(self) -> list[Event]:
        try:
            data = os.read(self._fd, READ_SIZE)
        except BlockingIOError:
            return []
        except OSError:  # EIO: the terminal hung up
            data = b''
        if not data:
            # At the end of input the descriptor is always readable, so it is not polled again.
            self._selector.unregister(self._fd)
            return [*self._decoder.flush(), INPUT_ENDED]
        self._read_at = time.monotonic()
        return [*self._decoder.feed(data)]

    def _read_wakes(self) -> list[Event]:
        try:
            numbers = os.read(self._wake_read, READ_SIZE)
        except BlockingIOError:
            return []
        # Each signal once, because ten resizes are one. Other numbers belong to libraries that
        # catch signals of their own.
        return [self._event_of(number) for number in dict.fromkeys(numbers) if number in SIGNALS]

    def _event_of(self, number: int) -> Event:
        if number == signal.SIGWINCH:
            return Resized(*self._size())
        if number == signal.SIGINT:
            return KeyPressed('Ctrl-C')
        if number in (signal.SIGTSTP, signal.SIGCONT):
            return Suspended(resumed=number == signal.SIGCONT)
        return Terminated(signal.Signals(number).name)


def similar_types(name: str) -> tuple[str, ...]:
    """Return types to use if this system does not know a terminal, as over ssh: the nearest first."""
    family = next((family for family in _FAMILIES if name.startswith(family)), '')
    if family in ('screen', 'tmux'):
        return 'screen-256color', 'screen'
    return ('xterm-256color', 'xterm') if family or name.endswith('-256color') else ()


class PosixTerminal(CursesTerminal):
    """A terminal whose keys are read without curses, which cannot wait for keys, signals and samples together."""

    def _check_type(self) -> None:
        # Called first because initscr exits the process if it does not know the terminal.
        known = os.environ.get('TERM', '')
        for name in (known, *similar_types(known)) if known else ():
            with contextlib.suppress(curses.error):
                curses.setupterm(name, sys.stdout.fileno())
                if name != known:
                    os.environ['TERM'] = name  # which initscr reads
                break
        else:
            curses.setupterm(known or None, sys.stdout.fileno())
        if curses.tigetstr('cup') is None:
            raise TerminalError(f'a terminal of type {terminal_type()} cannot place its cursor')

    def _open_input(self) -> PosixInput:
        delay = escape_delay(os.environ.get('ESCDELAY'))
        return PosixInput(sys.stdin.fileno(), self.size, delay=delay)

    def _set_modes(self, *, mouse: bool) -> None:
        _write(PASTE_ON + (MOUSE_ON if mouse else MOUSE_OFF))

    def _enter(self) -> None:
        super()._enter()
        assert self._screen is not None
        # Switches to the alternate screen and saves the position of the cursor, also after `suspend`.
        self._screen.erase()
        self._screen.refresh()
        # The reply is an event. Nothing waits for it.
        if self._asks_background and os.environ.get('TERM', '').startswith(_WITH_BACKGROUND):
            _write(BACKGROUND_QUERY)
            if isinstance(self._input, PosixInput):
                self._input.expect_replies()

    def _leave(self) -> None:
        if self._screen is not None and curses.tigetstr('rmcup') is None:
            # There is no other screen to return to: the shell goes on in the row of hints.
            with contextlib.suppress(curses.error):
                self._screen.move(self._screen.getmaxyx()[0] - 1, 0)
                self._screen.clrtoeol()
                self._screen.refresh()
        super()._leave()

    def _unset_modes(self) -> None:
        _write(MOUSE_OFF + PASTE_OFF + RESET)
        if isinstance(self._input, PosixInput):
            self._input.drop_replies()

    def suspend(self) -> None:
        self._leave()
        # SIGSTOP because SIGTSTP is caught; to the whole group, like Ctrl-Z.
        os.kill(0, signal.SIGSTOP)
        self._enter()
        self.forget()


def _write(text: str) -> None:
    # If the terminal is gone, there is nothing to draw or to restore.
    with contextlib.suppress(OSError):
        write_pieces(sys.stdout.fileno(), [text.encode('ascii')])
