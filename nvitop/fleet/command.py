# SPDX-License-Identifier: Apache-2.0
"""The command line of ``nvitop fleet``."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from typing import TYPE_CHECKING, Callable

from nvitop.console import outcome
from nvitop.console.arguments import ArgumentParser, add_general, duration, whole_number
from nvitop.console.config import read_config
from nvitop.console.messages import print_message
from nvitop.console.outcome import CommandFailure, writing
from nvitop.fleet.client import Client
from nvitop.fleet.output import FORMATS, fleet_text, no_hosts
from nvitop.fleet.settings import (
    MAX_SECONDS,
    MIN_SECONDS,
    SettingsError,
    from_environment,
    from_table,
    has_login,
    make_settings,
)
from nvitop.fleet.source import Question, ask
from nvitop.fleet.types import FleetError

if TYPE_CHECKING:
    from nvitop.fleet.settings import Settings
    from nvitop.fleet.source import Server

    #: Runs the screens; returns the exit status.
    Show = Callable[[argparse.Namespace, Settings], int]

PROGRAM = 'nvitop fleet'
#: Number of machines of ``--demo``.
DEMO_HOSTS = 40
MAX_DEMO_HOSTS = 10_000
_EXAMPLES = """\
nvitop fleet --prometheus http://prometheus:9090
nvitop fleet --match '{cluster="a"}' --host-label node
nvitop fleet -1 --format json
nvitop fleet --demo
"""
_EXIT_STATUS = {
    '0': 'success',
    '1': 'the server does not respond, its response is invalid, or there is no host',
    '2': 'invalid arguments or settings',
}


def make_parser() -> ArgumentParser:
    """Make the parser of ``nvitop fleet``."""
    parser = ArgumentParser(
        prog=PROGRAM,
        usage=['nvitop fleet [OPTION ...]'],
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
    add = parser.add_argument_group('output').add_argument
    add('-1', '--once', action='store_true', help='print the hosts once and exit')
    add('--format', choices=FORMATS, help='write table, json or csv once (default: table)')
    return parser


def main(arguments: list[str], show: Show | None = None) -> int:
    """Run ``nvitop fleet`` with the arguments after that word; return the exit status.

    ``show`` runs the screens. Without it, or without a terminal, the hosts are printed once.
    """
    parser = make_parser()
    given = parser.parse(arguments)
    settings = read_settings(parser, given)
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if show is None or given.once or given.format or not has_terminal:
        return outcome.run(PROGRAM, functools.partial(_print_once, given, settings))
    return outcome.run(PROGRAM, functools.partial(show, given, settings))


def read_settings(parser: ArgumentParser, given: argparse.Namespace) -> Settings:
    """Return the settings; exit with status 2 if they are invalid."""
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
    arguments = {'url': given.prometheus, **{name: getattr(given, name) for name in names}}
    of_server = {} if is_demo else config.tables.get('fleet', {})
    environment = {} if is_demo else from_environment(os.environ)
    try:
        settings = make_settings(from_table(of_server), environment, arguments)
    except SettingsError as error:
        parser.error(str(error))
    if not settings.url and not is_demo:
        parser.error('no server given: use --prometheus URL or set PROMETHEUS_URL, or try --demo')
    return settings


def make_server(demo: int | None, settings: Settings) -> Server:
    """Return the server, or the simulated one."""
    if demo is None:
        return Client(settings)
    from nvitop.fleet.demo import Cluster, DemoServer

    return DemoServer(Cluster(demo))


def _print_once(given: argparse.Namespace, settings: Settings) -> int:
    server = make_server(given.demo, settings)
    try:
        fleet = ask(server, Question('hosts', settings.scope))
    except FleetError as error:
        raise CommandFailure(error.line) from None
    finally:
        server.close()
    for warning in fleet.warnings:
        print_message(PROGRAM, 'warning', warning)
    kind = given.format or 'table'
    if fleet.hosts or kind != 'table':
        with writing():
            text = fleet_text(fleet, kind, fleet.timestamp)
            encoding = sys.stdout.encoding or 'utf-8'  # a StringIO has none
            sys.stdout.write(text.encode(encoding, 'replace').decode(encoding))
            sys.stdout.flush()
    if not fleet.hosts:
        print_message(PROGRAM, 'error', no_hosts(settings.scope))
        return 1
    return 0
