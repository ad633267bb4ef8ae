"""All combinations of functions, codes, modes and programs: ``python -m tests.faults.all_cases all``.

Each fault is tested with sampling, all programs, and the running monitor on all screens, on
drivers of three generations, with a simulated clock. The cases are distributed over processes.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import os
import platform
import random
import sys
import time
from typing import Iterator, NamedTuple, Sequence

from tests.faults.known_machine import DRIVERS
from tests.faults.matrix import SEED, TICKS, Case, all_cases, functions_called, run_in_source
from tests.faults.programs import ProgramChecker
from tests.faults.running_monitor import MonitorChecker
from tests.faults.sample_checks import SampleChecker, true_samples

#: Maximum time of a case.
PATIENCE_SECONDS = 300.0
#: A function whose failure has no effect.
_SHUTDOWN = 'nvmlShutdown'


class Subjects:
    """Everything that calls the driver, on a driver of one generation."""

    def __init__(self, driver: str) -> None:
        self._sampled = frozenset(functions_called(driver))
        self._source = SampleChecker(true_samples(TICKS, driver))
        self._programs = ProgramChecker(driver)
        self._monitor = MonitorChecker(driver)
        programs = self._programs.calls.values()
        self.functions = self._sampled.union(self._monitor.calls, *programs) - {_SHUTDOWN}

    def check(self, case: Case) -> Result:
        """Run everything that calls the function."""
        programs = [name for name, calls in self._programs.calls.items() if case.function in calls]
        errors = self._programs.check(case) if programs else []
        if case.function in self._sampled:
            errors += run_in_source(case, self._source)
            programs.append('sampling')
        if case.function in self._monitor.calls:
            errors += [f'monitor: {text}' for text in self._monitor.check(case)]
            programs.append('monitor')
        return Result(case, tuple(programs), tuple(errors))


class Result(NamedTuple):
    case: Case
    #: Programs that were run.
    programs: tuple[str, ...]
    #: Errors that were found.
    errors: tuple[str, ...]


@functools.lru_cache(maxsize=None)
def subjects(driver: str) -> Subjects:
    return Subjects(driver)


def run(case: Case) -> Result:
    return subjects(case.driver).check(case)


def whole_product() -> tuple[Case, ...]:
    """All cases; for older drivers, only the functions that newer ones do not call."""
    cases: list[Case] = []
    known: set[str] = set()
    for driver in DRIVERS:
        functions = subjects(driver).functions - known
        known |= functions
        cases += all_cases(tuple(sorted(functions)), driver)
    return tuple(cases)


def run_all(cases: Sequence[Case], processes: int) -> Iterator[Result]:
    with multiprocessing.get_context('spawn').Pool(processes, _begin) as pool:
        results = pool.imap_unordered(run, cases)
        for _ in cases:
            yield results.next(PATIENCE_SECONDS)


def _begin() -> None:
    """Initialize a process: low priority, and no output of libraries on stderr."""
    if hasattr(os, 'nice'):
        os.nice(5)
    sys.stderr = open(os.devnull, 'w', encoding='utf-8')  # noqa: SIM115 - for the life of the process


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('cases', nargs='?', default='1200', help="number of cases, or 'all'")
    parser.add_argument('--seed', type=int, default=SEED, help='selects the cases')
    parser.add_argument('--processes', type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    started = time.monotonic()
    every = whole_product()
    count = len(every) if options.cases == 'all' else min(int(options.cases), len(every))
    cases = random.Random(options.seed).sample(every, count)
    functions = len({(case.function, case.driver) for case in every})
    print(
        f'Python {platform.python_version()}: {len(cases)} of {len(every)} cases with '
        f'{functions} functions',
        flush=True,
    )
    results: list[Result] = []
    for result in run_all(cases, options.processes):
        results.append(result)
        if len(results) % 500 == 0:
            _report(f'{len(results)} cases', results, started)
    _report('All', results, started)
    return int(any(result.errors for result in results))


def _report(what: str, results: Sequence[Result], started: float) -> None:
    runs = sum(len(result.programs) for result in results)
    bad = [result for result in results if result.errors]
    seconds = time.monotonic() - started
    print(f'{what}: {runs} runs of programs, {len(bad)} with errors, {seconds:.0f} s', flush=True)
    for result in bad if what == 'All' else ():
        print(f'FAILED: {result.case}')
        for text in result.errors[:6]:
            print(f'    {text}')


if __name__ == '__main__':
    sys.exit(main())
