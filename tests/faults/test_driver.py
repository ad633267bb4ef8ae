"""Calls of the driver that fail, in each way, now and then, and heal."""

from __future__ import annotations

import pytest

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
    sampled_cases,
)
from tests.faults.oracle import Oracle, true_samples
from tests.faults.programs import ProgramOracle


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


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_whatever_fails_in_whatever_way(functions: tuple[str, ...], oracle: Oracle) -> None:
    run_all(sampled_cases(functions, CASES, SEED), oracle)


# Programs: the report, rows, the choice of devices, the collector


def run_all_programs(cases: tuple[Case, ...] | list[Case]) -> None:
    programs = ProgramOracle()
    found = {str(case): programs.untrue(case) for case in cases}
    assert {case: wrong for case, wrong in found.items() if wrong} == {}


def test_programs_say_nothing_untrue(functions: tuple[str, ...]) -> None:
    run_all_programs(covering_cases(functions)[::5])


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_programs_say_nothing_untrue_in_whatever_case(functions: tuple[str, ...]) -> None:
    run_all_programs(sampled_cases(functions, CASES // 5, SEED))
