# SPDX-License-Identifier: Apache-2.0
"""Memory repairs in detail, and whether a GPU needs a reset."""

from __future__ import annotations

from nvitop.api.device.base import DeviceBase
from nvitop.api.utils import NA, NaType
from nvitop.namedtuple import NamedTuple

_SINGLE_BIT, _DOUBLE_BIT = 0, 1
# Numbers of NVML_FI_DEV_…; older bindings lack the names.
_FIELD_RESET_STATUS, _FIELD_DRAIN_AND_RESET_STATUS = 226, 227


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


class ExtendedHealthMixin(DeviceBase):
    """Memory repairs; ``NA`` if the GPU repairs its memory in another way."""

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
