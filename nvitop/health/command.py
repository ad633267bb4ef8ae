# SPDX-License-Identifier: Apache-2.0
"""The command line of ``nvitop health``."""

from __future__ import annotations

import argparse
import functools
import sys
import time

from nvitop.console import outcome
from nvitop.console.arguments import (
    ArgumentParser,
    add_devices,
    add_general,
    checked,
    duration,
    storing,
    whole_number,
)
from nvitop.console.driver import simulate
from nvitop.console.messages import print_message
from nvitop.console.outcome import CommandFailure, discard_stdout, writing
from nvitop.health.check import HealthCheck, check_health
from nvitop.health.formats import FORMATS, STATUSES, exit_status, judge
from nvitop.health.kernel_log import KMSG, LoggedXid, read_kernel_log
from nvitop.health.rules import KINDS
from nvitop.sampling.types import Sample

PROGRAM = 'nvitop health'
#: Default time limit in seconds: the node problem detector ends a plugin after 5 s.
TIMEOUT_SECONDS = 4.0
#: Part of the time limit (seconds) that is left for starting and printing.
_OWN_SECONDS = 1.0
_EXAMPLES = """\
nvitop health
nvitop health --expect 8 --fail-on critical
nvitop health -o 0 1 --format nagios
nvitop health --format json --ignore pcie_link,slow
"""
_EXIT_STATUS = {
    '0': 'all is well (npd: the same)',
    '1': 'a warning (npd: any finding)',
    '2': 'a critical finding (npd: unknown), or invalid arguments',
    '3': 'unknown: no driver, no response in time, or values cannot be read',
}


@checked
def _expected(text: str) -> int | None:
    return None if text == 'auto' else whole_number(0, 1024)(text)


def _store_kinds(namespace: argparse.Namespace, dest: str, words: list[str]) -> None:
    kinds = [kind for word in words for kind in word.replace(',', ' ').split()]
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f'unknown kind {kind!r}; expected {", ".join(KINDS)}')
    setattr(namespace, dest, (*(getattr(namespace, dest, None) or ()), *kinds))


def make_parser() -> ArgumentParser:
    """Make the parser of ``nvitop health``."""
    parser = ArgumentParser(
        prog=PROGRAM,
        usage=['nvitop health [OPTION ...]'],
        description='Check the GPUs once, for people, schedulers and monitoring systems.',
        examples=_EXAMPLES,
        exit_status=_EXIT_STATUS,
    )
    add_general(parser)
    group = parser.add_argument_group('check')
    add_devices(group, '-o', '-i', '--only', '--id', more='; a missing one is critical')
    add = group.add_argument
    add(
        '--expect',
        type=_expected,
        metavar='N',
        help='require N GPUs; auto: those on the PCI bus (default: auto)',
    )
    add(
        '--fail-on',
        choices=('warning', 'critical'),
        default='warning',
        help='ignore findings that are less severe (default: warning)',
    )
    add(
        '--ignore',
        nargs='+',
        action=storing(_store_kinds),
        default=(),
        metavar='KIND',
        help='ignore these kinds of findings, such as pcie_link',
    )
    add(
        '--timeout',
        type=duration(0.1, 3600.0),
        default=TIMEOUT_SECONDS,
        metavar='TIME',
        help='finish within TIME, such as 5 or 500ms, even if the driver hangs '
        f'(default: {TIMEOUT_SECONDS:g}s)',
    )
    add(
        '--kernel-log',
        nargs='?',
        const=KMSG,
        metavar='FILE',
        help='add Xid errors since the driver was loaded from the kernel log, or from a FILE with '
        'its lines; usually only root may read the log',
    )
    parser.add_argument_group('output').add_argument(
        '--format',
        choices=tuple(FORMATS),
        default='text',
        help='write text, JSON, a line for Nagios, or a line for the node problem detector '
        '(default: text)',
    )
    return parser


def main(arguments: list[str]) -> int:
    """Run ``nvitop health`` with the arguments after that word; return the exit status."""
    options = make_parser().parse(arguments)
    return outcome.run(PROGRAM, functools.partial(_run, options))


def _run(options: argparse.Namespace) -> int:
    if options.demo is not None:
        simulate(options.demo)
    verdict = judge(_check(options), ignored=options.ignore, fail_on=options.fail_on)
    status = exit_status(verdict, options.format)
    try:
        with writing():
            sys.stdout.write(FORMATS[options.format](verdict))
            sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
    except CommandFailure as failure:
        raise CommandFailure(str(failure), STATUSES['unknown']) from failure
    return status


def _logged(path: str | None) -> list[LoggedXid]:
    if path is None:
        return []
    try:
        return read_kernel_log(path)
    except OSError as error:
        print_message(PROGRAM, 'warning', f'cannot read {path}: {error.strerror}')
        return []


def _check(options: argparse.Namespace) -> HealthCheck:
    deadline = time.monotonic() + options.timeout - _OWN_SECONDS
    try:
        logged = _logged(options.kernel_log)
        return check_health(
            options.only,
            logged=logged,
            expected=options.expect,
            timeout=max(deadline - time.monotonic(), options.timeout / 2),
        )
    except Exception as error:  # the caller needs a verdict whatever happens
        return HealthCheck(Sample(0.0), error=f'internal error: {type(error).__name__}: {error}')
