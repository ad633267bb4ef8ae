# SPDX-License-Identifier: Apache-2.0
"""The command line of ``nvitop fleet``."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from typing import TYPE_CHECKING, Callable

from nvitop.basics.toml import suggestion
from nvitop.console import lifecycle
from nvitop.console.arguments import ArgumentParser, add_general, duration, whole_number
from nvitop.console.config import read_config
from nvitop.console.lifecycle import CommandFailure, writing
from nvitop.console.messages import print_message
from nvitop.fleet.client import Client
from nvitop.fleet.filters import parse_filter, select
from nvitop.fleet.lists import FORMATS, VIEWS, fleet_text, no_hosts
from nvitop.fleet.settings import (
    MAX_SECONDS,
    MIN_SECONDS,
    Settings,
    SettingsError,
    from_environment,
    from_table,
    has_login,
    make_settings,
)
from nvitop.fleet.source import FleetSource, PrometheusSource
from nvitop.fleet.types import FleetError

if TYPE_CHECKING:
    #: Runs the screens; returns the exit status.
    Show = Callable[[argparse.Namespace, Settings], int]

PROGRAM = 'nvitop fleet'
#: What a filter can be, in the help.
FILTER_EXAMPLE = 'names, host: gpu: user: job: model: free:4'
#: Number of machines of ``--demo``.
DEMO_HOSTS = 40
MAX_DEMO_HOSTS = 10_000
_EXAMPLES = """\
nvitop fleet http://prometheus:9090
nvitop fleet -1 --filter free:4 --sort free
nvitop fleet -1 --problems --fail-on critical
nvitop fleet --demo
"""
_EXIT_STATUS = {
    '0': 'success',
    '1': 'no valid response of the server, no host, or a finding of --fail-on',
    '2': 'invalid arguments or settings',
}


def make_parser() -> ArgumentParser:
    """Make the parser of ``nvitop fleet``."""
    parser = ArgumentParser(
        prog=PROGRAM,
        usage=['nvitop fleet [OPTION ...] [URL]'],
        description='Show the GPUs of many machines. A Prometheus server, or one with its API,\n'
        'collects the values from an exporter on each machine. Keep passwords in files\n'
        'or environment variables; see the documentation.',
        examples=_EXAMPLES,
        exit_status=_EXIT_STATUS,
    )
    group = add_general(parser, demo=False)
    group.add_argument(
        '--demo',
        nargs='?',
        const=DEMO_HOSTS,
        type=whole_number(1, MAX_DEMO_HOSTS),
        metavar='HOSTS',
        help=f'simulate a cluster with HOSTS machines (default: {DEMO_HOSTS})',
    )
    group.add_argument('--config', metavar='FILE', help='read FILE instead of the default file')
    add = parser.add_argument_group('server').add_argument
    add('url', nargs='?', metavar='URL', help='same as --prometheus URL')
    add('--prometheus', metavar='URL', help='URL of the server (default: $PROMETHEUS_URL)')
    add('--match', metavar='SELECTOR', help='only series with these labels: \'{cluster="a"}\'')
    add('--host-label', metavar='LABEL', help='the label that names the host (default: automatic)')
    seconds = duration(MIN_SECONDS, MAX_SECONDS)
    add(
        '--interval',
        metavar='TIME',
        type=seconds,
        help='minimum time between requests (default: 5s)',
    )
    add('--timeout', metavar='TIME', type=seconds, help='limit of a request (default: 10s)')
    group = parser.add_argument_group('output')
    add = group.add_argument
    add('-1', '--once', action='store_true', help='print a list once and exit')
    lists = group.add_mutually_exclusive_group()
    for name in VIEWS:
        if name != 'hosts':
            text = f'list {name.replace("gpus", "GPUs")} instead of hosts'
            lists.add_argument(
                f'--{name}', dest='view', action='store_const', const=name, help=text
            )
    add('--filter', metavar='WORDS', default='', help=f'only these: {FILTER_EXAMPLE}')
    add('--sort', metavar='COLUMN', help='sort by a column of --format csv, such as free_gpus')
    add('--format', choices=FORMATS, help='write table, json or csv once (default: table)')
    add(
        '--fail-on',
        choices=('warning', 'critical'),
        help='print once; exit with status 1 if there are such findings, or worse ones',
    )
    parser.set_defaults(view='hosts')
    return parser


def main(arguments: list[str], show: Show | None = None) -> int:
    """Run ``nvitop fleet`` with the arguments after that word; return the exit status.

    ``show`` runs the screens. Without it, or without a terminal, the hosts are printed once.
    """
    parser = make_parser()
    given = parser.parse(arguments)
    if given.url is not None:
        if given.prometheus not in (None, given.url):
            parser.error('two servers given: use either URL or --prometheus URL')
        given.prometheus = given.url
    settings = read_settings(parser, given)
    _check_output(parser, given)
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if show is None or given.once or given.format or given.fail_on or not has_terminal:
        return lifecycle.run(PROGRAM, functools.partial(_print_once, given, settings))
    return lifecycle.run(PROGRAM, functools.partial(show, given, settings))


def _check_output(parser: ArgumentParser, given: argparse.Namespace) -> None:
    """Exit with status 2 if options of the output do not fit together; complete ``sort``."""
    if given.fail_on and given.view in ('users', 'jobs'):
        parser.error(f'--fail-on applies to hosts, --gpus and --problems, not to --{given.view}')
    names = [column.name for column in VIEWS[given.view].columns]
    found = [name for name in names if given.sort and name.startswith(given.sort)]
    if given.sort and not found:
        hint = suggestion(given.sort, names) or f'; columns: {", ".join(names)}'
        parser.error(f'--sort: unknown column {given.sort!r}{hint}')
    given.sort = found[0] if found else ''


def read_settings(parser: ArgumentParser, given: argparse.Namespace) -> Settings:
    """Return the settings; exit with status 2 if they are invalid.

    The command may lack some options: their defaults apply.
    """
    config = read_config(given.config, {})
    for problem in config.problems:
        if problem.line == 0:  # it cannot be read; other problems are about the monitor
            if given.config is not None:
                parser.error(str(problem))
            print_message(PROGRAM, 'warning', str(problem))
    if given.prometheus is not None and has_login(given.prometheus):
        parser.error('other users can read arguments: set the login with PROMETHEUS_URL')
    is_demo = given.demo is not None
    if is_demo and (given.prometheus or given.match or given.host_label):
        parser.error('--demo queries no server: omit --prometheus, --match and --host-label')
    names = ('match', 'host_label', 'interval', 'timeout')
    arguments = {'url': given.prometheus, **{name: getattr(given, name, None) for name in names}}
    of_server = {} if is_demo else config.tables.get('fleet', {})
    environment = {} if is_demo else from_environment(os.environ)
    try:
        settings = make_settings(from_table(of_server), environment, arguments)
    except SettingsError as error:
        parser.error(str(error))
    if not settings.url and not is_demo:
        parser.error('no server given: use nvitop fleet URL or set PROMETHEUS_URL, or try --demo')
    return settings


def make_source(demo: int | None, settings: Settings) -> FleetSource:
    """Return the server, or the simulated cluster."""
    if demo is None:
        return PrometheusSource(Client(settings), settings.scope)
    from nvitop.fleet.demo import DemoSource

    return DemoSource(demo)


def _print_once(given: argparse.Namespace, settings: Settings) -> int:
    try:
        everything = make_source(given.demo, settings).read()
    except FleetError as error:
        raise CommandFailure(error.line) from None
    for warning in everything.warnings:
        print_message(PROGRAM, 'warning', warning)
    filters = parse_filter(given.filter)
    fleet = select(everything, filters)
    kind = given.format or 'table'
    if fleet.hosts or kind != 'table':
        with writing():
            text = fleet_text(fleet, kind, given.view, given.sort)
            encoding = sys.stdout.encoding or 'utf-8'  # a StringIO has none
            print(text.encode(encoding, 'replace').decode(encoding), end='', flush=True)
    if not fleet.hosts:  # a check of nothing must not succeed
        text = f'no host matches the filter {given.filter!r}' if everything.hosts else ''
        print_message(PROGRAM, 'error', text or no_hosts(settings.scope))
        return 1
    failing = ('critical',) if given.fail_on == 'critical' else ('critical', 'warning')
    return int(bool(given.fail_on) and any(host.severity in failing for host in fleet.hosts))
