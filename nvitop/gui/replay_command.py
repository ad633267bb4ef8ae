# SPDX-License-Identifier: GPL-3.0-only
"""The command line of ``nvitop replay``."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from typing import TYPE_CHECKING, Iterator

from nvitop.basics.text import printable
from nvitop.basics.units import LATEST_TIME, format_time, iso_time, parse_time
from nvitop.console import lifecycle
from nvitop.console.arguments import ArgumentParser, add_general
from nvitop.console.lifecycle import CommandFailure, Interrupts, Output, writing
from nvitop.console.messages import Message, exit_status, print_messages, wrapped
from nvitop.console.option_table import add_options
from nvitop.console.options import Invocation, Options
from nvitop.gui.settings import read_options
from nvitop.gui.show import print_report, show_monitor
from nvitop.platforms import default_recording
from nvitop.query.fields import device_table, process_table
from nvitop.query.formats import csv_line, csv_time, make_format, parse_style, quote
from nvitop.query.measure import TableQuery, make_rows
from nvitop.recording.events import RecordedEvent
from nvitop.recording.frames import FrameError
from nvitop.recording.reader import Recording
from nvitop.recording.replay import ReplaySource
from nvitop.recording.store import RecordingError
from nvitop.sampling.serialization import dumps

if TYPE_CHECKING:
    import argparse

    from nvitop.sampling.types import Sample

PROGRAM = 'nvitop replay'
EXPORTS = ('csv', 'jsonl')
#: Times in messages and databases are rounded (seconds).
_ROUNDING = 0.0005
#: Columns of the exported tables.
EXPORTED = (
    'timestamp,index,mig_index,uuid,name,status,utilization.gpu,utilization.memory,memory.used,'
    'memory.total,temperature.gpu,power.draw,clocks.sm,clocks.mem'
)
EXPORTED_PROCESSES = (
    'timestamp,gpu_index,mig_index,gpu_uuid,pid,user,command,type,start_time,used_gpu_memory,'
    'gpu_sm_utilization,gpu_idle_time,cpu_percent,host_memory,owner_kind,owner_id'
)
EXPORTED_EVENTS = ('timestamp', 'kind', 'gpu', 'code', 'text')

_EXAMPLES = """\
nvitop replay                            watch the recording of this machine
nvitop replay night.db --at 03:00        begin at 3 a.m.
nvitop replay night.db --events          list what happened
nvitop replay night.db --export csv --processes
"""
_EXIT_STATUS = {
    '0': 'success',
    '1': 'a file cannot be read, or has no samples of that time',
    '2': 'invalid arguments',
}


def make_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog=PROGRAM,
        usage=['nvitop replay [OPTION ...] [FILE]'],
        description='Show a recording of "nvitop record" in the monitor, or print its contents.\n'
        'The default is the recording of this machine.',
        examples=_EXAMPLES,
        exit_status=_EXIT_STATUS,
    )
    group = add_general(parser, demo=False)
    group.add_argument('path', nargs='?', metavar='FILE', help='recording to show')
    add = parser.add_argument_group('time').add_argument
    add(
        '--at',
        metavar='TIME',
        help='begin at TIME, such as 14:05 or "2026-11-22 14:05"; --at=-2h means 2 hours before '
        'the end (default: the beginning; for a report, the end)',
    )
    add('--until', metavar='TIME', help='print or export until TIME (default: the end)')
    output = parser.add_argument_group('output')
    add = output.add_argument
    add('-1', '--once', action='store_true', help='print a report of that time, and exit')
    add('--events', action='store_true', help='print lost GPUs, findings, gaps and other events')
    add('--export', choices=EXPORTS, help='print samples as a table of GPUs or as lines of JSON')
    add('--processes', action='store_true', help='with --export csv: print a table of processes')
    add_options(output, 'theme', 'ascii')
    add('--no-config', action='store_true', help='ignore the configuration file')
    return parser


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments; exit with status 2 if they are invalid."""
    parser = make_parser()
    options = parser.parse(arguments)
    for text in filter(None, (options.at, options.until)):
        try:
            parse_time(text, 0.0)
        except ValueError as error:
            parser.error(str(error))
    if options.until and not (options.export or options.events):
        parser.error('--until needs --export or --events')
    if options.processes and (options.export != 'csv' or options.events):
        parser.error('--processes needs --export csv, without --events')
    options.path = options.path or default_recording()
    return options


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    return lifecycle.run(PROGRAM, functools.partial(_run, options))


def _run(options: argparse.Namespace) -> int:
    try:
        recording = Recording(options.path)
        try:
            return _show(recording, options)
        finally:
            recording.close()
    except RecordingError as error:
        raise CommandFailure(str(error)) from None


def _show(recording: Recording, options: argparse.Namespace) -> int:
    if options.events or options.export:
        (_print_events if options.events else _export)(recording, options)
        return 0
    messages: list[Message] = []
    status: int | None = None
    layer: dict[str, object] = {'readonly': True}
    looks = {'theme': options.theme, 'ascii': options.ascii}
    layer.update({name: value for name, value in looks.items() if value is not None})
    shown = read_options(Invocation(layer, reads_config=not options.no_config), messages)
    if options.once or not (sys.stdin.isatty() and sys.stdout.isatty()):
        print_report(sample_at(recording, options.at), shown)
    else:
        status = _show_monitor(recording, options, shown, messages)
    print_messages(PROGRAM, messages)
    return status or exit_status(messages)


def _show_monitor(
    recording: Recording, options: argparse.Namespace, shown: Options, messages: list[Message]
) -> int | None:
    at = None if options.at is None else _moment(recording, options.at)
    has_events = at is None and recording.event(0.0, 1) is not None
    source = ReplaySource(recording, at=at, stands_still=has_events)

    def where_to_continue(sample: Sample) -> Message:
        left = format_time(sample.timestamp)
        text = f"the recording is from {recording.span()}; continue with --at '{left}'"
        return Message('hint', text)

    return show_monitor(
        source,
        shown,
        messages,
        replay=source,
        shows_events=has_events,
        notes=where_to_continue,
    )


def _moment(recording: Recording, text: str) -> float:
    return parse_time(text, recording.span().last_time)


def sample_at(recording: Recording, at: str | None) -> Sample:
    """Return the last sample that is not after a time; ``None``: the last one.

    Raises:
        RecordingError: There is none, or it is damaged.
    """
    span = recording.span()
    moment = span.last_time if at is None else _moment(recording, at)
    if moment < span.first_time:
        raise RecordingError(f'the recording begins after {at}')
    try:
        return recording.sample(recording.at(moment))
    except FrameError as error:
        raise RecordingError(f'cannot read the sample: {error}') from None


def _export(recording: Recording, options: argparse.Namespace) -> None:
    mark = ',simulated' if recording.simulated else ''
    query = TableQuery(devices=device_table().find(EXPORTED + mark), mig=True)
    if options.processes:
        query = TableQuery(processes=process_table().find(EXPORTED_PROCESSES + mark))
    with Interrupts() as interrupts, writing():
        output = Output(interrupts=interrupts)
        table = make_format(query, parse_style('csv'), width=output.terminal_width())
        for sample in _samples(recording, options):
            is_table = options.export == 'csv'
            output.write(table(make_rows(query, sample)) if is_table else [f'{dumps(sample)}\n'])


def _samples(recording: Recording, options: argparse.Namespace) -> Iterator[Sample]:
    """Yield the samples of a span; damaged ones are left out.

    Raises:
        RecordingError: There are none.
    """
    first, last = _ends(recording, options)
    frame: int | None = recording.at(first)
    is_empty = True
    while frame is not None and recording.time_of(frame) <= last + _ROUNDING:
        if recording.time_of(frame) >= first - _ROUNDING:
            with contextlib.suppress(FrameError):
                yield recording.sample(frame)
                is_empty = False
        frame = recording.neighbor(frame, 1)
    if is_empty:
        raise RecordingError(f'no sample of that time; the recording is from {recording.span()}')


def _ends(recording: Recording, options: argparse.Namespace) -> tuple[float, float]:
    span = recording.span()
    first = span.first_time if options.at is None else _moment(recording, options.at)
    return first, span.last_time if options.until is None else _moment(recording, options.until)


def _print_events(recording: Recording, options: argparse.Namespace) -> None:
    since, until = _ends(recording, options)
    # Without limits, also those from before the first and after the last frame.
    since = since - _ROUNDING if options.at else 0.0
    until = until + _ROUNDING if options.until else LATEST_TIME
    with Interrupts() as interrupts, writing():
        output = Output(interrupts=interrupts)
        if options.export == 'csv':
            output.write([csv_line([*EXPORTED_EVENTS])])
        is_empty = True
        for event in recording.events(since, until):
            output.write([_event_line(event, options.export, output.terminal_width())])
            is_empty = False
    if is_empty:
        text = f'no events of that time; the recording is from {recording.span()}'
        print_messages(PROGRAM, [Message('hint', text)])


def _event_line(event: RecordedEvent, export: str | None, width: int) -> str:
    if not export:
        line = f'{format_time(event.time)}  {event.kind:<9}  {printable(event.text)}'
        return f'{wrapped(line, sys.stdout, 32)}\n'
    is_json = export == 'jsonl'
    moment = (iso_time if is_json else csv_time)(event.time)
    values = moment, event.kind, event.gpu, event.code, event.text
    if is_json:
        return f'{json.dumps(dict(zip(EXPORTED_EVENTS, values)))}\n'
    cells = (printable(value) if width else value for value in values)
    return csv_line([quote(cell) for cell in cells])
