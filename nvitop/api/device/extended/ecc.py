# SPDX-License-Identifier: Apache-2.0
"""Memory that notices its errors: whether it does, and how many there were, and where."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from nvitop.api.device.extended.facts import ExtendedValues
from nvitop.api.libnvml._extended_structures import read_sram_ecc_status
from nvitop.api.utils import NA, ULONGLONG_MAX, NaType

if TYPE_CHECKING:
    from collections.abc import Callable

_CORRECTED, _UNCORRECTED = 0, 1
_VOLATILE, _AGGREGATE = 0, 1
_ERRORS = {'corrected': _CORRECTED, 'uncorrected': _UNCORRECTED}
_COUNTERS = {'volatile': _VOLATILE, 'aggregate': _AGGREGATE}
_SINCE = {'volatile': 'since the driver was loaded', 'aggregate': 'in the life of the board'}
#: Name → NVML's number of the place. What is DRAM now was called device memory before Turing.
ECC_LOCATIONS = {
    'device_memory': 2,
    'register_file': 3,
    'l1_cache': 0,
    'l2_cache': 1,
    'texture_memory': 4,
    'dram': 2,
    'cbu': 6,
    'sram': 7,
}


def _errors_in(location: str, counter: str, error: str) -> Callable[[Any], int | NaType]:
    """Make the method that counts errors of one kind in one place."""
    arguments = _ERRORS[error], _COUNTERS[counter], ECC_LOCATIONS[location]

    def method(self: EccFacts) -> int | NaType:
        function = 'nvmlDeviceGetMemoryErrorCounter'
        return self._int(function, *arguments, most=ULONGLONG_MAX - 1)

    method.__annotations__.pop('self')
    method.__name__ = f'{location}_{counter}_{error}_ecc_errors'
    method.__qualname__ = f'EccFacts.{method.__name__}'
    place = location.replace('_', ' ')
    method.__doc__ = (
        f'{error.capitalize()} ECC errors of the {place}, {_SINCE[counter]}.\n\n'
        'NVML: ``nvmlDeviceGetMemoryErrorCounter``\n'
        f'· nvidia-smi: ``ecc.errors.{error}.{counter}.{location}``'
    )
    return method


class EccFacts(ExtendedValues):
    """Counts of errors; ``NA`` without ECC memory (most GeForce boards) or with ECC switched off.

    For each place there are four more, such as ``dram_volatile_corrected_ecc_errors()``: errors that
    were corrected and others, since the driver was loaded (volatile) and in the life of the board
    (aggregate), of ``device_memory dram register_file l1_cache l2_cache texture_memory cbu sram``.
    """

    def ecc(self) -> str:
        """Whether memory errors are noticed and mended: ``'Enabled'`` or ``'Disabled'``.

        NVML: ``nvmlDeviceGetEccMode`` · nvidia-smi: ``ecc.mode.current``
        """
        return self._word_of('nvmlDeviceGetEccMode', 0)

    def ecc_pending(self) -> str:
        """Whether they are after the next restart: ``'Enabled'`` or ``'Disabled'``.

        NVML: ``nvmlDeviceGetEccMode`` · nvidia-smi: ``ecc.mode.pending``
        """
        return self._word_of('nvmlDeviceGetEccMode', 1)

    def _sram(self, name: str) -> int | NaType:
        status = self._query(read_sram_ecc_status)
        return self._in_range(getattr(status, name, NA), most=ULONGLONG_MAX - 1)

    def sram_volatile_parity_errors(self) -> int | NaType:
        """Uncorrected parity errors of the SRAM since the driver was loaded; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.volatile.sram.parity``
        """
        return self._sram('volatileUncParity')

    def sram_volatile_secded_errors(self) -> int | NaType:
        """Uncorrected double-bit errors of the SRAM since the driver was loaded; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.volatile.sram.secded``
        """
        return self._sram('volatileUncSecDed')

    def sram_aggregate_parity_errors(self) -> int | NaType:
        """Uncorrected parity errors of the SRAM in the life of the board; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.aggregate.sram.parity``
        """
        return self._sram('aggregateUncParity')

    def sram_aggregate_secded_errors(self) -> int | NaType:
        """Uncorrected double-bit errors of the SRAM in the life of the board; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.aggregate.sram.secded``
        """
        return self._sram('aggregateUncSecDed')

    def sram_l2_errors(self) -> int | NaType:
        """Uncorrected errors of the L2 SRAM in the life of the board; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.aggregate.sram.l2``
        """
        return self._sram('aggregateUncBucketL2')

    def sram_sm_errors(self) -> int | NaType:
        """Uncorrected errors of the SRAM of SMs in the life of the board; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.aggregate.sram.sm``
        """
        return self._sram('aggregateUncBucketSm')

    def sram_microcontroller_errors(self) -> int | NaType:
        """Uncorrected errors of microcontrollers' SRAM in the life of the board; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.aggregate.sram.microcontroller``
        """
        return self._sram('aggregateUncBucketMcu')

    def sram_pcie_errors(self) -> int | NaType:
        """Uncorrected errors of the SRAM for PCIe in the life of the board; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.aggregate.sram.pcie``
        """
        return self._sram('aggregateUncBucketPcie')

    def sram_other_errors(self) -> int | NaType:
        """Uncorrected errors of other SRAM in the life of the board; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.aggregate.sram.other``
        """
        return self._sram('aggregateUncBucketOther')

    def is_sram_threshold_exceeded(self) -> bool | NaType:
        """Whether the SRAM has had so many errors that the board should be replaced.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.aggregate.sram.thresholdExceeded``
        """
        exceeded = self._sram('bThresholdExceeded')
        return bool(exceeded) if isinstance(exceeded, int) else NA


for _location, _counter, _error in itertools.product(ECC_LOCATIONS, _COUNTERS, _ERRORS):
    _method = _errors_in(_location, _counter, _error)
    setattr(EccFacts, _method.__name__, _method)
