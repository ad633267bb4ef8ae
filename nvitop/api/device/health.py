# SPDX-License-Identifier: Apache-2.0
"""Memory errors and repairs: ECC errors, retired pages, remapped rows."""

from __future__ import annotations

from nvitop.api.device.base import MAX_ULONGLONG, DeviceBase
from nvitop.api.utils import NA, NaType
from nvitop.namedtuple import NamedTuple

_CORRECTED, _UNCORRECTED = 0, 1
_VOLATILE, _AGGREGATE = 0, 1
_SINGLE_BIT, _DOUBLE_BIT = 0, 1


class RemappedRows(NamedTuple):
    """Memory rows that were replaced by spare rows, each ``NA`` if unknown."""

    #: Number of rows remapped for correctable and for uncorrectable errors.
    correctable: int | NaType = NA
    uncorrectable: int | NaType = NA
    #: Whether a remapping takes effect at the next GPU reset.
    pending: bool | NaType = NA
    #: Whether a remapping has failed: the board should be replaced.
    failure: bool | NaType = NA


class HealthMixin(DeviceBase):
    """Error counts; ``NA`` without ECC memory (most GeForce boards) and while ECC is disabled."""

    def _ecc_errors(self, error: int, counter: int) -> int | NaType:
        return self._number('nvmlDeviceGetTotalEccErrors', error, counter, maximum=MAX_ULONGLONG)

    def total_volatile_uncorrected_ecc_errors(self) -> int | NaType:
        """Number of uncorrected ECC errors since the driver was loaded.

        NVML: ``nvmlDeviceGetTotalEccErrors`` · nvidia-smi: ``ecc.errors.uncorrected.volatile.total``
        """
        return self._ecc_errors(_UNCORRECTED, _VOLATILE)

    def total_volatile_corrected_ecc_errors(self) -> int | NaType:
        """Number of corrected ECC errors since the driver was loaded.

        NVML: ``nvmlDeviceGetTotalEccErrors`` · nvidia-smi: ``ecc.errors.corrected.volatile.total``
        """
        return self._ecc_errors(_CORRECTED, _VOLATILE)

    def total_aggregate_uncorrected_ecc_errors(self) -> int | NaType:
        """Number of uncorrected ECC errors over the life of the board.

        NVML: ``nvmlDeviceGetTotalEccErrors`` · nvidia-smi: ``ecc.errors.uncorrected.aggregate.total``
        """
        return self._ecc_errors(_UNCORRECTED, _AGGREGATE)

    def total_aggregate_corrected_ecc_errors(self) -> int | NaType:
        """Number of corrected ECC errors over the life of the board.

        NVML: ``nvmlDeviceGetTotalEccErrors`` · nvidia-smi: ``ecc.errors.corrected.aggregate.total``
        """
        return self._ecc_errors(_CORRECTED, _AGGREGATE)

    def _retired_pages(self, cause: int) -> int | NaType:
        addresses = self._query('nvmlDeviceGetRetiredPages', cause)
        return len(addresses) if addresses is not NA else NA

    def retired_pages_single_bit_ecc(self) -> int | NaType:
        """Number of memory pages retired for multiple single-bit errors; ``NA`` since Ampere.

        NVML: ``nvmlDeviceGetRetiredPages`` · nvidia-smi: ``retired_pages.single_bit_ecc.count``
        """
        return self._retired_pages(_SINGLE_BIT)

    def retired_pages_double_bit_ecc(self) -> int | NaType:
        """Number of memory pages retired for a double-bit error; ``NA`` since Ampere.

        NVML: ``nvmlDeviceGetRetiredPages`` · nvidia-smi: ``retired_pages.double_bit.count``
        """
        return self._retired_pages(_DOUBLE_BIT)

    def remapped_rows(self) -> RemappedRows:
        """Memory rows replaced by spare rows, each ``NA`` if unknown, and before Ampere.

        NVML: ``nvmlDeviceGetRemappedRows`` · nvidia-smi: ``--query-remapped-rows``
        """
        answer = self._query('nvmlDeviceGetRemappedRows')
        if answer is NA:
            return RemappedRows()
        correctable, uncorrectable, pending, failure = answer
        return RemappedRows(int(correctable), int(uncorrectable), bool(pending), bool(failure))

    def remapped_rows_correctable(self) -> int | NaType:
        """Number of rows remapped for correctable errors, see :meth:`remapped_rows`."""
        return self.remapped_rows().correctable

    def remapped_rows_uncorrectable(self) -> int | NaType:
        """Number of rows remapped for uncorrectable errors, see :meth:`remapped_rows`."""
        return self.remapped_rows().uncorrectable

    def remapped_rows_pending(self) -> bool | NaType:
        """Whether a remapping takes effect at the next GPU reset, see :meth:`remapped_rows`."""
        return self.remapped_rows().pending

    def remapped_rows_failure(self) -> bool | NaType:
        """Whether a remapping has failed and the board should be replaced, see :meth:`remapped_rows`."""
        return self.remapped_rows().failure
