"""Long runs in simulated time: ``python -m benchmarks.soak [--ticks N] [SUBJECT …]`` in the repository.

Runs the monitor, the collector and ``nvitop query --loop`` in parallel, each in a new process, for 20,000
simulated ticks of one second. The processes of the simulated machine start and exit, and its GPUs are lost
and return. The exit status is 1 if memory, threads or descriptors grow, or if ticks are late.
"""

from __future__ import annotations

import argparse
import logging
import platform
import subprocess
import sys
import time

from benchmarks.soak.machine import CYCLE, Machine
from benchmarks.soak.steadiness import FEWEST_CYCLES, Counts, judge
from benchmarks.soak.subjects import SUBJECTS, Script


def run(subject: str, ticks: int) -> bool:
    """Run one subject in this process; return whether it passed."""
    logging.disable(logging.CRITICAL)  # GPUs are lost repeatedly
    counts = Counts()
    started, cpu = time.perf_counter(), time.process_time()
    with Machine() as machine:
        script = Script(machine, ticks, counts)
        SUBJECTS[subject](machine, script)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    verdict = judge(counts, ticks_missed=script.missed)
    print(f'{subject}: {ticks} ticks, {seconds:.0f} s, {cpu / ticks * 1e3:.2f} ms of CPU each')
    for line in verdict.lines:
        print(f'    {line}')
    for fault in verdict.faults:
        print(f'    FAILED: {subject} {fault}')
    return not verdict.faults


def main() -> int:
    """Run all subjects. Returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        '--ticks', type=int, default=20_000, help='number of ticks (default: 20000)'
    )
    parser.add_argument('subjects', nargs='*', metavar='SUBJECT', help=', '.join(SUBJECTS))
    options = parser.parse_args()
    subjects = options.subjects or list(SUBJECTS)
    if unknown := set(subjects) - set(SUBJECTS):
        parser.error(f'unknown subject: {", ".join(sorted(unknown))}')
    if options.ticks < 2 * FEWEST_CYCLES * CYCLE:
        parser.error(f'expected at least {2 * FEWEST_CYCLES * CYCLE} ticks')
    if len(subjects) == 1:
        return int(not run(subjects[0], options.ticks))
    print(f'Python {platform.python_version()}', flush=True)
    command = [sys.executable, '-m', 'benchmarks.soak', '--ticks', str(options.ticks)]
    runs = [
        subprocess.Popen([*command, subject], stdout=subprocess.PIPE, text=True)
        for subject in subjects
    ]
    for each in runs:
        print(each.communicate()[0], end='', flush=True)
    return int(any(each.returncode for each in runs))


if __name__ == '__main__':
    sys.exit(main())
