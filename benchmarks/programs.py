"""Cost of whole programs and of the library: ``python -m benchmarks.programs [PEER …]``.

Runs an import of nvitop, ``nvitop -1`` and ``nvisel`` of this Python's environment in turn with those of
each peer, the directory of another environment, on the installed driver. Then prints the NVML calls of
separate runs, and which queries they repeated.

``take_snapshots()`` is measured as a program that calls it once, and by the CPU time of the first call,
which loads the driver, and of the following ones. A ``ResourceMetricCollector`` of all devices and all
processes on them runs in the background, once a second; its first two ticks, which read static metrics,
are not counted.

CPU time and peak memory are those of the whole process, which the system returns with its exit
status. The peak of a program is at least that of this one, so this one stays small.
"""

from __future__ import annotations

import argparse
import collections
import importlib.metadata
import json
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from typing import IO, Any, Mapping, NamedTuple, Sequence

Command = Sequence[str]
PACKAGES = ('nvitop', 'nvidia-ml-py', 'psutil', 'cachetools', 'termcolor')
IMPORT = 'from nvitop import Device, take_snapshots'
#: Lower bounds of every program.
FLOORS = {
    'python': 'pass',
    'python, pynvml, argparse': 'import argparse, pynvml',
    'python and dependencies': 'import pynvml, psutil, cachetools, termcolor',
}
COMMANDS = ('nvitop -1', 'nvisel', 'nvisel --min-free-memory 1GiB --max-gpu-utilization 90')
FOLDER = pathlib.Path(__file__).resolve().parent
COUNTER = str(FOLDER / 'nvml_calls.py')
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


class Run(NamedTuple):
    """One run of a program."""

    cpu: float
    """Seconds of CPU time in the program and in the system."""
    wall: float
    """Seconds from start to end."""
    peak_mib: float
    """Peak of the resident memory in MiB."""
    status: int
    """Exit status."""


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser for the common arguments: the number of runs, and peers to run in turn."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--runs', type=int, default=15, help='number of runs of each (default: 15)')
    parser.add_argument('peers', nargs='*', metavar='PEER', help='environment with another nvitop')
    return parser


def environment() -> dict[str, str]:
    """Return the environment without a path to another nvitop."""
    return {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}


def run(command: Command, output: IO[bytes], directory: str) -> Run:
    """Run a program; ``output`` receives its standard output and standard error."""
    started = time.perf_counter()
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd=directory,
        env=environment(),
    )
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - started
    child.returncode = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    cpu = usage.ru_utime + usage.ru_stime
    return Run(cpu, wall, usage.ru_maxrss / 1024, child.returncode)


def output_of(command: Command) -> str:
    """Return the output of a program."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryDirectory() as directory:
        status = run(command, output, directory).status
        output.seek(0)
        text = output.read().decode('utf-8', 'replace')
    if status:
        raise SystemExit(f'{" ".join(command)} failed with exit status {status}:\n{text}')
    return text


def result_of(command: Command) -> Any:
    """Return the last line that a program prints, which is JSON."""
    return json.loads(output_of(command).rstrip().rpartition('\n')[2])


def run_in_turn(commands: Mapping[str, Command], runs: int) -> dict[str, list[Run]]:
    """Run all programs as A B C A B C …, so that other load affects all of them.

    The first round, which reads files from disk, is not counted.
    """
    results: dict[str, list[Run]] = {name: [] for name in commands}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryDirectory() as directory:
        for number in range(runs + 1):
            for name, command in commands.items():
                result = run(command, output, directory)
                if number:
                    results[name].append(result)
    return results


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median of the ratios of consecutive runs."""
    return statistics.median(a / b for a, b in zip(ours, theirs) if b)


def print_table(results: Mapping[str, Sequence[Run]]) -> None:
    """Print the medians of each program, and the ratios of the first one to it."""
    ours = next(iter(results.values()))
    print(f'{"":34} CPU ms  wall ms  peak MiB   exit   nvitop ÷ it: CPU   wall   peak')
    for name, theirs in results.items():
        cpu, wall, peak = (statistics.median(column) for column in list(zip(*theirs))[:3])
        statuses = ','.join(str(status) for status in sorted({one.status for one in theirs}))
        print(f'{name:34} {cpu * 1e3:6.1f} {wall * 1e3:8.1f} {peak:9.1f} {statuses:>6}', end='')
        if theirs is not ours:
            ratios = (ratio([one[i] for one in ours], [one[i] for one in theirs]) for i in range(3))
            print(f'{"":12}' + ''.join(f' {value:6.2f}' for value in ratios), end='')
        print()


def print_calls(name: str, command: list[str]) -> None:
    """Run a program under :mod:`benchmarks.nvml_calls` and print its result."""
    counted = result_of(command)
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


def print_machine() -> None:
    """Print date, machine, load average, Python and packages."""
    versions = ', '.join(f'{name} {importlib.metadata.version(name)}' for name in PACKAGES)
    load = ' '.join(f'{load:.2f}' for load in os.getloadavg())
    print(
        f'{time.strftime("%Y-%m-%d %H:%M")} · {platform.system()} {platform.machine()}, '
        f'{os.cpu_count()} CPUs, load {load} · {platform.python_implementation()} '
        f'{platform.python_version()} · {versions}\n'
    )


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
        program = [python, '-c', COLLECTOR, str(FOLDER), str(seconds)]
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
    floors = {name: [sys.executable, '-c', code] for name, code in FLOORS.items()}
    here = os.path.dirname(sys.executable)
    folders = {'nvitop': here, **{peer: os.path.join(peer, 'bin') for peer in options.peers}}
    print_machine()
    programs = {IMPORT: ['python', '-c', IMPORT], **{line: shlex.split(line) for line in COMMANDS}}
    for title, (program, *given) in programs.items():
        commands = {
            name: [os.path.join(folder, program), *given] for name, folder in folders.items()
        }
        print(f'{title}: medians of {options.runs} runs in turn')
        print_table(run_in_turn({**commands, **floors}, options.runs))
    print_calls('nvitop -1', [sys.executable, COUNTER, 'nvitop.cli:main', '-1'])
    print_calls('nvisel', [sys.executable, COUNTER, 'nvitop.select.command:main'])
    pythons = {name: os.path.join(folder, 'python') for name, folder in folders.items()}
    measure_snapshots(pythons, options.runs, options.calls)
    measure_collector(pythons, options.seconds)


if __name__ == '__main__':
    main()
