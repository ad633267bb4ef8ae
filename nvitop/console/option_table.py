# SPDX-License-Identifier: Apache-2.0
"""The options of the monitor and the report, one row for each, and the command line of ``nvitop``.

The command line, the configuration file, the man page and the documentation are made from this
table; ``docs/adding-an-option.md`` explains it.
"""

from __future__ import annotations

import argparse
from typing import Any, Collection, Mapping, NamedTuple

from nvitop.basics.units import in_unit
from nvitop.console import options
from nvitop.console.arguments import (
    DEVICES,
    DEVICES_HELP,
    ArgumentParser,
    Extend,
    add_general,
    duration,
    one_of,
    separated,
    whole_number,
)
from nvitop.console.commands import COMMANDS, command_lines

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


def format_value(value: object) -> str:
    """Format a value in TOML."""
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, tuple):
        return f'[{", ".join(format_value(item) for item in value)}]'
    if isinstance(value, str):
        text = value.replace('\\', '\\\\').replace('"', '\\"')
        return f'"{text}"'
    return repr(value)


#: A flag that inverts the default, and a hidden one that overrides the configuration file.
SWITCH: Mapping[str, Any] = {'action': 'store_const'}
#: A table of keys, which :mod:`nvitop.console.config` checks.
KEY_TABLE: Mapping[str, Any] = {}


class Option(NamedTuple):
    """A row of the table."""

    #: Field of :class:`~nvitop.console.options.Options`, which has the type and the default; ``''``
    #: for a flag without effect. The last row of a field is that of its key.
    field: str
    #: :data:`SWITCH`, or further arguments of :meth:`argparse.ArgumentParser.add_argument`.
    arguments: Mapping[str, Any]
    #: Flags on the command line; none: only the configuration file sets the option.
    flags: tuple[str, ...]
    #: For the help, the man page and the completions.
    help: str
    #: Key in the configuration file; ``''``: only the command line sets the option.
    key: str = ''
    #: For the configuration file, if ``help`` does not fit there.
    key_help: str = ''
    #: Where the option has an effect: in the ``'monitor'``, the ``'report'``, or ``'both'``.
    applies: str = 'both'
    #: Unit of a time in the configuration file; Options has seconds.
    unit: str = ''
    #: Whether a key of the monitor saves what other keys chose.
    is_saved: bool = False

    @property
    def comment(self) -> str:
        """The explanation in the configuration file."""
        return self.key_help or self.help

    def add(self, group: argparse._ActionsContainer, default: object) -> None:
        """Add the flags; those of a switch with their opposite: ``--no-NAME``, or ``--NAME`` for ``--no-NAME``."""
        if self.arguments is not SWITCH:
            group.add_argument(
                *self.flags, dest=self.field, default=default, help=self.help, **self.arguments
            )
            return
        turned = not options.Options._field_defaults[self.field]
        name = self.flags[-1].lstrip('-')
        opposite = name[3:] if name.startswith('no-') else f'no-{name}'
        for flags, value, text in (
            (self.flags, turned, self.help),
            ((f'--{opposite}',), not turned, argparse.SUPPRESS),
        ):
            group.add_argument(
                *flags, dest=self.field, default=default, help=text, const=value, **SWITCH
            )

    def check(self, value: Any, allowed: Collection[str] = ()) -> object:
        """Return the value of Options for a value in TOML; ``allowed`` are words of other packages.

        Raises ValueError with the allowed values, but without the key.
        """
        if self.arguments is SWITCH:
            if not isinstance(value, bool):
                raise ValueError(f'must be true or false, not {value!r}')
            return value
        if self.unit:
            return self.arguments['type'](value)
        if 'choices' in self.arguments:
            return one_of('word', self.arguments['choices'])(str(value))
        if not isinstance(value, (list, tuple)):
            raise ValueError(f'must be a list, not {value!r}')
        names = tuple(map(one_of('word', allowed), map(str, value)))
        if not names:
            raise ValueError(f'must name at least one of {", ".join(allowed)}')
        if len(set(names)) < len(names):
            raise ValueError('contains a word twice')
        return names

    def format(self, value: Any) -> str:
        """Return a value of Options in TOML."""
        return in_unit(value, self.unit) if self.unit else format_value(value)


class _Ignored(argparse.Action):
    def __call__(self, *_: object, **__: object) -> None:
        """Store nothing."""


_NVITOP_1 = 'accepted for nvitop 1, without effect: each metric has one color'
_THRESHOLDS: Mapping[str, Any] = {'nargs': 2, 'metavar': 'PERCENT', 'action': _Ignored}


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.replace(',', ' ').replace('-', '_').split())


# fmt: off
GENERAL: tuple[Option, ...] = (
    Option('once', SWITCH, ('-1', '--once'), 'print a report and exit'),
    Option('mode', {'choices': options.MODES, 'nargs': '?'}, ('-m', '--monitor'), 'run the monitor with GPUs in this form: a row of as many lines as fit (auto), of one line (compact), or the classic table (full), which -1 -m full prints too',
           'mode', 'form of the GPUs: auto, compact (a line each) or full (the classic table)', is_saved=True),
    Option('interval', {'type': duration(*options.INTERVALS), 'metavar': 'TIME'}, ('--interval',), 'measure every TIME, such as 5 or 500ms; at least 250ms (default: devices 1s, processes 2s)',
           'interval', 'time between samples, at least 0.25 s (default: devices 1 s, processes 2 s)', applies='monitor', unit='s'),
    Option('ascii', SWITCH, ('-U', '--ascii', '--no-unicode'), 'draw with ASCII characters only',
           'ascii'),
    Option('readonly', SWITCH, ('--readonly',), 'disable sending signals to processes',
           'readonly', applies='monitor'),
    Option('show_host', SWITCH, ('--no-host',), 'hide the host panel of the monitor (press H to show it)',
           'show-host', 'show the host panel', applies='monitor', is_saved=True),
    Option('flat', SWITCH, ('--flat',), 'list processes one by one instead of by job (press J to change it)',
           'flat', 'list processes one by one instead of by job', is_saved=True),
    Option('hints', SWITCH, ('--no-hints',), 'hide the keys in the last row of the monitor (press m to show them)',
           'hints', 'show keys in the last row', applies='monitor', is_saved=True),
    Option('report_on_exit', SWITCH, ('--no-report',), 'print no report when the monitor exits',
           'report-on-exit', 'print a report when the monitor exits', applies='monitor'),
    Option('columns', {'type': _split, 'metavar': 'NAMES'}, ('--columns',), 'show these columns of processes, comma-separated, such as pid,user,owner,command',
           'columns', 'columns of the process panel, from left to right', is_saved=True),
    Option('scroll_back', {'type': duration(*options.SCROLL_BACKS, unit='m'), 'metavar': 'MINUTES'}, ('--scroll-back',), 'keep the last MINUTES of samples in memory, to look back at; also a time such as 2h (default: 60)',
           'scroll-back', 'minutes of samples that the monitor keeps in memory, to look back at; 0: none', applies='monitor', unit='m'),
    Option('owner_names', {'choices': options.OWNER_NAMES}, ('--owner-names',), 'look up names of containers and pods in world-readable files, also through the sockets of Docker and Podman, or not at all (default: files)',
           'owner-names', 'where names of containers and pods are looked up: readable files, also sockets of Docker and Podman, or none'),
    Option('wake', {'choices': options.WAKE}, ('--wake',), 'wake sleeping GPUs (runtime D3 on laptops): never, when you press r in the monitor (ask), or at once (always); --only wakes the GPUs that it names (default: ask)',
           'wake', 'when to wake sleeping GPUs: never, when you press r, or always'),
    Option('ssh', {'metavar': 'HOST'}, ('--ssh',), 'show another machine over ssh; nvitop must be installed there, too'),
)
#: Title of a group in the help → its options.
GROUPS: dict[str, tuple[Option, ...]] = {
    'device filters': (
        Option('only', DEVICES, ('-o', '-i', '--only', '--id'), f'{DEVICES_HELP}; overrides --only-visible'),
        Option('only_visible', SWITCH, ('-ov', '--only-visible'), 'include only the devices in CUDA_VISIBLE_DEVICES'),
    ),
    'process filters (a process must match all of them)': (
        Option('compute', SWITCH, ('-c', '--compute'), 'show only processes with a compute context (types C and C+G)'),
        Option('only_compute', SWITCH, ('-C', '--only-compute'), 'show only processes with only a compute context (type C)'),
        Option('graphics', SWITCH, ('-g', '--graphics'), 'show only processes with a graphics context (types G and C+G)'),
        Option('only_graphics', SWITCH, ('-G', '--only-graphics'), 'show only processes with only a graphics context (type G)'),
        Option('users', {'metavar': 'USERNAME', 'nargs': '*', 'action': Extend, 'type': separated(str)}, ('-u', '--user'), 'show only processes of these users (default: the current user)'),
        Option('pids', {'metavar': 'PID', 'nargs': '+', 'action': Extend, 'type': separated(whole_number(1))}, ('-p', '--pid'), 'show only these processes'),
    ),
    'colors': (
        Option('force_color', SWITCH, ('--force-color',), 'color the report even if the output is not a terminal', applies='report'),
        Option('theme', {'action': 'store_const', 'const': 'light'}, ('--light',), 'set the colors for a light background, like --theme light'),
        Option('theme', {'choices': options.THEME_NAMES}, ('--theme',), 'set the colors (default: auto, which is dark or light like the background of the terminal, and dark if that is unknown)',
               'theme', 'colors; auto is dark or light like the background of the terminal', is_saved=True),
        Option('', {'nargs': 0, 'action': _Ignored}, ('--colorful',), _NVITOP_1),
        Option('', _THRESHOLDS, ('--gpu-util-thresh',), _NVITOP_1),
        Option('', _THRESHOLDS, ('--mem-util-thresh',), _NVITOP_1),
        # A table must be last in a file.
        Option('keys', KEY_TABLE, (), 'keys of the monitor; each list replaces the default keys of an action', 'keys', applies='monitor'),
    ),
}
# fmt: on

#: Field → option.
OPTIONS: dict[str, Option] = {
    row.field: row for rows in (GENERAL, *GROUPS.values()) for row in rows if row.field
}
#: Key in the configuration file → option.
SETTINGS: dict[str, Option] = {row.key: row for row in OPTIONS.values() if row.key}

_incomplete = OPTIONS.keys() ^ (set(options.Options._fields) - options.WITHOUT_ROW)
if _incomplete:
    raise TypeError(
        f'{sorted(_incomplete)}: an option needs a row in nvitop/console/option_table.py '
        'and a field in Options of nvitop/console/options.py'
    )


def add_options(group: argparse._ActionsContainer, *fields: str, default: object = None) -> None:
    """Add options of this table to the parser of another command."""
    for field in fields:
        OPTIONS[field].add(group, default)


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
    groups = [(add_general(parser), GENERAL)]
    groups += [(parser.add_argument_group(title), rows) for title, rows in GROUPS.items()]
    for group, rows in groups:
        for option in rows:
            if option.flags:
                option.add(group, argparse.SUPPRESS)
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
    return parser


#: Process filters that no process can match together.
_CONTRADICTIONS = (
    ('only_compute', 'graphics'),
    ('only_compute', 'only_graphics'),
    ('compute', 'only_graphics'),
)


def parse_arguments(arguments: list[str] | None = None) -> options.Invocation:
    """Parse the arguments of ``nvitop``; exit with status 2 if they are invalid."""
    parser = make_parser()
    layer: dict[str, object] = dict(vars(parser.parse(arguments)))
    for names in _CONTRADICTIONS:
        if all(layer.get(name) for name in names):
            first, second = (f'--{name.replace("_", "-")}' for name in names)
            parser.error(f'{first} and {second} exclude each other')
    if layer.get('demo') in [command.name for command in COMMANDS]:
        name = layer['demo']
        parser.error(f'{name!r} must be the first argument: nvitop {name} --demo ...')
    if 'mode' in layer:
        layer['monitor'] = True
        if layer['mode'] is None:  # the configuration file sets it
            del layer['mode']
    config = layer.pop('config', None)
    return options.Invocation(
        config=config if isinstance(config, str) else None,
        reads_config=not layer.pop('no_config', False),
        prints_config=bool(layer.pop('print_config', False)),
        layer=layer,
    )
