# SPDX-License-Identifier: GPL-3.0-only
"""``nvitop fleet``: the command line of :mod:`nvitop.fleet.command` with its screens."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nvitop.console.config import read_config
from nvitop.console.options import Options, merge, parse_environment
from nvitop.console.outcome import CommandFailure
from nvitop.console.startup import collect_garbage_rarely
from nvitop.fleet import command
from nvitop.fleet.command import make_parser, make_server
from nvitop.gui.fleet.app import run_fleet
from nvitop.gui.fleet.state import FleetState
from nvitop.gui.settings import choices
from nvitop.gui.term.curses_terminal import TerminalError

if TYPE_CHECKING:
    import argparse

    from nvitop.fleet.settings import Settings

__all__ = ['main', 'make_parser']


def main(arguments: list[str]) -> int:
    """Run ``nvitop fleet`` with the arguments after that word; return the exit status."""
    return command.main(arguments, _show)


def _show(given: argparse.Namespace, settings: Settings) -> int:
    """Run the screens."""
    options = _read_options(given.config)
    is_demo = given.demo is not None
    server = make_server(given.demo, settings)
    name = 'simulated cluster' if is_demo else settings.url.partition('://')[2]
    state = FleetState(scope=settings.scope, server=name, is_demo=is_demo)
    collect_garbage_rarely()
    try:
        return run_fleet(server, state, options, interval=settings.interval)
    except TerminalError as error:
        raise CommandFailure(f'{error}\nTry: nvitop fleet -1') from None
    except RuntimeError as error:
        raise CommandFailure(f'no thread can be started: {error}') from None


def _read_options(path: str | None) -> Options:
    """Return the options of the monitor from the configuration file and the environment."""
    return merge(read_config(path, choices()).layer, parse_environment(os.environ))
