#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write a scenario for ``nvitop --demo FILE`` from what nvidia-smi printed on a real machine."""

from __future__ import annotations

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from nvitop.simulation.capture import scenario_text
from nvitop.simulation.scenario import ScenarioError
from nvitop.simulation.smi_files import STATES, read_capture


def main() -> int:
    """Run the program; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        'machine', type=pathlib.Path, help='MACHINE.tsv, or the output of nvidia-smi -q -x'
    )
    parser.add_argument('--state', choices=STATES, default='idle', help='column of the table')
    parser.add_argument('-o', '--output', type=pathlib.Path, help='file to write')
    given = parser.parse_args()
    machine: pathlib.Path = given.machine
    try:
        capture = read_capture(machine, given.state)
        text = scenario_text(capture, f'from a capture of {machine.stem}')
    except ScenarioError as error:
        print(f'scenario_from_capture: error: {error}', file=sys.stderr)
        return 2
    if given.output is None:
        sys.stdout.write(text)
    else:
        given.output.write_text(text, encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
