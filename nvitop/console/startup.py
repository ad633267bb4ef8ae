# SPDX-License-Identifier: Apache-2.0
"""The process around a command: how it starts and how it ends."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from nvitop.console.commands import EXPORTER, NVISEL
from nvitop.console.messages import print_message
from nvitop.console.outcome import SIGNALED, CommandFailure, writing

if TYPE_CHECKING:
    from collections.abc import Callable

#: Number of new objects after which a program that runs for long collects garbage.
COLLECTED_AFTER = 20_000


def run_process(program: str, load: Callable[[], Callable[[], int]]) -> NoReturn:
    """Run a command as a whole process.

    Args:
        program: Begins each message.
        load: Imports the command and returns its main function.
    """
    # Imports create no garbage, and collecting takes 5 % of the CPU time of `nvitop -1`.
    gc.disable()
    status = 1
    try:
        _open_closed_streams()
        status = load()()
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except KeyboardInterrupt:
        status = SIGNALED + signal.SIGINT
    except ImportError as error:  # usually a module pynvml that is not the NVML binding
        print_message(program, 'error', str(error))
    finally:
        status = _flush(program) or status
    # Tearing down the interpreter takes as long as reading eight GPUs, and would wait for threads
    # inside driver calls. The driver releases what a process held when it exits.
    os._exit(status)


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
    run_process('nvitop-exporter', lambda: EXPORTER.load().released_main)


def _open_closed_streams() -> None:
    """Open /dev/null in place of standard streams that are closed, as by ``nvitop >&-``.

    Otherwise the next file that any library opens would get their number. Standard output is
    opened so that writing fails.
    """
    for name, mode in (('stdin', os.O_RDONLY), ('stdout', os.O_RDONLY), ('stderr', os.O_RDWR)):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, mode)
            setattr(sys, name, os.fdopen(descriptor, 'r' if name == 'stdin' else 'w'))


def _flush(program: str) -> int:
    """Flush the standard streams; return 1 if stdout cannot be written, else 0."""
    status = 0
    try:
        with writing():
            sys.stdout.flush()
    except BrokenPipeError:
        pass
    except CommandFailure as failure:
        status = failure.status
        print_message(program, 'error', str(failure))
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    return status
