# SPDX-License-Identifier: Apache-2.0
"""The processes on a device: who they are, their memory, and their share of the engines."""

from __future__ import annotations

import struct
import time
from typing import Any, ClassVar

from nvitop.api import libnvml
from nvitop.api.device.memory import MemoryMixin
from nvitop.api.libnvml._session import SESSION
from nvitop.api.process import GpuProcess, procfs
from nvitop.api.utils import NA, UINT_MAX, NaType
from nvitop.namedtuple import NamedTuple

_LISTS = (
    ('C', 'nvmlDeviceGetComputeRunningProcesses'),
    ('G', 'nvmlDeviceGetGraphicsRunningProcesses'),
    ('M', 'nvmlDeviceGetMPSComputeRunningProcesses'),
)
#: Drivers take a sample of each process every 1/6 to 1 s, so a shorter window may hold none.
_WINDOW_US = 1_000_000
#: ``nvmlProcessUtilizationSample_t``: taken apart at once, for each attribute of the binding's
#: structures is looked up in Python.
_SAMPLE = struct.Struct('@IQIIII')


class _Load(NamedTuple):
    """Shares of the engines in percent, ``NA`` where nobody knows."""

    sm: int | NaType = NA
    memory: int | NaType = NA
    encoder: int | NaType = NA
    decoder: int | NaType = NA


class ProcessUsage(NamedTuple):
    """What a process uses of a device; ``NA`` where nobody knows."""

    pid: int
    #: ``'C'``, ``'G'``, ``'C+G'`` or ``'M'``, see :attr:`GpuProcess.type`.
    type: str
    gpu_memory: int | NaType  # bytes
    gpu_instance_id: int | NaType
    compute_instance_id: int | NaType
    gpu_sm_utilization: int | NaType  # percent
    gpu_memory_utilization: int | NaType  # percent
    gpu_encoder_utilization: int | NaType  # percent
    gpu_decoder_utilization: int | NaType  # percent


_IDLE = _Load(0, 0, 0, 0)
_UNKNOWN = _Load()


def _known_id(number: int) -> int | NaType:
    return NA if number == UINT_MAX else number


class ProcessMixin(MemoryMixin):
    """The processes on a device."""

    #: The class of the values of :meth:`processes`.
    GPU_PROCESS_CLASS: ClassVar[type[GpuProcess]] = GpuProcess

    def processes(self, *, loads: bool = True) -> dict[int, GpuProcess]:
        """The processes on the device by PID: with compute, graphics or MPS contexts.

        Shares of the engines are means of all samples since this program asked the last time, at
        least of the last second. A process without a sample was idle (0 %), or nobody knows
        (``NA``): on MIG devices, on GPUs in MIG mode, and where its memory is unknown too (Windows).
        Without ``loads`` the shares are not asked for; those that are known stay. In a container
        PIDs may be those of the host: see :meth:`GpuProcess.is_foreign`. Lines of the driver that
        cannot be true are left out.

        NVML: ``nvmlDeviceGetComputeRunningProcesses`` ``nvmlDeviceGetGraphicsRunningProcesses``
        ``nvmlDeviceGetMPSComputeRunningProcesses`` ``nvmlDeviceGetProcessUtilization``
        · nvidia-smi: ``--query-compute-apps``, ``pmon``
        """
        return self.processes_of(self.process_usage(loads=loads), loads=loads)

    def processes_of(
        self, usages: dict[int, ProcessUsage], *, loads: bool = True
    ) -> dict[int, GpuProcess]:
        """The processes of what :meth:`process_usage` said, without asking the driver again."""
        processes = {}
        process_class = self.GPU_PROCESS_CLASS
        is_ambiguous = SESSION.has_real_library and procfs.in_pid_namespace()
        for pid, usage in usages.items():
            is_here = not is_ambiguous or procfs.uses_gpu(pid) is not False
            process = (process_class if is_here else process_class.elsewhere)(
                pid,
                self,
                gpu_memory=usage.gpu_memory,
                gpu_instance_id=usage.gpu_instance_id,
                compute_instance_id=usage.compute_instance_id,
                type=usage.type,
            )
            if loads:
                process.set_gpu_utilization(*usage[-4:])
            processes[pid] = process
        return processes

    def process_usage(self, *, loads: bool = True) -> dict[int, ProcessUsage]:
        """What :meth:`processes` says of the device, without looking at the host.

        Without ``loads`` the shares of the engines are not asked for and ``NA``.

        NVML: as :meth:`processes`
        """
        lines: dict[int, list[tuple[str, Any]]] = {}
        for type_, function in _LISTS:
            infos = self._query(function)
            for info in infos if infos is not NA else ():
                lines.setdefault(info.pid, []).append((type_, info))
        if not lines:
            return {}
        shares = self._process_loads() if loads else None
        usages = {}
        for pid, seen in lines.items():
            type_, info = seen[0]
            memory = info.usedGpuMemory
            if len(seen) > 1:
                types = {type_ for type_, _ in seen}
                type_ = 'M' if 'M' in types else '+'.join(sorted(types))
                memory = _memory([info for _, info in seen])
            unsampled = _UNKNOWN if shares is None or memory is None else _IDLE
            usages[pid] = ProcessUsage(
                pid,
                type_,
                NA if memory is None else memory,
                _known_id(info.gpuInstanceId),
                _known_id(info.computeInstanceId),
                *(shares or {}).get(pid, unsampled),
            )
        return usages

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
        by_pid: dict[int, list[_Load]] = {}
        newest = 0
        for pid, taken, sm, memory, encoder, decoder in map(_SAMPLE.unpack, samples):
            if taken > since and sm <= 100 and memory <= 100:
                by_pid.setdefault(pid, []).append(_Load(sm, memory, encoder, decoder))
                newest = max(newest, taken)
        board.last_sample = max(board.last_sample or 0, newest) or None
        return {pid: _mean(loads) for pid, loads in by_pid.items()}


def _memory(infos: list[Any]) -> int | None:
    """Memory of one process in bytes, from several lines of lists.

    Each list gives all the memory of a process on an instance of the GPU, and a process may use
    several instances.
    """
    by_instance: dict[tuple[int, int], int] = {}
    for info in infos:
        if info.usedGpuMemory is not None:
            instance = info.gpuInstanceId, info.computeInstanceId
            by_instance[instance] = max(by_instance.get(instance, 0), info.usedGpuMemory)
    return sum(by_instance.values()) if by_instance else None


def _mean(loads: list[_Load]) -> _Load:
    if len(loads) == 1:
        return loads[0]
    return _Load(*(round(sum(column) / len(loads)) for column in zip(*loads)))
