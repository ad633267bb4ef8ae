# SPDX-License-Identifier: Apache-2.0
"""The command line of ``nvitop``."""

from __future__ import annotations

import argparse
import itertools

from nvitop.console.arguments import ArgumentParser, add_general
from nvitop.console.commands import COMMANDS, command_lines
from nvitop.console.option_table import GROUPS
from nvitop.console.options import Invocation

_EXAMPLES = """\
nvitop               watch GPUs and processes; press h for help
nvitop -1 -o 0 1     print a report on GPUs 0 and 1
nvitop -m full -u    watch your own processes only
nvitop --demo        look around on a simulated machine
"""
_EXIT_STATUS = {
    '0': 'at least one GPU works',
    '1': 'no GPU works, or a request could not be fulfilled',
    '2': 'invalid arguments',
}


def make_parser() -> ArgumentParser:
    """Make the parser of ``nvitop``. Options that are not given are not in the namespace."""
    calls = [f'nvitop {command.name} [OPTION ...]' for command in COMMANDS]
    parser = ArgumentParser(
        prog='nvitop',
        usage=['nvitop [OPTION ...]', *calls],
        description='Show NVIDIA GPUs and their processes: in a terminal as a monitor, otherwise as\n'
        'a report.',
        examples=_EXAMPLES,
        exit_status=_EXIT_STATUS,
        commands=COMMANDS,
        argument_default=argparse.SUPPRESS,
    )
    parser.add_argument_group('commands (nvitop help COMMAND explains one)', command_lines())
    general = add_general(parser, demo=False)
    modes = general.add_mutually_exclusive_group()
    for title, rows in GROUPS.items():
        group = general if title == 'general' else parser.add_argument_group(title)
        for option in rows:
            if option.flags:
                container = modes if option.field in ('once', 'mode') else group
                option.kind.add(container, option, argparse.SUPPRESS)
    _add_configuration(parser)
    return parser


def _add_configuration(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        'configuration (options such as --no-readonly and --unicode override the file)'
    )
    files = group.add_mutually_exclusive_group()
    files.add_argument('--config', metavar='FILE', help='read FILE instead of the default file')
    files.add_argument('--no-config', action='store_true', help='ignore the default file')
    group.add_argument(
        '--print-config',
        action='store_true',
        help='print the effective configuration as a commented file and exit',
    )


#: Process filters that no process can match together.
_CONTRADICTIONS = (
    ('only_compute', 'graphics'),
    ('only_compute', 'only_graphics'),
    ('compute', 'only_graphics'),
)


def parse_arguments(arguments: list[str] | None = None) -> Invocation:
    """Parse the arguments of ``nvitop``; exit with status 2 if they are invalid."""
    parser = make_parser()
    layer: dict[str, object] = dict(vars(parser.parse(arguments)))
    for one, other in _CONTRADICTIONS:
        if layer.get(one) and layer.get(other):
            first, second = (f'--{name.replace("_", "-")}' for name in (one, other))
            parser.error(f'{first} and {second} exclude each other')
    if layer.get('demo') in [command.name for command in COMMANDS]:
        name = layer['demo']
        parser.error(f'{name!r} must be the first argument: nvitop {name} --demo ...')
    for name in ('users', 'pids'):
        given = layer.get(name)
        if isinstance(given, list):
            layer[name] = tuple(itertools.chain.from_iterable(given))
    config = layer.pop('config', None)
    return Invocation(
        config=config if isinstance(config, str) else None,
        reads_config=not layer.pop('no_config', False),
        prints_config=bool(layer.pop('print_config', False)),
        layer=layer,
    )
