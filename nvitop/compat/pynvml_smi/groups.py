# SPDX-License-Identifier: Apache-2.0
"""Entries of the result that are more than one value: tables, lists, and what belongs together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvitop.api.device.clock_reasons import ClockEventReasons
from nvitop.api.device.extended.ecc import ECC_LOCATIONS
from nvitop.api.libnvml import (
    NVMLError,
    NVMLError_FunctionNotFound,
    NVMLError_NotFound,
    NVMLError_NotSupported,
)
from nvitop.api.utils import NA, UINT_MAX, ULONGLONG_MAX, MiB
from nvitop.compat.pynvml_smi.answers import ask

if TYPE_CHECKING:
    from collections.abc import Callable

    from nvitop.compat.pynvml_smi.answers import Answers

    Tree = dict[str, object]

_VOLATILE, _AGGREGATE = 0, 1
_ECC_ERRORS = (('single_bit', 0), ('double_bit', 1))
_THROTTLE_REASONS = {
    **{name.lower(): int(bit) for name, bit in ClockEventReasons.__members__.items()},
    'unknown': 1 << 63,
}
_BRIDGE_CHIPS = {0: 'PLX', 1: 'BR04'}


def ecc_errors(counter: int) -> Callable[[Answers], Tree]:
    """Read all ECC errors of one counter: since the driver was loaded, or in the board's life."""

    def read(answers: Answers) -> Tree:
        return {name: _ecc_errors(answers, error, counter) for name, error in _ECC_ERRORS}

    return read


def _ecc_errors(answers: Answers, error: int, counter: int) -> Tree:
    def of_place(place: int) -> object:
        question = ('nvmlDeviceGetMemoryErrorCounter', error, counter, place)
        return answers.value(lambda answers: answers.ask(*question))

    errors = {key: of_place(place) for key, place in ECC_LOCATIONS.items()}
    # Of all the numbers this one was a text, and is.
    total = answers.value(lambda gpu: str(gpu.ask('nvmlDeviceGetTotalEccErrors', error, counter)))
    return {**errors, 'total': total}


volatile_ecc_errors = ecc_errors(_VOLATILE)
aggregate_ecc_errors = ecc_errors(_AGGREGATE)


def retired_pages(cause: int) -> Callable[[Answers], Tree | None]:
    """Read the pages retired for one cause; ``None`` where none are or can be."""

    def read(answers: Answers) -> Tree | None:
        try:
            pages = answers.ask('nvmlDeviceGetRetiredPages', cause)
        except NVMLError_NotSupported:
            pages = []
        if not pages:
            return None
        addresses = {
            f'retired_page_address_{i}': f'0x{page:016x}' for i, page in enumerate(pages, 1)
        }
        return {'retired_count': len(pages), 'retired_page_addresses': addresses}

    return read


def throttle_reasons(answers: Answers) -> Tree:
    """Read why the clocks are low; where that cannot be told, the error as ``Error``."""
    supported = answers.value(lambda answers: _reasons(answers, 'Supported'))
    active = answers.value(lambda answers: _reasons(answers, 'Current'))
    if not isinstance(supported, int) or not isinstance(active, int):
        return {'Error': active if isinstance(supported, int) else supported}
    words = {True: 'Active', False: 'Not Active'}
    reasons = {
        f'clocks_throttle_reason_{name}': words[bool(active & bit)] if supported & bit else str(NA)
        for name, bit in _THROTTLE_REASONS.items()
    }
    return {
        **reasons,
        'clocks_throttle_reasons_supported': f'0x{supported:016x}',
        'clocks_throttle_reasons_active': f'0x{active:016x}',
    }


def _reasons(answers: Answers, which: str) -> int:
    """A bitmask of reasons. Drivers that do not know the old name of the question have a new one."""
    for word in ('Throttle', 'Event'):
        try:
            return int(answers.ask(f'nvmlDeviceGet{which}Clocks{word}Reasons'))
        except NVMLError as error:
            failure = error
            if not isinstance(error, NVMLError_FunctionNotFound):
                break
    raise failure


def bridge_chip_type(bridges: Any) -> str:
    """The type of the first bridge chip of a board; ``'N/A'`` without one."""
    if not bridges.bridgeCount:
        return str(NA)
    return _BRIDGE_CHIPS.get(bridges.bridgeChipInfo[0].type, 'Unknown')


def bridge_chip_firmware(bridges: Any) -> str:
    """The firmware version of the first bridge chip of a board; ``'N/A'`` where unknown."""
    version = bridges.bridgeChipInfo[0].fwVersion if bridges.bridgeCount else 0
    return f'{version:08X}' if version else str(NA)


def supported_clocks(answers: Answers) -> list[Tree]:
    """Read the memory clocks that can be set, each with the graphics clocks that go with it."""

    def graphics_clocks(memory_clock: int) -> object:
        question = ('nvmlDeviceGetSupportedGraphicsClocks', memory_clock)
        return answers.value(lambda answers: list(answers.ask(*question)))

    return [
        {'current': clock, 'unit': 'MHz', 'supported_graphics_clock': graphics_clocks(clock)}
        for clock in answers.ask('nvmlDeviceGetSupportedMemoryClocks')
    ]


def processes(answers: Answers) -> list[Tree] | None:
    """Read the compute processes; ``None`` where there are none. Gone ones are left out."""
    rows: list[Tree] = []
    for info in answers.ask('nvmlDeviceGetComputeRunningProcesses'):
        try:
            name = answers.value(_process_name(info.pid))
        except _Gone:
            continue
        memory = info.usedGpuMemory
        used = str(NA) if memory is None else memory // MiB
        rows.append({'pid': info.pid, 'process_name': name, 'used_memory': used, 'unit': 'MiB'})
    return rows or None


class _Gone(Exception):
    """The process has ended since it was listed."""


def _process_name(pid: int) -> Callable[[Answers], object]:
    def read(_: Answers) -> object:
        try:
            return ask('nvmlSystemGetProcessName', pid)
        except NVMLError_NotFound:
            raise _Gone from None

    return read


def accounted_processes(answers: Answers) -> list[Tree] | None:
    """Read the accounts of processes, also of ended ones; ``None`` where there are none."""
    rows: list[Tree] = []
    for pid in answers.ask('nvmlDeviceGetAccountingPids'):
        try:
            stats = answers.ask('nvmlDeviceGetAccountingStats', pid)
        except NVMLError_NotFound:
            continue
        rows.append(
            {
                'pid': str(pid),
                'gpu_util': _text(stats.gpuUtilization, '%'),
                'memory_util': _text(stats.memoryUtilization, '%'),
                'max_memory_usage': _text(stats.maxMemoryUsage, 'MiB', MiB),
                'time': _text(stats.time, 'ms'),
                'is_running': str(stats.isRunning),
            }
        )
    return rows or None


def _text(value: int, unit: str, divisor: int = 1) -> str:
    return f'{value // divisor} {unit}' if value not in (UINT_MAX, ULONGLONG_MAX) else str(NA)
