"""The ways in which a call of the driver can fail."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from nvitop.simulation.abi import NVML_ERRORS
from tests.faults.known_machine import KnownMachine
from tests.faults.sample_checks import SampleChecker

#: Number of cases of `make faults`, and the seed that selects them.
CASES = int(os.environ.get('NVITOP_FAULT_CASES') or 300)
SEED = int(os.environ.get('NVITOP_FAULT_SEED') or 1)

#: Return codes of NVML by name, and an unknown one.
CODES = {**{name: code for name, (code, _) in NVML_ERRORS.items()}, 'CODE_77': 77}
#: Return codes of constant values that are not queried again: not supported, not permitted, function
#: not found. MIG devices return *invalid argument* instead of the first.
LASTING = frozenset({2, 3, 4, 13})
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
    ('nvmlDeviceGetMemoryInfo', 'NOT_SUPPORTED'),
    ('nvmlDeviceGetMaxMigDeviceCount', 'FUNCTION_NOT_FOUND'),
    ('nvmlDeviceGetMaxMigDeviceCount', 'NOT_SUPPORTED'),
    ('nvmlDeviceGetProcessUtilization', 'NOT_FOUND'),
    ('nvmlDeviceGetMigMode', 'FUNCTION_NOT_FOUND'),
    ('nvmlDeviceGetMigMode', 'NOT_SUPPORTED'),
    ('nvmlDeviceGetMigMode', 'NO_PERMISSION'),
    ('nvmlDeviceGetMigMode', 'INVALID_ARGUMENT'),
    ('nvmlDeviceGetMigMode', 'NOT_FOUND'),
    ('nvmlDeviceValidateInforom', 'CORRUPTED_INFOROM'),
    # The older lists do not contain MIG devices.
    ('nvmlDeviceGetComputeRunningProcesses_v2', 'FUNCTION_NOT_FOUND'),
    ('nvmlDeviceGetComputeRunningProcesses_v2', 'ARGUMENT_VERSION_MISMATCH'),
}
#: Number of samples with the fault, and after it until everything has recovered.
FAULTY_TICKS, RECOVERY_TICKS = 3, 3
TICKS = FAULTY_TICKS + RECOVERY_TICKS


class Case(NamedTuple):
    function: str
    code: str
    mode: str
    #: Generation of the driver.
    driver: str = 'newest'

    def __str__(self) -> str:
        return f'{self.function} {self.code} {self.mode}, {self.driver} driver'

    @property
    def is_recoverable(self) -> bool:
        """Whether all values return after the fault."""
        return CODES[self.code] not in LASTING

    def begin(self, bench: KnownMachine) -> None:
        bench.machine.fail(self.function, CODES[self.code], **MODES[self.mode])


def functions_called(driver: str = 'newest') -> tuple[str, ...]:
    """Functions that nvitop calls to measure everything."""
    bench = KnownMachine(driver)
    with bench.opened():
        for _ in range(TICKS):
            bench.sample()
        return tuple(sorted(name for name in bench.machine.calls if name != 'nvmlShutdown'))


def all_cases(functions: tuple[str, ...], driver: str = 'newest') -> tuple[Case, ...]:
    every = [Case(f, code, mode, driver) for f in functions for code in CODES for mode in MODES]
    return tuple(case for case in every if case[:2] not in EXPECTED)


def covering_cases(functions: tuple[str, ...]) -> tuple[Case, ...]:
    """As few cases as possible with each function, each code, and each mode with many of both."""
    codes, modes = list(CODES), list(MODES)
    cases = (
        # The modes shift by one after each round of the codes.
        Case(function, codes[i % len(codes)], modes[(i + i // len(codes)) % len(modes)])
        for i, function in enumerate(functions)
    )
    return tuple(case._replace(code='UNKNOWN') if case[:2] in EXPECTED else case for case in cases)


def run_in_source(case: Case, checker: SampleChecker) -> list[str]:
    bench = KnownMachine(case.driver)
    errors: list[str] = []
    with bench.opened():
        case.begin(bench)
        for tick in range(TICKS):
            if tick == FAULTY_TICKS:
                bench.machine.heal()
            sample = bench.sample()
            errors += [f'tick {tick}: {text}' for text in checker.check(sample, tick)]
        errors += checker.check_recovery(sample, tick, constants=case.is_recoverable)
    return errors
