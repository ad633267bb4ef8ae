"""Programs run in turn, and the resources that each of them used.

CPU time and peak memory are those of the whole process, which the system returns with its exit
status. The peak of a program is at least that of this one, so this one stays small.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from typing import IO, Mapping, NamedTuple, Sequence

Command = Sequence[str]


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


def arguments(description: str | None, peer: str) -> argparse.ArgumentParser:
    """Return a parser for the common arguments: the number of runs, and peers to run in turn."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--runs', type=int, default=15, help='number of runs of each (default: 15)')
    parser.add_argument('peers', nargs='*', metavar='PEER', help=peer)
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
