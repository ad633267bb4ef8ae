"""Cost of ``nvisel``: ``python -m benchmarks.nvisel [PEER …]``.

Runs ``nvisel`` of this Python's environment in turn with each peer, a command line in one argument
(``'/elsewhere/bin/nvisel'``), on the installed driver: for all devices, and for those with free
memory and a low utilization. Then prints the NVML calls of a separate run.
"""

from __future__ import annotations

import pathlib
import shlex
import sys

from benchmarks.programs import arguments, print_table, run_in_turn
from benchmarks.snapshots import COUNTER, print_calls

CRITERIA = ('', '--min-free-memory 1GiB --max-gpu-utilization 90 --max-count 2')


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, 'command line of another program').parse_args()
    program = str(pathlib.Path(sys.executable).with_name('nvisel'))
    for criteria in CRITERIA:
        given = shlex.split(criteria)
        commands = {'nvisel': [program, *given]}
        commands.update({peer: [*shlex.split(peer), *given] for peer in options.peers})
        commands['python, pynvml, argparse'] = [sys.executable, '-c', 'import argparse, pynvml']
        print(f'nvisel {criteria}: medians of {options.runs} runs in turn')
        print_table(run_in_turn(commands, options.runs))
    print_calls('nvisel', [sys.executable, COUNTER, 'nvitop.select.command:main'])


if __name__ == '__main__':
    main()
