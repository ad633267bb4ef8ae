"""Cost of importing nvitop: ``python -m benchmarks.import_time [PEER …]``.

Measures the installed nvitop in turn with that of each peer, and with lower bounds: Python alone,
and the dependencies of nvitop.
"""

from __future__ import annotations

import sys

from benchmarks.programs import arguments, output_of, print_table, run_in_turn

IMPORT = 'from nvitop import Device, take_snapshots'
FLOORS = {
    'python': 'pass',
    'pynvml': 'import pynvml',
    'pynvml psutil cachetools termcolor': 'import pynvml, psutil, cachetools, termcolor',
}
WHERE = 'import nvitop; print(nvitop.__version__, nvitop.__file__, end="")'


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, 'Python of an environment with another nvitop').parse_args()
    commands = {'nvitop': [sys.executable, '-c', IMPORT]}
    commands.update({peer: [peer, '-c', IMPORT] for peer in options.peers})
    for name, command in commands.items():
        print(f'{name}: {output_of([command[0], "-c", WHERE])}')
    commands.update({name: [sys.executable, '-c', code] for name, code in FLOORS.items()})
    print(f'{IMPORT}: medians of {options.runs} runs in turn')
    print_table(run_in_turn(commands, options.runs))


if __name__ == '__main__':
    main()
