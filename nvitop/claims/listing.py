# SPDX-License-Identifier: Apache-2.0
"""``nvitop claims``: which GPUs are claimed."""

from __future__ import annotations

import argparse
import functools
import json
import time
from typing import Sequence

from nvitop.basics.text import aligned, narrowed
from nvitop.basics.units import format_duration
from nvitop.claims.records import Claim, keeper, read_claims
from nvitop.console import lifecycle
from nvitop.console.arguments import ArgumentParser, add_general
from nvitop.console.driver import simulate
from nvitop.console.lifecycle import write_output
from nvitop.console.messages import terminal_width
from nvitop.platforms import is_running
from nvitop.sampling.driver_reader import DriverReader
from nvitop.sampling.plan import DeviceSelection, Due
from nvitop.sampling.threads import Watchdog

#: Maximum time (seconds) to read the index of a GPU.
LIMIT_SECONDS = 2.0
_EXAMPLES = """\
nvitop claims
nvitop claims --format json
nvitop claims --demo half-busy
"""


def make_parser() -> ArgumentParser:
    """Make the parser of ``nvitop claims``."""
    parser = ArgumentParser(
        prog='nvitop claims',
        usage=['nvitop claims [OPTION ...]'],
        description='Print the claimed GPUs, with user, process, age and command of each claim.',
        examples=_EXAMPLES,
        exit_status={
            '0': 'success, also if nothing is claimed',
            '1': 'the output cannot be written',
            '2': 'invalid arguments',
        },
    )
    add_general(parser)
    parser.add_argument_group('output').add_argument(
        '--format', choices=('table', 'json'), default='table', help='(default: table)'
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``nvitop claims`` and return its exit status."""
    options = make_parser().parse(arguments)
    return lifecycle.run('nvitop claims', functools.partial(_print_claims, options))


def _print_claims(options: argparse.Namespace) -> int:
    simulate(options.demo)
    claims = sorted(read_claims().values(), key=lambda claim: claim.since)
    # As far as the driver responds; this wakes no GPU.
    reader = DriverReader(DeviceSelection(), Watchdog('nvitop claims'), limit=LIMIT_SECONDS)
    if claims:
        reader.read(Due())
    indices = {sample.key.uuid: sample.key.label for sample in reader.devices}
    if options.format == 'json':
        values = [_as_json(claim, indices) for claim in claims]
        return write_output(f'{json.dumps(values, indent=2)}\n')
    if not claims:
        return write_output('no GPU is claimed\n')
    rows = [('GPU', 'USER', 'PID', 'SINCE', 'COMMAND'), *(_as_row(c, indices) for c in claims)]
    return write_output(aligned(narrowed(rows, [4], terminal_width()), range(5)))


def _as_row(claim: Claim, indices: dict[str, str]) -> tuple[str, str, str, str, str]:
    device, age = indices.get(claim.uuid, claim.uuid), format_duration(time.time() - claim.since)
    pid, command = str(claim.process.pid), claim.command
    if not is_running(claim.process):
        kept_by = keeper(claim)
        pid = '-' if kept_by is None else str(kept_by)
        who = f'a process of {claim.username}' if kept_by is None else f'process {kept_by}'
        command += f' (has ended; {who} keeps the claim)'
    return device, claim.username, pid, age, command


def _as_json(claim: Claim, indices: dict[str, str]) -> dict[str, object]:
    user, pid = claim.username, claim.process.pid
    values = {'user': user, 'pid': pid, 'since': claim.since, 'command': claim.command}
    index = indices.get(claim.uuid)
    return {'uuid': claim.uuid, 'index': index, **values, 'kept_by': keeper(claim)}
