# SPDX-License-Identifier: Apache-2.0
"""What all commands have in common: their parsers, and an output that may be gone."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from nvitop.printable import printable
from nvitop.version import __version__

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


class ArgumentParser(argparse.ArgumentParser):
    """A parser whose messages steer no terminal, whatever the arguments are."""

    def error(self, message: str) -> NoReturn:
        """Say in one line what is wrong, and leave with status 2."""
        self.exit(2, f'{self.prog}: error: {printable(message)}\n')

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Write the help or the version; where that is not possible, say so and leave with 1."""
        is_output = file is sys.stdout
        try:
            (file or sys.stderr).write(message)
            if is_output:
                sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            if is_output:
                discard_stdout()
                text = f'{self.prog}: ERROR: standard output cannot be written: {error.strerror}\n'
                self.exit(1, text)


def discard_stdout() -> None:
    """Let nothing more be written to who does not read, or has no room: at exit neither."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def add_help_and_version(group: argparse._ActionsContainer) -> None:
    """Add the options that every command has."""
    group.add_argument('-h', '--help', action='help', help='show this help and exit')
    group.add_argument(
        '-V',
        '--version',
        action='version',
        version=f'%(prog)s {__version__}',
        help='show the version and exit',
    )
