"""Every function × every code × every way × every program: ``python -m tests.faults.product all``.

One fault goes through sampling and drawing, each program, and the monitor with its threads on each of its screens, on the
drivers of three generations, in time that passes at once. Spread over processes; what is done stands
in a log, from which a run that was interrupted goes on.
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
#: No case takes longer in earnest.
PATIENCE_SECONDS = 300.0
#: What is not a question about GPUs: at the end nobody hears how it went.
_FAREWELL = 'nvmlShutdown'


class Subjects:
    """All that calls the driver, on a driver of one generation."""

    def __init__(self, driver: str) -> None:
        self._sampled = frozenset(functions_called(driver))
        self._source = Oracle(true_samples(TICKS, driver))
        self._programs = ProgramOracle(driver)
        self._monitor = LiveOracle(driver)
        programs = self._programs.calls.values()
        self.functions = self._sampled.union(self._monitor.calls, *programs) - {_FAREWELL}

    def untrue(self, case: Case) -> Result:
        """Run everything that calls the function."""
        # Who does not call it cannot meet the fault.
        programs = [name for name, calls in self._programs.calls.items() if case.function in calls]
        wrong = self._programs.untrue(case) if programs else []
        if case.function in self._sampled:
            wrong += run_in_source(case, self._source)
            programs.append('sampling')
        if case.function in self._monitor.calls:
            wrong += [f'monitor: {text}' for text in self._monitor.untrue(case)]
            programs.append('monitor')
        return Result(case, tuple(programs), tuple(wrong))


class Result(NamedTuple):
    """What came of a case."""

    case: Case
    #: Who was put through it.
    programs: tuple[str, ...]
    #: What was not true.
    wrong: tuple[str, ...]


@functools.lru_cache(maxsize=None)
def subjects(driver: str) -> Subjects:
    """They know the truth, which takes a moment to find out."""
    return Subjects(driver)


def run(case: Case) -> Result:
    """Run one case."""
    return subjects(case.driver).untrue(case)


def whole_product() -> tuple[Case, ...]:
    """All cases: of older drivers only the functions that are not asked of newer ones."""
    cases: list[Case] = []
    known: set[str] = set()
    for driver in DRIVERS:
        functions = subjects(driver).functions - known
        known |= functions
        cases += all_cases(tuple(sorted(functions)), driver)
    return tuple(cases)


def revision() -> str:
    """What the results are results of: the sources, in short."""
    digest = hashlib.sha256()
    for folder in ('nvitop', 'tests/faults'):
        for path in sorted((ROOT / folder).rglob('*.py')):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def read_log(path: pathlib.Path, of: str) -> Iterator[Result]:
    """The results of these sources that stand in a log."""
    if not path.exists():
        return
    for line in path.read_text(encoding='utf-8').splitlines():
        try:
            said = json.loads(line)
        except ValueError:  # half of one, where somebody pulled the plug
            continue
        if said['revision'] == of:
            yield Result(Case(*said['case']), tuple(said['programs']), tuple(said['wrong']))


def run_all(cases: Sequence[Case], processes: int, log: IO[str], of: str) -> Iterator[Result]:
    """Run the cases, spread over processes; each result is logged before it is handed on."""
    with multiprocessing.get_context('spawn').Pool(processes, _begin) as pool:
        results = pool.imap_unordered(run, cases)
        for _ in cases:
            result = results.next(PATIENCE_SECONDS)
            log.write('\n' + json.dumps({'revision': of, **result._asdict()}))
            log.flush()
            yield result


def _begin() -> None:
    """In each process: what libraries say on standard error is no matter of a case."""
    if hasattr(os, 'nice'):
        os.nice(5)
    sys.stderr = open(os.devnull, 'w', encoding='utf-8')  # noqa: SIM115 - for the life of the process


def main() -> int:
    """The exit status: 1 where anything was not true."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('cases', nargs='?', default='1200', help="how many, or 'all'")
    parser.add_argument('--seed', type=int, default=SEED, help='which, where not all')
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
        f'{functions} functions, {len(done)} of them already in {options.log}',
        flush=True,
    )
    with options.log.open('a', encoding='utf-8') as log:
        todo = [case for case in cases if case not in done]
        for result in run_all(todo, options.processes, log, of) if todo else ():
            results.append(result)
            if len(results) % 500 == 0:
                _say(f'{len(results)} cases', results, started)
    _say('All', results, started)
    return int(any(result.wrong for result in results))


def _say(what: str, results: Sequence[Result], started: float) -> None:
    runs = sum(len(result.programs) for result in results)
    bad = [result for result in results if result.wrong]
    seconds = time.monotonic() - started
    print(f'{what}: {runs} runs of programs, {len(bad)} not true, {seconds:.0f} s', flush=True)
    for result in bad if what == 'All' else ():
        print(f'FAILED: {result.case}')
        for text in result.wrong[:6]:
            print(f'    {text}')


if __name__ == '__main__':
    sys.exit(main())
