# SPDX-License-Identifier: Apache-2.0
"""The command line of ``nvitop query``, and of ``nvidia-smi --query-…`` spelled ``nvitop --query-…``."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from typing import TYPE_CHECKING, Callable, Iterator, TypeVar

from nvitop.api import libnvml
from nvitop.console.arguments import ArgumentParser
from nvitop.console.library_log import library_warnings
from nvitop.namedtuple import NamedTuple
from nvitop.printable import printable_lines
from nvitop.query.ask import Answer, Asker, Question
from nvitop.query.columns import (
    DEFAULT_DEVICE_NAMES,
    DEFAULT_PROCESS_NAMES,
    QueryColumn,
    device_table,
    process_table,
    remapped_rows_table,
)
from nvitop.query.format import OutputStyle, make_format, parse_style
from nvitop.query.lists import ListTable, list_tables
from nvitop.query.names import QUERIES, help_on, list_of_names
from nvitop.query.output import InterruptedByUser, Interrupts, Output

if TYPE_CHECKING:
    from nvitop.query.target import DeviceTarget
    from nvitop.sampling.types import Sample

T = TypeVar('T')

#: What ``nvidia-smi -l`` means without a number.
DEFAULT_PERIOD = 5.0

_EXAMPLES = """\
examples:
  nvitop query --gpu=index,name,memory.used,utilization.gpu --format=csv,noheader,nounits
  nvitop query --processes=gpu_index,pid,user,gpu_memory,command --format=json
  nvitop query --all --format=jsonl -l 10 -f gpus.jsonl
  nvitop --query-gpu=timestamp,power.draw --format=csv -lms 500 -i 0

exit status: 0 done; 1 no GPU answers, or the output cannot be written; 2 arguments that cannot be
understood; 128 + number of the signal that ended it.
"""
_QUERY_HELP = {
    'gpu': 'the same as --gpu',
    'compute-apps': '--processes, of those that compute',
    'remapped-rows': '--gpu, with names of rows of memory that were remapped',
    'supported-clocks': 'the clocks that can be set together, a row for each pair',
    'retired-pages': 'the pages of memory that were retired, a row for each',
    'accounted-apps': 'the accounts of processes, also of ended ones, a row for each',
}


class Request(NamedTuple):
    """What the command line asks for."""

    devices: tuple[QueryColumn, ...] | None
    processes: tuple[QueryColumn, ...] | None
    items: tuple[ListTable, tuple[QueryColumn, ...]] | None
    style: OutputStyle
    #: Seconds between answers; ``None``: one answer.
    period: float | None
    path: str | None
    #: Devices as they were given; ``None``: all.
    ids: list[str] | None
    mig: bool
    compute_only: bool


class QueryFailure(Exception):
    """What is asked for cannot be done; the text says why."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


def make_parser() -> argparse.ArgumentParser:
    """The parser of ``nvitop query``."""
    parser = ArgumentParser(
        prog='nvitop query',
        description='Print what is measured on GPUs and their processes, for programs to read.',
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
        allow_abbrev=False,
    )
    group = parser.add_argument_group('general')
    group.add_argument('-h', '--help', action='help', help='show this help and exit')
    group.add_argument('--list', action='store_true', help='show all names, with unit and meaning')
    group.add_argument(
        '--demo',
        nargs='?',
        const='1',
        metavar='SCENARIO',
        help='simulate a machine: the name of a scenario or a scenario file (default: dgx-h100)',
    )
    _add_questions(parser)
    _add_output(parser)
    _add_nvidia_smi(parser)
    return parser


def _add_questions(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group('what is asked').add_argument
    add(
        '--gpu',
        nargs='?',
        const=DEFAULT_DEVICE_NAMES,
        metavar='NAMES',
        help='names of nvitop or nvidia-smi, separated by commas; all: every one '
        f'(default: {DEFAULT_DEVICE_NAMES})',
    )
    add(
        '--processes',
        nargs='?',
        const=DEFAULT_PROCESS_NAMES,
        metavar='NAMES',
        help=f'the same of processes (default: {DEFAULT_PROCESS_NAMES})',
    )
    add(
        '--all',
        action='store_true',
        help='every name; of GPUs and processes where the format holds both',
    )
    add(
        '-i',
        '--id',
        nargs='+',
        action='extend',
        metavar='GPU',
        help='only these devices: index, GPU:MIG indices, UUID, PCI bus id or serial number',
    )
    add('--mig', action='store_true', help='have rows for MIG devices too, below their GPU')


def _add_output(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group('output').add_argument
    add(
        '--format',
        default='csv',
        metavar='FORMAT',
        help='csv (the default), json, jsonl or table; noheader and nounits go with csv and table',
    )
    add(
        '-l',
        '--loop',
        nargs='?',
        const=str(DEFAULT_PERIOD),
        metavar='SEC',
        help=f'again and again, every SEC seconds (default: {DEFAULT_PERIOD:g}), until Ctrl-C',
    )
    add('-lms', '--loop-ms', metavar='MS', help='the same in milliseconds')
    add('-f', '--filename', metavar='FILE', help='write to this file instead')


def _add_nvidia_smi(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('as nvidia-smi spells it', 'also without the word "query"')
    add = group.add_argument
    for query in QUERIES:
        add(f'--query-{query}', metavar='NAMES', help=_QUERY_HELP[query])
    for query in QUERIES:
        text = f'show the names for --query-{query}'
        add(f'--help-query-{query}', action='append_const', dest='help_on', const=query, help=text)


def parse(arguments: list[str]) -> tuple[argparse.Namespace, Request | None]:
    """What the arguments ask for; ``None``: only for names.

    Leaves with status 2 where they cannot be understood.
    """
    parser = make_parser()
    given = parser.parse_args(arguments)
    if given.list or given.help_on:
        return given, None
    try:
        return given, _request(given)
    except ValueError as error:
        parser.error(str(error))


def _request(given: argparse.Namespace) -> Request:
    style = _labelled('--format', parse_style, given.format)
    gpu_option, gpu = _one_of(given, 'gpu', 'query-gpu', 'query-remapped-rows')
    processes_option, processes = _one_of(given, 'processes', 'query-compute-apps')
    items = _items(given)
    if given.all:
        gpu = gpu or ('all' if style.kind != 'csv' or processes is None else None)
        processes = processes or ('all' if style.kind != 'csv' else None)
    elif gpu is None and processes is None and items is None:
        gpu = DEFAULT_DEVICE_NAMES
    if style.kind == 'csv' and [gpu, processes, items].count(None) < 2:
        raise ValueError('csv holds one table: ask for one, or use another --format')
    apps = process_table(compute_apps=given.query_compute_apps is not None)
    gpus = device_table() if given.query_remapped_rows is None else remapped_rows_table()
    return Request(
        None if gpu is None else _labelled(gpu_option, gpus.find, gpu),
        None if processes is None else _labelled(processes_option, apps.find, processes),
        items,
        style,
        _period(given),
        given.filename,
        given.id,
        given.mig,
        given.query_compute_apps is not None,
    )


def _items(given: argparse.Namespace) -> tuple[ListTable, tuple[QueryColumn, ...]] | None:
    """The list that is asked for."""
    asked = [
        (one, names)
        for option, one in list_tables().items()
        for _, names in [_one_of(given, f'query-{option}')]
        if names is not None
    ]
    if len(asked) > 1:
        first, second = (f'--query-{one.option}' for one, _ in asked[:2])
        raise ValueError(f'{first} and {second} are two questions: ask one at a time')
    for one, names in asked:
        return one, _labelled(f'--query-{one.option}', one.table.find, names)
    return None


def _one_of(given: argparse.Namespace, *options: str) -> tuple[str, str | None]:
    """The option that is given, and its names; the first one and ``None`` where none is."""
    asked = [(f'--{option}', getattr(given, option.replace('-', '_'))) for option in options]
    said = [(option, names) for option, names in asked if names is not None]
    if len(said) > 1:
        raise ValueError('the same is asked for twice, in the words of nvitop and of nvidia-smi')
    return said[0] if said else asked[0]


def _labelled(option: str, read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f'{option}: {error}') from None


def _period(given: argparse.Namespace) -> float | None:
    """Seconds between answers."""
    if given.loop is not None and given.loop_ms is not None:
        raise ValueError('--loop and --loop-ms are two periods')
    option, text, unit = ('--loop', given.loop, 1.0)
    if given.loop_ms is not None:
        option, text, unit = ('--loop-ms', given.loop_ms, 1e-3)
    if text is None:
        return None
    try:
        period = float(text) * unit
    except ValueError:
        period = 0.0
    if not 1e-3 <= period <= 1e7:
        raise ValueError(f'{option}: not a time of a millisecond or more: {text!r}')
    return period


# Running


@library_warnings()  # failures are reported here
def main(
    arguments: list[str],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """The command ``nvitop query``, without that word; the exit status."""
    given, request = parse(arguments)
    try:
        with Interrupts() as interrupts:
            if request is not None:
                return _run(request, given.demo, interrupts, clock, sleep)
            texts = [list_of_names()] if given.list else map(help_on, given.help_on)
            output = Output(interrupts=interrupts)
            with _told(output):
                output.write(['\n'.join(texts)])
            return 0
    except InterruptedByUser as interrupt:
        return 128 + interrupt.number
    except BrokenPipeError:
        return 0  # whoever read it has seen enough
    except QueryFailure as failure:
        _say(str(failure))
        return failure.status


def _run(
    request: Request,
    scenario: str | None,
    interrupts: Interrupts,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> int:
    if scenario is not None:
        _simulate(scenario)
    question = Question(
        request.devices,
        request.processes,
        request.items,
        _start_driver(request.ids),
        request.mig,
        request.compute_only,
    )
    asker = Asker(question, period=request.period, clock=clock, sleep=sleep)
    output = Output(request.path, interrupts)
    form = make_format(question, request.style, for_terminal=output.is_terminal())
    troubles = _Troubles()
    started = clock()
    while True:
        answer = asker.ask()
        troubles.say(answer)
        with _told(output):
            output.write(form.pieces(answer))
            if request.period is None:
                output.close()
                return int(not _answers(answer))
        _wait(started, request.period, clock, sleep)


@contextlib.contextmanager
def _told(output: Output) -> Iterator[None]:
    """Let what cannot be written be said."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise QueryFailure(f'cannot write to {output.name}: {error.strerror}') from error


def _wait(
    started: float, period: float, clock: Callable[[], float], sleep: Callable[[float], None]
) -> None:
    """Wait for the next whole number of periods since the start; those that are over are left out."""
    turn = int((clock() - started) / period) + 1
    while True:
        remaining = started + turn * period - clock()
        if remaining <= 0:
            return
        sleep(remaining)


def _answers(answer: Answer) -> bool:
    return any(device.status == 'ok' for device in answer.sample.devices)


def _simulate(scenario: str) -> None:
    from nvitop import simulation

    try:
        simulation.install(scenario)
    except simulation.ScenarioError as error:
        raise QueryFailure(str(error), 2) from error


def _start_driver(ids: list[str] | None) -> tuple[DeviceTarget, ...] | None:
    """Start NVML and find the devices."""
    from nvitop.query.target import UnknownDeviceError, find_targets
    from nvitop.sampling.watchdog import ask_at_start

    def start() -> tuple[DeviceTarget, ...] | None:
        libnvml.nvmlInit()
        libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False)
        return None if ids is None else find_targets(ids)

    try:
        return ask_at_start(start)
    except UnknownDeviceError as error:
        raise QueryFailure(str(error), 2) from error
    except (libnvml.NVMLError, AttributeError, ValueError, TimeoutError) as error:
        raise QueryFailure(libnvml.explain_init_error(error)) from error


class _Troubles:
    """Says on standard error what is wrong, once for as long as it stays so."""

    def __init__(self) -> None:
        self._said: frozenset[str] = frozenset()

    def say(self, answer: Answer) -> None:
        """Say what was not wrong the last time."""
        found = find_troubles(answer.sample)
        for subject, text in found.items():
            if subject not in self._said:
                _say(text)
        self._said = frozenset(found)


def find_troubles(sample: Sample) -> dict[str, str]:
    """What a person should know of a sample, by what is wrong, in words."""
    found: dict[str, str] = {}
    for device in sample.devices:
        if device.status != 'ok':
            text = f'GPU {device.key.label}: {device.reason or device.status}'
            found[f'{device.key.label} {device.status}'] = text
    for problem in sample.problems:
        subject = f'{problem.subject} {problem.what}'
        if problem.subject in ('driver', 'host') and problem.is_failure:
            found[subject] = f'{problem.subject}: {problem.what}: {problem.reason}'
        elif problem.what == 'nvmlDeviceGetComputeRunningProcesses':
            found[subject] = f'{problem.subject}: processes: {problem.reason}'
        elif problem.kind in ('error', 'impossible') and problem.what != 'status':
            found[subject] = f'{problem.subject}: {problem.what}: {problem.reason}'
    if not sample.devices and not found:
        found['none'] = 'no GPU is visible: the driver answers and has none'
    return found


def _say(text: str) -> None:
    print(f'nvitop query: {printable_lines(text)}', file=sys.stderr)
