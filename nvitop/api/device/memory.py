# SPDX-License-Identifier: Apache-2.0
"""Memory of a device, its protected part, and the window through which the CPU accesses it (BAR1)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from nvitop.api import libnvml
from nvitop.api.device.base import (
    MAX_ULONGLONG,
    DeviceBase,
    ImpossibleAnswer,
    a_text,
    an_int,
    documented,
    once_in_oneshot,
)
from nvitop.basics.units import NA, NaType, bytes2human

#: Names of products whose GPU is part of the processor and uses its memory, and their CUDA compute
#: capabilities: Tegra X1 and X2, Xavier, Orin, Thor (before and since CUDA 13) and GB10.
_INTEGRATED_NAMES = r'(?i)\b(GB10|Thor|Orin|Xavier|Tegra|Jetson)\b'
_INTEGRATED = {(5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0), (12, 1)}


class MemoryInfo(NamedTuple):
    """Memory sizes in bytes, each ``NA`` if unknown."""

    total: int | NaType = NA
    free: int | NaType = NA
    used: int | NaType = NA
    #: Memory of driver and firmware, part of neither ``used`` nor ``free``.
    reserved: int | NaType = NA


def _spaced(size: int) -> str:
    return re.sub(r'(?<=\d)(?=[A-Z])', ' ', bytes2human(size))


def _percent(part: int | NaType, total: int | NaType) -> float | NaType:
    if isinstance(part, int) and isinstance(total, int) and total > 0:
        return round(100.0 * part / total, 1)
    return NA


@documented
class MemoryMixin(DeviceBase):
    """Memory in bytes."""

    def _sizes(self, total: Any, *parts: Any) -> MemoryInfo:
        """Return the sizes that are plausible: a part must not exceed the total."""
        total = self._in_range(total, MAX_ULONGLONG)
        maximum = total if isinstance(total, int) else MAX_ULONGLONG
        return MemoryInfo(total, *(self._part(part, maximum) for part in parts))

    def _part(self, part: Any, maximum: int) -> int | NaType:
        if isinstance(part, int) and maximum < part <= MAX_ULONGLONG:
            reported, total = _spaced(part), _spaced(maximum)
            if reported == total:
                reported, total = f'{part} B', f'{maximum} B'
            self._missing.reason = ImpossibleAnswer(f'{reported} of {total} is implausible')
            return NA
        return self._in_range(part, maximum)

    @once_in_oneshot
    def memory_info(self) -> MemoryInfo:
        """Total, free, used and reserved memory in bytes, each ``NA`` if unknown.

        ``reserved`` (memory of driver and firmware) is ``NA`` before R510. A GPU without memory of
        its own has the values of the host, see :meth:`is_unified_memory`: ``free`` is what programs
        can still allocate, ``used`` the rest.

        NVML: ``nvmlDeviceGetMemoryInfo_v2``, before R510 ``nvmlDeviceGetMemoryInfo``
        · nvidia-smi: ``memory.total`` ``memory.free`` ``memory.used`` ``memory.reserved``
        """
        info, error = self._answer('nvmlDeviceGetMemoryInfo')
        if self._has_no_memory(info, error) and self.is_unified_memory():
            from nvitop.api.system import system  # few devices need the host

            memory = system().memory_usage()
            return MemoryInfo(memory.total, memory.total - memory.used, memory.used)
        if error is not None:
            self._missing.reason = error  # not that of the name
            return MemoryInfo()
        if not info.total:
            self._missing.reason = ImpossibleAnswer('a total of 0 is implausible')
            return MemoryInfo()
        return self._sizes(info.total, info.free, info.used, getattr(info, 'reserved', NA))

    def is_unified_memory(self) -> bool:
        """Whether the device uses the memory of the host: GB10, and Jetson such as Orin and Thor.

        This is known by its name or CUDA compute capability. The driver reports ``Not Supported`` or
        a total of 0 for its memory. Other devices without a value have ``NA``.

        NVML: ``nvmlDeviceGetMemoryInfo`` ``nvmlDeviceGetName``
        ``nvmlDeviceGetCudaComputeCapability``
        """
        return self._remembered('unified memory', self._find_unified_memory) is True

    def _find_unified_memory(self) -> bool | NaType:
        if self.is_mig_device():
            return False
        info, error = self._answer('nvmlDeviceGetMemoryInfo')
        if not self._has_no_memory(info, error):
            return False if error is None else NA
        name = self._query('nvmlDeviceGetName', static=True)
        capability = self._query('nvmlDeviceGetCudaComputeCapability', static=True)
        is_integrated = capability is not NA and tuple(capability) in _INTEGRATED
        return is_integrated or re.search(_INTEGRATED_NAMES, str(name)) is not None

    def _has_no_memory(self, info: Any, error: object) -> bool:
        return isinstance(error, libnvml.NVMLError_NotSupported) if error else not info.total

    def memory_total(self) -> int | NaType:
        """Installed memory in bytes. Queried once."""
        return self._remembered('memory total', lambda: self.memory_info().total)

    def memory_used(self) -> int | NaType:
        """Allocated memory in bytes."""
        return self.memory_info().used

    memory_free = an_int('_field_of', 'memory_info', 'free')
    memory_reserved = an_int('_field_of', 'memory_info', 'reserved')
    memory_total_human = a_text('_human', 'memory_total', bytes2human)
    memory_used_human = a_text('_human', 'memory_used', bytes2human)
    memory_free_human = a_text('_human', 'memory_free', bytes2human)
    memory_reserved_human = a_text('_human', 'memory_reserved', bytes2human)

    def memory_percent(self) -> float | NaType:
        """Allocated memory in percent of the total, to one decimal place; see :meth:`memory_info`."""
        info = self.memory_info()
        return _percent(info.used, info.total)

    def memory_usage(self) -> str:
        """Allocated and installed memory as text: ``'1234MiB / 80.00GiB'``; see :meth:`memory_info`."""
        info = self.memory_info()
        return f'{bytes2human(info.used)} / {bytes2human(info.total)}'

    @once_in_oneshot
    def bar1_memory_info(self) -> MemoryInfo:
        """Total, free and used BAR1 memory in bytes, each ``NA`` if unknown; ``reserved`` always is.

        BAR1 is the window through which the CPU and other devices access the memory of the GPU.

        NVML: ``nvmlDeviceGetBAR1MemoryInfo`` · nvidia-smi -q: BAR1 Memory Usage
        """
        info = self._query('nvmlDeviceGetBAR1MemoryInfo')
        if info is NA or not info.bar1Total:
            return MemoryInfo()
        return self._sizes(info.bar1Total, info.bar1Free, info.bar1Used)

    bar1_memory_total = an_int('_field_of', 'bar1_memory_info', 'total')
    bar1_memory_used = an_int('_field_of', 'bar1_memory_info', 'used')
    bar1_memory_free = an_int('_field_of', 'bar1_memory_info', 'free')
    bar1_memory_total_human = a_text('_human', 'bar1_memory_total', bytes2human)
    bar1_memory_used_human = a_text('_human', 'bar1_memory_used', bytes2human)
    bar1_memory_free_human = a_text('_human', 'bar1_memory_free', bytes2human)

    def bar1_memory_percent(self) -> float | NaType:
        """Mapped part of the BAR1 window in percent; see :meth:`bar1_memory_info`."""
        info = self.bar1_memory_info()
        return _percent(info.used, info.total)

    def bar1_memory_usage(self) -> str:
        """Mapped part and size of the BAR1 window as text; see :meth:`bar1_memory_info`.

        An example is ``'3072KiB / 128.0MiB'``.
        """
        info = self.bar1_memory_info()
        return f'{bytes2human(info.used)} / {bytes2human(info.total)}'

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

    protected_memory_total = an_int('_field_of', 'protected_memory_info', 'total')
    protected_memory_used = an_int('_field_of', 'protected_memory_info', 'used')
    protected_memory_free = an_int('_field_of', 'protected_memory_info', 'free')
