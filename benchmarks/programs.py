"""Cost of whole programs: ``python -m benchmarks.programs [PEER …]``.

Runs an import of nvitop, ``nvitop -1`` and ``nvisel`` of this Python's environment in turn with those of
each peer, the directory of another environment, on the installed driver. Then prints the NVML calls of
separate runs, and which queries they repeated.

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
COUNTER = str(pathlib.Path(__file__).with_name('nvml_calls.py').resolve())


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


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__).parse_args()
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


if __name__ == '__main__':
    main()
