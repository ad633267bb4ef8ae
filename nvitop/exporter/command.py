# SPDX-License-Identifier: Apache-2.0
"""The commands ``nvitop exporter`` and ``nvitop-exporter``: their options, and what they run."""

from __future__ import annotations

import argparse
import contextlib
import errno
import functools
import os
import socket
import ssl
import sys
import time
from typing import TYPE_CHECKING, Iterable, Sequence

from nvitop import sampling
from nvitop.console import lifecycle
from nvitop.console.arguments import (
    ArgumentParser,
    add_general,
    duration,
    one_of,
    separated,
    whole_number,
)
from nvitop.console.driver import ProblemReporter, simulate
from nvitop.console.lifecycle import (
    RELEASED_EXPORTER,
    CommandFailure,
    InterruptedByUser,
    Interrupts,
    collect_garbage_rarely,
)
from nvitop.console.messages import print_message
from nvitop.console.option_table import add_options
from nvitop.exporter.dialects import DIALECT_NAMES, SeriesOptions
from nvitop.exporter.families import MAX_PROCESSES, demand_of
from nvitop.exporter.pages import Pages, TextFile
from nvitop.exporter.server import METRICS_PATH, MetricsServer
from nvitop.platforms import default_recording
from nvitop.platforms.kernel import wait_for_signals
from nvitop.sampling.plan import intervals
from nvitop.sampling.threads import Sampler

if TYPE_CHECKING:
    from nvitop.sampling.types import Sample

#: Default address, and port of addresses without one.
DEFAULT_HOST, DEFAULT_PORT = '127.0.0.1', 9836
#: Defaults of nvitop-exporter 1.7.
RELEASED_PORT, RELEASED_INTERVAL, RELEASED_NAMES = 8000, 1.0, ('nvitop-exporter',)
#: Default time (seconds) between two samples.
DEFAULT_PERIOD = 5.0
MAX_PORT = 65535
#: Age (seconds) of recorded Xids that are exported.
PAST_SECONDS = 86400.0
#: Recording of the service nvitop-record; the exporter may be run by another user.
SYSTEM_RECORDING = '/var/lib/nvitop/record.db'

PROGRAM = 'nvitop exporter'
_EXAMPLES = """\
nvitop exporter
nvitop exporter --listen :9836 --names own,dcgm
nvitop exporter --textfile /var/lib/node_exporter/nvitop.prom
nvitop exporter --demo
"""
_EXIT_STATUS = {
    '0': 'ended by SIGTERM or Ctrl-C',
    '1': 'the address is in use, or a file cannot be used',
    '2': 'invalid arguments',
}


def _address(text: str) -> tuple[str, int]:
    """Return host and port of ``HOST:PORT``, ``[IPV6]:PORT``, ``:PORT`` or ``HOST``."""
    if not text or '/' in text:
        raise ValueError(f'must be HOST:PORT or :PORT, not {text!r}')
    host, colon, number = text.rpartition(':')
    if not colon or text.endswith(']'):
        host, number = text, str(DEFAULT_PORT)
    if host.startswith('[') and host.endswith(']'):
        host = host[1:-1]
    elif ':' in host:
        raise ValueError(f'write an IPv6 address as [ADDRESS]:PORT, not {text!r}')
    return host, whole_number(0, MAX_PORT)(number)


def make_parser(program: str = PROGRAM) -> ArgumentParser:
    """Make the parser of ``nvitop exporter`` or of ``nvitop-exporter``."""
    parser = ArgumentParser(
        prog=program,
        usage=[f'{program} [OPTION ...]'],
        description='Serve GPU and process values to Prometheus.\n'
        'The command "nvitop-exporter" is the same program with the names, port and\n'
        'interval of release 1.7, and its options for the address.',
        examples=_EXAMPLES,
        exit_status=_EXIT_STATUS,
    )
    is_released = program == RELEASED_EXPORTER
    group = add_general(parser)
    default = RELEASED_INTERVAL if is_released else DEFAULT_PERIOD
    group.add_argument(
        '--interval',
        type=duration(0.1, 3600),
        default=default,
        metavar='TIME',
        help='measure every TIME, such as 10s or 500ms, regardless of how often values are scraped '
        f'(default: {default:g}s)',
    )
    group.add_argument(
        '--textfile',
        metavar='FILE',
        help='write the series to FILE after each measurement, for the textfile collector of '
        'node_exporter; serve no address unless one is given',
    )
    default_names = RELEASED_NAMES[0] if is_released else 'own'
    # A pod has another name than its node.
    node = os.environ.get('NODE_NAME', '') if 'KUBERNETES_SERVICE_HOST' in os.environ else ''
    group = parser.add_argument_group('series')
    add = group.add_argument
    add(
        '--names',
        type=separated(one_of('names', DIALECT_NAMES)),
        default=(default_names,),
        metavar='NAMES',
        help=f'use the names of {", ".join(DIALECT_NAMES[:-1])} or {DIALECT_NAMES[-1]}, or '
        f'several, comma-separated (default: {default_names})',
    )
    add(
        '--processes',
        action='store_true',
        help=f'add series for each process, at most {MAX_PROCESSES}; they end with the process',
    )
    add(
        '--commands',
        action='store_true',
        help='add command lines as labels of processes; values that look secret are masked',
    )
    add(
        '--owners',
        action='store_true',
        help='add the jobs, pods, containers and units that processes on a GPU belong to',
    )
    add_options(group, 'owner_names', default='files')
    add('--no-users', dest='users', action='store_false', help='leave out the sums for each user')
    add(
        '--profiling',
        action='store_true',
        help='add SM activity and occupancy (GPM); profilers cannot use these counters meanwhile',
    )
    spellings = ('--host', '-H') if is_released else ()
    add(
        '--hostname',
        *spellings,
        default=node,
        metavar='NAME',
        help='name of the host in labels (default: $NODE_NAME in Kubernetes, else the '
        f'{"address" if is_released else "name"} of this host)',
    )
    add = parser.add_argument_group('web server').add_argument
    if is_released:
        port = whole_number(0, MAX_PORT)
        add('--bind-address', '--bind', '-B', metavar='HOST', help='serve on this host')
        add('--port', '-p', type=port, metavar='PORT', help='serve on this port')
    else:
        add(
            '--listen',
            type=_address,
            metavar='ADDRESS',
            help='serve on this address, such as :9836 (all interfaces), localhost:9000 or '
            f'[::1]:9000 (default: {DEFAULT_HOST}:{DEFAULT_PORT})',
        )
    add('--certfile', metavar='FILE', help='certificate for TLS (PEM); needs --keyfile')
    add('--keyfile', metavar='FILE', help='private key of the certificate (PEM)')
    add(
        '--client-cafile',
        metavar='FILE',
        help='accept only clients with a certificate that a CA in FILE (PEM) has signed',
    )
    if is_released:
        add('--client-capath', metavar='DIRECTORY', help='like --client-cafile, with a directory')
        add(
            '--client-auth-required',
            action='store_true',
            help='require a client certificate; otherwise clients may come without one',
        )
    return parser


def parse(parser: ArgumentParser, arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments; exit with status 2 if they are invalid.

    ``series``, ``address`` and ``client_check`` are made of several options.
    """
    options = parser.parse(arguments)
    options.names = tuple(dict.fromkeys(options.names))
    if parser.prog == RELEASED_EXPORTER:
        options.hostname = options.hostname or _own_address()
        host = (options.bind_address or DEFAULT_HOST).strip('[]')
        port = RELEASED_PORT if options.port is None else options.port
        is_chosen = options.bind_address is not None or options.port is not None
        must_verify = options.client_auth_required
    else:
        host, port = options.listen or (DEFAULT_HOST, DEFAULT_PORT)
        is_chosen = options.listen is not None
        options.client_capath, must_verify = None, bool(options.client_cafile)
    options.series = SeriesOptions(
        options.users, options.processes, options.commands, options.owners, options.hostname
    )
    has_ca = bool(options.client_cafile or options.client_capath)
    #: ``None``: only the text file is written.
    options.address = (host, port) if is_chosen or options.textfile is None else None
    options.client_check = ssl.CERT_REQUIRED if must_verify else ssl.CERT_NONE
    if must_verify and not has_ca:
        parser.error('--client-auth-required needs --client-cafile or --client-capath')
    if bool(options.certfile) != bool(options.keyfile):
        parser.error('--certfile and --keyfile need each other')
    if has_ca and not options.certfile:
        parser.error('client certificates need --certfile and --keyfile')
    return options


def _own_address() -> str:
    """Return the address from which this host reaches others, as release 1.7 does."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(('192.0.2.1', 9))  # for documentation; nothing is sent
        return str(probe.getsockname()[0])
    return '127.0.0.1'


#: Maximum time (seconds) that a scrape waits for the interpreter while the sampler runs.
SWITCH_SECONDS = 0.001


def main(arguments: Sequence[str], program: str = PROGRAM) -> int:
    """Run ``nvitop exporter`` with the arguments after that word; return the exit status."""
    settings = parse(make_parser(program), list(arguments))
    return lifecycle.run(program, functools.partial(_run, program, settings))


def released_main() -> int:
    """Run ``nvitop-exporter`` with the arguments of the process; return the exit status."""
    return main(sys.argv[1:], RELEASED_EXPORTER)


def _run(program: str, settings: argparse.Namespace) -> int:
    with contextlib.suppress(InterruptedByUser), Interrupts():
        simulate(settings.demo)
        _serve(program, settings)
    return 0


def _serve(program: str, settings: argparse.Namespace) -> None:
    past_xids = recorded_xids((default_recording(), SYSTEM_RECORDING))
    pages = Pages(settings.names, settings.series, interval=settings.interval, past_xids=past_xids)
    reporter = ProblemReporter(program)
    with contextlib.ExitStack() as stack:
        textfile = server = None
        if settings.textfile:
            warn = functools.partial(print_message, program, 'warning')
            try:
                textfile = TextFile(settings.textfile, pages, warn)
            except OSError as error:
                text = f'cannot write {settings.textfile}: {error.strerror}'
                raise CommandFailure(text) from error
            stack.callback(textfile.close)
        if settings.address is not None:
            server = _listen(program, settings, pages)

        def deliver(sample: Sample) -> None:
            pages.write(sample)
            if textfile is not None:
                textfile.replace()
            reporter.report(sample)

        sampler = Sampler(
            sampling.LiveSource(intervals(settings.interval), owner_names=settings.owner_names),
            deliver,
            demand=demand_of(settings.names, settings.series, profiling=settings.profiling),
        )
        collect_garbage_rarely()
        sys.setswitchinterval(SWITCH_SECONDS)
        stack.callback(sampler.stop)
        sampler.start()
        if server is not None:
            stack.callback(server.server_close)
            server.start()
        wait_for_signals()


def recorded_xids(paths: Iterable[str]) -> dict[tuple[str, int], float]:
    """Return UUID and number of the Xids of the last day, and when a recorder saw each last."""
    from nvitop.recording.reader import Recording
    from nvitop.recording.store import RecordingError

    now = time.time()
    xids: dict[tuple[str, int], float] = {}
    for path in paths:
        # There may be none, or one that this user may not read.
        with contextlib.suppress(RecordingError), contextlib.closing(Recording(path)) as recording:
            for event in recording.events(now - PAST_SECONDS, now):
                if event.kind == 'error' and event.code.isdecimal():
                    key = event.gpu, int(event.code)
                    xids[key] = max(event.time, xids.get(key, 0.0))
    return xids


def _listen(program: str, settings: argparse.Namespace, pages: Pages) -> MetricsServer:
    tls = _tls_context(settings) if settings.certfile else None
    host, port = settings.address
    try:
        server = MetricsServer((host, port), pages, tls)
    except OSError as error:
        raise CommandFailure(_explain(host, port, error)) from error
    place = _authority(str(server.server_address[0]), server.server_port)
    url = f'http{"s" if tls is not None else ""}://{place}{METRICS_PATH}'
    print(f'{program}: listening on {url}', file=sys.stderr, flush=True)
    return server


def _tls_context(settings: argparse.Namespace) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    names = f'{settings.certfile} and {settings.keyfile}'
    try:
        # Without a password, OpenSSL would ask the terminal for that of an encrypted key.
        context.load_cert_chain(settings.certfile, settings.keyfile, password='')
        if settings.client_cafile or settings.client_capath:
            names = settings.client_cafile or settings.client_capath
            context.load_verify_locations(settings.client_cafile, settings.client_capath)
    except (OSError, ValueError) as error:
        raise CommandFailure(f'cannot use {names}: {error.args[-1]}') from error
    context.verify_mode = settings.client_check
    return context


def _authority(host: str, port: int) -> str:
    return f'[{host}]:{port}' if ':' in host else f'{host}:{port}'


def _explain(host: str, port: int, error: OSError) -> str:
    address = _authority(host, port)
    if error.errno == errno.EADDRINUSE:
        return f'{address} is in use by another program; choose another port'
    if error.errno == errno.EACCES and port < 1024:
        return f'cannot serve on {address}: ports below 1024 need privileges'
    reason, *_ = (error.strerror or str(error)).split(' (while')
    return f'cannot serve on {address}: {reason}'
