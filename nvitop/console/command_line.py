# SPDX-License-Identifier: Apache-2.0
"""The command line of ``nvitop``."""

from __future__ import annotations

import argparse

from nvitop.console.arguments import (
    ArgumentParser,
    add_demo,
    add_devices,
    add_general,
    add_owner_names,
    checked,
    storing,
)
from nvitop.console.commands import COMMANDS, command_lines
from nvitop.console.options import (
    MAX_SCROLL_BACK,
    MODES,
    THEME_NAMES,
    Invocation,
    check_interval,
    check_minutes,
    parse_thresholds,
)

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


@checked
def _minutes(text: str) -> float:
    try:
        return check_minutes(float(text))
    except ValueError:
        raise ValueError(f'must be a number from 0 to {MAX_SCROLL_BACK}, not {text!r}') from None


@checked
def _interval(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise ValueError(f'not a number of seconds: {text!r}') from None
    return check_interval(seconds)


@checked
def _pid(text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise ValueError(f'not a PID: {text!r}')
    return int(text)


def _store_thresholds(namespace: argparse.Namespace, dest: str, words: list[str]) -> None:
    try:
        setattr(namespace, dest, parse_thresholds(words))
    except ValueError:
        text = f'needs two whole numbers from 1 to 99, not {" ".join(words)!r}'
        raise ValueError(text) from None


def _store_monitor(namespace: argparse.Namespace, dest: str, mode: str | None) -> None:
    namespace.monitor = True
    if mode is not None:  # otherwise the other layers set it
        namespace.mode = mode


def _add_switch(group: argparse._ArgumentGroup, *names: str, text: str, off: str = '') -> None:
    """Add a switch that sets an option, or unsets the option ``off``.

    Its opposite overrides a configuration file: ``--no-NAME``, or ``--NAME`` for ``--no-NAME``.
    """
    actions = ('store_false', 'store_true') if off else ('store_true', 'store_false')
    switch = group.add_argument(*names, dest=off or None, action=actions[0], help=text)
    name = names[-1].lstrip('-')
    opposite = name[3:] if name.startswith('no-') else f'no-{name}'
    hidden = argparse.SUPPRESS
    group.add_argument(f'--{opposite}', dest=switch.dest, action=actions[1], help=hidden)


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
    parser.add_argument_group('commands (see COMMAND --help)', command_lines())
    _add_general(parser)
    _add_device_filters(parser)
    _add_process_filters(parser)
    _add_coloring(parser)
    _add_configuration(parser)
    return parser


def _add_general(parser: argparse.ArgumentParser) -> None:
    group = add_general(parser, demo=False)
    modes = group.add_mutually_exclusive_group()
    modes.add_argument('-1', '--once', action='store_true', help='print a report and exit')
    modes.add_argument(
        '-m',
        '--monitor',
        nargs='?',
        choices=MODES,
        action=storing(_store_monitor),
        help='run the monitor with device panels of this size (default: auto, which depends on '
        'the height of the terminal)',
    )
    group.add_argument(
        '--interval',
        type=_interval,
        metavar='SEC',
        help='measure every SEC seconds, 0.25 or more (default: devices 1, processes 2)',
    )
    _add_switch(group, '-U', '--ascii', '--no-unicode', text='draw with ASCII characters only')
    _add_switch(group, '--readonly', text='disable sending signals to processes')
    _add_switch(
        group,
        '--no-host',
        off='show_host',
        text='hide the host panel of the monitor (press H to show it)',
    )
    _add_switch(
        group,
        '--no-hints',
        off='hints',
        text='hide the keys in the last row of the monitor (press m to show them)',
    )
    group.add_argument(
        '--columns',
        type=_names,
        metavar='NAMES',
        help='show these columns of processes, comma-separated, such as pid,user,owner,command',
    )
    _add_scroll_back(group)
    add_owner_names(group)
    add_demo(group)
    _add_ssh(group)


def _add_ssh(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        '--ssh',
        metavar='HOST',
        help='show another machine over ssh; nvitop must be installed there, too',
    )


def _add_scroll_back(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        '--scroll-back',
        type=_minutes,
        metavar='MINUTES',
        help='keep the samples of the last MINUTES in memory, to look back at (default: 60)',
    )


def _names(text: str) -> tuple[str, ...]:
    """Return the words of a list. Its caller checks them."""
    return tuple(text.replace(',', ' ').replace('-', '_').split())


def _add_device_filters(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('device filters')
    add_devices(group, '-o', '-i', '--only', '--id', more='; overrides --only-visible')
    _add_switch(
        group, '-ov', '--only-visible', text='include only the devices in CUDA_VISIBLE_DEVICES'
    )


def _add_process_filters(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('process filters (a process must match all of them)')
    for short, name, kind in (
        ('-c', 'compute', 'with a compute context (types C and C+G)'),
        ('-C', 'only-compute', 'with only a compute context (type C)'),
        ('-g', 'graphics', 'with a graphics context (types G and C+G)'),
        ('-G', 'only-graphics', 'with only a graphics context (type G)'),
    ):
        _add_switch(group, short, f'--{name}', text=f'show only processes {kind}')
    group.add_argument(
        '-u',
        '--user',
        dest='users',
        nargs='*',
        metavar='USERNAME',
        help='show only processes of these users (default: the current user)',
    )
    group.add_argument(
        '-p',
        '--pid',
        dest='pids',
        nargs='+',
        type=_pid,
        metavar='PID',
        help='show only these processes',
    )


def _add_coloring(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('colors')
    _add_switch(
        group,
        '--colorful',
        text='draw bars and graphs in a color gradient (default: if the terminal has at least '
        '256 colors, except in the theme classic)',
    )
    _add_switch(
        group, '--force-color', text='color the report even if the output is not a terminal'
    )
    group.add_argument(
        '--theme',
        choices=THEME_NAMES,
        help='set the colors (default: auto, which is dark or light like the background of '
        'the terminal; classic has the colors of nvitop 1.7)',
    )
    group.add_argument(
        '--light',
        dest='theme',
        action='store_const',
        const='light',
        help='set the colors for a light background, like --theme light',
    )
    group.add_argument(
        '--no-light', dest='theme', action='store_const', const='dark', help=argparse.SUPPRESS
    )
    for half, name, default in (('gpu', 'GPU', '10 75'), ('mem', 'memory', '10 80')):
        group.add_argument(
            f'--{half}-util-thresh',
            dest={'gpu': 'gpu_thresholds', 'mem': 'memory_thresholds'}[half],
            nargs=2,
            action=storing(_store_thresholds),
            metavar='PERCENT',
            help=f'color {name} utilization as moderate and as heavy from these values on, 1 to 99 '
            f'(default: {default})',
        )


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
            layer[name] = tuple(given)
    config = layer.pop('config', None)
    return Invocation(
        config=config if isinstance(config, str) else None,
        reads_config=not layer.pop('no_config', False),
        prints_config=bool(layer.pop('print_config', False)),
        layer=layer,
    )
