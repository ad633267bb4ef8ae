# SPDX-License-Identifier: Apache-2.0
"""What the parsers of all commands have in common."""

from __future__ import annotations

import argparse
from typing import NoReturn

from nvitop.printable import printable
from nvitop.version import __version__


class ArgumentParser(argparse.ArgumentParser):
    """A parser whose messages steer no terminal, whatever the arguments are."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and leave with status 2."""
        super().error(printable(message))


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
