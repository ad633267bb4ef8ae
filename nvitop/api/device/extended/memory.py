# SPDX-License-Identifier: Apache-2.0
"""Memory that confidential computing protects."""

from __future__ import annotations

from nvitop.api.device.extended.facts import ExtendedValues
from nvitop.api.device.memory import MemoryInfo
from nvitop.api.utils import NA, ULONGLONG_MAX, NaType


class MemoryFacts(ExtendedValues):
    """Sizes in bytes."""

    def _size(self, size: int) -> int | NaType:
        return self._in_range(size, most=ULONGLONG_MAX - 1)

    def protected_memory_info(self) -> MemoryInfo:
        """Total, free and used memory in bytes that confidential computing protects; never reserved.

        0 where nothing is protected; ``NA`` before R535.

        NVML: ``nvmlDeviceGetConfComputeProtectedMemoryUsage`` · nvidia-smi: ``protected_memory.*``
        """
        info = self._query('nvmlDeviceGetConfComputeProtectedMemoryUsage')
        if info is NA:
            return MemoryInfo()
        return MemoryInfo(*(self._size(size) for size in (info.total, info.free, info.used)))

    def protected_memory_total(self) -> int | NaType:
        """Protected memory in bytes, see :meth:`protected_memory_info`.

        nvidia-smi: ``protected_memory.total``
        """
        return self.protected_memory_info().total

    def protected_memory_used(self) -> int | NaType:
        """Protected memory in bytes that is allocated, see :meth:`protected_memory_info`.

        nvidia-smi: ``protected_memory.used``
        """
        return self.protected_memory_info().used

    def protected_memory_free(self) -> int | NaType:
        """Protected memory in bytes that is not allocated, see :meth:`protected_memory_info`.

        nvidia-smi: ``protected_memory.free``
        """
        return self.protected_memory_info().free
