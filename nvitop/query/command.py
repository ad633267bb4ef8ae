# SPDX-License-Identifier: Apache-2.0
"""The command line of ``nvitop query`` and of ``nvitop --query-…``."""

from __future__ import annotations

import argparse
import functools
import time
from typing import TYPE_CHECKING, Callable, NamedTuple, TypeVar

from nvitop.console import lifecycle
from nvitop.console.arguments import ArgumentParser, add_devices, add_general, duration
from nvitop.console.driver import ProblemReporter, start_devices
from nvitop.console.lifecycle import Interrupts, Output, writing
from nvitop.console.option_table import add_options
from nvitop.query.fields import (
    DEFAULT_DEVICE_NAMES,
    DEFAULT_PROCESS_NAMES,
    ListTable,
    QueryField,
    device_table,
    list_tables,
    process_table,
    remapped_rows_table,
)
from nvitop.query.formats import (
    GPU_LIST,
    LIST,
    QUERIES,
    OutputStyle,
    help_on,
    list_of_names,
    make_format,
    parse_style,
)
from nvitop.query.measure import QueryRunner, TableQuery

if TYPE_CHECKING:
    from nvitop.sampling.types import Sample

T = TypeVar('T')

PROGRAM = 'nvitop query'
#: Seconds of ``-l`` without a number, as in nvidia-smi.
DEFAULT_PERIOD = 5.0
#: Shortest and longest time (seconds) between results.
PERIODS = 0.001, 1e7

_EXAMPLES = """\
nvitop query --gpu=index,memory.used --format=csv,noheader,nounits
nvitop query --processes=gpu_index,pid,user,gpu_memory --format=json
nvitop query --all --format=jsonl -l 10 -f gpus.jsonl
nvitop --query-gpu=timestamp,power.draw --format=csv -lms 500 -i 0
"""
_EXIT_STATUS = {
    '0': 'at least one GPU works',
    '1': 'no GPU works, or the output cannot be written',
    '2': 'invalid arguments',
    '128 + N': 'ended by signal N',
}
_QUERY_HELP = {
    'gpu': 'same as --gpu',
    'compute-apps': 'like --processes, but only compute processes',
    'remapped-rows': 'like --gpu, for remapped memory rows',
    'supported-clocks': 'print a row for each pair of supported clocks',
    'retired-pages': 'print a row for each retired memory page',
    'accounted-apps': 'print a row for each accounted process, including exited ones',
}


class Request(NamedTuple):
    query: TableQuery
    style: OutputStyle
    #: Seconds between results; ``None``: one result.
    period: float | None


def make_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog=PROGRAM,
        usage=['nvitop query [OPTION ...]', 'nvitop --query-gpu=FIELDS [OPTION ...]'],
        description='Print GPU and process values for scripts.',
        examples=_EXAMPLES,
        exit_status=_EXIT_STATUS,
    )
    group = add_general(parser)
    group.add_argument(
        '--list', action='store_true', help='list all fields with unit and meaning, and exit'
    )
    add_options(group, 'owner_names', default='files')
    _add_selection(parser)
    _add_output(parser)
    _add_nvidia_smi(parser)
    return parser


def _add_selection(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('selection')
    add = group.add_argument
    add(
        '--gpu',
        nargs='?',
        const=DEFAULT_DEVICE_NAMES,
        metavar='FIELDS',
        help='print a row for each GPU; FIELDS are comma-separated names of nvitop or nvidia-smi, '
        f'or all (default: {DEFAULT_DEVICE_NAMES})',
    )
    add(
        '--processes',
        nargs='?',
        const=DEFAULT_PROCESS_NAMES,
        metavar='FIELDS',
        help=f'print a row for each process on each GPU (default: {DEFAULT_PROCESS_NAMES})',
    )
    add(
        '--all',
        action='store_true',
        help='print all fields of GPUs and processes (in CSV only of GPUs)',
    )
    add_devices(group, '-i', '-o', '--id', '--only')
    add(
        '-ov',
        '--only-visible',
        action='store_true',
        help='include only the devices in CUDA_VISIBLE_DEVICES',
    )
    add('--mig', action='store_true', help='include MIG devices, after their GPU')


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('output')
    add = group.add_argument
    add(
        '--format',
        default='csv',
        metavar='FORMAT',
        help='write csv, json, jsonl or table (default: csv); csv and table can be followed by '
        'noheader and nounits, as in csv,noheader',
    )
    add = group.add_mutually_exclusive_group().add_argument
    add(
        '-l',
        '--loop',
        nargs='?',
        const=DEFAULT_PERIOD,
        type=duration(*PERIODS),
        metavar='TIME',
        help='repeat every TIME, such as 10 or 500ms, until interrupted '
        f'(default: {DEFAULT_PERIOD:g}s)',
    )
    add(
        '-lms',
        '--loop-ms',
        dest='loop',
        type=duration(*PERIODS, unit='ms'),
        metavar='MS',
        help='repeat every MS milliseconds until interrupted',
    )
    add = group.add_argument
    add(
        '--samples',
        action='store_true',
        help='print whole samples as lines of JSON, for nvitop --ssh',
    )
    add(
        '-f',
        '--filename',
        metavar='FILE',
        help='write to FILE, which is truncated when the first row is ready',
    )


def _add_nvidia_smi(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group(
        'options of nvidia-smi (the word "query" may be omitted)'
    ).add_argument
    add('-L', '--list-gpus', action='store_true', help='list GPUs and MIG devices, and exit')
    for query in QUERIES:
        add(f'--query-{query}', metavar='FIELDS', help=_QUERY_HELP[query])
    for query in QUERIES:
        add(
            f'--help-query-{query}',
            action='append_const',
            dest='help_on',
            const=query,
            help=f'list the fields of --query-{query}, and exit',
        )


# Parsing


def parse(arguments: list[str]) -> tuple[argparse.Namespace, Request | None]:
    """Parse the arguments; exit with status 2 if they are invalid.

    The request is ``None`` if the arguments ask only for lists of fields.
    """
    parser = make_parser()
    options = parser.parse(arguments)
    if options.list or options.help_on:
        return options, None
    try:
        if options.samples:
            names = (
                'gpu',
                'processes',
                'all',
                *(f'query_{name.replace("-", "_")}' for name in QUERIES),
            )
            if any(getattr(options, name) for name in names):
                raise ValueError('--samples prints everything: request nothing else')
            return options, None
        return options, _request(options)
    except ValueError as error:
        parser.error(str(error))


def _request(options: argparse.Namespace) -> Request:
    if options.list_gpus:
        return Request(TableQuery(devices=device_table().find(GPU_LIST), mig=True), LIST, None)
    style = _parse_option('--format', parse_style, options.format)
    gpu_option, gpu = _one_of(options, 'gpu', 'query-gpu', 'query-remapped-rows')
    processes_option, processes = _one_of(options, 'processes', 'query-compute-apps')
    items = _items(options)
    if options.all:
        gpu = gpu or ('all' if style.kind != 'csv' or processes is None else None)
        processes = processes or ('all' if style.kind != 'csv' else None)
    elif gpu is None and processes is None and items is None:
        gpu = DEFAULT_DEVICE_NAMES
    if style.kind == 'csv' and [gpu, processes, items].count(None) < 2:
        raise ValueError('CSV holds one table: request only one, or use another --format')
    apps = process_table(compute_apps=options.query_compute_apps is not None)
    gpus = device_table() if options.query_remapped_rows is None else remapped_rows_table()
    query = TableQuery(
        None if gpu is None else _parse_option(gpu_option, gpus.find, gpu),
        None if processes is None else _parse_option(processes_option, apps.find, processes),
        items,
        mig=options.mig,
        compute_only=options.query_compute_apps is not None,
        owner_names=options.owner_names,
    )
    return Request(query, style, options.loop)


def _items(options: argparse.Namespace) -> tuple[ListTable, tuple[QueryField, ...]] | None:
    requested = [
        (table, names)
        for option, table in list_tables().items()
        for _, names in [_one_of(options, f'query-{option}')]
        if names is not None
    ]
    if len(requested) > 1:
        first, second = (f'--query-{table.option}' for table, _ in requested[:2])
        raise ValueError(f'{first} and {second} cannot be combined')
    for table, names in requested:
        return table, _parse_option(f'--query-{table.option}', table.table.find, names)
    return None


def _one_of(options: argparse.Namespace, *names: str) -> tuple[str, str | None]:
    """The option that is given, with its fields; the first one and ``None`` if none is."""
    values = [(f'--{option}', getattr(options, option.replace('-', '_'))) for option in names]
    used = [(option, names) for option, names in values if names is not None]
    if len(used) > 1:
        raise ValueError(f'{used[0][0]} and {used[1][0]} cannot be combined')
    return used[0] if used else values[0]


def _parse_option(option: str, parse_text: Callable[[str], T], text: str) -> T:
    try:
        return parse_text(text)
    except ValueError as error:
        raise ValueError(f'{option}: {error}') from None


# Running


def main(
    arguments: list[str],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Run ``nvitop query`` with the arguments after that word; return the exit status."""
    options, request = parse(arguments)
    if options.samples:
        from nvitop.remote.samples import run_samples  # only for other machines

        return lifecycle.run(PROGRAM, functools.partial(run_samples, PROGRAM, options))
    if request is None:
        return lifecycle.run(PROGRAM, functools.partial(_print_lists, options))
    return lifecycle.run(PROGRAM, functools.partial(_run, options, request, clock, sleep))


def _print_lists(options: argparse.Namespace) -> int:
    with Interrupts() as interrupts, writing():
        output = Output(interrupts=interrupts)
        texts = [list_of_names()] if options.list else [help_on(query) for query in options.help_on]
        output.write(['\n'.join(texts)])
    return 0


def _run(
    options: argparse.Namespace,
    request: Request,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> int:
    with Interrupts() as interrupts:
        only = start_devices(PROGRAM, options.only, options.demo, only_visible=options.only_visible)
        query = request.query._replace(only=only)
        runner = QueryRunner(query, period=request.period, clock=clock, sleep=sleep)
        output = Output(options.filename, interrupts)
        form = make_format(query, request.style, width=output.terminal_width())
        reporter = ProblemReporter(PROGRAM)
        started = clock()
        while True:
            result = runner.run()
            reporter.report(result.sample)
            with writing(output.name):
                output.write(form(result))
                if request.period is None:
                    output.close()
                    return _status(result.sample)
            _wait(started, request.period, clock, sleep)


def _wait(
    started: float, period: float, clock: Callable[[], float], sleep: Callable[[float], None]
) -> None:
    """Wait for the next multiple of the period since the start; skip missed ones."""
    turn = int((clock() - started) / period) + 1
    while True:
        remaining = started + turn * period - clock()
        if remaining <= 0:
            return
        sleep(remaining)


def _status(sample: Sample) -> int:
    return int(all(device.is_silent for device in sample.devices))
