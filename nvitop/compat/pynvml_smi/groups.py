# SPDX-License-Identifier: Apache-2.0
"""Values of the result that are tables and lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvitop.api import libnvml
from nvitop.api.device.clock import ClockEventReasons
from nvitop.api.device.health import ECC_LOCATIONS
from nvitop.api.libnvml import NVMLError_NotFound, NVMLError_NotSupported
from nvitop.api.utils import NA, UINT_MAX, ULONGLONG_MAX, MiB

if TYPE_CHECKING:
    from collections.abc import Callable

    from nvitop.compat.pynvml_smi.gpu import SmiGpu

    Tree = dict[str, object]

_ECC_ERRORS = {'single_bit': 'corrected', 'double_bit': 'uncorrected'}
_THROTTLE_REASONS = {
    **{name.lower(): int(bit) for name, bit in ClockEventReasons.__members__.items()},
    'unknown': 1 << 63,
}
_BRIDGE_CHIPS = {0: 'PLX', 1: 'BR04'}


def ecc_errors(counter: str) -> Callable[[SmiGpu], Tree]:
    """Read all ECC errors of one counter, ``'volatile'`` or ``'aggregate'``."""

    def read(gpu: SmiGpu) -> Tree:
        return {name: _ecc_errors(gpu, error, counter) for name, error in _ECC_ERRORS.items()}

    return read


def _ecc_errors(gpu: SmiGpu, error: str, counter: str) -> Tree:
    errors = {
        location: gpu.value(_getter(f'{location}_{counter}_{error}_ecc_errors'))
        for location in ECC_LOCATIONS
    }
    # pynvml.smi has this number, and only this one, as text.
    total = gpu.value(lambda gpu: str(gpu.read(f'total_{counter}_{error}_ecc_errors')))
    return {**errors, 'total': total}


def _getter(method: str, *args: object) -> Callable[[SmiGpu], object]:
    return lambda gpu: gpu.read(method, *args)


def retired_pages(cause: int) -> Callable[[SmiGpu], Tree | None]:
    """Read the pages retired for one cause; ``None`` if there are none or it is not supported."""

    def read(gpu: SmiGpu) -> Tree | None:
        try:
            pages = gpu.read('retired_pages', cause)
        except NVMLError_NotSupported:
            pages = []
        if not pages:
            return None
        addresses = {
            f'retired_page_address_{i}': f'0x{page:016x}' for i, page in enumerate(pages, 1)
        }
        return {'retired_count': len(pages), 'retired_page_addresses': addresses}

    return read


def throttle_reasons(gpu: SmiGpu) -> Tree:
    """Read the reasons for low clocks; if they are not available, the error is ``Error``."""
    supported = gpu.value(lambda gpu: int(gpu.read('supported_clock_event_reasons')))
    active = gpu.value(lambda gpu: int(gpu.read('clock_event_reasons')))
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


def bridge_chip_type(bridges: Any) -> str:
    """Type of the first bridge chip of a board; ``'N/A'`` if there is none."""
    if not bridges.bridgeCount:
        return str(NA)
    return _BRIDGE_CHIPS.get(bridges.bridgeChipInfo[0].type, 'Unknown')


def bridge_chip_firmware(bridges: Any) -> str:
    """Firmware version of the first bridge chip of a board; ``'N/A'`` if unknown."""
    version = bridges.bridgeChipInfo[0].fwVersion if bridges.bridgeCount else 0
    return f'{version:08X}' if version else str(NA)


def supported_clocks(gpu: SmiGpu) -> list[Tree]:
    """Read the memory clocks that can be set, each with its graphics clocks."""
    return [
        {
            'current': clock,
            'unit': 'MHz',
            'supported_graphics_clock': gpu.value(_getter('supported_graphics_clocks', clock)),
        }
        for clock in gpu.read('supported_memory_clocks')
    ]


def processes(gpu: SmiGpu) -> list[Tree] | None:
    """Read the compute processes; ``None`` if there are none. Exited processes are left out."""
    rows: list[Tree] = []
    for info in gpu.read('compute_running_processes'):
        try:
            name = gpu.value(_process_name(info.pid))
        except _ProcessExited:
            continue
        memory = info.usedGpuMemory
        used = str(NA) if memory is None else memory // MiB
        rows.append({'pid': info.pid, 'process_name': name, 'used_memory': used, 'unit': 'MiB'})
    return rows or None


class _ProcessExited(Exception):
    """The process has exited since it was listed."""


def _process_name(pid: int) -> Callable[[SmiGpu], object]:
    def read(_: SmiGpu) -> object:
        try:
            return libnvml.nvmlQuery('nvmlSystemGetProcessName', pid, ignore_errors=False)
        except NVMLError_NotFound:
            raise _ProcessExited from None

    return read


def accounted_processes(gpu: SmiGpu) -> list[Tree] | None:
    """Read the accounts of processes, including exited ones; ``None`` if there are none."""
    rows: list[Tree] = []
    for pid in gpu.read('accounting_pids'):
        try:
            stats = gpu.read('accounting_stats', pid)
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
