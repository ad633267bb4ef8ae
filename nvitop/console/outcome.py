# SPDX-License-Identifier: Apache-2.0
"""How a command ends: failures and interrupts as messages and exit statuses."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import Callable, Iterator

from nvitop.console.messages import print_message
from nvitop.log import warnings_to

#: Added to the number of the signal that ended a command, as shells do.
SIGNALED = 128


class InterruptedByUser(BaseException):
    """A signal asked the program to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class CommandFailure(Exception):
    """The command cannot do what it was asked to; the text is the error message."""

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
    except BrokenPipeError:  # the reader has seen enough, as in `nvitop | head`
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
