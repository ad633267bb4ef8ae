# SPDX-License-Identifier: Apache-2.0
"""Memory errors and repairs, links that are down, and what a GPU needs to recover."""

from __future__ import annotations

from typing import NamedTuple

from nvitop.api import libnvml
from nvitop.api.device.base import MAX_ULONGLONG, a_flag, a_text, an_int, documented
from nvitop.api.device.interconnect import InterconnectMixin
from nvitop.api.libnvml._errors import is_unsupported
from nvitop.api.libnvml._overrides import read_sram_ecc_status
from nvitop.basics.units import NA, NaType

_CORRECTED, _UNCORRECTED = 0, 1
_VOLATILE, _AGGREGATE = 0, 1
_SINGLE_BIT, _DOUBLE_BIT = 0, 1
# Pairs of the number of NVML_FI_DEV_… and a scope; older bindings lack the names.
_REMAPPED_PENDING, _REMAPPED_FAILURE, _RECOVERY_ACTION = (144, 0), (145, 0), (230, 0)
_FIELD_NVLINK_STATE, _FIELD_RESET_STATUS, _FIELD_DRAIN_AND_RESET_STATUS = 165, 226, 227
_FIELD_INACTIVE_CORRECTABLE, _FIELD_INACTIVE_UNCORRECTABLE = 301, 302
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
_ERRORS = {'corrected': _CORRECTED, 'uncorrected': _UNCORRECTED}
_COUNTERS = {'volatile': _VOLATILE, 'aggregate': _AGGREGATE}
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


def _flag(value: int | NaType) -> bool | NaType:
    return bool(value) if isinstance(value, int) else NA


@documented
class HealthMixin(InterconnectMixin):
    """Faults of a GPU.

    ECC errors are ``NA`` without ECC memory (most GeForce boards) and while ECC is disabled.

    Each memory location has four getters, such as ``dram_volatile_corrected_ecc_errors()``:
    corrected and uncorrected errors, since the driver was loaded (volatile) and over the life of the
    board (aggregate). The locations are ``device_memory dram register_file l1_cache l2_cache
    texture_memory cbu sram``.
    """

    def _total_ecc_errors(self, error: int, counter: int) -> int | NaType:
        return self._number('nvmlDeviceGetTotalEccErrors', error, counter, maximum=MAX_ULONGLONG)

    total_volatile_uncorrected_ecc_errors = an_int('_total_ecc_errors', _UNCORRECTED, _VOLATILE)
    total_volatile_corrected_ecc_errors = an_int('_total_ecc_errors', _CORRECTED, _VOLATILE)
    total_aggregate_uncorrected_ecc_errors = an_int('_total_ecc_errors', _UNCORRECTED, _AGGREGATE)
    total_aggregate_corrected_ecc_errors = an_int('_total_ecc_errors', _CORRECTED, _AGGREGATE)

    def _ecc_errors(self, location: str, counter: str, error: str) -> int | NaType:
        arguments = _ERRORS[error], _COUNTERS[counter], ECC_LOCATIONS[location]
        return self._number('nvmlDeviceGetMemoryErrorCounter', *arguments, maximum=MAX_ULONGLONG)

    # fmt: off
    device_memory_volatile_corrected_ecc_errors = an_int('_ecc_errors', 'device_memory', 'volatile', 'corrected')
    device_memory_volatile_uncorrected_ecc_errors = an_int('_ecc_errors', 'device_memory', 'volatile', 'uncorrected')
    device_memory_aggregate_corrected_ecc_errors = an_int('_ecc_errors', 'device_memory', 'aggregate', 'corrected')
    device_memory_aggregate_uncorrected_ecc_errors = an_int('_ecc_errors', 'device_memory', 'aggregate', 'uncorrected')
    dram_volatile_corrected_ecc_errors = an_int('_ecc_errors', 'dram', 'volatile', 'corrected')
    dram_volatile_uncorrected_ecc_errors = an_int('_ecc_errors', 'dram', 'volatile', 'uncorrected')
    dram_aggregate_corrected_ecc_errors = an_int('_ecc_errors', 'dram', 'aggregate', 'corrected')
    dram_aggregate_uncorrected_ecc_errors = an_int('_ecc_errors', 'dram', 'aggregate', 'uncorrected')
    register_file_volatile_corrected_ecc_errors = an_int('_ecc_errors', 'register_file', 'volatile', 'corrected')
    register_file_volatile_uncorrected_ecc_errors = an_int('_ecc_errors', 'register_file', 'volatile', 'uncorrected')
    register_file_aggregate_corrected_ecc_errors = an_int('_ecc_errors', 'register_file', 'aggregate', 'corrected')
    register_file_aggregate_uncorrected_ecc_errors = an_int('_ecc_errors', 'register_file', 'aggregate', 'uncorrected')
    l1_cache_volatile_corrected_ecc_errors = an_int('_ecc_errors', 'l1_cache', 'volatile', 'corrected')
    l1_cache_volatile_uncorrected_ecc_errors = an_int('_ecc_errors', 'l1_cache', 'volatile', 'uncorrected')
    l1_cache_aggregate_corrected_ecc_errors = an_int('_ecc_errors', 'l1_cache', 'aggregate', 'corrected')
    l1_cache_aggregate_uncorrected_ecc_errors = an_int('_ecc_errors', 'l1_cache', 'aggregate', 'uncorrected')
    l2_cache_volatile_corrected_ecc_errors = an_int('_ecc_errors', 'l2_cache', 'volatile', 'corrected')
    l2_cache_volatile_uncorrected_ecc_errors = an_int('_ecc_errors', 'l2_cache', 'volatile', 'uncorrected')
    l2_cache_aggregate_corrected_ecc_errors = an_int('_ecc_errors', 'l2_cache', 'aggregate', 'corrected')
    l2_cache_aggregate_uncorrected_ecc_errors = an_int('_ecc_errors', 'l2_cache', 'aggregate', 'uncorrected')
    texture_memory_volatile_corrected_ecc_errors = an_int('_ecc_errors', 'texture_memory', 'volatile', 'corrected')
    texture_memory_volatile_uncorrected_ecc_errors = an_int('_ecc_errors', 'texture_memory', 'volatile', 'uncorrected')
    texture_memory_aggregate_corrected_ecc_errors = an_int('_ecc_errors', 'texture_memory', 'aggregate', 'corrected')
    texture_memory_aggregate_uncorrected_ecc_errors = an_int('_ecc_errors', 'texture_memory', 'aggregate', 'uncorrected')
    cbu_volatile_corrected_ecc_errors = an_int('_ecc_errors', 'cbu', 'volatile', 'corrected')
    cbu_volatile_uncorrected_ecc_errors = an_int('_ecc_errors', 'cbu', 'volatile', 'uncorrected')
    cbu_aggregate_corrected_ecc_errors = an_int('_ecc_errors', 'cbu', 'aggregate', 'corrected')
    cbu_aggregate_uncorrected_ecc_errors = an_int('_ecc_errors', 'cbu', 'aggregate', 'uncorrected')
    sram_volatile_corrected_ecc_errors = an_int('_ecc_errors', 'sram', 'volatile', 'corrected')
    sram_volatile_uncorrected_ecc_errors = an_int('_ecc_errors', 'sram', 'volatile', 'uncorrected')
    sram_aggregate_corrected_ecc_errors = an_int('_ecc_errors', 'sram', 'aggregate', 'corrected')
    sram_aggregate_uncorrected_ecc_errors = an_int('_ecc_errors', 'sram', 'aggregate', 'uncorrected')
    # fmt: on

    def _retired_pages(self, cause: int) -> int | NaType:
        addresses = self._query('nvmlDeviceGetRetiredPages', cause)
        return len(addresses) if addresses is not NA else NA

    def retired_pages_single_bit_ecc(self) -> int | NaType:
        """Number of memory pages retired for multiple single-bit errors; ``NA`` since Ampere."""
        return self._retired_pages(_SINGLE_BIT)

    def retired_pages_double_bit_ecc(self) -> int | NaType:
        """Number of memory pages retired for a double-bit error; ``NA`` since Ampere."""
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

    remapped_rows_correctable = an_int('_field_of', 'remapped_rows', 'correctable')
    remapped_rows_uncorrectable = an_int('_field_of', 'remapped_rows', 'uncorrectable')

    def remapped_rows_pending(self) -> bool | NaType:
        """Whether a remapping takes effect at the next GPU reset; ``NA`` before Ampere."""
        return _flag(self._grouped_field(self._health_group(), _REMAPPED_PENDING))

    def remapped_rows_failure(self) -> bool | NaType:
        """Whether a remapping has failed, so that the board should be replaced; ``NA`` before Ampere."""
        return _flag(self._grouped_field(self._health_group(), _REMAPPED_FAILURE))

    inactive_remapped_rows_correctable = an_int('_field', _FIELD_INACTIVE_CORRECTABLE)
    inactive_remapped_rows_uncorrectable = an_int('_field', _FIELD_INACTIVE_UNCORRECTABLE)

    def recovery_action(self) -> str:
        """Action that makes the GPU usable again, such as ``'GPU Reset'``; ``'None'`` if it is usable."""
        action = self._grouped_field(self._health_group(), _RECOVERY_ACTION)
        return _RECOVERY_ACTIONS.get(action, NA) if isinstance(action, int) else NA

    def nvlink_down_count(self) -> int | NaType:
        """Number of NVLinks that are down, or connected to nothing; ``NA`` without NVLink."""
        links = self._nvlink_states()
        if not links:
            if self._missing.reason is None:
                self._missing.reason = libnvml.NVMLError(libnvml.NVML_ERROR_NOT_SUPPORTED)
            return NA
        fields = self._field_group(*self._health_group())
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

    def _health_group(self) -> tuple[tuple[int, int], ...]:
        return _RECOVERY_ACTION, _REMAPPED_PENDING, _REMAPPED_FAILURE, *self._nvlink_states()

    def retired_page_list(self) -> list[RetiredPage]:
        """Retired memory pages; an empty list if there are none, and since Ampere."""
        pages: list[RetiredPage] = []
        for cause, name in ((_SINGLE_BIT, 'Single Bit ECC'), (_DOUBLE_BIT, 'Double Bit ECC')):
            addresses = self._query('nvmlDeviceGetRetiredPages', cause)
            if addresses is not NA:
                pages += [RetiredPage(int(address), name) for address in addresses]
        return pages

    def retired_pages_pending(self) -> bool | NaType:
        """Whether pages will be retired at the next restart; ``NA`` since Ampere."""
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

    remapping_banks_max = an_int('_field_of', 'remapping_histogram', 'max')
    remapping_banks_high = an_int('_field_of', 'remapping_histogram', 'high')
    remapping_banks_partial = an_int('_field_of', 'remapping_histogram', 'partial')
    remapping_banks_low = an_int('_field_of', 'remapping_histogram', 'low')
    remapping_banks_none = an_int('_field_of', 'remapping_histogram', 'none')

    def _field_flag(self, field: int) -> bool | NaType:
        return _flag(self._field(field))

    is_reset_required = a_flag('_field_flag', _FIELD_RESET_STATUS)
    is_drain_and_reset_recommended = a_flag('_field_flag', _FIELD_DRAIN_AND_RESET_STATUS)
    ecc = a_text('_named', 'nvmlDeviceGetEccMode', item=0)
    ecc_pending = a_text('_named', 'nvmlDeviceGetEccMode', item=1)

    def _sram(self, name: str) -> int | NaType:
        return self._in_range(getattr(self._query(read_sram_ecc_status), name, NA), MAX_ULONGLONG)

    sram_volatile_parity_errors = an_int('_sram', 'volatileUncParity')
    sram_volatile_secded_errors = an_int('_sram', 'volatileUncSecDed')
    sram_aggregate_parity_errors = an_int('_sram', 'aggregateUncParity')
    sram_aggregate_secded_errors = an_int('_sram', 'aggregateUncSecDed')
    sram_l2_errors = an_int('_sram', 'aggregateUncBucketL2')
    sram_sm_errors = an_int('_sram', 'aggregateUncBucketSm')
    sram_microcontroller_errors = an_int('_sram', 'aggregateUncBucketMcu')
    sram_pcie_errors = an_int('_sram', 'aggregateUncBucketPcie')
    sram_other_errors = an_int('_sram', 'aggregateUncBucketOther')

    def is_sram_threshold_exceeded(self) -> bool | NaType:
        """Whether the SRAM has had enough errors that the board should be replaced; ``NA`` before R535."""
        exceeded = self._sram('bThresholdExceeded')
        return bool(exceeded) if isinstance(exceeded, int) else NA
