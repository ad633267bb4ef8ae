# SPDX-License-Identifier: Apache-2.0
"""The command line of ``nvisel``."""

from __future__ import annotations

import argparse
import contextlib
import functools
import signal
import sys
from typing import Any, Callable, Mapping

from nvitop.api import host
from nvitop.api.device import Device
from nvitop.console import lifecycle
from nvitop.console.arguments import ArgumentParser, add_general, duration, size, whole_number
from nvitop.console.driver import driver_errors, simulate, start_driver
from nvitop.console.lifecycle import CommandFailure, writing
from nvitop.console.messages import print_message
from nvitop.sampling import threads
from nvitop.select.choice import (
    FORMATS,
    Criteria,
    Gather,
    Selection,
    SelectOptions,
    all_gpus,
    select,
    select_in_time,
    too_few,
)

#: Maximum time (seconds) to read one GPU before it is skipped.
LIMIT_SECONDS = 5.0
#: Longest ``--wait``.
MAX_WAIT_SECONDS = 30 * 86400.0
_EXAMPLES = """\
nvisel -n 1 -f 20GiB --wait 8h
gpus=$(nvisel -n 2 -f 20GiB -O uuid) && CUDA_VISIBLE_DEVICES=$gpus ./train.py
nvisel -G 10 --account-as-free
nvisel --demo half-busy -G 10 --newline
"""
_EXIT_STATUS = {
    '0': 'success',
    '1': 'the driver does not respond, or the output cannot be written',
    '2': 'invalid arguments',
    '3': 'CUDA_VISIBLE_DEVICES cannot be evaluated',
    '4': 'fewer devices match than --min-count, or none within --wait',
}
#: Exit status if CUDA_VISIBLE_DEVICES cannot be evaluated.
CUDA_ERROR = 3
#: Exit status if fewer devices match than are required.
TOO_FEW = 4


def make_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog='nvisel',
        usage=['nvisel [OPTION ...]'],
        description='Print the GPUs that match all limits, best first, in the form of\n'
        'CUDA_VISIBLE_DEVICES. Without limits, all GPUs match, also those in use.',
        examples=_EXAMPLES,
        exit_status=_EXIT_STATUS,
    )
    add_general(parser)
    add = add_devices(parser).add_argument
    add(
        '-c',
        '--min-count',
        type=whole_number(0),
        metavar='N',
        help='exit with status 4 if fewer than N devices match',
    )
    add('-C', '--max-count', type=whole_number(0), metavar='N', help='print at most N devices')
    add(
        '-n',
        '--count',
        type=whole_number(0),
        metavar='N',
        help='same as --min-count N --max-count N',
    )
    add_limits(parser)
    add_wait(
        parser, 4, 'wait until --min-count devices match, and at least one; nothing is reserved'
    )
    group = add_identifiers(parser)
    separators = group.add_mutually_exclusive_group()
    add = separators.add_argument
    add(
        '-s',
        '--sep',
        '--separator',
        dest='separator',
        default=',',
        type=_separator,
        metavar='SEP',
        help='print SEP between devices (default: a comma)',
    )
    add(
        '--newline',
        dest='separator',
        action='store_const',
        const='\n',
        help='print one device per line',
    )
    add(
        '-0',
        '--null',
        dest='separator',
        action='store_const',
        const='\0',
        help='print a NUL character after each device, for xargs -0',
    )
    group.add_argument(
        '-S',
        '--no-sort',
        dest='sort',
        action='store_false',
        help='keep the order of the devices (default: best first)',
    )
    return parser


def add_devices(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the group of options about the devices to choose from; return it."""
    group = parser.add_argument_group('choice')
    add = group.add_argument
    add(
        '-i',
        '--inherit',
        nargs='?',
        const=True,
        metavar='CUDA_VISIBLE_DEVICES',
        help='choose among the devices that CUDA shows with this value (default: the value in the '
        'environment)',
    )
    add(
        '--account-as-free',
        nargs='*',
        action='extend',
        metavar='USERNAME',
        help="count memory of these users' processes as free (default: the current user)",
    )
    add(
        '--include-unhealthy',
        action='store_true',
        help='include GPUs with critical findings, such as memory errors; see nvitop health',
    )
    add(
        '--ignore-claims',
        action='store_true',
        help='also choose GPUs that others have claimed with nvitop run',
    )
    return group


def add_limits(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group('limits').add_argument
    add(
        '-f',
        '--min-free-memory',
        type=size(),
        metavar='SIZE',
        help='require at least SIZE of free memory, for example 4GiB',
    )
    add(
        '-t',
        '--min-total-memory',
        type=size(),
        metavar='SIZE',
        help='require at least SIZE of memory',
    )
    add(
        '-G',
        '--max-gpu-utilization',
        type=whole_number(0, 100),
        metavar='PERCENT',
        help='require a GPU utilization of at most PERCENT',
    )
    add(
        '-M',
        '--max-memory-utilization',
        type=whole_number(0, 100),
        metavar='PERCENT',
        help='require a memory bandwidth utilization of at most PERCENT',
    )
    add(
        '--tol',
        '--tolerance',
        dest='tolerance',
        type=whole_number(0),
        default=0,
        metavar='PERCENT',
        help='relax memory limits by PERCENT, and utilization limits by PERCENT points',
    )


def add_wait(parser: argparse.ArgumentParser, status: int, text: str) -> argparse._ArgumentGroup:
    """Add the group of options about waiting, with the maximum time; return it."""
    group = parser.add_argument_group('waiting')
    group.add_argument(
        '--wait',
        type=duration(0, MAX_WAIT_SECONDS),
        metavar='TIME',
        help=f'{text}; exit with status {status} after TIME, such as 90s or 8h',
    )
    return group


def add_identifiers(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the group of options about output, with the form of devices; return it."""
    group = parser.add_argument_group('output')
    group.add_argument(
        '-O',
        '--format',
        choices=FORMATS[:2],
        default='index',
        help='use indices or UUIDs (default: index; MIG devices always have UUIDs)',
    )
    return group


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = make_parser()
    options = parser.parse(arguments)
    if options.count is not None:
        if (options.min_count, options.max_count) != (None, None):
            parser.error('--count cannot be combined with --min-count or --max-count')
        options.min_count = options.max_count = options.count
    options.min_count = options.min_count or 0
    if options.max_count is not None and options.max_count < options.min_count:
        parser.error(
            f'--max-count ({options.max_count}) is less than --min-count ({options.min_count})'
        )
    if options.wait is not None:
        if options.max_count == 0:
            parser.error('--wait needs a --max-count of 1 or more')
        options.min_count = max(options.min_count, 1)
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run ``nvisel`` and return its exit status."""
    if arguments is None:
        # The default handler ends the process even while the driver hangs.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    options = _parse(arguments)
    return lifecycle.run('nvisel', functools.partial(_run, options))


def _run(options: argparse.Namespace) -> int:
    simulate(options.demo)
    criteria = criteria_of(options)
    wanted = options_of(options)._replace(
        min_count=options.min_count,
        max_count=options.max_count,
        format=options.format,
        sort=options.sort,
    )
    devices = start_devices_to_choose_from('nvisel', options.inherit)
    with driver_errors('nvisel'):
        choose = functools.partial(select, devices, criteria, wanted, limited_reader('nvisel'))
        selection = select_in_time(
            choose,
            options.min_count,
            options.wait or 0.0,
            on_wait=lambda seen: _announce(too_few(len(seen.chosen), options.min_count)),
        )
    return _print(selection, options)


@functools.lru_cache(maxsize=1)  # not again until the text changes
def _announce(text: str) -> None:
    with contextlib.suppress(OSError):
        print(f'nvisel: waiting: {text}', file=sys.stderr, flush=True)


def criteria_of(options: argparse.Namespace) -> Criteria:
    """Return the limits that the options of :func:`add_limits` give."""
    return Criteria(
        options.min_free_memory,
        options.min_total_memory,
        options.max_gpu_utilization,
        options.max_memory_utilization,
        options.tolerance,
    )


def options_of(options: argparse.Namespace) -> SelectOptions:
    """Return the options of :func:`add_devices`."""
    users = [host.getuser()] if options.account_as_free == [] else options.account_as_free
    return SelectOptions(
        accounts=frozenset(users or ()),
        include_unhealthy=options.include_unhealthy,
        ignore_claims=options.ignore_claims,
    )


def start_devices_to_choose_from(program: str, inherit: bool | str | None) -> list[Device | int]:
    """Start the driver; return the devices in ``inherit``, or the indices of all GPUs."""
    limit = None if inherit is None else threads.VISIBLE_SECONDS
    return start_driver(program, functools.partial(_devices_in, inherit), limit=limit)


def _devices_in(inherit: bool | str | None) -> list[Device | int]:
    # First: without a driver, an empty CUDA_VISIBLE_DEVICES would not be an error.
    indices = all_gpus()
    if inherit is None:
        return list(indices)
    values = () if inherit is True else (str(inherit),)
    try:
        visible: list[Any] = Device.parse_cuda_visible_devices(*values)
    except RuntimeError as error:
        raise CommandFailure(f'CUDA failed: {error}', CUDA_ERROR) from error
    # CUDA silently ignores an unknown device and all that follow it.
    words = [word.strip() for word in values[0].split(',')] if values else []
    if words not in ([], ['']) and '-1' not in words and len(visible) < len(words):
        ignored = ','.join(words[len(visible) :])
        raise CommandFailure(f'--inherit: CUDA would ignore {ignored!r}: no such device', 2)
    return [Device(index) for index in visible]


def limited_reader(program: str) -> Gather:
    """Return a function that reads devices; one that does not respond counts as lost."""
    guard = threads.Watchdog(program)

    def read(steps: Mapping[int, Callable[[], Any]]) -> list[list[Any]]:
        outcomes = guard.run(steps, limit=LIMIT_SECONDS)
        errors = [out.error for out in outcomes.values() if out.error is not None]
        if errors:
            raise errors[0]
        return [[None] if out.value is None else out.value for out in outcomes.values()]

    return read


def _print(selection: Selection, options: argparse.Namespace) -> int:
    """Print the devices, and messages about the choice; return the exit status."""
    identifiers = [str(identifier) for identifier in selection.chosen]
    with contextlib.suppress(BrokenPipeError), writing():
        if options.separator == '\0':
            print(''.join(f'{identifier}\0' for identifier in identifiers), end='', flush=True)
        else:
            print(options.separator.join(identifiers), flush=True)
    if not sys.stdout.isatty():
        with contextlib.suppress(OSError):
            print(f'CUDA_VISIBLE_DEVICES="{",".join(identifiers)}"', file=sys.stderr)
    if selection.unknown:
        devices = 'device' if selection.unknown == 1 else 'devices'
        text = f'skipped {selection.unknown} {devices}: the driver does not report a value that is limited'
        print_message('nvisel', 'warning', text)
    for label in selection.lost:
        print_message('nvisel', 'warning', f'skipped GPU {label}: lost or not responding')
    # Without a number and an order, it only translates CUDA_VISIBLE_DEVICES.
    if selection.not_free and (options.sort or options.max_count is not None):
        gpus = ', '.join(map(str, selection.not_free))
        subject = f'GPU {gpus} is' if len(selection.not_free) == 1 else f'GPUs {gpus} are'
        text = f'{subject} not free: more than 10 % of the memory is in use'
        text += '\nWithout limits, every GPU matches: add, for example, -f 40GiB -G 10.'
        print_message('nvisel', 'warning', text)
    if not identifiers and options.min_count == 0 and options.max_count != 0:
        text = 'no GPU matches, so that CUDA would show none\n-n 1 makes this an error.'
        print_message('nvisel', 'warning', text)
    for text in selection.unhealthy:
        print_message('nvisel', 'warning', f'skipped {text}\nUse --include-unhealthy to offer it.')
    if len(identifiers) < options.min_count:
        raise CommandFailure(too_few(len(identifiers), options.min_count), TOO_FEW)
    return 0


def _separator(text: str) -> str:
    try:
        text.encode('utf-8', 'surrogateescape')
    except UnicodeEncodeError:
        raise ValueError(f'not a text that can be printed: {text!r}') from None
    return text
