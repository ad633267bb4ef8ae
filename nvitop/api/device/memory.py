# SPDX-License-Identifier: Apache-2.0
"""The memory of a device and the window through which the CPU sees it (BAR1)."""

from __future__ import annotations

from typing import Any

from nvitop.api import libnvml
from nvitop.api.device.base import DeviceBase, human, once_in_oneshot
from nvitop.api.reading import ImpossibleAnswer
from nvitop.api.utils import NA, ULONGLONG_MAX, NaType, bytes2human
from nvitop.namedtuple import NamedTuple


class MemoryInfo(NamedTuple):
    """Sizes of a memory in bytes, each ``NA`` where unknown."""

    total: int | NaType = NA
    free: int | NaType = NA
    used: int | NaType = NA
    #: Kept by driver and firmware, part of neither ``used`` nor ``free``.
    reserved: int | NaType = NA


def _percent(part: int | NaType, total: int | NaType) -> float | NaType:
    if isinstance(part, int) and isinstance(total, int) and total > 0:
        return round(100.0 * part / total, 1)
    return NA


class MemoryMixin(DeviceBase):
    """Memory, in bytes."""

    def _sizes(self, total: Any, *parts: Any) -> MemoryInfo:
        """Sizes of which each can be true: below the greatest number, and no part above the total."""
        if NA not in parts and max(parts) <= total < ULONGLONG_MAX:
            return MemoryInfo(total, *parts)
        total = self._in_range(total, ULONGLONG_MAX - 1)
        most = total if isinstance(total, int) else ULONGLONG_MAX - 1
        return MemoryInfo(total, *(self._part(part, most) for part in parts))

    def _part(self, part: Any, most: int) -> int | NaType:
        if isinstance(part, int) and most < part < ULONGLONG_MAX:
            said, there_is = bytes2human(part), bytes2human(most)
            if said == there_is:
                said, there_is = f'{part}B', f'{most}B'
            self._failure.error = ImpossibleAnswer(f'{said} of {there_is} cannot be true')
            return NA
        return self._in_range(part, most)

    @once_in_oneshot
    def memory_info(self) -> MemoryInfo:
        """Total, free, used and reserved memory in bytes, each ``NA`` where unknown.

        ``reserved`` (memory of driver and firmware) is ``NA`` before R510. A GPU that shares the
        memory of the host (GB10, Thor) shows the host's, see :meth:`is_unified_memory`: then
        ``free`` is what processes can still get, ``used`` the rest.

        NVML: ``nvmlDeviceGetMemoryInfo_v2``, before R510 ``nvmlDeviceGetMemoryInfo``
        · nvidia-smi: ``memory.total`` ``memory.free`` ``memory.used`` ``memory.reserved``
        """
        info, error = self._ask_once('nvmlDeviceGetMemoryInfo')
        if self._is_unified(info, error):
            from nvitop.api import host  # psutil: a third of what importing nvitop would cost

            memory = host.virtual_memory()
            return MemoryInfo(memory.total, memory.available, memory.total - memory.available)
        if error is not None:
            return MemoryInfo()
        return self._sizes(info.total, info.free, info.used, getattr(info, 'reserved', NA))

    def is_unified_memory(self) -> bool:
        """Whether the memory of the device is the memory of the host (GB10, Thor).

        Such a device answers ``Not Supported``, or a total of 0, when asked for its memory.
        """
        return self._known('unified memory', self._find_unified_memory) is True

    def _find_unified_memory(self) -> bool | NaType:
        info, error = self._ask_once('nvmlDeviceGetMemoryInfo')
        is_answer = error is None or isinstance(error, libnvml.NVMLError_NotSupported)
        return self._is_unified(info, error) if is_answer else NA

    def _is_unified(self, info: Any, error: libnvml.NVMLError | None) -> bool:
        if error is None:
            return not info.total
        return isinstance(error, libnvml.NVMLError_NotSupported) and not self.is_mig_device()

    def memory_total(self) -> int | NaType:
        """Installed memory in bytes, asked once.

        NVML: ``nvmlDeviceGetMemoryInfo`` · nvidia-smi: ``memory.total``
        """
        return self._known('memory total', lambda: self.memory_info().total)

    def memory_used(self) -> int | NaType:
        """Memory in bytes that contexts have allocated.

        NVML: ``nvmlDeviceGetMemoryInfo`` · nvidia-smi: ``memory.used``
        """
        return self.memory_info().used

    def memory_free(self) -> int | NaType:
        """Memory in bytes that is not allocated.

        NVML: ``nvmlDeviceGetMemoryInfo`` · nvidia-smi: ``memory.free``
        """
        return self.memory_info().free

    def memory_reserved(self) -> int | NaType:
        """Memory in bytes kept by driver and firmware; ``NA`` before R510 and on unified memory.

        NVML: ``nvmlDeviceGetMemoryInfo_v2`` · nvidia-smi: ``memory.reserved``
        """
        return self.memory_info().reserved

    memory_total_human = human(memory_total, bytes2human)
    memory_used_human = human(memory_used, bytes2human)
    memory_free_human = human(memory_free, bytes2human)
    memory_reserved_human = human(memory_reserved, bytes2human)

    def memory_percent(self) -> float | NaType:
        """Used memory in percent of the total, to one decimal."""
        info = self.memory_info()
        return _percent(info.used, info.total)

    def memory_usage(self) -> str:
        """Used and total memory as text: ``'1234MiB / 80.00GiB'``."""
        info = self.memory_info()
        return f'{bytes2human(info.used)} / {bytes2human(info.total)}'

    @once_in_oneshot
    def bar1_memory_info(self) -> MemoryInfo:
        """Total, free and used BAR1 memory in bytes, each ``NA`` where unknown; never reserved.

        BAR1 is the window through which the CPU and other devices reach the memory of the GPU.

        NVML: ``nvmlDeviceGetBAR1MemoryInfo`` · nvidia-smi -q: BAR1 Memory Usage
        """
        info = self._query('nvmlDeviceGetBAR1MemoryInfo')
        if info is NA or not info.bar1Total:
            return MemoryInfo()
        return self._sizes(info.bar1Total, info.bar1Free, info.bar1Used)

    def bar1_memory_total(self) -> int | NaType:
        """Size of the BAR1 window in bytes. NVML: ``nvmlDeviceGetBAR1MemoryInfo``."""
        return self.bar1_memory_info().total

    def bar1_memory_used(self) -> int | NaType:
        """Mapped part of the BAR1 window in bytes. NVML: ``nvmlDeviceGetBAR1MemoryInfo``."""
        return self.bar1_memory_info().used

    def bar1_memory_free(self) -> int | NaType:
        """Unmapped part of the BAR1 window in bytes. NVML: ``nvmlDeviceGetBAR1MemoryInfo``."""
        return self.bar1_memory_info().free

    bar1_memory_total_human = human(bar1_memory_total, bytes2human)
    bar1_memory_used_human = human(bar1_memory_used, bytes2human)
    bar1_memory_free_human = human(bar1_memory_free, bytes2human)

    def bar1_memory_percent(self) -> float | NaType:
        """Mapped part of the BAR1 window in percent, to one decimal."""
        info = self.bar1_memory_info()
        return _percent(info.used, info.total)

    def bar1_memory_usage(self) -> str:
        """Mapped part and size of the BAR1 window as text: ``'3MiB / 128.0MiB'``."""
        info = self.bar1_memory_info()
        return f'{bytes2human(info.used)} / {bytes2human(info.total)}'
