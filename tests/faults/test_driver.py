"""Calls of the driver that fail with every code, sometimes or always, and recover."""

from __future__ import annotations

from typing import Callable, Sequence

import pytest

from tests.faults.known_machine import KnownMachine
from tests.faults.matrix import (
    TICKS,
    Case,
    covering_cases,
    functions_called,
    run_in_source,
)
from tests.faults.programs import ProgramChecker
from tests.faults.running_monitor import MonitorChecker
from tests.faults.sample_checks import SampleChecker, true_samples


@pytest.fixture(scope='module')
def samples() -> SampleChecker:
    return SampleChecker(true_samples(TICKS))


@pytest.fixture(scope='module')
def programs() -> ProgramChecker:
    return ProgramChecker()


@pytest.fixture(scope='module')
def monitor() -> MonitorChecker:
    return MonitorChecker()


@pytest.fixture(scope='module')
def cases() -> tuple[Case, ...]:
    return covering_cases(functions_called())


def check_all(cases: Sequence[Case], check: Callable[[Case], list[str]]) -> None:
    found = {str(case): check(case) for case in cases}
    assert {case: errors for case, errors in found.items() if errors} == {}


# `make faults` runs all combinations; here is a sample for each of the three.


def test_samples_are_correct(cases: tuple[Case, ...], samples: SampleChecker) -> None:
    check_all(cases[::5], lambda case: run_in_source(case, samples))


def test_programs_are_correct(cases: tuple[Case, ...], programs: ProgramChecker) -> None:
    check_all(cases[::8], programs.check)


def test_running_monitor_is_correct(cases: tuple[Case, ...], monitor: MonitorChecker) -> None:
    check_all(cases[::10], monitor.check)


class WrongValue(Case):
    """No call fails, but one value is wrong."""

    def begin(self, bench: KnownMachine) -> None:
        bench.machine.set(gpu=0, temperature=77)


def test_checks_find_a_wrong_value(
    samples: SampleChecker, programs: ProgramChecker, monitor: MonitorChecker
) -> None:
    case = WrongValue('nvmlDeviceGetTemperatureV', 'UNKNOWN', 'from the start')
    assert any('temperature_celsius: 77' in text for text in run_in_source(case, samples))
    errors = ' '.join(programs.check(case))
    assert all(f'{name}: ' in errors for name in ('report', 'query', 'json', 'collector'))
    assert {text.split(': ')[1] for text in monitor.check(case)} >= {'main', 'details'}
