"""Calls of the driver that fail with every code, sometimes or always, and recover."""

from __future__ import annotations

from typing import Callable, Sequence

import pytest

from tests.faults.known_machine import KnownMachine
from tests.faults.matrix import (
    CODES,
    EXPECTED,
    MODES,
    TICKS,
    Case,
    all_cases,
    covering_cases,
    functions_called,
    run_in_source,
)
from tests.faults.programs import ProgramChecker
from tests.faults.running_monitor import MonitorChecker
from tests.faults.sample_checks import SampleChecker, true_samples


@pytest.fixture(scope='module')
def checker() -> SampleChecker:
    return SampleChecker(true_samples(TICKS))


@pytest.fixture(scope='module')
def functions() -> tuple[str, ...]:
    return functions_called()


def test_cases_cover_each_function_code_and_mode(functions: tuple[str, ...]) -> None:
    cases = covering_cases(functions)
    assert {case.function for case in cases} == {*functions}
    assert {case.code for case in cases} >= {*CODES} - {code for _, code in EXPECTED}
    assert {case.mode for case in cases} == {*MODES}
    assert len(functions) > 40  # fewer with old bindings
    assert len(all_cases(functions)) >= (len(functions) * len(CODES) - len(EXPECTED)) * len(MODES)


def check_all(cases: Sequence[Case], check: Callable[[Case], list[str]]) -> None:
    found = {str(case): check(case) for case in cases}
    assert {case: errors for case, errors in found.items() if errors} == {}


# `make faults` runs all combinations; here is a sample for each of the three.


def test_samples_are_correct(functions: tuple[str, ...], checker: SampleChecker) -> None:
    check_all(covering_cases(functions)[::3], lambda case: run_in_source(case, checker))


def test_programs_are_correct(functions: tuple[str, ...]) -> None:
    check_all(covering_cases(functions)[::5], ProgramChecker().check)


def test_running_monitor_is_correct(functions: tuple[str, ...]) -> None:
    check_all(covering_cases(functions)[::6], MonitorChecker().check)


class WrongValue(Case):
    """No call fails, but one value is wrong."""

    def begin(self, bench: KnownMachine) -> None:
        bench.machine.set(gpu=0, temperature=77)


def test_checks_find_a_wrong_value(checker: SampleChecker) -> None:
    case = WrongValue('nvmlDeviceGetTemperatureV', 'UNKNOWN', 'from the start')
    assert any('temperature_celsius: 77' in text for text in run_in_source(case, checker))
    errors = ' '.join(ProgramChecker().check(case))
    assert all(f'{name}: ' in errors for name in ('report', 'query', 'json', 'collector'))
    shown = MonitorChecker().check(case)
    assert {text.split(': ')[1] for text in shown} >= {'main', 'details'}
