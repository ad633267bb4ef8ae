# SPDX-License-Identifier: Apache-2.0
"""The command line of ``nvisel``."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from typing import Any, Callable, Sequence

from nvitop.api import host, libnvml
from nvitop.api.device import Device
from nvitop.api.utils import human2bytes
from nvitop.console.arguments import ArgumentParser, add_help_and_version, discard_stdout
from nvitop.console.library_log import library_warnings
from nvitop.printable import printable_lines
from nvitop.sampling import watchdog
from nvitop.select import FORMATS, Criteria, Selection, SelectOptions, select, too_few

#: How long one GPU may take to answer before it is left out.
LIMIT_SECONDS = 5.0


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f'not a whole number of 0 or more: {text!r}')
    return int(text)


def _size(text: str) -> int:
    try:
        return human2bytes(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'not a size such as 4GiB or 500M: {text!r}') from None


def make_parser() -> argparse.ArgumentParser:
    """The parser of ``nvisel``."""
    parser = ArgumentParser(
        prog='nvisel',
        description='Print the devices that meet all criteria, best first, in the form that '
        'CUDA_VISIBLE_DEVICES has.',
        epilog='exit status: 0 done; 1 the driver does not answer; 2 arguments that cannot be '
        'understood; 3 an error of CUDA; 4 fewer devices than --min-count.',
        add_help=False,
        allow_abbrev=False,
    )
    group = parser.add_argument_group('general')
    add_help_and_version(group)
    _add_constraints(parser)
    _add_format(parser)
    return parser


def _add_constraints(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group('constraints').add_argument
    add(
        '-i',
        '--inherit',
        nargs='?',
        const=True,
        metavar='CUDA_VISIBLE_DEVICES',
        help='choose among the devices that CUDA sees with this value, or with the one in the '
        'environment (default: among all)',
    )
    add(
        '--account-as-free',
        nargs='*',
        action='extend',
        metavar='USERNAME',
        help='count memory that processes of these users hold as free (without a name: of the '
        'current user)',
    )
    add('-c', '--min-count', type=_count, metavar='N', help='fewer than N is exit status 4')
    add('-C', '--max-count', type=_count, metavar='N', help='print N at most (default: all)')
    add('-n', '--count', type=_count, metavar='N', help='--min-count N --max-count N')
    add('-f', '--min-free-memory', type=_size, metavar='SIZE', help='bytes, or a size like 4GiB')
    add('-t', '--min-total-memory', type=_size, metavar='SIZE', help='bytes, or a size like 4GiB')
    add('-G', '--max-gpu-utilization', type=_count, metavar='PERCENT', help='load of the GPU')
    add(
        '-M',
        '--max-memory-utilization',
        type=_count,
        metavar='PERCENT',
        help='load of the memory bandwidth',
    )
    add(
        '--tol',
        '--tolerance',
        dest='tolerance',
        type=_count,
        default=0,
        metavar='PERCENT',
        help='how much limits may be missed by: percent of memory, points of load (default: 0)',
    )


def _add_format(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('formatting')
    group.add_argument(
        '-O',
        '--format',
        choices=FORMATS[:2],
        default='index',
        help='what to print (default: index; the UUID of a MIG device)',
    )
    separators = group.add_mutually_exclusive_group()
    add = separators.add_argument
    add(
        '-s',
        '--sep',
        '--separator',
        dest='separator',
        default=',',
        metavar='SEP',
        help='what stands between devices (default: a comma)',
    )
    text = 'print one device a line'
    add('--newline', dest='separator', action='store_const', const='\n', help=text)
    text = 'print a NUL after each device, for xargs -0'
    add('-0', '--null', dest='separator', action='store_const', const='\0', help=text)
    group.add_argument(
        '-S',
        '--no-sort',
        dest='sort',
        action='store_false',
        help='keep the order of the devices instead of printing the best first',
    )


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.count is not None:
        options.min_count = options.max_count = options.count
    options.min_count = options.min_count or 0
    if options.max_count is not None and options.max_count < options.min_count:
        parser.error(
            f'--max-count ({options.max_count}) is less than --min-count ({options.min_count})'
        )
    if options.account_as_free == []:
        options.account_as_free = [host.getuser()]
    return options


def _choose_from(inherit: bool | str | None) -> list[Device | int]:
    """The devices to choose among, or their indices."""
    # Asked first: without a driver, and only then, it would be no error that CUDA sees none.
    count = libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False)
    if inherit is None:
        return list(range(count))
    indices: list[Any] = (
        Device.parse_cuda_visible_devices()
        if inherit is True
        else Device.parse_cuda_visible_devices(str(inherit))
    )
    return [Device(index) for index in indices]


@library_warnings()  # failures are reported here
def main(arguments: list[str] | None = None) -> int:
    """The command ``nvisel``; the exit status."""
    if arguments is None:
        # A driver that hangs must not keep Ctrl-C from ending this.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    options = _parse(arguments)
    criteria = Criteria(
        options.min_free_memory,
        options.min_total_memory,
        options.max_gpu_utilization,
        options.max_memory_utilization,
        options.tolerance,
    )
    wish = SelectOptions(
        options.min_count,
        options.max_count,
        options.format,
        sort=options.sort,
        accounts=frozenset(options.account_as_free or ()),
    )
    lane = watchdog.Watchdog('nvisel')
    try:
        selection = _select(lane, options.inherit, criteria, wish)
    except _NoDriverError as error:
        return _complain(str(error))
    except (libnvml.NVMLError, TimeoutError) as error:
        return _complain(libnvml.explain_init_error(error))
    except RuntimeError as error:
        print(f'CUDA ERROR: {error}', file=sys.stderr)
        return 3
    status = _print(selection, options)
    if lane.threads_inside:  # ordinary exit would wait for the driver
        sys.stderr.flush()
        os._exit(status)
    return status


def _select(
    lane: watchdog.Watchdog, inherit: bool | str | None, criteria: Criteria, wish: SelectOptions
) -> Selection:
    """Choose, whatever hangs: what does not answer is as good as lost."""

    def start() -> list[Device | int]:
        _start_driver()
        return _choose_from(inherit)

    def gather(steps: Sequence[Callable[[], list[Any]]]) -> list[list[Any]]:
        found = lane.run(dict(enumerate(steps)), limit=LIMIT_SECONDS)
        outcomes = [found[place] for place in range(len(steps))]
        errors = [outcome.error for outcome in outcomes if outcome.error is not None]
        if errors:
            raise errors[0]
        return [[None] if outcome.value is None else outcome.value for outcome in outcomes]

    devices = watchdog.ask_at_start(start, None if inherit is None else watchdog.VISIBLE_SECONDS)
    return select(devices, criteria, wish, gather)


def _print(selection: Selection, options: argparse.Namespace) -> int:
    identifiers = [str(identifier) for identifier in selection.chosen]
    try:
        sys.stdout.write(_joined(identifiers, options.separator))
        sys.stdout.flush()
    except OSError as error:
        discard_stdout()
        if not isinstance(error, BrokenPipeError):
            return _complain(f'cannot write: {error.strerror}')
    return _comment(selection, identifiers, options.min_count)


class _NoDriverError(Exception):
    """The driver does not start; the text says why and what to do."""


def _start_driver() -> None:
    try:
        libnvml.nvmlInit()
    except (libnvml.NVMLError, AttributeError, ValueError) as error:
        raise _NoDriverError(libnvml.explain_init_error(error)) from error


def _joined(identifiers: list[str], separator: str) -> str:
    if separator == '\0':
        return ''.join(f'{identifier}\0' for identifier in identifiers)
    return separator.join(identifiers) + '\n'


def _complain(text: str) -> int:
    _say(f'nvisel: {printable_lines(text)}')
    return 1


def _say(text: str) -> None:
    """Say something to a person, if there is one: nobody's choice depends on it."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr)


def _comment(selection: Selection, identifiers: list[str], min_count: int) -> int:
    """Say on standard error what a person should know of the choice; the exit status."""
    if not sys.stdout.isatty():
        _say(f'CUDA_VISIBLE_DEVICES="{",".join(identifiers)}"')
    for count, why in (
        (selection.unknown, 'do not tell what is limited'),
        (selection.lost, 'do not answer'),
    ):
        if count:
            _complain(f'devices left out because they {why}: {count}')
    if len(identifiers) < min_count:
        _complain(too_few(len(identifiers), min_count))
        return 4
    return 0
