"""Cost of a report: ``python -m benchmarks.report [PEER …]``.

Runs ``nvitop -1`` of this Python's environment in turn with each peer, a command line in one
argument (``'/elsewhere/bin/nvitop -1'``), on the installed driver. Then prints the NVML calls of a
separate run, and which queries it repeated.
"""

from __future__ import annotations

import pathlib
import shlex
import sys

from benchmarks.programs import arguments, print_table, run_in_turn
from benchmarks.snapshots import COUNTER, print_calls


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, 'command line of another program').parse_args()
    program = str(pathlib.Path(sys.executable).with_name('nvitop'))
    commands = {'nvitop -1': [program, '-1']}
    commands.update({peer: shlex.split(peer) for peer in options.peers})
    commands['python'] = [sys.executable, '-c', 'pass']
    commands['python, pynvml, argparse'] = [sys.executable, '-c', 'import argparse, pynvml']
    print(f'medians of {options.runs} runs in turn')
    print_table(run_in_turn(commands, options.runs))
    print_calls('nvitop -1', [sys.executable, COUNTER, 'nvitop.cli:main', '-1'])


if __name__ == '__main__':
    main()
