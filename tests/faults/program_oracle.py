"""Knows what each program says when nothing fails, and so what may be said when something does."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from typing import Any, Iterator

from tests.faults.drawings import numbers
from tests.faults.matrix import Case
from tests.faults.programs import Ran, answers

#: Grows all the time, also while something is waited for.
_GROWING = ('total_energy', 'total_energy [J]')
_IS_NA = frozenset({'[N/A]', 'N/A', ''})
#: What says how a device is, and not what was measured.
_WORDS = ('status', 'reason', 'timestamp')


class ProgramOracle:
    """Knows what each program says when nothing fails."""

    def __init__(self, driver: str = 'newest') -> None:
        #: Program → the functions that it calls. A fault of another one cannot be met.
        self.calls: dict[str, frozenset[str]] = {}
        self.true = answers(None, driver=driver, calls=self.calls)
        assert all(r.status == 0 for r in self.true.values() if isinstance(r, Ran)), self.true
        devices = json.loads(self.true['json'].out)['devices']
        #: All there are, by any name.
        self._devices = {str(d[name]) for d in devices for name in ('index', 'uuid')}
        self._chosen = {
            name: _chosen(ran) for name, ran in self.true.items() if name.startswith('nvisel')
        }

    def untrue(self, case: Case) -> list[str]:
        """What programs say in this case that is not so."""
        return [*self._untrue(case)]

    def _untrue(self, case: Case) -> Iterator[str]:
        said = answers(case, {name for name, calls in self.calls.items() if case.function in calls})
        for name, ran in said.items():
            if not isinstance(ran, Ran):
                continue
            if ran.status not in (0, 1, 4) or 'Traceback' in ran.err:
                yield f'{name}: status {ran.status}: {ran.err}'
            if ran.status and not ran.err:
                yield f'{name}: status {ran.status} without a word'
            if name.startswith('report'):
                yield from self._untrue_of_report(name, ran)
            elif name.startswith('rows'):
                yield from self._untrue_of_rows(name, ran)
            elif name.startswith('nvisel'):
                yield from self._untrue_of_choice(name, ran)
        if 'query' in said:
            yield from self._untrue_of_query(said['query'])
        if 'json' in said:
            yield from self._untrue_of_json(said['json'], is_denied=_denies_a_list(case))
        yield from self._untrue_of_collector(said.get('collector', []))

    def _untrue_of_report(self, name: str, ran: Ran) -> Iterator[str]:
        known = numbers(_without_host(self.true[name].out))
        for line in _without_host(ran.out).splitlines():
            wrong = numbers(line) - known
            if wrong:
                yield f'{name}: {sorted(wrong)} in {line}'

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

    def _untrue_of_json(self, ran: Ran, *, is_denied: bool) -> Iterator[str]:
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
                    if name == 'type' and ('processes' in ran.err.lower() or is_denied):
                        continue  # another list tells the other half
                    if not _is_same(value, is_true):
                        yield f'json: {_identity(row)}: {name}: {value!r}, not {is_true!r}'

    def _untrue_of_choice(self, name: str, ran: Ran) -> Iterator[str]:
        known = self._chosen[name] if '-' in name else self._devices
        if not _chosen(ran) <= known:
            yield f'{name}: chose {_chosen(ran)}, not {known}'

    def _untrue_of_rows(self, name: str, ran: Ran) -> Iterator[str]:
        true = _rows(self.true[name].out)
        for row in _rows(ran.out):
            known = {key: value for key, value in row.items() if value not in _IS_NA}
            if not any(known.items() <= each.items() for each in true):
                yield f'{name}: {row}'

    def _untrue_of_collector(self, said: list[dict[str, float]]) -> Iterator[str]:
        for tick, values in enumerate(said):
            for key, value in values.items():
                if '/host/' in f'/{key}' or math.isnan(value) or not key.startswith('tick/gpu'):
                    continue
                true = self.true['collector'][tick].get(key, math.nan)
                if not math.isclose(value, true, rel_tol=1e-6):
                    yield f'collector: tick {tick}: {key}: {value}, not {true}'


def _denies_a_list(case: Case) -> bool:
    """Whether a device says that it has no list of these processes: that is no failure to tell of."""
    # No version of it is the right one: then there is none.
    is_denied = not case.is_healed or case.code == 'ARGUMENT_VERSION_MISMATCH'
    return 'RunningProcesses' in case.function and is_denied


def _chosen(ran: Ran) -> set[str]:
    return set(ran.out.strip().split(',')) - {''}


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
