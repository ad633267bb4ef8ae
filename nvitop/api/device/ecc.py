# SPDX-License-Identifier: Apache-2.0
"""ECC memory: its modes, and error counts by location."""

from __future__ import annotations

import itertools

from nvitop.api.device.base import MAX_ULONGLONG, DeviceBase
from nvitop.api.utils import NA, NaType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_ERRORS = {'corrected': 0, 'uncorrected': 1}
_COUNTERS = {'volatile': 0, 'aggregate': 1}
_PERIODS = {'volatile': 'since the driver was loaded', 'aggregate': 'over the life of the board'}
#: Name → NVML's number of a memory location. DRAM was called device memory before Turing.
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


def _error_counter(location: str, counter: str, error: str) -> Callable[[Any], int | NaType]:
    """Return the getter for errors of one kind in one location."""
    arguments = _ERRORS[error], _COUNTERS[counter], ECC_LOCATIONS[location]

    def method(self: EccMixin) -> int | NaType:
        return self._number('nvmlDeviceGetMemoryErrorCounter', *arguments, maximum=MAX_ULONGLONG)

    method.__name__ = f'{location}_{counter}_{error}_ecc_errors'
    method.__qualname__ = f'EccMixin.{method.__name__}'
    method.__doc__ = (
        f'{error.capitalize()} ECC errors of the {location.replace("_", " ")} {_PERIODS[counter]}.\n\n'
        'NVML: ``nvmlDeviceGetMemoryErrorCounter``\n'
        f'· nvidia-smi: ``ecc.errors.{error}.{counter}.{location}``'
    )
    return method


class EccMixin(DeviceBase):
    """Error counts; ``NA`` without ECC memory (most GeForce boards) and while ECC is disabled.

    Each memory location has four getters, such as ``dram_volatile_corrected_ecc_errors()``:
    corrected and uncorrected errors, since the driver was loaded (volatile) and over the life of the
    board (aggregate). The locations are ``device_memory dram register_file l1_cache l2_cache
    texture_memory cbu sram``.
    """

    def ecc(self) -> str:
        """Whether ECC is enabled: ``'Enabled'`` or ``'Disabled'``; ``NA`` without ECC memory.

        NVML: ``nvmlDeviceGetEccMode`` · nvidia-smi: ``ecc.mode.current``
        """
        return self._word('nvmlDeviceGetEccMode', item=0)

    def ecc_pending(self) -> str:
        """Whether ECC is enabled after the next restart: ``'Enabled'`` or ``'Disabled'``.

        NVML: ``nvmlDeviceGetEccMode`` · nvidia-smi: ``ecc.mode.pending``
        """
        return self._word('nvmlDeviceGetEccMode', item=1)

    def _sram(self, name: str) -> int | NaType:
        from nvitop.api.libnvml._extended_structures import read_sram_ecc_status

        return self._in_range(getattr(self._query(read_sram_ecc_status), name, NA), MAX_ULONGLONG)

    def sram_volatile_parity_errors(self) -> int | NaType:
        """Uncorrected SRAM parity errors since the driver was loaded; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.volatile.sram.parity``
        """
        return self._sram('volatileUncParity')

    def sram_volatile_secded_errors(self) -> int | NaType:
        """Uncorrected SRAM double-bit errors since the driver was loaded; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.volatile.sram.secded``
        """
        return self._sram('volatileUncSecDed')

    def sram_aggregate_parity_errors(self) -> int | NaType:
        """Uncorrected SRAM parity errors over the life of the board; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.aggregate.sram.parity``
        """
        return self._sram('aggregateUncParity')

    def sram_aggregate_secded_errors(self) -> int | NaType:
        """Uncorrected SRAM double-bit errors over the life of the board; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.aggregate.sram.secded``
        """
        return self._sram('aggregateUncSecDed')

    def sram_l2_errors(self) -> int | NaType:
        """Uncorrected errors of the L2 SRAM over the life of the board; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.aggregate.sram.l2``
        """
        return self._sram('aggregateUncBucketL2')

    def sram_sm_errors(self) -> int | NaType:
        """Uncorrected errors of the SM SRAM over the life of the board; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.aggregate.sram.sm``
        """
        return self._sram('aggregateUncBucketSm')

    def sram_microcontroller_errors(self) -> int | NaType:
        """Uncorrected errors of the microcontroller SRAM over the life of the board; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.aggregate.sram.microcontroller``
        """
        return self._sram('aggregateUncBucketMcu')

    def sram_pcie_errors(self) -> int | NaType:
        """Uncorrected errors of the PCIe SRAM over the life of the board; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.aggregate.sram.pcie``
        """
        return self._sram('aggregateUncBucketPcie')

    def sram_other_errors(self) -> int | NaType:
        """Uncorrected errors of other SRAM over the life of the board; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.aggregate.sram.other``
        """
        return self._sram('aggregateUncBucketOther')

    def is_sram_threshold_exceeded(self) -> bool | NaType:
        """Whether the SRAM has had enough errors that the board should be replaced; ``NA`` before R535.

        NVML: ``nvmlDeviceGetSramEccErrorStatus``
        · nvidia-smi: ``ecc.errors.uncorrected.aggregate.sram.thresholdExceeded``
        """
        exceeded = self._sram('bThresholdExceeded')
        return bool(exceeded) if isinstance(exceeded, int) else NA


for _location, _counter, _error in itertools.product(ECC_LOCATIONS, _COUNTERS, _ERRORS):
    _method = _error_counter(_location, _counter, _error)
    setattr(EccMixin, _method.__name__, _method)
