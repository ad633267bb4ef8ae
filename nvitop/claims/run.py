# SPDX-License-Identifier: Apache-2.0
"""``nvitop run``: wait for GPUs, claim them, run a command on them."""

from __future__ import annotations

import argparse
import contextlib
import errno
import functools
import os
import shlex
import shutil
import signal
import sys
from typing import Sequence

from nvitop.api import libnvml
from nvitop.claims import acquire
from nvitop.claims.records import CLAIM_VARIABLE, ClaimError
from nvitop.console import lifecycle
from nvitop.console.arguments import ArgumentParser, add_general, whole_number
from nvitop.console.driver import simulate
from nvitop.console.lifecycle import CommandFailure
from nvitop.platforms import WINDOWS, stuck_calls
from nvitop.select import command as nvisel

PROGRAM = 'nvitop run'
#: Exit status if the devices did not become free in time, as with timeout(1).
TIMED_OUT = 124
#: Exit status if nvitop itself fails, or the devices can never match.
FAILED = 125
NOT_EXECUTABLE, NOT_FOUND = 126, 127
_EXAMPLES = """\
nvitop run python train.py
nvitop run -n 2 -f 20GiB --wait 8h -- torchrun --nproc-per-node 2 train.py
nvitop run -n 1 -- sh -c 'echo GPU $CUDA_VISIBLE_DEVICES'
"""
_EXIT_STATUS = {
    '124': 'the GPUs did not become free within --wait',
    '125': 'the GPUs can never match, or claims or the driver do not work',
    '126': 'the command cannot be executed',
    '127': 'the command does not exist',
    '2': 'invalid arguments',
    'other': 'the exit status of the command',
}


def make_parser() -> ArgumentParser:
    """Make the parser of ``nvitop run``."""
    parser = ArgumentParser(
        prog=PROGRAM,
        usage=['nvitop run [OPTION ...] [--] COMMAND [ARGUMENT ...]'],
        description='Wait until GPUs are free, claim them, and run a command on them. Without\n'
        'limits, a GPU is free if at most 10 % of its memory is used. A claim ends with\n'
        'the command and its children; nvisel leaves claimed GPUs out.',
        examples=_EXAMPLES,
        exit_status=_EXIT_STATUS,
    )
    add_general(parser)
    choice = nvisel.add_devices(parser)
    choice.add_argument(
        '-n',
        '--count',
        type=whole_number(1),
        default=1,
        metavar='N',
        help='number of GPUs (default: 1)',
    )
    nvisel.add_limits(parser)
    nvisel.add_wait(parser, TIMED_OUT, 'maximum time to wait (default: any)')
    nvisel.add_identifiers(parser)
    parser.add_argument('words', nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def _parse(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return the options and the command. Options end at the first other word, or at ``--``."""
    end = words.index('--') if '--' in words else len(words)
    parser = make_parser()
    options = parser.parse(words[:end])
    if end == len(words) and shutil.which(str(options.inherit)):
        parser.error(f'-i takes {options.inherit!r} as its value: put -- before the command')
    command = [*options.words, *words[end:]] if options.words else words[end + 1 :]
    if not command:
        parser.error('no command given; put -- before it: nvitop run -- python train.py')
    return options, command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``nvitop run``; return its exit status if the command was not executed."""
    options, command = _parse(list(sys.argv[1:] if arguments is None else arguments))
    return lifecycle.run(PROGRAM, functools.partial(_run, options, command))


def _run(options: argparse.Namespace, command: list[str]) -> int:
    if WINDOWS:
        raise CommandFailure('not available on Windows, which cannot replace a process', FAILED)
    try:
        simulate(options.demo)
        if options.demo is None and not os.environ.get('NVITOP_DEMO'):
            stuck_calls.heed()  # this process becomes the command, so it has no child for its calls
        request = acquire.ClaimRequest(
            nvisel.start_devices_to_choose_from(PROGRAM, options.inherit),
            options.count,
            nvisel.criteria_of(options),
            nvisel.options_of(options),
            options.wait,
            nvisel.limited_reader(PROGRAM),
        )
        if not (os.path.exists(command[0]) or shutil.which(command[0], os.F_OK)):
            # Before a wait that may take hours.
            text = f'cannot run {command[0]!r}: {os.strerror(errno.ENOENT)}'
            raise CommandFailure(text, NOT_FOUND)
        held = acquire.wait_and_claim(request, shlex.join(command), _show)
    except TimeoutError as error:
        raise CommandFailure(str(error), TIMED_OUT) from error
    except ClaimError as error:
        raise CommandFailure(str(error), FAILED) from error
    except libnvml.NVMLError as error:
        raise CommandFailure(libnvml.explain_init_error(error), FAILED) from error
    except CommandFailure as failure:
        if failure.status in (2, TIMED_OUT, NOT_FOUND):
            raise
        raise CommandFailure(str(failure), FAILED) from failure
    finally:
        _show('')
    return _execute(held, options.format, command)


def _execute(held: acquire.ClaimedDevices, form: str, command: list[str]) -> int:
    """Replace this process by the command, which inherits the locks."""
    visible = [
        str(device.uuid() if form == 'uuid' or device.is_mig_device() else device.index)
        for device in held.devices
    ]
    os.environ['CUDA_DEVICE_ORDER'] = 'PCI_BUS_ID'
    os.environ['CUDA_VISIBLE_DEVICES'] = ','.join(visible)
    os.environ[CLAIM_VARIABLE] = ','.join(str(device.uuid()) for device in held.devices)
    for descriptor in held.locks:
        os.set_inheritable(descriptor, True)
    for name in ('SIGPIPE', 'SIGXFSZ'):  # Python ignores them, and the command would too
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        held.release()
        is_missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
        text = f'cannot run {command[0]!r}: {error.strerror}'
        raise CommandFailure(text, NOT_FOUND if is_missing else NOT_EXECUTABLE) from error


def _show(text: str) -> None:
    """Show a line about the wait on stderr, in place of the last one on a terminal."""
    line = f'{PROGRAM}: {text}' if text else ''
    with contextlib.suppress(OSError):
        if sys.stderr.isatty():
            print(f'\r\x1b[K{line}', end='', file=sys.stderr, flush=True)
        elif line:
            print(line, file=sys.stderr, flush=True)
