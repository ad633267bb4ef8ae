"""Calls of the driver that fail, in each way, now and then, and heal."""

from __future__ import annotations

import json
import pathlib
import random

import pytest

from tests.faults import product
from tests.faults.bench import Bench
from tests.faults.live import LiveOracle
from tests.faults.matrix import (
    CASES,
    CODES,
    MEANT,
    MODES,
    SEED,
    TICKS,
    Case,
    all_cases,
    covering_cases,
    functions_called,
    run_in_source,
)
from tests.faults.oracle import Oracle, true_samples
from tests.faults.program_oracle import ProgramOracle


@pytest.fixture(scope='module')
def oracle() -> Oracle:
    return Oracle(true_samples(TICKS))


@pytest.fixture(scope='module')
def functions() -> tuple[str, ...]:
    return functions_called()


def test_each_function_code_and_mode_is_tried(functions: tuple[str, ...]) -> None:
    cases = covering_cases(functions)
    assert {case.function for case in cases} == {*functions}
    assert {case.code for case in cases} >= {*CODES} - {code for _, code in MEANT}
    assert {case.mode for case in cases} == {*MODES}
    assert len(functions) > 40  # old bindings have fewer
    assert len(all_cases(functions)) >= (len(functions) * len(CODES) - len(MEANT)) * len(MODES)


def run_all(cases: tuple[Case, ...] | list[Case], oracle: Oracle) -> None:
    found = {str(case): run_in_source(case, oracle) for case in cases}
    assert {case: wrong for case, wrong in found.items() if wrong} == {}


def test_whatever_fails_nothing_untrue_is_shown(functions: tuple[str, ...], oracle: Oracle) -> None:
    run_all(covering_cases(functions), oracle)


# Programs: the report, rows, the choice of devices, the collector


def test_programs_say_nothing_untrue(functions: tuple[str, ...]) -> None:
    programs = ProgramOracle()
    found = {str(case): programs.untrue(case) for case in covering_cases(functions)[::5]}
    assert {case: wrong for case, wrong in found.items() if wrong} == {}


# The monitor as it runs, on all its screens


def test_the_monitor_shows_nothing_untrue(functions: tuple[str, ...]) -> None:
    monitor = LiveOracle()
    found = {str(case): monitor.untrue(case) for case in covering_cases(functions)[::16]}
    assert {case: wrong for case, wrong in found.items() if wrong} == {}


class Lie(Case):
    """Nothing fails, but what is measured is another value than before."""

    def begin(self, bench: Bench) -> None:
        bench.machine.set(gpu=0, temperature=77)


def test_a_lie_would_be_found(oracle: Oracle) -> None:
    lie = Lie('nvmlDeviceGetTemperatureV', 'UNKNOWN', 'from the start')
    assert any('temperature_celsius: 77' in text for text in run_in_source(lie, oracle))
    said = ' '.join(ProgramOracle().untrue(lie))
    assert all(f'{name}: ' in said for name in ('report', 'query', 'json', 'collector'))
    shown = LiveOracle().untrue(lie)
    assert {text.split(': ')[1] for text in shown} >= {'main', 'details'}


# All of them, by the thousand


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_whatever_fails_in_whatever_way() -> None:
    results = map(product.run, random.Random(SEED).sample(product.whole_product(), CASES // 3))
    assert {str(result.case): result.wrong for result in results if result.wrong} == {}


def test_what_was_done_is_read_from_the_log(tmp_path: pathlib.Path) -> None:
    result = product.Result(Case('nvmlDeviceGetName', 'UNKNOWN', 'one GPU only'), ('report',), ())
    log = tmp_path / 'log'
    lines = [json.dumps({'revision': name, **result._asdict()}) for name in ('old', 'new')]
    log.write_text('\n'.join(['', lines[0], '{"revision": "new", "ca', lines[1]]), encoding='utf-8')
    assert [*product.read_log(log, 'new')] == [result]
    assert [*product.read_log(tmp_path / 'none', 'new')] == []
