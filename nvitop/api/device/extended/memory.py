# SPDX-License-Identifier: Apache-2.0
"""Memory that is protected by confidential computing."""

from __future__ import annotations

from nvitop.api.device.base import MAX_ULONGLONG, DeviceBase
from nvitop.api.device.memory import MemoryInfo
from nvitop.api.utils import NA, NaType


class ExtendedMemoryMixin(DeviceBase):
    """Memory in bytes."""

    def protected_memory_info(self) -> MemoryInfo:
        """Total, free and used protected memory in bytes; ``reserved`` is always ``NA``.

        The sizes are 0 without confidential computing, and ``NA`` before R535.

        NVML: ``nvmlDeviceGetConfComputeProtectedMemoryUsage`` · nvidia-smi: ``protected_memory.*``
        """
        info = self._query('nvmlDeviceGetConfComputeProtectedMemoryUsage')
        if info is NA:
            return MemoryInfo()
        sizes = (info.total, info.free, info.used)
        return MemoryInfo(*(self._in_range(size, MAX_ULONGLONG) for size in sizes))

    def protected_memory_total(self) -> int | NaType:
        """Total protected memory in bytes, see :meth:`protected_memory_info`.

        nvidia-smi: ``protected_memory.total``
        """
        return self.protected_memory_info().total

    def protected_memory_used(self) -> int | NaType:
        """Allocated protected memory in bytes, see :meth:`protected_memory_info`.

        nvidia-smi: ``protected_memory.used``
        """
        return self.protected_memory_info().used

    def protected_memory_free(self) -> int | NaType:
        """Free protected memory in bytes, see :meth:`protected_memory_info`.

        nvidia-smi: ``protected_memory.free``
        """
        return self.protected_memory_info().free
