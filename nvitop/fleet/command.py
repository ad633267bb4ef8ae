# SPDX-License-Identifier: Apache-2.0
"""The command line of ``nvitop fleet``."""

from __future__ import annotations

import argparse
import functools
import os
import re
import sys
from typing import TYPE_CHECKING, Callable

from nvitop.basics.toml import unknown
from nvitop.console import lifecycle
from nvitop.console.arguments import ArgumentParser, add_general, duration, size, whole_number
from nvitop.console.config import read_config
from nvitop.console.lifecycle import CommandFailure, write_output
from nvitop.console.messages import print_message, stdout_width
from nvitop.console.option_table import add_options
from nvitop.fleet.client import (
    MAX_SECONDS,
    MIN_SECONDS,
    Client,
    Settings,
    SettingsError,
    from_environment,
    from_table,
    has_login,
    make_settings,
)
from nvitop.fleet.lists import FORMATS, VIEWS, fleet_text, no_hosts, parse_filter, select
from nvitop.fleet.source import FleetSource, PrometheusSource
from nvitop.fleet.types import Fleet, FleetError

if TYPE_CHECKING:
    from nvitop.remote.hosts import RemoteHost

    #: Runs the screens; returns the exit status.
    Show = Callable[[argparse.Namespace, Settings], int]
    #: Returns a list for a terminal of a width; 0: for another program.
    Draw = Callable[[argparse.Namespace, Fleet, int], str]

PROGRAM = 'nvitop fleet'
#: What a filter can be, in the help.
FILTER_EXAMPLE = 'names, host: gpu: user: job: model: free:4'
#: Options of the monitor that the screens have too.
APPEARANCE = ('theme', 'ascii', 'hints')
#: Number of machines of ``--demo``.
DEMO_HOSTS = 40
MAX_DEMO_HOSTS = 10_000
_EXAMPLES = """\
nvitop fleet gpu01 gpu02 lab-[01-12]
nvitop fleet http://prometheus:9090
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
        usage=['nvitop fleet [OPTION ...] [HOST ... | URL]'],
        description='Show the GPUs of many machines: over ssh, or from a Prometheus server that\n'
        'scrapes an exporter on each machine. Keep passwords in files or environment\n'
        'variables; see the documentation.',
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
    add = parser.add_argument_group('machines').add_argument
    add(
        'targets',
        nargs='*',
        metavar='HOST',
        help='machines to read over ssh, such as gpu01 or lab-[01-12]; or the URL of a server',
    )
    add('--hosts', metavar='FILE', help='read the machines of FILE, one a line, over ssh')
    add = parser.add_argument_group('server').add_argument
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
            lists.add_argument(
                f'--{name}',
                dest='view',
                action='store_const',
                const=name,
                help=f'list {name.replace("gpus", "GPUs")} instead of hosts',
            )
    add(
        '--free',
        type=whole_number(1, 100_000),
        metavar='N',
        help='print N free GPUs as HOST:GPU, those with the most free memory first; exit with '
        'status 1 if there are fewer',
    )
    add(
        '--min-free-memory',
        type=size(),
        default=0,
        metavar='SIZE',
        help='with --free: require at least SIZE of free memory, for example 20GiB',
    )
    add('--filter', metavar='WORDS', default='', help=f'only these: {FILTER_EXAMPLE}')
    add('--sort', metavar='COLUMN', help='sort by a column of --format csv, such as free_gpus')
    add('--format', choices=FORMATS, help='write table, json or csv once (default: table)')
    add(
        '--fail-on',
        choices=('warning', 'critical'),
        help='print once; exit with status 1 if there are such findings, or worse ones',
    )
    appearance = parser.add_argument_group('appearance, as of the monitor')
    add_options(appearance, *APPEARANCE, default=argparse.SUPPRESS)
    parser.set_defaults(view='hosts', prometheus=None)
    return parser


def main(arguments: list[str], show: Show, draw: Draw) -> int:
    """Run ``nvitop fleet`` with the arguments after that word; return the exit status.

    ``show`` runs the screens. Without a terminal, the hosts are printed once.
    """
    parser = make_parser()
    options = parser.parse(arguments)
    if len(options.targets) == 1 and re.search(r'://|^[^/]*:\d', options.targets[0]):
        options.prometheus, options.targets = options.targets[0], []
    settings = read_settings(parser, options)
    options.machines = _machines(parser, options, settings)
    _check_output(parser, options)
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    is_once = options.once or options.format or options.fail_on or options.free
    if is_once or not has_terminal:
        return lifecycle.run(PROGRAM, functools.partial(_print_once, options, settings, draw))
    return lifecycle.run(PROGRAM, functools.partial(show, options, settings))


def _machines(
    parser: ArgumentParser, options: argparse.Namespace, settings: Settings
) -> list[RemoteHost]:
    """Return the machines to read over ssh; none if there is a server."""
    from nvitop.remote.hosts import HostsError, parse_hosts, targets

    try:
        machines = targets(options.targets)
        if options.hosts is not None:
            with open(options.hosts, encoding='utf-8') as file:
                machines += parse_hosts(file.read(), options.hosts)
        if machines and (options.prometheus or options.demo is not None):
            parser.error('use either machines over ssh, a server, or --demo')
        if machines or options.prometheus or settings.url or options.demo is not None:
            return machines
        return targets(settings.hosts)
    except (HostsError, UnicodeDecodeError) as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f'cannot read {options.hosts}: {error.strerror}')


def _check_output(parser: ArgumentParser, options: argparse.Namespace) -> None:
    """Exit with status 2 if options of the output do not fit together; complete ``sort``."""
    if options.fail_on and options.view in ('users', 'jobs'):
        parser.error(f'--fail-on applies to hosts, --gpus and --problems, not to --{options.view}')
    names = [*VIEWS[options.view].columns]
    matching = [name for name in names if options.sort and name.startswith(options.sort)]
    if options.sort and not matching:
        parser.error(f'--sort: {unknown("column", options.sort, names)}')
    options.sort = matching[0] if matching else ''


def read_settings(parser: ArgumentParser, options: argparse.Namespace) -> Settings:
    """Return the settings; exit with status 2 if they are invalid.

    The command may lack some options: their defaults apply.
    """
    config = read_config(options.config, {})
    if not config.is_readable:  # other problems are about the monitor
        if options.config is not None:
            parser.error(config.problems[0])
        print_message(PROGRAM, 'warning', config.problems[0])
    if options.prometheus is not None and has_login(options.prometheus):
        parser.error('other users can read arguments: set the login with PROMETHEUS_URL')
    is_demo = options.demo is not None
    if is_demo and (options.prometheus or options.match or options.host_label):
        parser.error('--demo queries no server: omit its URL, --match and --host-label')
    names = ('match', 'host_label', 'interval', 'timeout')
    arguments = {
        'url': options.prometheus,
        **{name: getattr(options, name, None) for name in names},
    }
    of_server = {} if is_demo else config.tables.get('fleet', {})
    environment = {} if is_demo else from_environment(os.environ)
    try:
        settings = make_settings(from_table(of_server), environment, arguments)
    except SettingsError as error:
        parser.error(str(error))
    has_machines = (
        settings.hosts or getattr(options, 'targets', None) or getattr(options, 'hosts', None)
    )
    if not settings.url and not is_demo and not has_machines:
        parser.error(
            'no machines given: use nvitop fleet HOST ... or nvitop fleet URL, or try --demo'
        )
    return settings


def make_source(options: argparse.Namespace, settings: Settings, *, once: bool) -> FleetSource:
    """Return the machines, the server, or the simulated cluster."""
    if options.demo is not None:
        from nvitop.fleet.demo import DemoSource

        return DemoSource(options.demo)
    if options.machines:
        from nvitop.fleet.source import ONCE_SECONDS, SCREEN_SECONDS, SshSource

        return SshSource(options.machines, ONCE_SECONDS if once else SCREEN_SECONDS)
    return PrometheusSource(Client(settings), settings.scope)


def _print_once(options: argparse.Namespace, settings: Settings, draw: Draw) -> int:
    source = make_source(options, settings, once=True)
    try:
        everything = source.read()
    except FleetError as error:
        raise CommandFailure(error.line) from None
    finally:
        source.close()
    for warning in everything.warnings:
        print_message(PROGRAM, 'warning', warning)
    filters = parse_filter(options.filter)
    fleet = select(everything, filters)
    if options.free:
        return _print_free(fleet, options.free, options.min_free_memory)
    kind = options.format or 'table'
    if fleet.hosts or kind != 'table':
        if kind == 'table':
            # A table for another program is whole, unless a width is asked for.
            has_width = sys.stdout.isatty() or os.environ.get('COLUMNS')
            text = draw(options, fleet, stdout_width() if has_width else 0)
        else:
            text = fleet_text(fleet, kind, options.view, options.sort)
        encoding = sys.stdout.encoding or 'utf-8'  # a StringIO has none
        write_output(text.encode(encoding, 'replace').decode(encoding))
    if not fleet.hosts:  # a check of nothing must not succeed
        text = f'no host matches the filter {options.filter!r}' if everything.hosts else ''
        print_message(PROGRAM, 'error', text or no_hosts(settings.scope))
        return 1
    failing = ('critical',) if options.fail_on == 'critical' else ('critical', 'warning')
    return int(bool(options.fail_on) and any(host.severity in failing for host in fleet.hosts))


def _print_free(fleet: Fleet, count: int, least: int) -> int:
    """Print free GPUs for scripts; return the exit status."""
    free = [
        ((gpu.memory_total_bytes or 0) - (gpu.memory_used_bytes or 0), f'{host.name}:{gpu.label}')
        for host in fleet.hosts
        for gpu in host.gpus
        if gpu.is_free
    ]
    names = [
        name for bytes_free, name in sorted(free, key=lambda pair: -pair[0]) if bytes_free >= least
    ]
    write_output(''.join(f'{name}\n' for name in names[:count]))
    if len(names) < count:
        print_message(PROGRAM, 'error', f'{count} required, {len(names)} free')
    return int(len(names) < count)
