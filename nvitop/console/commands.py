# SPDX-License-Identifier: Apache-2.0
"""The table of commands. A new command is one row here and one module."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple, Sequence


class Command(NamedTuple):
    """A command line with a module of its own.

    The module has ``make_parser()``, which returns an :class:`argparse.ArgumentParser`, and
    ``main(arguments)``, which returns the exit status.
    """

    name: str
    #: One line for the help, the man page and the completions.
    help: str
    module: str
    #: Options that select the command without its name.
    option_prefixes: tuple[str, ...] = ()
    #: Whether it calls the driver, and a call that hangs must not keep it from ending.
    is_guarded: bool = False

    def load(self) -> Any:
        """Import the module."""
        return importlib.import_module(self.module)


EXPORTER = Command(
    'exporter',
    'serve GPU and process values to Prometheus',
    'nvitop.exporter.command',
    is_guarded=True,
)
#: Commands of ``nvitop``: ``nvitop NAME``.
COMMANDS = (
    Command(
        'query',
        'print GPU and process values as CSV, JSON or a table',
        'nvitop.query.command',
        ('--query-', '--help-query-', '-L', '--list-gpus'),
        is_guarded=True,
    ),
    Command(
        'health',
        'check GPUs for schedulers and monitoring systems',
        'nvitop.health.command',
        is_guarded=True,
    ),
    Command(
        'record',
        'record GPUs and processes to a file, to look at later',
        'nvitop.recording.command',
        is_guarded=True,
    ),
    Command('replay', 'show the screens of a recording', 'nvitop.gui.replay_command'),
    Command('usage', 'print who used how many GPU-hours', 'nvitop.usage.command'),
    EXPORTER,
    Command(
        'doctor',
        'report what works on this machine, and capture its GPUs',
        'nvitop.doctor',
        is_guarded=True,
    ),
    Command('run', 'wait for free GPUs, claim them, and run a command', 'nvitop.claims.run'),
    Command('claims', 'print which GPUs are claimed', 'nvitop.claims.listing', is_guarded=True),
    Command(
        'fleet',
        'show many machines, over ssh or from a Prometheus server',
        'nvitop.gui.fleet.command',
    ),
)
#: Other programs that are installed with ``nvitop``.
NVISEL = Command(
    'nvisel', 'print the GPUs that match limits', 'nvitop.select.command', is_guarded=True
)


def find_command(arguments: Sequence[str]) -> tuple[Command, list[str]] | None:
    """The command that the arguments of ``nvitop`` select, and the arguments for it."""
    if arguments == [NVISEL.name, '--help']:
        return NVISEL, ['--help']
    for command in COMMANDS:
        if arguments[:1] == [command.name]:
            return command, list(arguments[1:])
    # What follows "--" belongs to another command.
    own = arguments[: arguments.index('--')] if '--' in arguments else arguments
    for command in COMMANDS:
        prefixes = command.option_prefixes
        if prefixes and any(argument.startswith(prefixes) for argument in own):
            return command, list(arguments)
    return None


def without_help_word(arguments: Sequence[str]) -> list[str]:
    """Return ``COMMAND --help`` for ``help COMMAND``; other arguments are unchanged."""
    if arguments[:1] != ['help']:
        return list(arguments)
    named = list(arguments[1:2])
    is_known = named in [[], ['nvitop'], [NVISEL.name], *([command.name] for command in COMMANDS)]
    return [*(named if named != ['nvitop'] else []), *(['--help'] if is_known else [])]


def command_lines() -> str:
    """Names and help lines of all commands, one per line, for a help text."""
    commands = (*COMMANDS, NVISEL)
    names = [
        command.name if command is NVISEL else f'nvitop {command.name}' for command in commands
    ]
    width = max(map(len, names))
    return '\n'.join(f'{name:{width}}  {command.help}' for name, command in zip(names, commands))
