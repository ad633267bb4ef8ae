# SPDX-License-Identifier: Apache-2.0
"""The process around a command: how it starts, writes rows and ends; failures and signals as exit statuses."""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import os
import signal
import sys
import threading
from typing import Any, Callable, Iterator, NoReturn, Sequence, TypeVar

from nvitop import platforms
from nvitop.basics.log import UNKNOWN_ORDER, warnings_to
from nvitop.console.commands import EXPORTER, NVISEL, find_command
from nvitop.console.messages import print_message, terminal_width
from nvitop.platforms.kernel import ENDING, wait_until_writable, write_pieces

#: The exporter's program in release 1.7.
RELEASED_EXPORTER = 'nvitop-exporter'
#: Added to the number of the signal that ended a command, as shells do.
SIGNALED = 128
#: Number of new objects after which a program that runs for long collects garbage.
COLLECTED_AFTER = 20_000


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
    on_library_warning: Callable[[str, str], None] | None = None,
) -> int:
    """Run the body of a command and return its exit status, whatever it raises on purpose.

    Warnings of the library are not printed, except that other GPUs than expected may be used.
    ``on_library_warning`` gets their text and kind instead, see
    :func:`~nvitop.basics.log.warnings_to`.
    """

    def print_warning(text: str, kind: str) -> None:
        if kind == UNKNOWN_ORDER:
            print_message(program, 'warning', text)

    try:
        with warnings_to(on_library_warning or print_warning):
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


def write_output(text: str) -> int:
    """Write text to standard output at once; return 0, the exit status."""
    with writing():
        print(text, end='', flush=True)
    return 0


def discard_stdout() -> None:
    """Redirect stdout to /dev/null so that interpreter exit cannot fail on a closed or full one."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


Self = TypeVar('Self', bound='Interrupts')


class Interrupts:
    """Turns the signals that end a program into :class:`InterruptedByUser` in its ``with`` block.

    They are delayed while a row is written. Only the main thread has handlers.
    """

    def __init__(self) -> None:
        self._previous: dict[int, Any] = {}
        self._is_delayed = False
        self._pending = 0

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


def run_process(program: str, load: Callable[[], Callable[[], int]]) -> NoReturn:
    """Run a command as a whole process."""
    # Imports create no garbage, and collecting takes 5 % of the CPU time of `nvitop -1`.
    gc.disable()
    send_status = None
    status = 1
    try:
        if _is_guarded(program):
            send_status = platforms.continue_in_child()
        _open_closed_streams()
        status = run(program, lambda: load()())
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except KeyboardInterrupt:
        status = SIGNALED + signal.SIGINT
    except ImportError as error:  # usually a module pynvml that is not the NVML binding
        print_message(program, 'error', str(error))
    except BaseException:
        sys.excepthook(*sys.exc_info())
    status = run(program, lambda: write_output('')) or status
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    if send_status is not None:
        send_status(status)
    # Tearing down the interpreter takes as long as reading eight GPUs, and would wait for threads
    # inside driver calls. The driver releases what a process held when it exits.
    os._exit(status)


def _is_guarded(program: str) -> bool:
    """Return whether a driver call that hangs must not keep this process."""
    arguments = sys.argv[1:]
    if os.environ.get('NVITOP_DEMO') or any(a.startswith(('--demo', '--ssh')) for a in arguments):
        return False
    if program != 'nvitop':
        return program in (NVISEL.name, RELEASED_EXPORTER)
    selected = find_command(arguments)
    return selected is None or selected[0].is_guarded


def collect_garbage_rarely() -> None:
    """Collect garbage among new objects only: a full collection would delay keys.

    Cycles arise only from failures. :func:`run_process` turned collections off.
    """
    gc.freeze()
    gc.set_threshold(COLLECTED_AFTER)
    gc.enable()


def nvisel() -> NoReturn:
    """Run ``nvisel``."""
    run_process(NVISEL.name, lambda: NVISEL.load().main)


def nvitop_exporter() -> NoReturn:
    """Run ``nvitop-exporter``."""
    run_process(RELEASED_EXPORTER, lambda: EXPORTER.load().released_main)


def _open_closed_streams() -> None:
    """Open /dev/null in place of standard streams that are closed, as by ``nvitop >&-``.

    Otherwise the next file that any library opens would get their number. Standard output is
    opened so that writing fails.
    """
    for name, mode in (('stdin', os.O_RDONLY), ('stdout', os.O_RDONLY), ('stderr', os.O_RDWR)):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, mode)
            setattr(sys, name, os.fdopen(descriptor, 'r' if name == 'stdin' else 'w'))


class Output:
    """Standard output, or the file ``path``, which the first row creates or truncates.

    ``interrupts`` are delayed while a row is written.
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

    def terminal_width(self) -> int:
        """Columns of the terminal on which the rows appear; 0 if it is none."""
        return terminal_width() if self._path is None else 0

    def write(self, pieces: Sequence[str]) -> None:
        """Write each piece completely, or raise OSError; a file then has no part of the piece."""
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
        """Close the file; raise OSError if rows were not stored (network file systems, quotas)."""
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
    except UnicodeEncodeError:  # lone UTF-16 surrogates, as in names on Windows
        return text.encode('utf-8', 'replace')
