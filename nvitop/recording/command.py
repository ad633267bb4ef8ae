# SPDX-License-Identifier: Apache-2.0
"""The command line of ``nvitop record``."""

from __future__ import annotations

import argparse
import functools
import os
import queue
import re
import sys
import threading
import time
from typing import TYPE_CHECKING, Callable

from nvitop import sampling
from nvitop.basics.units import MAX_SECONDS
from nvitop.console import lifecycle
from nvitop.console.arguments import ArgumentParser, add_devices, add_general, duration, size
from nvitop.console.driver import start_devices
from nvitop.console.lifecycle import SIGNALED, CommandFailure, Interrupts
from nvitop.console.messages import print_message
from nvitop.platforms import default_recording
from nvitop.platforms.kernel import HANGUP
from nvitop.recording.frames import STANDARD, LineWriter
from nvitop.recording.recorder import DEFAULT_INTERVAL, RECORDED, Recorder
from nvitop.recording.store import RecordingError, Retention
from nvitop.sampling.plan import intervals
from nvitop.sampling.serialization import CHOICES
from nvitop.sampling.threads import Sampler

if TYPE_CHECKING:
    from nvitop.sampling.types import Sample

PROGRAM = 'nvitop record'
#: Maximum time (seconds) to wait for a last sample, so that the time since the one before counts …
LAST_SAMPLE_SECONDS = 1.0
#: … and for the sample in progress when stopping.
STOP_SECONDS = 5.0

_EXAMPLES = """\
nvitop record
nvitop record -o night.db --interval 2 --duration 12h
nvitop record -o /var/lib/nvitop/record.db --keep 30d --mode 644
nvitop record -o - --commands full --only 0 1 | gzip > node7.jsonl.gz
"""
_EXIT_STATUS = {
    '0': 'the recording was stopped by SIGTERM, SIGINT or --duration',
    '1': 'the file cannot be written, or another process records to it',
    '2': 'invalid arguments',
}


def _mode(text: str) -> int:
    mode = int(text, 8) if re.fullmatch('[0-7]{1,4}', text) else -1
    if not 0 <= mode <= 0o777 or mode & 0o600 != 0o600:
        raise ValueError(f'expected permissions such as 640 or 644, not {text!r}')
    return mode


def make_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog=PROGRAM,
        usage=['nvitop record [OPTION ...] [FILE]'],
        description='Record GPUs and their processes to a file until interrupted. See what happened\n'
        'with "nvitop replay".',
        examples=_EXAMPLES,
        exit_status=_EXIT_STATUS,
    )
    add_general(parser)
    group = parser.add_argument_group('what is recorded')
    add = group.add_argument
    add(
        '--interval',
        type=duration(0.25, 3600),
        default=DEFAULT_INTERVAL,
        metavar='TIME',
        help='take a sample every TIME, such as 10 or 500ms (default: 10 s)',
    )
    add(
        '--duration',
        type=duration(0.001, MAX_SECONDS),
        metavar='TIME',
        help='stop after TIME, such as 90s, 12h or 7d (default: never)',
    )
    add_devices(group, '-i', '--id', '--only')
    add(
        '--commands',
        choices=CHOICES,
        default='name',
        help='keep command lines in full (values that look secret are masked), only the name of '
        'the program and its script, or none (default: name); environments are never kept',
    )
    add = parser.add_argument_group('file').add_argument
    add(
        '-o',
        '--output',
        metavar='FILE',
        help='record to FILE; - is standard output, for jsonl (default: record.db in '
        '/var/lib/nvitop for root, else in ~/.local/state/nvitop)',
    )
    add('file', nargs='?', metavar='FILE', help='same as --output FILE')
    add(
        '--format',
        choices=('sqlite', 'jsonl'),
        help='write a database, or a line of JSON for each sample; default: jsonl for files that '
        'end in .jsonl and for -, else sqlite',
    )
    add(
        '--keep',
        type=duration(0, MAX_SECONDS),
        default=Retention().frame_seconds,
        metavar='TIME',
        help='delete samples older than TIME (default: 14d)',
    )
    add(
        '--keep-usage',
        type=duration(0, MAX_SECONDS),
        default=Retention().usage_seconds,
        metavar='TIME',
        help='delete usage by minute, and events, older than TIME (default: 400d)',
    )
    add(
        '--max-size',
        type=size('1M'),
        default=Retention().max_bytes,
        metavar='SIZE',
        help='delete the oldest samples when the file is larger than SIZE, such as 500M '
        '(default: 2GiB)',
    )
    add(
        '--mode',
        type=_mode,
        metavar='MODE',
        help='set the permissions of the file, such as 644 to let all users replay it '
        '(default: 600 for a new file)',
    )
    return parser


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments; exit with status 2 if they are invalid."""
    parser = make_parser()
    options = parser.parse(arguments)
    if options.demo and options.demo.endswith(('.db', '.jsonl')):
        parser.error(
            f'{options.demo!r} is not a scenario; '
            f'to record to it: nvitop record --demo -o {options.demo}'
        )
    if options.file is not None:
        if options.output is not None:
            parser.error('FILE and --output cannot be combined')
        options.output = options.file
    demo = options.demo is not None or bool(os.environ.get('NVITOP_DEMO'))
    if options.output in (None, default_recording()) and demo:
        parser.error(
            'a simulated machine is not recorded to the recording of this machine; name another '
            'file: -o demo.db'
        )
    if options.output is None:
        options.output = default_recording()
    if options.format is None:
        if options.output.endswith('.gz'):
            parser.error(f'to compress lines: nvitop record -o - | gzip > {options.output}')
        if options.output.endswith(('.csv', '.json')):
            parser.error(
                'this writes a database (.db), or lines of JSON (.jsonl), not '
                f"{options.output!r}; 'nvitop replay FILE --export csv' makes a table of it"
            )
        is_lines = options.output == STANDARD or options.output.endswith('.jsonl')
        options.format = 'jsonl' if is_lines else 'sqlite'
    if options.output == STANDARD and options.format == 'sqlite':
        parser.error('standard output takes only --format jsonl')
    return options


def main(arguments: list[str]) -> int:
    """Run ``nvitop record`` with the arguments after that word; return the exit status."""
    return lifecycle.run(PROGRAM, functools.partial(_run, parse(arguments)))


def _run(options: argparse.Namespace) -> int:
    with Requests() as requests:
        only = start_devices(PROGRAM, options.only, options.demo)
        writing = Writing(open_sink(options), requests.end)
        source = sampling.LiveSource(intervals(options.interval), only=only)
        sampler = Sampler(source, writing.take, demand=RECORDED)
        name = 'standard output' if options.output == STANDARD else options.output
        print(f'{PROGRAM}: recording to {name}; press Ctrl-C to stop', file=sys.stderr, flush=True)
        try:
            sampler.start()
            requests.wait_for_end(options.duration, writing.request_reopen)
            if options.format == 'sqlite':
                writing.wait_for_sample(sampler.refresh)
        finally:
            sampler.stop(STOP_SECONDS)
            writing.close()
    return 0


def open_sink(options: argparse.Namespace) -> Recorder | LineWriter:
    """Open the file; CommandFailure if it cannot be opened."""
    try:
        if options.output == default_recording():
            os.makedirs(os.path.dirname(options.output), mode=0o755, exist_ok=True)
        if options.format == 'jsonl':
            return LineWriter(options.output, commands=options.commands, mode=options.mode)
        return Recorder(
            options.output,
            interval_seconds=options.interval,
            retention=Retention(options.keep, options.keep_usage, options.max_size),
            commands=options.commands,
            mode=options.mode,
            on_message=functools.partial(print_message, PROGRAM),
        )
    except RecordingError as error:
        raise CommandFailure(str(error)) from None
    except OSError as error:
        raise CommandFailure(f'cannot make {error.filename}: {error.strerror}') from None


class Writing:
    """Passes samples from the thread of the sampler to a sink."""

    def __init__(self, sink: Recorder | LineWriter, on_error: Callable[[], None]) -> None:
        self._sink = sink
        self._on_error = on_error
        self._lock = threading.Lock()
        self._is_closed = False
        self._is_reopen_requested = False
        self._is_written = threading.Event()
        #: The failure that stopped the recording.
        self.error: Exception | None = None

    def request_reopen(self) -> None:
        """Open the file again before the next sample."""
        self._is_reopen_requested = True

    def take(self, sample: Sample) -> None:
        """Write a sample; called by the sampler."""
        with self._lock:
            if self._is_closed or self.error is not None:
                return
            try:
                if self._is_reopen_requested:
                    self._is_reopen_requested = False
                    self._sink.reopen()
                self._sink.write(sample)
                self._is_written.set()
            except (OSError, RecordingError) as error:
                self.error = error
                self._on_error()

    def wait_for_sample(self, request: Callable[[], None]) -> None:
        """Request a sample, and wait until it is written if that takes only a moment."""
        if self.error is None:
            self._is_written.clear()
            request()
            self._is_written.wait(LAST_SAMPLE_SECONDS)

    def close(self) -> None:
        """Finish the file.

        Raises:
            BrokenPipeError: The reader closed the pipe.
            CommandFailure: The file cannot be written.
        """
        with self._lock:
            self._is_closed = True
            error = self.error
            try:
                self._sink.close()
            except OSError as failure:
                error = error or failure
        if isinstance(error, BrokenPipeError):
            raise error
        if isinstance(error, OSError):
            raise CommandFailure(f'cannot write to {self._sink.path}: {error.strerror}')
        if error is not None:
            raise CommandFailure(str(error))


#: A second request to stop counts after this time (seconds).
AGAIN_SECONDS = 0.5


class Requests(Interrupts):
    """Requests to stop or to reopen the file, from signals and threads, inside a ``with`` block."""

    def __init__(self) -> None:
        super().__init__()
        # Unlike other queues, it can be used by signal handlers.
        self._queue: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ending_since: float | None = None

    def _handle(self, number: int, frame: object) -> None:
        if number == HANGUP:
            self._queue.put('reopen')
            return
        if self._ending_since is None:
            self._ending_since = time.monotonic()
            self.end()
        # A signal to a group of processes may arrive twice.
        elif time.monotonic() - self._ending_since > AGAIN_SECONDS:
            os._exit(SIGNALED + number)  # a second request: the driver or the disk hangs

    def end(self) -> None:
        self._queue.put('end')

    def wait_for_end(self, seconds: float | None, on_reopen: Callable[[], None]) -> None:
        """Block until the end is requested or the time is up."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            remaining = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                if self._queue.get(timeout=remaining) == 'end':
                    return
            except queue.Empty:
                return
            on_reopen()
