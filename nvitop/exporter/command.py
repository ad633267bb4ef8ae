# SPDX-License-Identifier: Apache-2.0
"""The commands ``nvitop exporter`` and ``nvitop-exporter``."""

from __future__ import annotations

import errno
import functools
import sys
from typing import TYPE_CHECKING

from nvitop.console import outcome
from nvitop.console.driver import simulate
from nvitop.console.interrupts import Interrupts
from nvitop.console.messages import print_message
from nvitop.console.outcome import CommandFailure, InterruptedByUser
from nvitop.console.problems import ProblemReporter
from nvitop.console.startup import collect_garbage_rarely
from nvitop.exporter.access import Access
from nvitop.exporter.arguments import (
    PROGRAM,
    RELEASED_PROGRAM,
    ExporterSettings,
    make_parser,
    parse,
)
from nvitop.exporter.families import demand_of
from nvitop.exporter.pages import Pages
from nvitop.exporter.server import WebServer
from nvitop.exporter.sinks import BackgroundSinks, TextFile
from nvitop.exporter.site import Site
from nvitop.platforms.kernel import wait_for_signals
from nvitop.sampling.plan import intervals
from nvitop.sampling.sampler import Sampler
from nvitop.sampling.source import LiveSource

if TYPE_CHECKING:
    from typing import Sequence

    from nvitop.recording.recorder import Sink
    from nvitop.sampling.types import Demand, Sample


#: Maximum time (seconds) that a scrape waits for the interpreter while the sampler runs.
SWITCH_SECONDS = 0.001

__all__ = ['main', 'make_parser']


def main(arguments: Sequence[str]) -> int:
    """Run ``nvitop exporter`` with the arguments after that word; return the exit status."""
    settings = parse(make_parser(), list(arguments))
    return outcome.run(PROGRAM, functools.partial(_run, PROGRAM, settings))


def released_main() -> int:
    """Run ``nvitop-exporter`` with the arguments of the process; return the exit status."""
    settings = parse(make_parser(RELEASED_PROGRAM), sys.argv[1:])
    return outcome.run(RELEASED_PROGRAM, functools.partial(_run, RELEASED_PROGRAM, settings))


def _run(program: str, settings: ExporterSettings) -> int:
    with Interrupts():
        try:
            if settings.demo is not None:
                simulate(settings.demo)
            _serve(program, settings)
        except InterruptedByUser:
            pass
    return 0


def _serve(program: str, settings: ExporterSettings) -> None:
    """Measure and serve until a signal arrives."""
    pages = Pages(settings.names, settings.series, interval=settings.interval)
    warn = functools.partial(print_message, program, 'warning')
    files = BackgroundSinks(_open_files(program, settings, pages), warn)
    server = _listen(program, settings, pages) if settings.addresses else None
    reporter = ProblemReporter(program)

    def deliver(sample: Sample) -> None:
        pages.write(sample)
        files.write(sample)
        reporter.report(sample)

    sampler = Sampler(
        LiveSource(intervals(settings.interval), owner_names=settings.owner_names),
        deliver,
        demand=_demand(settings),
    )
    collect_garbage_rarely()
    sys.setswitchinterval(SWITCH_SECONDS)
    sampler.start()
    try:
        if server is not None:
            server.start()
        wait_for_signals()
    finally:
        if server is not None:
            server.close()
        sampler.stop()
        files.close()


def _demand(settings: ExporterSettings) -> Demand:
    demand = demand_of(settings.names, settings.series, profiling=settings.profiling)
    if settings.recording is None:
        return demand
    from nvitop.recording.recorder import RECORDED

    return RECORDED._replace(
        shown_metrics=tuple(dict.fromkeys((*RECORDED.shown_metrics, *demand.shown_metrics))),
        process_codec=RECORDED.process_codec or demand.process_codec,
        owners=RECORDED.owners or demand.owners,
        host_io=RECORDED.host_io or demand.host_io,
    )


def _open_files(program: str, settings: ExporterSettings, pages: Pages) -> list[Sink]:
    """Open the files that get each sample.

    Raises:
        CommandFailure: One of them cannot be written.
    """
    sinks: list[Sink] = []
    if settings.textfile is not None:
        try:
            sinks.append(TextFile(settings.textfile, pages))
        except OSError as error:
            raise CommandFailure(f'cannot write {settings.textfile}: {error.strerror}') from error
    if settings.recording is not None:
        from nvitop.recording.recorder import DEFAULT_INTERVAL, Recorder
        from nvitop.recording.schema import RecordingError

        try:
            recorder = Recorder(
                settings.recording,
                interval_seconds=max(settings.interval, DEFAULT_INTERVAL),
                sample_seconds=settings.interval,
                on_message=functools.partial(print_message, program),
            )
        except RecordingError as error:
            raise CommandFailure(str(error)) from error
        sinks.append(recorder)
    return sinks


def _listen(program: str, settings: ExporterSettings, pages: Pages) -> WebServer:
    """Open the sockets of the web server.

    Raises:
        CommandFailure: An address or a file cannot be used.
    """
    warn = functools.partial(print_message, program, 'warning')
    try:
        access = Access(settings.web_config, settings.config_file, on_problem=warn)
    except ValueError as error:
        raise CommandFailure(str(error)) from error
    has_tls = access.config.tls is not None
    site = Site(pages, settings.path, settings.names, access, settings.max_requests)
    server = WebServer(site.respond, tls=access.tls if has_tls else None)
    for host, port in settings.addresses:
        try:
            found = server.listen(host, port)
        except OSError as error:
            server.close()
            raise CommandFailure(_explain(host, port, error)) from error
        for name, number in found:
            url = f'http{"s" if has_tls else ""}://{_address(name, number)}{settings.path}'
            print(f'{program}: listening on {url}', file=sys.stderr, flush=True)
    return server


def _address(host: str, port: int) -> str:
    return f'[{host}]:{port}' if ':' in host else f'{host}:{port}'


def _explain(host: str, port: int, error: OSError) -> str:
    address = _address(host, port)
    if error.errno == errno.EADDRINUSE:
        return f'{address} is in use by another program; choose another port'
    if error.errno == errno.EACCES and port < 1024:
        return f'cannot serve on {address}: ports below 1024 need privileges'
    return f'cannot serve on {address}: {error.strerror or error}'
