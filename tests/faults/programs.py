"""Programs that are run once, or read by programs, on a machine on which a call fails."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import logging
import math
import re
from typing import Any, Callable, Iterator
from unittest import mock

from nvitop import cli, select
from nvitop.api.collector import ResourceMetricCollector
from nvitop.api.device import Device
from nvitop.query.command import main as query
from tests.faults.bench import Bench
from tests.faults.drawings import numbers
from tests.faults.matrix import FAULTY_TICKS, Case

_ENVIRONMENT = {'COLUMNS': '200', 'CUDA_DEVICE_ORDER': 'PCI_BUS_ID'}
#: Grows all the time, also while something is waited for.
_GROWING = ('total_energy', 'total_energy [J]')
_IS_NA = frozenset({'[N/A]', 'N/A', ''})
#: What says how a device is, and not what was measured.
_WORDS = ('status', 'reason', 'timestamp')


class Ran:
    """What a program gave back."""

    def __init__(self, run: Callable[[list[str]], int], *arguments: str) -> None:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                self.status: object = run(list(arguments))
            except SystemExit as leave:
                self.status = leave.code
        self.out, self.err = out.getvalue(), err.getvalue()


@contextlib.contextmanager
def machine(case: Case | None) -> Iterator[Bench]:
    """The machine at one moment, with the fault."""
    bench = Bench()
    with contextlib.ExitStack() as stack:
        stack.enter_context(bench.opened())
        stack.enter_context(mock.patch.dict('os.environ', _ENVIRONMENT))
        stack.enter_context(mock.patch('nvitop.sampling.source.SHORTEST_CPU_SECONDS', 0.0))
        bench.turn()
        if case is not None:
            case.begin(bench)
        yield bench


def answers(case: Case | None) -> dict[str, Any]:
    """What each program says, by its name."""
    found: dict[str, Any] = {}
    with machine(case):
        found['report'] = Ran(cli.main, '-1', '--no-config')
    with machine(case):
        found['query'] = Ran(query, '--gpu=all', '--mig', '--format=csv,nounits')
    with machine(case):
        found['json'] = Ran(query, '--all', '--mig', '--format=json')
    for limits in ('', '-f 20GiB', '-t 30GiB', '-G 10', '-M 40 -f 10GiB'):
        with machine(case):
            found[f'nvisel {limits}'] = Ran(select.main, *limits.split())
    with machine(case) as bench:
        found['collector'] = _collected(bench)
    return found


def _collected(bench: Bench) -> list[dict[str, float]]:
    """What a collector says of each tick by itself."""
    logging.getLogger('nvitop.api.collector').setLevel(logging.CRITICAL)
    try:
        devices = Device.all()
    except Exception as error:
        return [{type(error).__name__: math.nan}]
    found = []
    with mock.patch('nvitop.api.collector.resource.time.monotonic', bench.clock):
        collector = ResourceMetricCollector(devices, root_pids={}, interval=3600.0)
        for _ in range(FAULTY_TICKS):
            with collector.context('tick'):
                found.append(collector.collect())
            bench.turn()
    return found


class ProgramOracle:
    """Knows what each program says when nothing fails."""

    def __init__(self) -> None:
        self.true = answers(None)
        assert all(r.status == 0 for r in self.true.values() if isinstance(r, Ran)), self.true
        self._chosen = {
            name: set(ran.out.strip().split(','))
            for name, ran in self.true.items()
            if name.startswith('nvisel')
        }

    def untrue(self, case: Case) -> list[str]:
        """What programs say in this case that is not so."""
        return [*self._untrue(case)]

    def _untrue(self, case: Case) -> Iterator[str]:
        said = answers(case)
        for name, ran in said.items():
            if not isinstance(ran, Ran):
                continue
            if ran.status not in (0, 1, 4) or 'Traceback' in ran.err:
                yield f'{name}: status {ran.status}: {ran.err}'
            if ran.status and not ran.err:
                yield f'{name}: status {ran.status} without a word'
        yield from self._untrue_of_report(said['report'])
        yield from self._untrue_of_query(said['query'])
        yield from self._untrue_of_json(said['json'])
        for name in self._chosen:
            yield from self._untrue_of_choice(name, said[name])
        yield from self._untrue_of_collector(said['collector'])

    def _untrue_of_report(self, ran: Ran) -> Iterator[str]:
        known = numbers(_without_host(self.true['report'].out))
        for line in _without_host(ran.out).splitlines():
            wrong = numbers(line) - known
            if wrong:
                yield f'report: {sorted(wrong)} in {line}'

    def _untrue_of_query(self, ran: Ran) -> Iterator[str]:
        true = {_identity(row): row for row in _rows(self.true['query'].out)}
        for row in _rows(ran.out):
            known = true.get(_identity(row), {})
            for name, said in row.items():
                if (
                    name in (*_WORDS, *_GROWING)
                    or said in _IS_NA
                    or _is_same(said, known.get(name))
                ):
                    continue
                yield f'query: {row["index"]}: {name}: {said}, not {known.get(name)}'

    def _untrue_of_json(self, ran: Ran) -> Iterator[str]:
        if not ran.out:
            return
        said, true = json.loads(ran.out), json.loads(self.true['json'].out)
        for table in ('devices', 'processes'):
            known = {_identity(row): row for row in true[table]}
            for row in said[table]:
                if _identity(row) not in known and ': mig_mode: ' in ran.err:
                    continue  # a process of one of its MIG devices, if it has any
                for name, value in row.items():
                    is_true = known.get(_identity(row), {}).get(name)
                    if name in (*_WORDS, *_GROWING) or value is None:
                        continue
                    if name == 'type' and 'processes' in ran.err.lower():
                        continue  # another list tells the other half
                    if not _is_same(value, is_true):
                        yield f'json: {_identity(row)}: {name}: {value!r}, not {is_true!r}'

    def _untrue_of_choice(self, name: str, ran: Ran) -> Iterator[str]:
        chosen = set(ran.out.strip().split(',')) - {''}
        if '-' in name and not chosen <= self._chosen[name]:
            yield f'{name}: chose {chosen}, not {self._chosen[name]}'

    def _untrue_of_collector(self, said: list[dict[str, float]]) -> Iterator[str]:
        for tick, values in enumerate(said):
            for key, value in values.items():
                if '/host/' in f'/{key}' or math.isnan(value) or not key.startswith('tick/gpu'):
                    continue
                true = self.true['collector'][tick].get(key, math.nan)
                if not math.isclose(value, true, rel_tol=1e-6):
                    yield f'collector: tick {tick}: {key}: {value}, not {true}'


def _without_host(text: str) -> str:
    lines = text.splitlines()[1:]  # the first one is the time
    return '\n'.join(line for line in lines if not re.match(r'\[ (CPU|MEM)', line))


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), skipinitialspace=True))


def _identity(row: dict[str, Any]) -> tuple[Any, ...]:
    return row.get('index'), row.get('gpu_index'), row.get('mig_index'), row.get('pid')


def _is_same(said: Any, true: Any) -> bool:
    """Whether two values are the same; rates and times may differ a little."""
    if said == true:
        return True
    try:
        return math.isclose(float(said), float(true), rel_tol=0.02)
    except (TypeError, ValueError):
        return False
