"""Commands and the collector on a machine with a fault: every value is the known one, or is missing."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import logging
import math
import re
from typing import Any, Callable, Container, Iterator
from unittest import mock

from nvitop import cli, select
from nvitop.api.collector import ResourceMetricCollector
from nvitop.api.device import Device
from nvitop.query.command import main as query
from tests.command_run import CommandRun
from tests.faults.known_machine import KnownMachine
from tests.faults.matrix import FAULTY_TICKS, Case
from tests.faults.running_monitor import is_border, numbers

#: Values that grow all the time.
_GROWING = ('total_energy', 'total_energy [J]')
_IS_NA = frozenset({'[N/A]', 'N/A', ''})
#: Columns that are not measured.
_NOT_MEASURED = ('status', 'reason', 'timestamp', 'health_status', 'health_findings', 'state')
_ENVIRONMENT = {'COLUMNS': '200', 'CUDA_DEVICE_ORDER': 'PCI_BUS_ID'}


@contextlib.contextmanager
def machine(
    case: Case | None, driver: str = 'newest', *, is_mig_visible: bool = False
) -> Iterator[KnownMachine]:
    """The machine at one time, with the fault. CUDA programs see one device."""
    bench = KnownMachine(case.driver if case is not None else driver)
    with contextlib.ExitStack() as stack:
        stack.enter_context(bench.opened())
        gpus = bench.machine.world.gpus
        node = gpus[1].migs[1] if is_mig_visible else gpus[2]
        environment = {**_ENVIRONMENT, 'CUDA_VISIBLE_DEVICES': str(node.read('uuid'))}
        stack.enter_context(mock.patch.dict('os.environ', environment))
        stack.enter_context(mock.patch('nvitop.sampling.source.SHORTEST_CPU_SECONDS', 0.0))
        bench.turn()
        if case is not None:
            case.begin(bench)
        yield bench


_COMMANDS: dict[str, tuple[Callable[[list[str]], int], str]] = {
    'report': (cli.main, '-1 --no-config'),
    'report of the visible': (cli.main, '-1 --no-config --only-visible'),
    'report of a visible slice': (cli.main, '-1 --no-config --only-visible'),
    'query': (query, '--gpu=all --mig --format=csv,nounits'),
    'json': (query, '--all --mig --format=json'),
    'rows of clocks': (query, '--query-supported-clocks=gpu_uuid,mem,gr --format=csv'),
    'rows of pages': (
        query,
        '--query-retired-pages=gpu_uuid,retired_pages.address,retired_pages.cause --format=csv',
    ),
    'rows of accounts': (query, '--query-accounted-apps=gpu_uuid,pid,gpu_util --format=csv'),
    'nvisel': (select.main, ''),
    'nvisel uuid': (select.main, '-O uuid'),
    'nvisel inherit': (select.main, '-i'),
    'nvisel inherit a slice': (select.main, '-i'),
    **{
        f'nvisel {limits}': (select.main, f'{limits} --include-unhealthy')
        for limits in ('-f 20GiB', '-t 30GiB', '-G 10', '-M 40 -f 10GiB')
    },
}


PROGRAMS = (*_COMMANDS, 'collector')


def results(
    case: Case | None,
    programs: Container[str] = PROGRAMS,
    *,
    driver: str = 'newest',
    calls: dict[str, frozenset[str]] | None = None,
) -> dict[str, Any]:
    """Run programs; returns their results by name, and adds the called functions to ``calls``."""
    found: dict[str, Any] = {}
    for name in PROGRAMS:
        if name in programs:
            with machine(case, driver, is_mig_visible='slice' in name) as bench:
                if name == 'collector':
                    found[name] = _collected(bench)
                else:
                    run, arguments = _COMMANDS[name]
                    found[name] = CommandRun(run, *arguments.split())
                if calls is not None:
                    calls[name] = frozenset(bench.machine.calls)
    return found


def _collected(bench: KnownMachine) -> list[dict[str, float]]:
    """Metrics of the collector for each tick."""
    try:
        devices = Device.all()
    except Exception as error:
        return [{type(error).__name__: math.nan}]
    found = []
    with mock.patch.object(logging.getLogger('nvitop.api.collector'), 'disabled', True):
        collector = ResourceMetricCollector(
            devices, root_pids={}, interval=3600.0, clock=bench.clock
        )
        for _ in range(FAULTY_TICKS):
            with collector.context('tick'):
                found.append(collector.collect())
            bench.turn()
    return found


class ProgramChecker:
    """Compares the results of programs with those on a machine without faults."""

    def __init__(self, driver: str = 'newest') -> None:
        #: Program → functions that it calls.
        self.calls: dict[str, frozenset[str]] = {}
        self.true = results(None, driver=driver, calls=self.calls)
        assert all(r.status == 0 for r in self.true.values() if isinstance(r, CommandRun)), (
            self.true
        )
        devices = json.loads(self.true['json'].out)['devices']
        #: Indices and UUIDs of all devices.
        self._devices = {str(d[name]) for d in devices for name in ('index', 'uuid')}
        self._chosen = {
            name: _chosen(ran) for name, ran in self.true.items() if name.startswith('nvisel')
        }

    def check(self, case: Case) -> list[str]:
        """Return the errors in the results of all programs that the fault affects."""
        return [*self._check(case)]

    def _check(self, case: Case) -> Iterator[str]:
        found = results(
            case, {name for name, calls in self.calls.items() if case.function in calls}
        )
        for name, ran in found.items():
            if not isinstance(ran, CommandRun):
                continue
            if ran.status not in (0, 1, 4) or 'Traceback' in ran.err:
                yield f'{name}: status {ran.status}: {ran.err}'
            if ran.status and not ran.err:
                yield f'{name}: status {ran.status} without a message'
            if name.startswith('report'):
                yield from self._check_report(name, ran)
            elif name.startswith('rows'):
                yield from self._check_rows(name, ran)
            elif name.startswith('nvisel'):
                yield from self._check_choice(name, ran)
        if 'query' in found:
            yield from self._check_query(found['query'])
        if 'json' in found:
            yield from self._check_json(found['json'], is_denied=_denies_a_list(case))
        yield from self._check_collector(found.get('collector', []))

    def _check_report(self, name: str, ran: CommandRun) -> Iterator[str]:
        known = numbers(_without_host(self.true[name].out))
        for line in _without_host(ran.out).splitlines():
            wrong = numbers(line) - known
            if wrong and not is_border(line):
                yield f'{name}: {sorted(wrong)} in {line}'

    def _check_query(self, ran: CommandRun) -> Iterator[str]:
        true = {_identity(row): row for row in _rows(self.true['query'].out)}
        for row in _rows(ran.out):
            known = true.get(_identity(row), {})
            for name, found in row.items():
                if (
                    name in (*_NOT_MEASURED, *_GROWING)
                    or found in _IS_NA
                    or _is_same(found, known.get(name))
                ):
                    continue
                yield f'query: {row["index"]}: {name}: {found}, not {known.get(name)}'

    def _check_json(self, ran: CommandRun, *, is_denied: bool) -> Iterator[str]:
        if not ran.out:
            return
        found, true = json.loads(ran.out), json.loads(self.true['json'].out)
        for table in ('devices', 'processes'):
            known = {_identity(row): row for row in true[table]}
            for row in found[table]:
                if _identity(row) not in known and ': mig_mode: ' in ran.err:
                    continue  # the process may run on a MIG device
                for name, value in row.items():
                    expected = known.get(_identity(row), {}).get(name)
                    if name in (*_NOT_MEASURED, *_GROWING) or value is None:
                        continue
                    if name == 'type' and ('processes' in ran.err.lower() or is_denied):
                        continue  # the other list contributes the other half
                    if not _is_same(value, expected):
                        yield f'json: {_identity(row)}: {name}: {value!r}, not {expected!r}'

    def _check_choice(self, name: str, ran: CommandRun) -> Iterator[str]:
        known = self._chosen[name] if '-' in name else self._devices
        if not _chosen(ran) <= known:
            yield f'{name}: chose {_chosen(ran)}, not {known}'

    def _check_rows(self, name: str, ran: CommandRun) -> Iterator[str]:
        true = _rows(self.true[name].out)
        for row in _rows(ran.out):
            known = {key: value for key, value in row.items() if value not in _IS_NA}
            if not any(known.items() <= each.items() for each in true):
                yield f'{name}: {row}'

    def _check_collector(self, found: list[dict[str, float]]) -> Iterator[str]:
        for tick, values in enumerate(found):
            for key, value in values.items():
                if '/host/' in f'/{key}' or math.isnan(value) or not key.startswith('tick/gpu'):
                    continue
                true = self.true['collector'][tick].get(key, math.nan)
                if not math.isclose(value, true, rel_tol=1e-6):
                    yield f'collector: tick {tick}: {key}: {value}, not {true}'


def _denies_a_list(case: Case) -> bool:
    """Whether the device does not support the list of processes, which is not an error."""
    # If no version of the struct matches, the list does not exist.
    is_denied = not case.is_recoverable or case.code == 'ARGUMENT_VERSION_MISMATCH'
    return 'RunningProcesses' in case.function and is_denied


def _chosen(ran: CommandRun) -> set[str]:
    return set(ran.out.strip().split(',')) - {''}


def _without_host(text: str) -> str:
    lines = text.splitlines()[1:]  # the first line has the time
    return '\n'.join(line for line in lines if not re.match('│ CPU ', line))


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), skipinitialspace=True))


def _identity(row: dict[str, Any]) -> tuple[Any, ...]:
    return row.get('index'), row.get('gpu_index'), row.get('mig_index'), row.get('pid')


def _is_same(found: Any, true: Any) -> bool:
    """Whether two values are equal; rates and times may differ slightly."""
    if found == true:
        return True
    try:
        return math.isclose(float(found), float(true), rel_tol=0.02)
    except (TypeError, ValueError):
        return False
