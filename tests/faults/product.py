"""All combinations of functions, codes, modes and programs: ``python -m tests.faults.product all``.

Each fault is tested with sampling and drawing, all programs, and the running monitor on all screens, on
drivers of three generations, with a simulated clock. The cases are distributed over processes. An
interrupted run continues from its log.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import multiprocessing
import os
import pathlib
import platform
import random
import sys
import time
from typing import IO, Iterator, Sequence

from nvitop.namedtuple import NamedTuple
from tests.faults.bench import DRIVERS
from tests.faults.live import LiveOracle
from tests.faults.matrix import SEED, TICKS, Case, all_cases, functions_called, run_in_source
from tests.faults.oracle import Oracle, true_samples
from tests.faults.program_oracle import ProgramOracle

ROOT = pathlib.Path(__file__).parent.parent.parent
#: Maximum time of a case.
PATIENCE_SECONDS = 300.0
#: A function whose failure has no effect.
_SHUTDOWN = 'nvmlShutdown'


class Subjects:
    """Everything that calls the driver, on a driver of one generation."""

    def __init__(self, driver: str) -> None:
        self._sampled = frozenset(functions_called(driver))
        self._source = Oracle(true_samples(TICKS, driver))
        self._programs = ProgramOracle(driver)
        self._monitor = LiveOracle(driver)
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
    """The result of a case."""

    case: Case
    #: Programs that were run.
    programs: tuple[str, ...]
    #: Errors that were found.
    errors: tuple[str, ...]


@functools.lru_cache(maxsize=None)
def subjects(driver: str) -> Subjects:
    """Create the subjects, which takes a moment."""
    return Subjects(driver)


def run(case: Case) -> Result:
    """Run one case."""
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


def revision() -> str:
    """Hash of the sources that the results belong to."""
    digest = hashlib.sha256()
    for folder in ('nvitop', 'tests/faults'):
        for path in sorted((ROOT / folder).rglob('*.py')):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def read_log(path: pathlib.Path, of: str) -> Iterator[Result]:
    """Read the results of these sources from a log."""
    if not path.exists():
        return
    for line in path.read_text(encoding='utf-8').splitlines():
        try:
            entry = json.loads(line)
        except ValueError:  # the run was interrupted while it wrote the line
            continue
        if entry['revision'] == of:
            yield Result(Case(*entry['case']), tuple(entry['programs']), tuple(entry['errors']))


def run_all(cases: Sequence[Case], processes: int, log: IO[str], of: str) -> Iterator[Result]:
    """Run the cases in several processes. Each result is logged before it is yielded."""
    with multiprocessing.get_context('spawn').Pool(processes, _begin) as pool:
        results = pool.imap_unordered(run, cases)
        for _ in cases:
            result = results.next(PATIENCE_SECONDS)
            log.write('\n' + json.dumps({'revision': of, **result._asdict()}))
            log.flush()
            yield result


def _begin() -> None:
    """Initialize a process: low priority, and no output of libraries on stderr."""
    if hasattr(os, 'nice'):
        os.nice(5)
    sys.stderr = open(os.devnull, 'w', encoding='utf-8')  # noqa: SIM115 - for the life of the process


def main() -> int:
    """Run the cases. Returns the exit status: 1 if there are errors."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('cases', nargs='?', default='1200', help="number of cases, or 'all'")
    parser.add_argument('--seed', type=int, default=SEED, help='selects the cases')
    parser.add_argument('--processes', type=int, default=os.cpu_count() or 1)
    parser.add_argument('--log', type=pathlib.Path, default=ROOT / '.faults.jsonl')
    options = parser.parse_args()
    started = time.monotonic()
    of, cases = revision(), list(whole_product())
    count = len(cases) if options.cases == 'all' else min(int(options.cases), len(cases))
    random.Random(options.seed).shuffle(cases)
    del cases[count:]
    chosen = set(cases)
    results = [result for result in read_log(options.log, of) if result.case in chosen]
    done = {result.case for result in results}
    every = whole_product()
    functions = len({(case.function, case.driver) for case in every})
    print(
        f'Python {platform.python_version()}: {count} of {len(every)} cases with '
        f'{functions} functions, {len(done)} already in {options.log}',
        flush=True,
    )
    with options.log.open('a', encoding='utf-8') as log:
        todo = [case for case in cases if case not in done]
        for result in run_all(todo, options.processes, log, of) if todo else ():
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
