# SPDX-License-Identifier: Apache-2.0
"""A process that makes no driver calls, so that it always ends; its child runs the command.

A driver call that hangs in uninterruptible sleep keeps its process as a zombie, whatever signal it
gets. Waiting for the process, or for the end of a pipe that it holds, never ends. So the
process that the user started waits for a child. At the end the child closes the descriptors it was
given and sends its exit status. The parent then exits, even if the child cannot.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import signal
import sys
import threading
import time
from typing import Callable, NoReturn

from nvitop.platforms import stuck_calls
from nvitop.platforms.kernel import ENDING

assert sys.platform == 'linux'  # imported by nvitop.platforms.continue_in_child only

#: Time (seconds) for the child to end after it has sent its status.
END_SECONDS = 0.25
#: Not on Windows, and signals that cannot be caught are missing.
_FORWARDED = {
    getattr(signal, f'SIG{name}')
    for name in ('HUP', 'INT', 'QUIT', 'TERM', 'USR1', 'USR2', 'WINCH', 'TSTP', 'CONT')
    if hasattr(signal, f'SIG{name}')
}


def continue_in_child() -> Callable[[int], None]:
    """Return in a child process, with the function that sends its exit status, called at its end.

    This process never returns: it waits for the child. If there can be no child, it goes on itself.
    """
    if threading.active_count() > 1:
        return lambda _status: None
    inherited = _inherited_descriptors()
    parent = os.getpid()
    # In the foreground of a terminal, the kernel sends its signals to both processes. Elsewhere the
    # child has a group of its own: a signal to the whole group must not reach it twice.
    has_terminal = all(map(os.isatty, (0, 1)))
    watched = {*_FORWARDED, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    # Not later: that would discard the signal of a child that has ended by then.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    reading = writing = child = -1
    with contextlib.suppress(OSError):  # no more processes, or files
        reading, writing = os.pipe()
        child = os.fork()
    if child > 0:
        os.close(writing)
        _wait(child, reading, watched, forwards_all=not has_terminal)
    if child == 0:
        os.close(reading)
        _end_with_parent(writing, inherited)
        if not has_terminal:
            os.setpgid(0, 0)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        stuck_calls.heed()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if child != 0:
        return lambda _status: None
    return functools.partial(_send_status, parent, writing, inherited)


def _inherited_descriptors() -> list[int]:
    inherited = []
    try:
        names = os.listdir('/proc/self/fd')
    except OSError:  # no /proc
        return [0, 1, 2]
    for name in names:
        with contextlib.suppress(OSError):  # of the list itself
            if os.get_inheritable(int(name)):
                inherited.append(int(name))
    return inherited


def _end_with_parent(writing: int, inherited: list[int]) -> None:
    """End when the parent has ended or a signal says so, without the inherited descriptors.

    A process with a thread that hangs keeps its descriptors otherwise, and who reads them waits.
    """

    def wait() -> None:
        poll = select.poll()
        poll.register(writing, 0)  # POLLERR once the parent has ended
        poll.poll()
        _close(inherited)
        os.kill(os.getpid(), signal.SIGKILL)

    def end(number: int, _frame: object) -> None:
        _close(inherited)
        _end_by(number)

    with contextlib.suppress(RuntimeError):  # no more threads
        threading.Thread(target=wait, daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)


def _send_status(parent: int, writing: int, inherited: list[int], status: int) -> None:
    _close(inherited)
    with contextlib.suppress(OSError):  # the parent was killed
        os.write(writing, bytes([status & 0xFF]))
        if os.getppid() == parent:
            os.kill(parent, signal.SIGCHLD)


def _wait(
    child: int, reading: int, watched: set[signal.Signals], *, forwards_all: bool
) -> NoReturn:
    """Pass signals on to the child until it ends or sends its status; exit with its status."""
    os.set_blocking(reading, False)
    ending = 0
    while True:
        # A child that was told to end may be unable to, without a signal to this process.
        received = (
            signal.sigtimedwait(watched, END_SECONDS) if ending else signal.sigwaitinfo(watched)
        )
        number = signal.SIGCHLD if received is None else received.si_signo
        if received is not None and number != signal.SIGCHLD:
            if signal.getsignal(number) is signal.SIG_IGN:  # as after nohup
                continue
            if forwards_all or received.si_code <= 0:  # not from the terminal
                os.kill(child, number)
                ending = number if number in ENDING else ending
            if number == signal.SIGTSTP and (forwards_all or received.si_code > 0):
                os.kill(os.getpid(), signal.SIGSTOP)
            continue
        with contextlib.suppress(BlockingIOError):
            sent = os.read(reading, 1)
            if sent:
                _reap(child)
                os._exit(sent[0])
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended and os.WIFSIGNALED(status):
            _end_by(os.WTERMSIG(status))
        elif ended:
            os._exit(os.WEXITSTATUS(status))
        elif ending and stuck_calls.process_state(child) == 'Z':
            _end_by(ending)


def _reap(child: int) -> None:
    """Wait a moment for the end of the child: without it, a container may keep a zombie."""
    until = time.monotonic() + END_SECONDS
    while os.waitpid(child, os.WNOHANG)[0] == 0 and time.monotonic() < until:
        signal.sigtimedwait({signal.SIGCHLD}, END_SECONDS / 10)


def _end_by(number: int) -> NoReturn:
    with contextlib.suppress(OSError):  # SIGKILL
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.kill(os.getpid(), number)
    os._exit(128 + number)
