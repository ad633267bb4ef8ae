# SPDX-License-Identifier: Apache-2.0
"""The argument parser of all commands, and the options that several of them have."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NoReturn

from nvitop.console.messages import print_message
from nvitop.console.outcome import CommandFailure, writing
from nvitop.printable import printable
from nvitop.version import __version__

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


class ArgumentParser(argparse.ArgumentParser):
    """A parser that prints errors in one line, without control characters."""

    def error(self, message: str) -> NoReturn:
        """Print an error and exit with status 2."""
        print_message(self.prog, 'error', printable(message))
        self.exit(2)

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Write the help or the version; exit with status 1 if that fails."""
        if file is not sys.stdout:
            super()._print_message(message, file)
            return
        try:
            with writing():
                print(message, end='', flush=True)
        except BrokenPipeError:
            self.exit(0)
        except CommandFailure as failure:
            print_message(self.prog, 'error', str(failure))
            self.exit(failure.status)


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


def add_demo(group: argparse._ActionsContainer) -> None:
    """Add the option that simulates a machine; see :func:`nvitop.console.driver.simulate`."""
    group.add_argument(
        '--demo',
        nargs='?',
        const='',
        metavar='SCENARIO',
        help='simulate a machine: name or file of a scenario (default: dgx-h100)',
    )
