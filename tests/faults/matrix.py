"""Every way in which a call of the driver can fail."""

from __future__ import annotations

import os
from typing import Any

from nvitop.namedtuple import NamedTuple
from nvitop.simulation.abi import NVML_ERRORS
from tests.faults.bench import Bench
from tests.faults.oracle import Oracle

#: How many cases a long run tries of all there are, and which: see `make faults`.
CASES = int(os.environ.get('NVITOP_FAULT_CASES') or 300)
SEED = int(os.environ.get('NVITOP_FAULT_SEED') or 1)

#: Codes of NVML by name, and one that no NVML has.
CODES = {**{name: code for name, (code, _) in NVML_ERRORS.items()}, 'CODE_77': 77}
#: What is not supported, permitted or there at all is not asked for again, if it never changes; MIG
#: devices say *invalid argument* instead.
LASTING = frozenset({2, 3, 4, 13})
#: When a call fails, and of which GPU.
MODES: dict[str, dict[str, Any]] = {
    'from the start': {},
    'at the 3rd call': {'after': 2, 'times': 1},
    'every 2nd call': {'every': 2},
    'one GPU only': {'gpu': 0},
}
#: Answers that are no faults: of an old driver, which counts what it keeps for itself as used; of a GPU
#: that has the host's memory; of one that cannot be split; of one whose processes are idle; of a
#: check that has found something.
MEANT = {
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
    ('nvmlDeviceValidateInforom', 'CORRUPTED_INFOROM'),
    # The lists before know no MIG devices.
    ('nvmlDeviceGetComputeRunningProcesses_v2', 'FUNCTION_NOT_FOUND'),
    ('nvmlDeviceGetComputeRunningProcesses_v2', 'ARGUMENT_VERSION_MISMATCH'),
}
#: Samples with the fault, and after it until all has to be as if nothing had been.
FAULTY_TICKS, HEALING_TICKS = 3, 3
TICKS = FAULTY_TICKS + HEALING_TICKS


class Case(NamedTuple):
    """One fault."""

    function: str
    code: str
    mode: str
    #: One of the generations of drivers.
    driver: str = 'newest'

    def __str__(self) -> str:
        return f'{self.function} {self.code} {self.mode}, {self.driver} driver'

    @property
    def is_healed(self) -> bool:
        """Whether all is as if nothing had been once it is over."""
        return CODES[self.code] not in LASTING

    def begin(self, bench: Bench) -> None:
        """Let it happen from now on."""
        bench.machine.fail(self.function, CODES[self.code], **MODES[self.mode])


def functions_called(driver: str = 'newest') -> tuple[str, ...]:
    """What nvitop calls when it measures all it can."""
    bench = Bench(driver)
    with bench.opened():
        for _ in range(TICKS):
            bench.sample()
        return tuple(sorted(name for name in bench.machine.calls if name != 'nvmlShutdown'))


def all_cases(functions: tuple[str, ...], driver: str = 'newest') -> tuple[Case, ...]:
    """The whole product for these functions."""
    every = [Case(f, code, mode, driver) for f in functions for code in CODES for mode in MODES]
    return tuple(case for case in every if case[:2] not in MEANT)


def covering_cases(functions: tuple[str, ...]) -> tuple[Case, ...]:
    """Each function and each code, and each mode with many of both, in as few cases as can be."""
    codes, modes = list(CODES), list(MODES)
    cases = (
        # After each round of the codes the modes are one further.
        Case(function, codes[i % len(codes)], modes[(i + i // len(codes)) % len(modes)])
        for i, function in enumerate(functions)
    )
    return tuple(case._replace(code='UNKNOWN') if case[:2] in MEANT else case for case in cases)


def run_in_source(case: Case, oracle: Oracle) -> list[str]:
    """Sample with the fault, and after it; what was not true."""
    bench = Bench(case.driver)
    wrong: list[str] = []
    with bench.opened():
        case.begin(bench)
        for tick in range(TICKS):
            if tick == FAULTY_TICKS:
                bench.machine.heal()
            sample = bench.sample()
            wrong += [f'tick {tick}: {text}' for text in oracle.untrue(sample, tick)]
        wrong += oracle.unhealed(sample, tick, facts=case.is_healed)
    return wrong
