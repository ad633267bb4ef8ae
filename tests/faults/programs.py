"""Commands and the collector, run on a machine with a fault."""

from __future__ import annotations

import contextlib
import logging
import math
from typing import Any, Callable, Container, Iterator
from unittest import mock

from nvitop import cli, select
from nvitop.api.collector import ResourceMetricCollector
from nvitop.api.device import Device
from nvitop.query.command import main as query
from tests.faults.bench import Bench
from tests.faults.matrix import FAULTY_TICKS, Case
from tests.ran import Ran

_ENVIRONMENT = {'COLUMNS': '200', 'CUDA_DEVICE_ORDER': 'PCI_BUS_ID'}


@contextlib.contextmanager
def machine(
    case: Case | None, driver: str = 'newest', *, is_mig_visible: bool = False
) -> Iterator[Bench]:
    """The machine at one time, with the fault. CUDA programs see one device."""
    bench = Bench(case.driver if case is not None else driver)
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
        f'nvisel {limits}': (select.main, limits)
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
                    found[name] = Ran(run, *arguments.split())
                if calls is not None:
                    calls[name] = frozenset(bench.machine.calls)
    return found


def _collected(bench: Bench) -> list[dict[str, float]]:
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
