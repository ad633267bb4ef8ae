# SPDX-License-Identifier: Apache-2.0
"""The processes on a device: who they are, their memory, and their share of the engines."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from nvitop.api import libnvml
from nvitop.api.device.memory import MemoryMixin
from nvitop.api.utils import NA, UINT_MAX, NaType

if TYPE_CHECKING:
    from nvitop.api.device.device import Device
    from nvitop.api.process import GpuProcess

_LISTS = (
    ('C', 'nvmlDeviceGetComputeRunningProcesses'),
    ('G', 'nvmlDeviceGetGraphicsRunningProcesses'),
    ('M', 'nvmlDeviceGetMPSComputeRunningProcesses'),
)
#: Drivers take a sample of each process every 1/6 to 1 s, so a shorter window may hold none.
_WINDOW_US = 1_000_000


class _Load(NamedTuple):
    """Shares of the engines in percent."""

    sm: int | NaType = NA
    memory: int | NaType = NA
    encoder: int | NaType = NA
    decoder: int | NaType = NA


_IDLE = _Load(0, 0, 0, 0)


class _Row:
    """What the lists say of one process."""

    def __init__(self, info: Any) -> None:
        self.types = ''
        #: Memory by instance of the GPU: a process may use several.
        self.memory: dict[tuple[int, int], int | None] = {}
        self.gpu_instance_id = _known_id(info.gpuInstanceId)
        self.compute_instance_id = _known_id(info.computeInstanceId)

    def add(self, type_: str, info: Any) -> None:
        """Take in a line of a list. Lists give the memory of a whole process, each of them."""
        self.types += type_
        instance = info.gpuInstanceId, info.computeInstanceId
        known = [v for v in (self.memory.get(instance), info.usedGpuMemory) if v is not None]
        self.memory[instance] = max(known, default=None)

    @property
    def gpu_memory(self) -> int | NaType:
        """Memory in bytes."""
        known = [memory for memory in self.memory.values() if memory is not None]
        return sum(known) if known else NA


def _known_id(number: int) -> int | NaType:
    return NA if number == UINT_MAX else number


class _GpuProcessOnUse:
    """The class GpuProcess, imported when it is first used: it needs psutil."""

    def __get__(self, instance: object, owner: type) -> type[GpuProcess]:
        from nvitop.api.process import GpuProcess

        return GpuProcess


class ProcessMixin(MemoryMixin):
    """The processes on a device."""

    #: The class of the values of :meth:`processes`.
    GPU_PROCESS_CLASS: ClassVar[type[GpuProcess]] = cast(Any, _GpuProcessOnUse())

    def processes(self) -> dict[int, GpuProcess]:
        """The processes on the device by PID: with compute, graphics or MPS contexts.

        Shares of the engines are means of all samples since the last call, at least of the last
        second. A process without a sample was idle (0 %), or nobody knows (``NA``): on MIG devices,
        on GPUs in MIG mode, and where its memory is unknown too (Windows). In a container PIDs are
        those of the host. Lines of the driver that cannot be true are left out.

        NVML: ``nvmlDeviceGetComputeRunningProcesses`` ``nvmlDeviceGetGraphicsRunningProcesses``
        ``nvmlDeviceGetMPSComputeRunningProcesses`` ``nvmlDeviceGetProcessUtilization``
        · nvidia-smi: ``--query-compute-apps``, ``pmon``
        """
        rows: dict[int, _Row] = {}
        for type_, function in _LISTS:
            infos = self._query(function)
            for info in infos if infos is not NA else ():
                row = rows.setdefault(info.pid, _Row(info))
                row.add(type_, info)
        if not rows:
            return {}
        loads = self._process_loads()
        processes = {}
        for pid, row in rows.items():
            process = self.GPU_PROCESS_CLASS(
                pid,
                cast('Device', self),
                gpu_memory=row.gpu_memory,
                gpu_instance_id=row.gpu_instance_id,
                compute_instance_id=row.compute_instance_id,
                type=row.types,
            )
            unsampled = _IDLE if loads is not None and row.gpu_memory is not NA else _Load()
            process.set_gpu_utilization(*(loads or {}).get(pid, unsampled))
            processes[pid] = process
        return processes

    def _process_loads(self) -> dict[int, _Load] | None:
        """Mean load by PID of the processes that were not idle; ``None`` where nobody knows."""
        now = time.time_ns() // 1000
        board = self._board or self._find_board()
        since = min(now - _WINDOW_US, board.last_sample or now)
        samples, error = self._ask('nvmlDeviceGetProcessUtilization', (since,), {})
        if error is not None:
            # MIG devices, of which nothing is known, answer the same as GPUs without a sample.
            is_idle = isinstance(error, libnvml.NVMLError_NotFound) and not self.is_mig_device()
            return {} if is_idle else None
        by_pid: dict[int, list[Any]] = {}
        for sample in samples:
            if sample.timeStamp > since and max(sample.smUtil, sample.memUtil) <= 100:
                by_pid.setdefault(sample.pid, []).append(sample)
                board.last_sample = max(board.last_sample or 0, sample.timeStamp)
        return {pid: _mean_load(samples) for pid, samples in by_pid.items()}


def _mean_load(samples: list[Any]) -> _Load:
    loads = [(s.smUtil, s.memUtil, s.encUtil, s.decUtil) for s in samples]
    if len(loads) == 1:
        return _Load(*loads[0])
    return _Load(*(round(sum(column) / len(loads)) for column in zip(*loads)))
