# SPDX-License-Identifier: Apache-2.0
"""``nvitop --ssh HOST``: connecting to another machine, and running a query there."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import Iterator, Sequence

from nvitop.basics.text import printable
from nvitop.console.commands import COMMANDS
from nvitop.console.lifecycle import CommandFailure
from nvitop.console.messages import print_message
from nvitop.console.options import Options
from nvitop.remote.source import RemoteError, RemoteSource, ssh_command
from nvitop.sampling.types import Demand, Sample

#: Time (seconds) to wait for the first sample.
FIRST_SECONDS = 30.0


def remote_query(arguments: Sequence[str]) -> tuple[str, list[str]] | None:
    """Return host and arguments of ``--ssh HOST query …``; exit if it is another command."""
    first, _, host = arguments[0].partition('=') if arguments else ('', '', '')
    if first != '--ssh':
        return None
    host, *rest = [host, *arguments[1:]] if host else arguments[1:] or ['']
    if rest[:1] == ['query']:
        return host, rest
    if rest and rest[0] in [command.name for command in COMMANDS]:
        text = f'{rest[0]!r} does not take --ssh; run it there: ssh {host} nvitop {rest[0]} ...'
        print_message('nvitop', 'error', text)
        raise SystemExit(2)
    return None


def run_remotely(host: str, arguments: Sequence[str]) -> int:
    """Run ``nvitop`` on another machine; return its exit status. CommandFailure without ssh."""
    sys.stdout.flush()
    try:
        command = ssh_command(host, arguments)
        return subprocess.call(command, stdin=subprocess.DEVNULL)
    except RemoteError as error:
        raise CommandFailure(str(error), 2) from None
    except OSError as error:
        raise CommandFailure(f'cannot run {command[0]}: {error.strerror}') from None


@contextlib.contextmanager
def connected(options: Options, *, once: bool) -> Iterator[tuple[RemoteSource, Sample]]:
    """Connect to the machine of ``--ssh`` and wait for a sample; CommandFailure if none arrives."""
    host, interval = options.ssh or '', options.interval or 1.0
    arguments = ['query', '--samples', f'--owner-names={options.owner_names}']
    if not once:
        arguments += ['-l', f'{interval:g}']
    if options.only is not None:
        arguments.append(f'--id={",".join(options.only)}')
    if options.demo is not None:
        arguments.append(f'--demo={options.demo}' if options.demo else '--demo')
    try:
        source = RemoteSource(host, arguments, interval=interval)
    except RemoteError as error:
        raise CommandFailure(str(error), 2) from None
    if sys.stderr.isatty():
        text = f'nvitop: connecting to {printable(host)} ... (Ctrl-C quits)'
        print(text, file=sys.stderr, flush=True)
    try:
        yield source, source.first_sample(Demand(owners=True), FIRST_SECONDS)
    except RemoteError as error:
        raise CommandFailure(str(error)) from None
    finally:
        source.close()
