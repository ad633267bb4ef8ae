# SPDX-License-Identifier: Apache-2.0
"""Memory errors and repairs, links that are down, and what a GPU needs to recover."""

from __future__ import annotations

from nvitop.api import libnvml
from nvitop.api.device.base import MAX_ULONGLONG, Reading, once_in_oneshot
from nvitop.api.device.interconnect import InterconnectMixin
from nvitop.api.libnvml._errors import is_unsupported
from nvitop.api.utils import NA, NaType
from nvitop.namedtuple import NamedTuple

_CORRECTED, _UNCORRECTED = 0, 1
_VOLATILE, _AGGREGATE = 0, 1
_SINGLE_BIT, _DOUBLE_BIT = 0, 1
# Pairs of the number of NVML_FI_DEV_… and a scope; older bindings lack the names.
_REMAPPED_PENDING, _REMAPPED_FAILURE, _RECOVERY_ACTION = (144, 0), (145, 0), (230, 0)
_FIELD_NVLINK_STATE, _FIELD_RESET_STATUS, _FIELD_DRAIN_AND_RESET_STATUS = 165, 226, 227
_NVLINK_INACTIVE = 0
_RECOVERY_ACTIONS = {
    0: 'None',
    1: 'GPU Reset',
    2: 'Node Reboot',
    3: 'Drain P2P',
    4: 'Drain and Reset',
    5: 'Recover IMEX Domain',
    6: 'Bus Reset',
    7: 'System Reboot',
}


class RemappedRows(NamedTuple):
    """Memory rows that were replaced by spare rows, each ``NA`` if unknown."""

    #: Number of rows remapped for correctable and for uncorrectable errors.
    correctable: int | NaType = NA
    uncorrectable: int | NaType = NA
    #: Whether a remapping takes effect at the next GPU reset.
    pending: bool | NaType = NA
    #: Whether a remapping has failed: the board should be replaced.
    failure: bool | NaType = NA


class RemappingHistogram(NamedTuple):
    """Number of memory banks by the spare rows they have left, each ``NA`` if unknown."""

    #: All spare rows are left.
    max: int | NaType = NA
    high: int | NaType = NA
    partial: int | NaType = NA
    low: int | NaType = NA
    #: No spare row is left: the next error cannot be repaired.
    none: int | NaType = NA


class RetiredPage(NamedTuple):
    """A memory page that is no longer used."""

    #: Physical address.
    address: int
    #: ``'Single Bit ECC'`` or ``'Double Bit ECC'``.
    cause: str


class HealthMixin(InterconnectMixin):
    """Faults of a GPU.

    ECC errors are ``NA`` without ECC memory (most GeForce boards) and while ECC is disabled.
    """

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
        """Whether a remapping takes effect at the next GPU reset; ``NA`` before Ampere.

        NVML: ``NVML_FI_DEV_REMAPPED_PENDING`` · nvidia-smi: ``remapped_rows.pending``
        """
        return self._flag(_REMAPPED_PENDING)

    def remapped_rows_failure(self) -> bool | NaType:
        """Whether a remapping has failed, so that the board should be replaced; ``NA`` before Ampere.

        NVML: ``NVML_FI_DEV_REMAPPED_FAILURE`` · nvidia-smi: ``remapped_rows.failure``
        """
        return self._flag(_REMAPPED_FAILURE)

    def recovery_action(self) -> str:
        """Action that makes the GPU usable again, such as ``'GPU Reset'``; ``'None'`` if it is usable.

        NVML: ``NVML_FI_DEV_GET_GPU_RECOVERY_ACTION`` · nvidia-smi: ``gpu_recovery_action``
        """
        action = self._health_field(_RECOVERY_ACTION)
        return _RECOVERY_ACTIONS.get(action, NA) if isinstance(action, int) else NA

    def nvlink_down_count(self) -> int | NaType:
        """Number of NVLinks that are down, or connected to nothing; ``NA`` without NVLink.

        NVML: ``NVML_FI_DEV_NVLINK_GET_STATE`` · nvidia-smi: ``nvlink --status``
        """
        links = self._nvlink_states()
        if not links:
            if self._missing.reason is None:
                self._missing.reason = libnvml.NVMLError(libnvml.NVML_ERROR_NOT_SUPPORTED)
            return NA
        fields = self._health_fields()
        self._missing.reason = fields[links[-1]].reason
        known = [
            state
            for state in map(self._in_range, [fields[link].value for link in links])
            if state is not NA
        ]
        return known.count(_NVLINK_INACTIVE) if known else NA

    def _nvlink_states(self) -> list[tuple[int, int]]:
        states = self._remembered('NVLink states', self._find_nvlink_states)
        return [] if isinstance(states, NaType) else states

    def _find_nvlink_states(self) -> list[tuple[int, int]] | NaType:
        self._missing.reason = None
        count = self.nvlink_link_count()
        if isinstance(count, int):
            return [(_FIELD_NVLINK_STATE, link) for link in range(count)]
        return [] if is_unsupported(self._missing.reason, or_invalid=True) else NA

    @once_in_oneshot
    def _health_fields(self) -> dict[tuple[int, int], Reading]:
        """Query all fields about health in one call."""
        fields = [_RECOVERY_ACTION, _REMAPPED_PENDING, _REMAPPED_FAILURE, *self._nvlink_states()]
        return dict(zip(fields, self._field_readings(fields)))

    def _health_field(self, field: tuple[int, int]) -> int | NaType:
        value, self._missing.reason = self._health_fields()[field]
        return self._in_range(value)

    def _flag(self, field: tuple[int, int]) -> bool | NaType:
        value = self._health_field(field)
        return bool(value) if isinstance(value, int) else NA

    def retired_page_list(self) -> list[RetiredPage]:
        """Retired memory pages; an empty list if there are none, and since Ampere.

        NVML: ``nvmlDeviceGetRetiredPages`` · nvidia-smi: ``--query-retired-pages``
        """
        pages: list[RetiredPage] = []
        for cause, name in ((_SINGLE_BIT, 'Single Bit ECC'), (_DOUBLE_BIT, 'Double Bit ECC')):
            addresses = self._query('nvmlDeviceGetRetiredPages', cause)
            if addresses is not NA:
                pages += [RetiredPage(int(address), name) for address in addresses]
        return pages

    def retired_pages_pending(self) -> bool | NaType:
        """Whether pages will be retired at the next restart; ``NA`` since Ampere.

        NVML: ``nvmlDeviceGetRetiredPagesPendingStatus`` · nvidia-smi: ``retired_pages.pending``
        """
        answer = self._query('nvmlDeviceGetRetiredPagesPendingStatus')
        return bool(answer) if answer is not NA else NA

    def remapping_histogram(self) -> RemappingHistogram:
        """Number of memory banks by spare rows left, each ``NA`` if unknown, and before Ampere.

        NVML: ``nvmlDeviceGetRowRemapperHistogram``
        · nvidia-smi: ``--query-remapped-rows=remapped_rows.histogram.*``
        """
        answer = self._query('nvmlDeviceGetRowRemapperHistogram')
        if answer is NA:
            return RemappingHistogram()
        return RemappingHistogram(
            *(int(getattr(answer, name)) for name in RemappingHistogram._fields)
        )

    def remapping_banks_max(self) -> int | NaType:
        """Number of memory banks with all spare rows left; see :meth:`remapping_histogram`."""
        return self.remapping_histogram().max

    def remapping_banks_high(self) -> int | NaType:
        """Number of memory banks with many spare rows left; see :meth:`remapping_histogram`."""
        return self.remapping_histogram().high

    def remapping_banks_partial(self) -> int | NaType:
        """Number of memory banks with some spare rows left; see :meth:`remapping_histogram`."""
        return self.remapping_histogram().partial

    def remapping_banks_low(self) -> int | NaType:
        """Number of memory banks with few spare rows left; see :meth:`remapping_histogram`."""
        return self.remapping_histogram().low

    def remapping_banks_none(self) -> int | NaType:
        """Number of memory banks with no spare rows left; see :meth:`remapping_histogram`."""
        return self.remapping_histogram().none

    def _field_flag(self, field: int) -> bool | NaType:
        value = self._field(field)
        return bool(value) if isinstance(value, int) else NA

    def is_reset_required(self) -> bool | NaType:
        """Whether the GPU must be reset before further use; newer drivers may not report it.

        NVML: ``NVML_FI_DEV_RESET_STATUS`` · nvidia-smi: ``reset_status.reset_required``
        """
        return self._field_flag(_FIELD_RESET_STATUS)

    def is_drain_and_reset_recommended(self) -> bool | NaType:
        """Whether the GPU should be reset once its work is done; newer drivers may not report it.

        NVML: ``NVML_FI_DEV_DRAIN_AND_RESET_STATUS``
        · nvidia-smi: ``reset_status.drain_and_reset_recommended``
        """
        return self._field_flag(_FIELD_DRAIN_AND_RESET_STATUS)
