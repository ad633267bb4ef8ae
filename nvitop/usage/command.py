# SPDX-License-Identifier: Apache-2.0
"""The command line of ``nvitop usage``."""

from __future__ import annotations

import argparse
import contextlib
import functools
import textwrap
import time
from datetime import date, timedelta
from typing import TYPE_CHECKING, Callable, Sequence

from nvitop.basics.units import parse_time, start_of_day
from nvitop.console import lifecycle
from nvitop.console.arguments import (
    ArgumentParser,
    add_general,
    duration,
    one_of,
    separated,
    whole_number,
)
from nvitop.console.lifecycle import CommandFailure, write_output
from nvitop.console.messages import painted, print_message, terminal_width
from nvitop.fleet.types import FleetError
from nvitop.health.states import HELD_RULE, IDLE_RULE
from nvitop.platforms import default_recording
from nvitop.recording.frames import FrameError
from nvitop.recording.reader import Recording
from nvitop.recording.store import RecordingError
from nvitop.sampling.types import Sample
from nvitop.usage.recordings import DEFAULT_SECONDS, read_report
from nvitop.usage.report import DIMENSIONS, FORMATS, ORDERS, Report, arrange, held_text, report_text

if TYPE_CHECKING:
    from nvitop.fleet.client import Settings

PROGRAM = 'nvitop usage'
_EXAMPLES = """\
nvitop usage
nvitop usage --by user,job --since "last month" --format csv node*.db
nvitop usage --since 2026-11-01 --until 2026-12-01 --top 10 --sort held-idle
nvitop usage --by user,host --prometheus http://prometheus:9090
"""
_EXIT_STATUS = {
    '0': 'success',
    '1': 'nothing was recorded in the period, or a file cannot be read',
    '2': 'invalid arguments',
}
#: Options of reports about a period.
_NOT_WITH_HELD = ('since', 'until', 'by', 'format', 'sort', 'top', 'total')


def parse_moment(text: str, now: float | None = None) -> tuple[float, float | None]:
    """Return the time of ``'last month'``, ``'yesterday'``, ``'-7d'`` or ``'2026-11-01'``.

    The second value is the end of a named period; ``None``: there is none, or not yet.

    Raises:
        ValueError: It is not a time.
    """
    now = time.time() if now is None else now
    today = date.fromtimestamp(now)
    this_month = today.replace(day=1)
    this_week = today - timedelta(days=today.weekday())
    last_month = (this_month - timedelta(days=1)).replace(day=1)
    periods = {
        'today': (today, today + timedelta(days=1)),
        'yesterday': (today - timedelta(days=1), today),
        'this week': (this_week, this_week + timedelta(days=7)),
        'last week': (this_week - timedelta(days=7), this_week),
        'this month': (this_month, (this_month + timedelta(days=31)).replace(day=1)),
        'last month': (last_month, this_month),
    }
    days = periods.get(' '.join(text.lower().split()))
    if days is not None:
        begin, end = map(start_of_day, days)
        return begin, end if end <= now else None
    try:
        return parse_time(text, now), None
    except ValueError:
        expected = "'2026-11-01', '2026-11-22 14:05', '-7d', 'yesterday' or 'last month'"
        raise ValueError(f'not a time: {text!r}; expected {expected}') from None


def make_parser() -> ArgumentParser:
    """Make the parser of ``nvitop usage``."""
    parser = ArgumentParser(
        prog=PROGRAM,
        usage=['nvitop usage [OPTION ...] [FILE ...]'],
        description='Print who used how many GPU-hours, and who held GPUs without using them, from\n'
        'recordings of one or many machines.\n\n'
        'GPU-HOURS divides the time of each GPU: by work if in use, by memory if held.\n'
        'USED h is time in use, HELD h that of idle processes while they held a GPU.\n'
        + textwrap.fill(f'A GPU is held if {HELD_RULE}.', 76),
        examples=_EXAMPLES,
        exit_status=_EXIT_STATUS,
    )
    add_general(parser, demo=False)
    parser.add_argument(
        'files',
        nargs='*',
        metavar='FILE',
        help='recordings, as made by nvitop record (default: the recording of this machine)',
    )
    add = parser.add_argument_group('what is counted').add_argument
    add(
        '--since',
        type=parse_moment,
        metavar='TIME',
        help='begin at TIME, such as 2026-11-01, "2026-11-22 14:05", -7d, yesterday or "last month" '
        '(default: the last 7 days of the recordings)',
    )
    add(
        '--until',
        type=parse_moment,
        metavar='TIME',
        help='end before TIME (default: the end of the recordings, or of the period that --since '
        'names)',
    )
    add(
        '--user',
        action='append',
        default=[],
        metavar='USERNAME',
        help='only the GPU time of USERNAME; may be repeated',
    )
    parser.set_defaults(config=None, demo=None)
    add = parser.add_argument_group('server').add_argument
    add(
        '--prometheus',
        metavar='URL',
        help='read the counters of nvitop exporter from this server instead of recordings',
    )
    add('--match', metavar='SELECTOR', help='only series with these labels: \'{cluster="a"}\'')
    add(
        '--timeout',
        metavar='TIME',
        type=duration(1, 3600),
        help='limit of a request (default: 10s)',
    )
    add = parser.add_argument_group('output').add_argument
    add(
        '--by',
        type=separated(one_of('column', DIMENSIONS)),
        default=('user',),
        metavar='NAMES',
        help=f'a row for each {", ".join(DIMENSIONS[:-1])} or {DIMENSIONS[-1]}; several are '
        'separated by commas (default: user)',
    )
    add('--format', choices=FORMATS, default='table', help='(default: table)')
    add(
        '--sort',
        choices=tuple(ORDERS),
        default='hours',
        help='order of the rows: the highest value first, but the lowest utilization '
        '(default: hours)',
    )
    add(
        '--top',
        type=whole_number(1),
        metavar='N',
        help='print the first N rows, and the others as one',
    )
    add('--total', action='store_true', help='add a row with the total to CSV; tables have one')
    add(
        '--held',
        action='store_true',
        help='list the processes that hold memory at the end of the recordings and have run '
        f'{IDLE_RULE}',
    )
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run ``nvitop usage`` with the arguments after that word; return the exit status."""
    parser = make_parser()
    options = parser.parse(arguments)
    options.by = tuple(dict.fromkeys(options.by))
    options.since, end = options.since or (None, None)
    options.until = end if options.until is None else options.until[0]
    if options.user and 'user' not in options.by:
        parser.error('--user needs rows of users: --by user')
    if None not in (options.since, options.until) and options.since // 60 >= options.until // 60:
        parser.error('--since must be before --until')
    for name in _NOT_WITH_HELD if options.held else ():
        if getattr(options, name) != parser.get_default(name):
            parser.error(f'--held is about the end of the recordings: omit --{name}')
    if options.prometheus is None:
        if options.match is not None or options.timeout is not None:
            parser.error('--match and --timeout need --prometheus')
        options.files = options.files or [default_recording()]
        return lifecycle.run(PROGRAM, lambda: _run(options, _of_files))
    from nvitop.fleet.command import read_settings  # most reports need no network
    from nvitop.usage.prometheus import PROMETHEUS_DIMENSIONS

    if options.files or options.held or not {*options.by} <= {*PROMETHEUS_DIMENSIONS}:
        parser.error(
            f'--prometheus takes no FILE and no --held, and --by {",".join(PROMETHEUS_DIMENSIONS)}'
        )
    of_server = functools.partial(_of_server, settings=read_settings(parser, options))
    return lifecycle.run(PROGRAM, lambda: _run(options, of_server))


def _run(options: argparse.Namespace, read: Callable[[argparse.Namespace], Report]) -> int:
    try:
        text, problems = _held(options) if options.held else _text_of(options, read(options))
    except RecordingError as error:
        raise CommandFailure(str(error)) from None
    except FleetError as error:
        raise CommandFailure(error.line) from None
    write_output(text)
    for problem in problems:
        print_message(PROGRAM, 'error', problem)
    return int(bool(problems))


def _of_files(options: argparse.Namespace) -> Report:
    return read_report(options.files, options.since, options.until, options.by)


def _of_server(options: argparse.Namespace, settings: Settings) -> Report:
    from nvitop.fleet.client import Client
    from nvitop.usage.prometheus import read_prometheus

    end = (time.time() if options.until is None else options.until) // 60 * 60
    start = end - DEFAULT_SECONDS if options.since is None else options.since // 60 * 60
    if start >= end:
        raise CommandFailure('nothing to read: the period has not begun')
    return read_prometheus(Client(settings), settings.scope, start, end, options.by)


def _text_of(options: argparse.Namespace, report: Report) -> tuple[str, Sequence[str]]:
    """Return the text of a report, and what could not be read."""
    known = {row.key[options.by.index('user')] for row in report.rows} if options.user else ()
    for user in [user for user in options.user if user not in known]:
        print_message(PROGRAM, 'warning', f'no GPU time of user {user!r} in this period')
    report = arrange(report, options.sort, options.top, options.user)
    return report_text(
        report,
        options.format,
        with_total=options.total,
        paint=painted,
        width=terminal_width(),
    ), report.problems


def _held(options: argparse.Namespace) -> tuple[str, Sequence[str]]:
    """Return the list of held memory at the end of the recordings, and what could not be read."""
    samples: dict[str, Sample] = {}
    problems = []
    for path in options.files:
        try:
            with contextlib.closing(Recording(path)) as recording:
                sample = recording.sample(recording.span().last)
        except (RecordingError, FrameError) as error:
            problems.append(str(error))
            continue
        known = samples.get(sample.host.hostname)
        if known is None or known.timestamp < sample.timestamp:
            samples[sample.host.hostname] = sample
    if not samples:
        raise CommandFailure('\n'.join(problems))
    if len({bool(sample.simulated) for sample in samples.values()}) > 1:
        raise CommandFailure(
            'recordings of simulated machines are not listed with those of real ones'
        )
    return held_text(
        list(samples.values()), options.user, paint=painted, width=terminal_width()
    ), problems
