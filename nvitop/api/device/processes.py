# SPDX-License-Identifier: Apache-2.0
"""Processes on a device: their types, memory and utilization, and their accounts."""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Collection, NamedTuple

from nvitop.api import libnvml, process
from nvitop.api.device.base import MAX_ULONGLONG, Reason, documented
from nvitop.api.device.memory import MemoryMixin
from nvitop.api.libnvml._session import SESSION
from nvitop.basics.units import NA, UINT_MAX, NaType, na_if_none

_LISTS = (
    ('C', 'nvmlDeviceGetComputeRunningProcesses'),
    ('G', 'nvmlDeviceGetGraphicsRunningProcesses'),
    ('M', 'nvmlDeviceGetMPSComputeRunningProcesses'),
)
#: Time window for utilization samples, in µs: drivers take one per process every 1/6 s to 1 s.
_WINDOW_US = 1_000_000
#: Functions that return utilization samples, the one of R550 first, and how to read one sample: PID,
#: time in µs and four percentages. Unpacking is faster than the attributes of structures.
_OLD = struct.Struct('@IQIIII').unpack
_NEW = struct.Struct('@QIIIII12x').unpack
_SAMPLERS: tuple[tuple[str, Callable[[Any], tuple[int, ...]]], ...] = (
    ('nvmlDeviceGetProcessesUtilizationInfo', lambda sample: _in_old_order(*_NEW(sample))),
    ('nvmlDeviceGetProcessUtilization', _OLD),
)
#: Utilization (percent) below which a GPU needs no process to explain it, the same as
#: ``BUSY_PERCENT`` of the health rules.
_EXPLAINED_PERCENT = 5

#: Functions that return how busy the engines are that the last two percentages are about.
_VIDEO_ENGINES = 'nvmlDeviceGetEncoderUtilization', 'nvmlDeviceGetDecoderUtilization'


class _Utilization(NamedTuple):
    """Utilization of the engines by a process in percent."""

    sm: int
    memory: int
    encoder: int
    decoder: int


class ProcessUsage(NamedTuple):
    """Use of a device by a process; ``None`` if a value is unknown."""

    pid: int
    #: ``'C'``, ``'G'``, ``'C+G'`` or ``'M'``, see :attr:`GpuProcess.type`.
    type: str
    gpu_memory: int | None = None  # bytes
    gpu_instance_id: int | None = None
    compute_instance_id: int | None = None
    gpu_sm_utilization: int | None = None  # percent
    gpu_memory_utilization: int | None = None  # percent
    gpu_encoder_utilization: int | None = None  # percent
    gpu_decoder_utilization: int | None = None  # percent


_IDLE = _Utilization(0, 0, 0, 0)


def _in_old_order(taken: int, pid: int, *percents: int) -> tuple[int, ...]:
    return pid, taken, *percents


def _known_id(number: int) -> int | None:
    return None if number == UINT_MAX else number


class AccountedProcess(NamedTuple):
    """Account of a process over its life, each value ``NA`` if unknown."""

    pid: int
    #: Utilization in percent, averaged over its life.
    gpu_utilization: int | NaType
    memory_utilization: int | NaType
    #: Maximum memory in bytes.
    max_memory: int | NaType
    #: Time during which it used the device, in ms; 0 while it is running.
    time: int | NaType
    is_running: bool


class _GpuProcessClass:
    """The class attribute ``GPU_PROCESS_CLASS``, whose value is imported on use: it needs psutil."""

    def __get__(self, instance: object, owner: type) -> type[process.GpuProcess]:
        return process.GpuProcess


@documented
class ProcessMixin(MemoryMixin):
    """Processes on a device."""

    #: Class of the values of :meth:`processes`.
    GPU_PROCESS_CLASS: ClassVar[type[process.GpuProcess]]
    if not TYPE_CHECKING:
        GPU_PROCESS_CLASS = _GpuProcessClass()

    #: Why the utilization of a process was unknown in the last result of :meth:`process_usage`.
    utilization_gap: Reason | str | None = None

    def processes(self, *, utilization: bool = True) -> dict[int, process.GpuProcess]:
        """Processes with compute, graphics or MPS contexts on the device, by PID.

        Utilization is the mean of all driver samples since the last call in this program, at least
        of the last second. A process without samples was idle (0 %) if the other samples explain how
        busy the GPU is; otherwise it is ``NA``. It is also ``NA`` on MIG devices, on GPUs in MIG
        mode, and if the memory of the process is unknown too (Windows). Without ``utilization`` it
        is not queried; values from an earlier call remain.

        In a container the PIDs may be those of the host, see :meth:`GpuProcess.is_foreign`.
        Implausible lines of the driver are dropped.

        NVML: ``nvmlDeviceGetComputeRunningProcesses`` ``nvmlDeviceGetGraphicsRunningProcesses``
        ``nvmlDeviceGetMPSComputeRunningProcesses`` ``nvmlDeviceGetProcessesUtilizationInfo``
        ``nvmlDeviceGetProcessUtilization``
        · nvidia-smi: ``--query-compute-apps``, ``pmon``
        """
        return self.processes_of(
            self.process_usage(utilization=utilization), utilization=utilization
        )

    def processes_of(
        self, usages: dict[int, ProcessUsage], *, utilization: bool = True
    ) -> dict[int, process.GpuProcess]:
        """Processes of a result of :meth:`process_usage`, without querying the driver again."""
        processes = {}
        process_class = self.GPU_PROCESS_CLASS
        for pid, usage in usages.items():
            gpu_process = (process_class.elsewhere if is_stranger(pid) else process_class)(
                pid,
                self,
                gpu_memory=na_if_none(usage.gpu_memory),
                gpu_instance_id=na_if_none(usage.gpu_instance_id),
                compute_instance_id=na_if_none(usage.compute_instance_id),
                type=usage.type,
            )
            if utilization:
                gpu_process.set_gpu_utilization(*map(na_if_none, usage[-4:]))
            processes[pid] = gpu_process
        return processes

    def process_usage(self, *, utilization: bool = True) -> dict[int, ProcessUsage]:
        """Use of the device by each process, by PID, without reading the host.

        Without ``utilization`` that is not queried and ``None``.

        NVML: see :meth:`processes`
        """
        lines: dict[int, list[tuple[str, Any]]] = {}
        for type_, function in _LISTS:
            infos = self._query(function)
            for info in infos if infos is not NA else ():
                lines.setdefault(info.pid, []).append((type_, info))
        if not lines:
            return {}
        measured = self._process_utilization(lines) if utilization else {}
        usages = {}
        for pid, listed in lines.items():
            type_, info = listed[0]
            memory = info.usedGpuMemory
            if len(listed) > 1:
                types = {type_ for type_, _ in listed}
                type_ = 'M' if 'M' in types else '+'.join(sorted(types))
                memory = _memory([info for _, info in listed])
            percents = measured.get(pid, ())
            usages[pid] = ProcessUsage(
                pid,
                type_,
                memory,
                _known_id(info.gpuInstanceId),
                _known_id(info.computeInstanceId),
                *(() if percents is _IDLE and memory is None else percents),
            )
        return usages

    def _process_utilization(
        self, listed: dict[int, list[tuple[str, Any]]]
    ) -> dict[int, _Utilization]:
        """Return the mean utilization of listed processes, without those that are unknown.

        A process without samples is idle only if the samples of the others explain how busy the GPU
        is. Otherwise the driver has no samples, or only some of PIDs in another PID namespace.
        """
        self.utilization_gap = None
        cache = self._gpu_cache or self._find_gpu_cache()
        exited = cache.listed_pids.difference(listed)
        cache.listed_pids = set(listed)
        now = time.time_ns() // 1000
        since = min(now - _WINDOW_US, cache.last_sample or now)
        measured: dict[int, _Utilization] = {}
        for function, unpack in _SAMPLERS:
            if function in cache.missing_functions:
                continue
            samples, error = self._call(function, (since,))
            if isinstance(error, libnvml.NVMLError_FunctionNotFound):
                cache.missing_functions.add(function)
            if error is not None and (
                self.is_mig_device() or not isinstance(error, libnvml.NVMLError_NotFound)
            ):
                is_missing = isinstance(self.utilization_gap, libnvml.NVMLError_FunctionNotFound)
                if self.utilization_gap is None or is_missing:
                    self.utilization_gap = error
                continue
            by_pid: dict[int, list[_Utilization]] = {}
            for pid, taken, *percents in map(unpack, samples) if error is None else ():
                if taken > since and max(percents[:2]) <= 100:
                    by_pid.setdefault(pid, []).append(_Utilization(*percents))
                    cache.last_sample = max(cache.last_sample or 0, taken)
            means = {pid: _mean(seen) for pid, seen in by_pid.items()}
            _match_namespaces(means, listed)
            self.utilization_gap = self._unexplained(means, listed, exited)
            if self.utilization_gap is None:
                clients = {pid for pid, rows in listed.items() if rows[-1][0] == 'M'}
                if clients.isdisjoint(means) and any(used.sm for used in means.values()):
                    # The samples may be those of the MPS server for all its clients.
                    self.utilization_gap = (
                        'MPS clients have no samples of their own' if clients else None
                    )
                    return {pid: means.get(pid, _IDLE) for pid in listed if pid not in clients}
                return {pid: means.get(pid, _IDLE) for pid in listed}
            measured.update(means)
        return {pid: used for pid, used in measured.items() if used.sm or used[2:] != (0, 0)}

    def _unexplained(
        self,
        means: dict[int, _Utilization],
        listed: Collection[int],
        exited: Collection[int],
    ) -> str | None:
        """Return why processes without samples may be busy, ``None`` if they are idle."""
        if all(any(means.get(pid, _IDLE)) for pid in listed):
            return None
        ours = {pid: used for pid, used in means.items() if pid in listed or pid in exited}
        others = [max(used.sm, *used[2:]) for pid, used in means.items() if pid not in ours]
        if sum(others) >= _EXPLAINED_PERCENT:
            return 'samples have PIDs that the driver does not list, as in a container'
        rates = self._query('nvmlDeviceGetUtilizationRates')
        busy = NA if rates is NA else self._in_range(rates.gpu, 100)
        seen = sum(used.sm for used in ours.values())
        if isinstance(busy, NaType):
            return None if seen else 'the driver has no samples'
        if busy >= _EXPLAINED_PERCENT and 2 * seen < busy:
            return f'samples of processes explain {seen} % of {busy} % GPU utilization'
        for engine, function in enumerate(_VIDEO_ENGINES, start=2):
            answer = NA if any(used[engine] for used in ours.values()) else self._query(function)
            busy = NA if answer is NA else self._in_range(answer[0], 100)
            if isinstance(busy, int) and busy >= _EXPLAINED_PERCENT:
                return f'no sample of a process explains {busy} % utilization of a video engine'
        return None

    def accounted_processes(self) -> list[AccountedProcess]:
        """Accounts of processes, including exited ones; an empty list if accounting is disabled.

        NVML: ``nvmlDeviceGetAccountingPids`` ``nvmlDeviceGetAccountingStats``
        · nvidia-smi: ``--query-accounted-apps``
        """
        if self.accounting() != 'Enabled':
            return []
        pids = self._query('nvmlDeviceGetAccountingPids')
        accounts = [] if pids is NA else map(self._account, pids)
        return [account for account in accounts if account is not None]

    def _account(self, pid: int) -> AccountedProcess | None:
        """Return the account of a process; ``None`` if the driver has dropped it."""
        stats = self._query('nvmlDeviceGetAccountingStats', pid)
        if stats is NA:
            return None
        return AccountedProcess(
            pid,
            self._in_range(stats.gpuUtilization, 100),
            self._in_range(stats.memoryUtilization, 100),
            self._in_range(stats.maxMemoryUsage, MAX_ULONGLONG),
            self._in_range(stats.time, MAX_ULONGLONG),
            bool(stats.isRunning),
        )

    def accounting(self) -> str:
        """Whether accounting is enabled: ``'Enabled'`` or ``'Disabled'``.

        NVML: ``nvmlDeviceGetAccountingMode`` · nvidia-smi: ``accounting.mode``
        """
        return self._named('nvmlDeviceGetAccountingMode')

    def accounting_buffer_size(self) -> int | NaType:
        """Maximum number of accounts; the driver drops the oldest.

        NVML: ``nvmlDeviceGetAccountingBufferSize`` · nvidia-smi: ``accounting.buffer_size``
        """
        return self._number('nvmlDeviceGetAccountingBufferSize')


def is_stranger(pid: int) -> bool:
    """Return whether the process here with this PID is not the one that the driver lists.

    In a container, the driver lists PIDs of the host. A process here without an open GPU can then not
    be the one on the device.
    """
    from nvitop.api.process import procfs

    is_ambiguous = SESSION.has_real_library and procfs.in_pid_namespace()
    return is_ambiguous and procfs.uses_gpu(pid) is False


def _match_namespaces(means: dict[int, _Utilization], listed: Collection[int]) -> None:
    """Give samples to listed processes if their PIDs are those of the same process in other
    namespaces: in containers, the driver may use the PIDs outside for one and inside for the other.
    """
    strange = [pid for pid in means if pid not in listed]
    if not strange or not SESSION.has_real_library:
        return
    from nvitop.api.process import procfs

    inside = {pid: procfs.namespace_pids(pid) for pid in listed if pid not in means}
    matches: dict[int, list[int]] = {}
    for pid in strange:
        own_pids = procfs.namespace_pids(pid)
        for other, other_pids in inside.items():
            if other in own_pids or pid in other_pids:
                matches.setdefault(other, []).append(pid)
    matched = [pid for pids in matches.values() for pid in pids]
    for other, (pid, *more) in matches.items():
        if not more and matched.count(pid) == 1:
            means[other] = means.pop(pid)


def _memory(infos: list[Any]) -> int | None:
    """Return the memory of one process in bytes from several lines of the process lists.

    Each list has the full memory of a process on an instance of the GPU, and a process may use
    several instances.
    """
    by_instance: dict[tuple[int, int], int] = {}
    for info in infos:
        if info.usedGpuMemory is not None:
            instance = info.gpuInstanceId, info.computeInstanceId
            by_instance[instance] = max(by_instance.get(instance, 0), info.usedGpuMemory)
    return sum(by_instance.values()) if by_instance else None


def _mean(samples: list[_Utilization]) -> _Utilization:
    if len(samples) == 1:
        return samples[0]
    return _Utilization(*(round(sum(column) / len(samples)) for column in zip(*samples)))
