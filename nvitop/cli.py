# SPDX-License-Identifier: GPL-3.0-only
"""``nvitop``: arguments → Options → monitor, report, or another job."""

from __future__ import annotations

import argparse
import re
from typing import Callable

from nvitop.options import MODES, parse_thresholds
from nvitop.version import __version__

DESCRIPTION = 'Show what runs on the NVIDIA GPUs of this machine, live or as a report.'
EPILOG = """\
without a terminal nvitop prints the report, as with --once.

exit status: 0 when at least one GPU answers; 1 when none does, or when something that was asked
for could not be done; 2 for arguments that cannot be understood.
"""

#: An index, ``gpu:mig``, or the beginning of a UUID as CUDA_VISIBLE_DEVICES takes it.
_DEVICE = re.compile(r'\d+(:\d+)?|(GPU|MIG)-[0-9A-Za-z/-]+')


def _interval(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'not a number of seconds: {text!r}') from None
    if not 0.25 <= seconds < 1e6:
        raise argparse.ArgumentTypeError(f'must be 0.25 seconds or more, not {text}')
    return seconds


def _device(text: str) -> str:
    if not _DEVICE.fullmatch(text):
        raise argparse.ArgumentTypeError(f'not an index, a GPU:MIG index or a UUID: {text!r}')
    return text


def _pid(text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f'not a PID: {text!r}')
    return int(text)


class _Thresholds(argparse.Action):
    """Two percentages, kept in order."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        assert isinstance(values, list)
        try:
            setattr(namespace, self.dest, parse_thresholds(values))
        except ValueError:
            parser.error(
                f'argument {option_string}: needs two whole numbers from 1 to 99, '
                f'not {" ".join(values)!r}'
            )


class _Monitor(argparse.Action):
    """``--monitor [MODE]``: without a mode the other layers decide which."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        namespace.monitor = True
        if values is not None:
            namespace.mode = values


_Adder = Callable[..., argparse.Action]


def _add_switch(add: _Adder, *names: str, dest: str, opposite: str, text: str) -> None:
    """A switch and its opposite, which a configuration file can make necessary."""
    add(*names, dest=dest, action='store_true', help=text)
    add(opposite, dest=dest, action='store_false', help=argparse.SUPPRESS)


def make_parser() -> argparse.ArgumentParser:
    """The parser of ``nvitop``. What is not given on the command line is not in the namespace."""
    parser = argparse.ArgumentParser(
        prog='nvitop',
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        add_help=False,
    )
    _add_general(parser)
    _add_coloring(parser)
    _add_device_filters(parser)
    _add_process_filters(parser)
    return parser


def _add_general(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('general')
    group.add_argument('-h', '--help', action='help', help='show this help and exit')
    group.add_argument(
        '-V',
        '--version',
        action='version',
        version=f'%(prog)s {__version__}',
        help='show the version and exit',
    )
    jobs = group.add_mutually_exclusive_group()
    jobs.add_argument('-1', '--once', action='store_true', help='print a report once and exit')
    jobs.add_argument(
        '-m',
        '--monitor',
        nargs='?',
        choices=MODES,
        action=_Monitor,
        help='monitor; auto (the default) chooses between full and compact by the height of the '
        'terminal',
    )
    group.add_argument(
        '--interval',
        type=_interval,
        metavar='SEC',
        help='seconds between samples, 0.25 or more (default: devices 1, processes 2)',
    )
    _add_switch(
        group.add_argument,
        '-U',
        '--ascii',
        '--no-unicode',
        dest='ascii',
        opposite='--unicode',
        text='draw with ASCII characters only',
    )
    _add_switch(
        group.add_argument,
        '--readonly',
        dest='readonly',
        opposite='--no-readonly',
        text='do not let signals be sent to processes',
    )
    group.add_argument(
        '--demo',
        nargs='?',
        const='',
        metavar='SCENARIO',
        help='simulate a machine: the name of a scenario or a scenario file (default: dgx-h100)',
    )


def _add_coloring(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('coloring')
    _add_switch(
        group.add_argument,
        '--colorful',
        dest='colorful',
        opposite='--no-colorful',
        text='bars and graphs in a gradient, on terminals with 256 colors or more',
    )
    _add_switch(
        group.add_argument,
        '--force-color',
        dest='force_color',
        opposite='--no-force-color',
        text='color the report even when the output is not a terminal',
    )
    group.add_argument(
        '--light',
        dest='theme',
        action='store_const',
        const='light',
        help='colors for a terminal with a light background',
    )
    group.add_argument(
        '--no-light', dest='theme', action='store_const', const='dark', help=argparse.SUPPRESS
    )
    for half, what, default in (('gpu', 'GPU', '10 75'), ('mem', 'memory', '10 80')):
        group.add_argument(
            f'--{half}-util-thresh',
            dest={'gpu': 'gpu_thresholds', 'mem': 'memory_thresholds'}[half],
            nargs=2,
            action=_Thresholds,
            metavar=('TH1', 'TH2'),
            help=f'percentages, 1 to 99, from which {what} load is moderate and heavy '
            f'(default: {default})',
        )


def _add_device_filters(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('device filtering')
    group.add_argument(
        '-o',
        '--only',
        nargs='+',
        type=_device,
        metavar='INDEX',
        help='show only these devices: NVML indices, MIG devices as GPU:MIG, or UUIDs; '
        'beats --only-visible',
    )
    _add_switch(
        group.add_argument,
        '-ov',
        '--only-visible',
        dest='only_visible',
        opposite='--no-only-visible',
        text='show only the devices in CUDA_VISIBLE_DEVICES',
    )


def _add_process_filters(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('process filtering', 'all that are given must hold')
    for short, name, what in (
        ('-c', 'compute', 'processes with a compute context (type C or C+G)'),
        ('-C', 'only-compute', 'processes with nothing but a compute context (type C)'),
        ('-g', 'graphics', 'processes with a graphics context (type G or C+G)'),
        ('-G', 'only-graphics', 'processes with nothing but a graphics context (type G)'),
    ):
        _add_switch(
            group.add_argument,
            short,
            f'--{name}',
            dest=name.replace('-', '_'),
            opposite=f'--no-{name}',
            text=f'show only {what}',
        )
    group.add_argument(
        '-u',
        '--user',
        dest='users',
        nargs='*',
        metavar='USERNAME',
        help='show only processes of these users (without a name: of the current user)',
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


def parse_arguments(arguments: list[str] | None = None) -> dict[str, object]:
    """The layer of the command line: what was given, by the names of the option's fields."""
    layer: dict[str, object] = dict(vars(make_parser().parse_args(arguments)))
    for name in ('only', 'users', 'pids'):
        given = layer.get(name)
        if isinstance(given, list):
            layer[name] = tuple(given)
    return layer
