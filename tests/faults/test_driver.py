"""Calls of the driver that fail with every code, sometimes or always, and recover."""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple

import pytest

from nvitop.simulation.abi import NVML_ERRORS
from tests.faults.sample_checks import KnownMachine, SampleChecker, true_samples

#: Return codes of NVML by name, and an unknown one.
CODES = {**{name: code for name, (code, _) in NVML_ERRORS.items()}, 'CODE_77': 77}
#: Return codes of constant values that are not queried again: not supported, not permitted (the last
#: one: by the operating system), function not found. MIG devices return *invalid argument* instead.
LASTING = frozenset({2, 3, 4, 13, 17})
#: When a call fails, and for which GPU.
MODES: dict[str, dict[str, Any]] = {
    'from the start': {},
    'at the 3rd call': {'after': 2, 'times': 1},
    'every 2nd call': {'every': 2},
    'one GPU only': {'gpu': 0},
}
#: Return codes that are valid results: of an old driver, which includes reserved memory in used
#: memory; of a GPU with unified memory, without MIG, or with idle processes; of a failed InfoROM check.
EXPECTED = {
    ('nvmlDeviceGetMemoryInfo_v2', 'FUNCTION_NOT_FOUND'),
    ('nvmlDeviceGetMemoryInfo_v2', 'ARGUMENT_VERSION_MISMATCH'),
    ('nvmlDeviceGetMemoryInfo_v2', 'NOT_SUPPORTED'),
    ('nvmlDeviceGetMaxMigDeviceCount', 'FUNCTION_NOT_FOUND'),
    ('nvmlDeviceGetMaxMigDeviceCount', 'NOT_SUPPORTED'),
    ('nvmlDeviceGetProcessUtilization', 'NOT_FOUND'),
    ('nvmlDeviceGetMigMode', 'FUNCTION_NOT_FOUND'),
    ('nvmlDeviceGetMigMode', 'NOT_SUPPORTED'),
    ('nvmlDeviceGetMigMode', 'NO_PERMISSION'),
    ('nvmlDeviceGetMigMode', 'INVALID_ARGUMENT'),
    ('nvmlDeviceGetMigMode', 'NOT_FOUND'),
    ('nvmlDeviceValidateInforom', 'CORRUPTED_INFOROM'),
}
#: Number of samples with the fault, and after it until everything has recovered.
FAULTY_TICKS, RECOVERY_TICKS = 3, 3
TICKS = FAULTY_TICKS + RECOVERY_TICKS


class Case(NamedTuple):
    function: str
    code: str
    mode: str

    def begin(self, bench: KnownMachine) -> None:
        bench.machine.fail(self.function, CODES[self.code], **MODES[self.mode])


def cases(*, codes_per_function: int) -> Iterator[Case]:
    """Each function that is called to measure everything, with some codes, in different ways."""
    bench = KnownMachine()
    with bench.opened():
        for _ in range(TICKS):
            bench.sample()
        functions = sorted(name for name in bench.machine.calls if name != 'nvmlShutdown')
    codes, modes = list(CODES), list(MODES)
    for number in range(len(functions) * codes_per_function):
        function = functions[number // codes_per_function]
        code = codes[number % len(codes)]
        if (function, code) not in EXPECTED:
            # The modes shift by one after each round of the codes.
            yield Case(function, code, modes[(number + number // len(codes)) % len(modes)])


@pytest.fixture(scope='module')
def checker() -> SampleChecker:
    return SampleChecker(true_samples(TICKS))


def errors_of(case: Case, checker: SampleChecker) -> list[str]:
    bench = KnownMachine()
    errors: list[str] = []
    with bench.opened():
        case.begin(bench)
        for tick in range(TICKS):
            if tick == FAULTY_TICKS:
                bench.machine.heal()
            sample = bench.sample()
            errors += [f'tick {tick}: {text}' for text in checker.check(sample, tick)]
        # All values return after the fault, unless it says that there are none.
        is_lasting = CODES[case.code] in LASTING
        errors += checker.check_recovery(sample, tick, constants=not is_lasting)
    return errors


def test_samples_are_correct(checker: SampleChecker) -> None:
    found = {case: errors_of(case, checker) for case in cases(codes_per_function=1)}
    assert len(found) > 50
    assert {case: errors for case, errors in found.items() if errors} == {}


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_samples_are_correct_with_more_codes(checker: SampleChecker) -> None:
    found = {case: errors_of(case, checker) for case in cases(codes_per_function=5)}
    assert {case: errors for case, errors in found.items() if errors} == {}


class WrongValue(Case):
    """No call fails, but one value is wrong."""

    def begin(self, bench: KnownMachine) -> None:
        bench.machine.set(gpu=0, temperature=77)


def test_check_finds_a_wrong_value(checker: SampleChecker) -> None:
    case = WrongValue('nvmlDeviceGetTemperatureV', 'UNKNOWN', 'from the start')
    assert any('temperature_celsius: 77' in text for text in errors_of(case, checker))
