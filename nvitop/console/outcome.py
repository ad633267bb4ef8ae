# SPDX-License-Identifier: Apache-2.0
"""How a command ends: failures, interrupts and signals as messages and exit statuses."""

from __future__ import annotations

import abc
import contextlib
import os
import signal
import sys
import threading
from typing import Any, Callable, Iterator, TypeVar

from nvitop.console.messages import print_message
from nvitop.log import warnings_to
from nvitop.platforms.kernel import ENDING

#: Added to the number of the signal that ended a command, as shells do.
SIGNALED = 128


class InterruptedByUser(BaseException):
    """A signal requested the end of the program."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class CommandFailure(Exception):
    """The command failed. The text is the error message."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


def run(
    program: str,
    body: Callable[[], int],
    *,
    on_library_warning: Callable[[str, str], None] = lambda _text, _kind: None,
) -> int:
    """Run the body of a command and return its exit status, whatever it raises on purpose.

    Warnings of the library are not printed; ``on_library_warning`` gets their text and kind, see
    :func:`~nvitop.log.warnings_to`.
    """
    try:
        with warnings_to(on_library_warning):
            return body()
    except CommandFailure as failure:
        print_message(program, 'error', str(failure))
        return failure.status
    except BrokenPipeError:  # the reader stopped reading, as in `nvitop | head`
        discard_stdout()
        return 0
    except InterruptedByUser as interrupt:
        return SIGNALED + interrupt.number
    except KeyboardInterrupt:
        return SIGNALED + signal.SIGINT


@contextlib.contextmanager
def writing(name: str = 'standard output') -> Iterator[None]:
    """Report a failure to write inside the block, such as a full disk, as a command failure."""
    try:
        yield
    except BrokenPipeError:
        discard_stdout()
        raise
    except OSError as error:
        if name == 'standard output':
            discard_stdout()
        raise CommandFailure(f'cannot write to {name}: {error.strerror}') from error


def discard_stdout() -> None:
    """Redirect stdout to /dev/null so that interpreter exit cannot fail on a closed or full one."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


Self = TypeVar('Self', bound='SignalHandling')


class SignalHandling(abc.ABC):
    """Handles the signals that end a program inside its ``with`` block, if in the main thread."""

    def __init__(self) -> None:
        self._previous: dict[int, Any] = {}

    def __enter__(self: Self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in ENDING:
                # Signals that the parent ignores (nohup, background jobs) stay ignored.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    @abc.abstractmethod
    def _handle(self, number: int, frame: object) -> None: ...


class Interrupts(SignalHandling):
    """Turns signals into :class:`InterruptedByUser`, but delays them while a row is written."""

    def __init__(self) -> None:
        super().__init__()
        self._is_delayed = False
        self._pending = 0

    def _handle(self, number: int, frame: object) -> None:
        # A second signal is not delayed: the reader of a pipe may never read on.
        if self._is_delayed and not self._pending:
            self._pending = number
            return
        raise InterruptedByUser(number)

    @contextlib.contextmanager
    def delayed(self) -> Iterator[None]:
        """Delay signals until the end of the block."""
        self._is_delayed = True
        try:
            yield
        finally:
            self._is_delayed = False
        pending, self._pending = self._pending, 0
        if pending:
            raise InterruptedByUser(pending)
