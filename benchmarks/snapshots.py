"""Cost of ``take_snapshots()``: ``python -m benchmarks.snapshots [PEER …]``.

Uses the driver that the loader finds. Prints the cost of a whole program that calls it once, the CPU
time of the first call, which loads the driver, and the mean of the following ones. A separate run
counts NVML calls, and those made more than once. (A rate needs two readings of a counter.)
"""

from __future__ import annotations

import collections
import json
import pathlib
import statistics
import sys

from benchmarks.programs import arguments, output_of, print_table, ratio, run_in_turn

#: Run by each Python; prints the CPU milliseconds of each call.
PROGRAM = """
import json, sys, time
from nvitop import take_snapshots
milliseconds = []
for number in range(int(sys.argv[1])):
    started = time.process_time()
    result = take_snapshots()
    milliseconds.append((time.process_time() - started) * 1e3)
    time.sleep(0.1)
print(json.dumps([len(result.devices), len(result.gpu_processes), milliseconds]))
"""
ONE_CALL = 'from nvitop import take_snapshots; take_snapshots()'
COUNTER = str(pathlib.Path(__file__).with_name('nvml_calls.py').resolve())


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, 'Python of an environment with another nvitop')
    parser.add_argument('--calls', type=int, default=21, help='calls in each run (default: 21)')
    options = parser.parse_args()
    pythons = {'nvitop': sys.executable, **{peer: peer for peer in options.peers}}
    print(f'{ONE_CALL}: medians of {options.runs} runs in turn')
    one_call = {name: [python, '-c', ONE_CALL] for name, python in pythons.items()}
    print_table(run_in_turn(one_call, options.runs))
    first: dict[str, list[float]] = {name: [] for name in pythons}
    others: dict[str, list[float]] = {name: [] for name in pythons}
    for _ in range(options.runs):
        for name, python in pythons.items():
            answer = json.loads(output_of([python, '-c', PROGRAM, str(options.calls)]))
            first[name].append(answer[2][0])
            others[name].append(statistics.fmean(answer[2][1:]))
    print(f'\ntake_snapshots() of {answer[0]} devices and {answer[1]} processes on them')
    print(f'{"":34} CPU ms: first   following   nvitop ÷ it: first   following')
    for name in pythons:
        print(
            f'{name:34} {statistics.median(first[name]):13.2f} '
            f'{statistics.median(others[name]):11.2f} '
            f'{ratio(first["nvitop"], first[name]):20.2f} '
            f'{ratio(others["nvitop"], others[name]):11.2f}'
        )
    for name, python in pythons.items():
        print_calls(name, [python, COUNTER, 'nvitop:take_snapshots'])


def print_calls(name: str, command: list[str]) -> None:
    """Run a program under :mod:`benchmarks.nvml_calls` and print its result."""
    counted = json.loads(output_of(command).rstrip().rpartition('\n')[2])
    each = counted['calls'] / counted['gpus'] if counted['gpus'] else 0.0
    print(
        f'{name}: {counted["calls"]} NVML calls for {counted["gpus"]} GPUs, {each:.1f} for each; '
        f'{len(counted["again"])} calls made more than once'
    )
    functions = collections.Counter(
        (question['function'], question['times']) for question in counted['again']
    )
    for (function, times), questions in functions.most_common():
        print(f'    {function}: {times} times, {questions} different calls')


if __name__ == '__main__':
    main()
