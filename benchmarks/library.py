"""Cost of the library: ``python -m benchmarks.library [PEER …]``.

Uses the driver that the loader finds. Prints the cost of a program that calls ``take_snapshots()`` once,
the CPU time of the first call, which loads the driver, and the mean of the following ones. Separate runs
count NVML calls, and those made more than once (a rate needs two readings of a counter). Then a
``ResourceMetricCollector`` of all devices and all processes on them runs in the background, once a
second; its first two ticks, which read static metrics, are not counted.
"""

from __future__ import annotations

import os
import pathlib
import statistics
import sys
from typing import Mapping

from benchmarks.programs import (
    COUNTER,
    arguments,
    print_calls,
    print_table,
    ratio,
    result_of,
    run_in_turn,
)

#: Run by each Python; prints the CPU milliseconds of each call.
SNAPSHOTS = """
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
#: Run by each Python; prints the number of devices and metrics, and the cost of a tick.
COLLECTOR = """
import json, sys, time
sys.path.append(sys.argv[1])
import pynvml, nvml_calls
counts = sys.argv[3] == 'calls'
if counts:
    nvml_calls.count_calls(pynvml)
from nvitop import Device, ResourceMetricCollector

def spent():
    return sum(nvml_calls.queries.values()) if counts else time.process_time() * 1e3

seconds = float(sys.argv[2])
collector = ResourceMetricCollector(Device.all(), root_pids={1}, interval=1.0)
with collector(tag='benchmark'):
    time.sleep(2.5)
    before = spent()
    time.sleep(seconds)
    after = spent()
    metrics = collector.collect()
print(json.dumps([len(collector.devices), len(metrics), (after - before) / seconds]))
"""
ONE_CALL = 'from nvitop import take_snapshots; take_snapshots()'
FOLDER = str(pathlib.Path(__file__).resolve().parent)


def measure_snapshots(pythons: Mapping[str, str], runs: int, calls: int) -> None:
    """Print the costs of snapshots."""
    print(f'{ONE_CALL}: medians of {runs} runs in turn')
    one_call = {name: [python, '-c', ONE_CALL] for name, python in pythons.items()}
    print_table(run_in_turn(one_call, runs))
    first: dict[str, list[float]] = {name: [] for name in pythons}
    others: dict[str, list[float]] = {name: [] for name in pythons}
    for _ in range(runs):
        for name, python in pythons.items():
            answer = result_of([python, '-c', SNAPSHOTS, str(calls)])
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


def measure_collector(pythons: Mapping[str, str], seconds: int) -> None:
    """Print the cost of a tick of the collector. The Pythons run one after another."""
    print(f'ResourceMetricCollector, one tick: means of {seconds} ticks')
    print(f'{"":34} NVML calls per GPU   CPU ms   metrics   nvitop ÷ it: calls    CPU')
    ours = None
    for name, python in pythons.items():
        program = [python, '-c', COLLECTOR, FOLDER, str(seconds)]
        gpus, metrics, calls = result_of([*program, 'calls'])
        cpu = result_of([*program, 'cpu'])[2]
        line = f'{name:34} {calls / max(1, gpus):21.1f} {cpu:8.2f} {metrics:9}'
        if ours is None:
            ours = calls, cpu
        else:
            line += f'{ours[0] / calls:21.2f} {ours[1] / cpu:6.2f}'
        print(line)


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.add_argument('--calls', type=int, default=21, help='calls in each run (default: 21)')
    parser.add_argument('--seconds', type=int, default=20, help='time of a collector (default: 20)')
    options = parser.parse_args()
    peers = {peer: os.path.join(peer, 'bin', 'python') for peer in options.peers}
    pythons = {'nvitop': sys.executable, **peers}
    measure_snapshots(pythons, options.runs, options.calls)
    measure_collector(pythons, options.seconds)


if __name__ == '__main__':
    main()
