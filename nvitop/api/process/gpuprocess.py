# SPDX-License-Identifier: Apache-2.0
"""GpuProcess: a process on one device, with what it uses there."""

from __future__ import annotations

import contextlib
import threading
import weakref
from datetime import timedelta
from typing import Any, Callable, ClassVar, Iterable, Iterator, Mapping, Protocol, TypeVar

from nvitop.api import host
from nvitop.api.process import procfs
from nvitop.api.process.facts import (
    NO_PERMISSIONS,
    NO_SUCH_PROCESS,
    TERMINATED,
    ZOMBIE_PROCESS,
    command_join,
)
from nvitop.api.process.hostprocess import HostProcess
from nvitop.api.utils import Snapshot, snapshot_of
from nvitop.basics.units import NA, NaType, bytes2human, na_if_none, timedelta2human
from nvitop.owner.types import Owner
from nvitop.platforms.kernel import renew_in_child

_T = TypeVar('_T')
_U = TypeVar('_U')


class UsedDevice(Protocol):
    """The part of :class:`nvitop.Device` that a process needs."""

    def memory_total(self) -> int | NaType:
        """Memory in bytes."""

    def processes(self) -> Mapping[int, GpuProcess]:
        """Processes on the device, by PID."""


_failsafe = threading.local()


def _is_failsafe() -> bool:
    return getattr(_failsafe, 'depth', 0) > 0


class GpuProcess:
    """A process on one device: what it uses there, and what it is on the host.

    Created by ``Device.processes()``. There is one object per process (PID and start time) and
    device as long as a reference to it exists. Other attributes are those of the host process.

    Methods that read the host raise :class:`psutil.NoSuchProcess` and :class:`psutil.AccessDenied`,
    except inside :meth:`failsafe`, where they return a text or :data:`~nvitop.NA` instead. Creating
    an object for a PID that does not exist raises nothing.
    """

    INSTANCES: ClassVar[weakref.WeakValueDictionary[tuple[int, UsedDevice], GpuProcess]] = (
        weakref.WeakValueDictionary()
    )
    INSTANCE_LOCK: ClassVar[threading.RLock] = threading.RLock()

    _host: HostProcess
    _device: UsedDevice

    def __new__(cls, pid: int | None, device: UsedDevice, **values: Any) -> GpuProcess:
        """Return the object of this process on this device; an existing object if there is one."""
        elsewhere: HostProcess | None = values.get('elsewhere')
        host = HostProcess(pid) if elsewhere is None else elsewhere
        key = (host.pid, device)
        # Comparing devices may query the driver, which may hang; other threads must not wait for it.
        GpuProcess.INSTANCES.get(key)
        with GpuProcess.INSTANCE_LOCK:
            cached = GpuProcess.INSTANCES.get(key)
            if type(cached) is cls and (
                cached._host is host if elsewhere is None else not cached._host.is_here
            ):
                return cached
            process = super().__new__(cls)
            process._host = host
            process._device = device
            for name in _VALUES:
                setattr(process, name, NA)
            process._gpu_utilization = (NA, NA, NA, NA)
            GpuProcess.INSTANCES[key] = process
            return process

    def __init__(
        self,
        pid: int | None,
        device: UsedDevice,
        *,
        gpu_memory: int | NaType | None = None,
        gpu_instance_id: int | NaType | None = None,
        compute_instance_id: int | NaType | None = None,
        type: str | NaType | None = None,
    ) -> None:
        """Update the values that are not ``None``; initially all are :data:`~nvitop.NA`.

        The PID ``None`` is this program.
        """
        self._gpu_memory: int | NaType
        self._gpu_instance_id: int | NaType
        self._compute_instance_id: int | NaType
        self._gpu_utilization: tuple[int | NaType, ...]
        self._type: str
        if gpu_memory is not None:
            self._gpu_memory = gpu_memory
        if gpu_instance_id is not None:
            self._gpu_instance_id = gpu_instance_id
        if compute_instance_id is not None:
            self._compute_instance_id = compute_instance_id
        if type is not None:
            self.type = type

    @classmethod
    def elsewhere(cls, pid: int, device: UsedDevice, **values: Any) -> GpuProcess:
        """Return the process on a device that has this PID in another PID namespace.

        A process with the same PID in this namespace is a different one. ``values`` are the keyword
        arguments of the class.
        """
        process = cls.__new__(cls, pid, device, elsewhere=HostProcess.elsewhere(pid))
        cls.__init__(process, pid, device, **values)
        return process

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}(pid={self.pid}, gpu_memory={self.gpu_memory_human()}, '
            f'type={self.type}, device={self.device!r}, host={self.host!r})'
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GpuProcess):
            return NotImplemented
        return self.host == other.host and bool(self._device == other._device)

    def __hash__(self) -> int:
        return hash((self._host, self._device))

    def __reduce__(self) -> tuple[Any, ...]:
        make = type(self) if self._host.is_here else type(self).elsewhere
        values = {name: getattr(self, name) for name in _VALUES}
        return _restore, (make, self.pid, self.device, values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith('_'):
            raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}')
        return getattr(self._host, name)

    @property
    def pid(self) -> int:
        """Process ID, as reported by the driver."""
        return self._host.pid

    @property
    def host(self) -> HostProcess:
        """The process on the host."""
        return self._host

    @property
    def device(self) -> Any:
        """The :class:`nvitop.Device` that the process uses."""
        return self._device

    # Values of the device

    @property
    def type(self) -> str:
        """Kind of contexts: ``'C'`` compute, ``'G'`` graphics, ``'C+G'`` both, ``'M'`` MPS client.

        :data:`~nvitop.NA` if unknown. It can be set to any text or collection of these letters.
        """
        return self._type

    @type.setter
    def type(self, value: Iterable[str]) -> None:
        if value != self._type:
            letters = set(value) & {'C', 'G', 'M'}
            self._type = 'M' if 'M' in letters else '+'.join(sorted(letters)) or NA

    def gpu_instance_id(self) -> int | NaType:
        """Return the ID of its GPU instance; :data:`~nvitop.NA` without MIG."""
        return self._gpu_instance_id

    def compute_instance_id(self) -> int | NaType:
        """Return the ID of its compute instance; :data:`~nvitop.NA` without MIG."""
        return self._compute_instance_id

    def gpu_memory(self) -> int | NaType:
        """Return the device memory in use, in bytes; :data:`~nvitop.NA` if unknown (WDDM).

        nvidia-smi: ``--query-compute-apps=used_memory``
        """
        return self._gpu_memory

    def gpu_memory_human(self) -> str:
        """Return the device memory in use as text, such as ``'1536MiB'``."""
        return bytes2human(self.gpu_memory())

    def gpu_memory_percent(self) -> float | NaType:
        """Return the device memory in use, in percent of the total; :data:`~nvitop.NA` if unknown."""
        used, total = self.gpu_memory(), self._device.memory_total()
        if isinstance(used, NaType) or isinstance(total, NaType) or total <= 0:
            return NA
        return round(100.0 * used / total, 1)

    def gpu_sm_utilization(self) -> int | NaType:
        """Return the utilization of the multiprocessors in percent. nvidia-smi pmon: ``sm``."""
        return self._gpu_utilization[0]

    def gpu_memory_utilization(self) -> int | NaType:
        """Return the utilization of the memory bandwidth in percent. nvidia-smi pmon: ``mem``."""
        return self._gpu_utilization[1]

    def gpu_encoder_utilization(self) -> int | NaType:
        """Return the utilization of the video encoder in percent. nvidia-smi pmon: ``enc``."""
        return self._gpu_utilization[2]

    def gpu_decoder_utilization(self) -> int | NaType:
        """Return the utilization of the video decoder in percent. nvidia-smi pmon: ``dec``."""
        return self._gpu_utilization[3]

    def set_gpu_memory(self, value: int | NaType) -> None:
        """Set the value of :meth:`gpu_memory`, in bytes."""
        self._gpu_memory = value

    def set_gpu_utilization(
        self,
        gpu_sm_utilization: int | NaType | None = None,
        gpu_memory_utilization: int | NaType | None = None,
        gpu_encoder_utilization: int | NaType | None = None,
        gpu_decoder_utilization: int | NaType | None = None,
    ) -> None:
        """Set the values of the methods of these names, in percent; ``None`` keeps a value."""
        percents = (
            *(gpu_sm_utilization, gpu_memory_utilization),
            *(gpu_encoder_utilization, gpu_decoder_utilization),
        )
        pairs = zip(self._gpu_utilization, percents)
        self._gpu_utilization = tuple(old if new is None else new for old, new in pairs)

    def update_gpu_status(self) -> int | NaType:
        """Read the device values of this process again and return :meth:`gpu_memory`.

        They become :data:`~nvitop.NA` if the process has left the device.
        """
        if self._device.processes().get(self.pid) is not self:
            self.set_gpu_memory(NA)
            self.set_gpu_utilization(NA, NA, NA, NA)
        return self.gpu_memory()

    # Values of the host

    def _read_host(self, read: Callable[[], _T], otherwise: _U) -> _T | _U:
        """Return what ``read`` returns; in failsafe mode ``otherwise`` after an error."""
        try:
            return read()
        except (host.Error, OSError):  # OSError: no free file descriptor
            if _is_failsafe():
                return otherwise
            raise

    def is_running(self) -> bool:
        """Return whether the process still exists and its PID has not been reused."""
        # An unreadable process is taken as running.
        return self._read_host(self._host.is_running, True) or self._is_hidden()

    def _is_hidden(self) -> bool:
        return self._host.is_here and procfs.is_hidden(self.pid)

    def is_foreign(self) -> bool:
        """Return whether the PID belongs to another PID namespace, so that the host side is unknown.

        This happens in a container that does not share the PIDs of the host (``docker run
        --pid=host``): the driver lists a process that uses memory, but there is no such process
        here, or an unrelated one that has no GPU open. :attr:`host` is then a process that does not
        exist.
        """
        return bool(self._gpu_memory) and procfs.in_pid_namespace() and not self.is_running()

    def status(self) -> str:
        """Return one of psutil's ``STATUS_*``; failsafe: ``'terminated'``."""
        return self._read_host(self._host.status, TERMINATED)

    def create_time(self) -> float | NaType:
        """Return the start time in seconds since the epoch; failsafe: :data:`~nvitop.NA`."""
        return self._read_host(self._host.create_time, NA)

    def running_time(self) -> timedelta | NaType:
        """Return the time since the process started; failsafe: :data:`~nvitop.NA`."""
        return self._read_host(self._host.running_time, NA)

    def running_time_human(self) -> str:
        """Return the running time as text, such as ``'1:02:03'``; failsafe: :data:`~nvitop.NA`."""
        return timedelta2human(self.running_time())

    def running_time_in_seconds(self) -> float | NaType:
        """Return the running time in seconds; failsafe: :data:`~nvitop.NA`."""
        return self._read_host(self._host.running_time_in_seconds, NA)

    elapsed_time = running_time
    elapsed_time_human = running_time_human
    elapsed_time_in_seconds = running_time_in_seconds

    def username(self) -> str:
        """Return the name of the user; failsafe: :data:`~nvitop.NA`."""
        return self._read_host(self._host.username, NA)

    def name(self) -> str:
        """Return the program name; failsafe: :data:`~nvitop.NA`."""
        return self._read_host(self._host.name, NA)

    def cpu_percent(self) -> float | NaType:
        """Return the CPU usage since the last call, in percent of one CPU; failsafe: ``NA``.

        See :meth:`HostProcess.cpu_percent`.
        """
        return self._read_host(self._host.cpu_percent, NA)

    def memory_percent(self) -> float | NaType:
        """Return the resident memory in percent of the host's memory; failsafe: ``NA``."""
        return self._read_host(self._host.memory_percent, NA)

    host_memory_percent = memory_percent

    def host_memory(self) -> int | NaType:
        """Return the resident memory in bytes; failsafe: :data:`~nvitop.NA`."""
        return self._read_host(self._host.rss_memory, NA)

    rss_memory = host_memory

    def host_memory_human(self) -> str:
        """Return the resident memory as text, such as ``'1536MiB'``; failsafe: ``NA``."""
        return bytes2human(self.host_memory())

    def cmdline(self) -> list[str]:
        """Return the command line; ``['[name]']`` if it is empty (kernel threads), like ``ps``.

        Failsafe: ``['No Such Process']``, ``['No Permissions']`` or ``['Zombie Process']``.
        """
        try:
            return self._host.cmdline() or [f'[{self._host.name()}]']
        except (host.Error, OSError) as ex:
            if not _is_failsafe():
                raise
            if isinstance(ex, host.ZombieProcess):
                return [ZOMBIE_PROCESS]
            if isinstance(ex, (host.AccessDenied, OSError)) or self._is_hidden():
                return [NO_PERMISSIONS]
            return [NO_SUCH_PROCESS]

    def command(self) -> str:
        """Return the command line as text, quoted for the shell; failsafe like :meth:`cmdline`."""
        return command_join(self.cmdline())

    def owner(self, names: str = 'files') -> Owner | NaType:
        """Return the job, pod, container, unit or session; see :meth:`HostProcess.owner`.

        In snapshots, ``owner`` is read on first use.
        """
        return self._host.owner(names)

    # Snapshots

    def host_snapshot(self) -> Snapshot:
        """Return the values of the host at one moment as a :class:`~nvitop.Snapshot`.

        Raises:
            psutil.Error: As the single methods, outside of :meth:`failsafe`.
        """
        if type(self) is not GpuProcess:  # a subclass may hide command lines
            with self._host.oneshot():
                return snapshot_of(
                    self._host, {name: getattr(self, name)() for name in _HOST_VALUES}
                )
        facts = self._host.facts()
        if not _is_failsafe():
            if not facts.is_running:
                raise host.NoSuchProcess(self.pid)
            if facts.cmdline is None:
                raise host.AccessDenied(self.pid)
        values: dict[str, Any] = {
            name: na_if_none(value)
            for name, value in facts._asdict().items()
            if name in _HOST_VALUES
        }
        values['cmdline'] = facts.display_cmdline
        values['command'] = command_join(facts.display_cmdline)
        values['host_memory_human'] = bytes2human(values['host_memory'])
        seconds = values['running_time_in_seconds']
        values['running_time'] = NA if seconds is NA else timedelta(seconds=seconds)
        values['running_time_human'] = timedelta2human(values['running_time'])
        return snapshot_of(self._host, {name: values[name] for name in _HOST_VALUES})

    def as_snapshot(
        self, *, host_process_snapshot_cache: dict[int, Snapshot] | None = None
    ) -> Snapshot:
        """Return all values at one moment as a :class:`~nvitop.Snapshot`.

        ``host_process_snapshot_cache`` maps PIDs to results of :meth:`host_snapshot` and is updated,
        so the host is read once for a process on several devices.
        """
        cache = host_process_snapshot_cache
        if cache is None or type(self) is not GpuProcess:
            cache = {}
        pid = self.pid
        host = cache.get(pid)
        if host is None:
            host = cache[pid] = self.host_snapshot()
        return snapshot_of(
            self,
            {
                'pid': pid,
                'host': host,
                **vars(host),  # including its timestamp: both are of one moment
                'device': self.device,
                'type': self.type,
                **{name: getattr(self, name)() for name in _DEVICE_VALUES},
            },
        )

    @classmethod
    def take_snapshots(
        cls, gpu_processes: Iterable[GpuProcess], *, failsafe: bool = False
    ) -> list[Snapshot]:
        """Return snapshots of processes, in order. The host is read once per PID.

        With ``failsafe``, processes that have exited or are hidden have texts and
        :data:`~nvitop.NA`; without, they raise as :meth:`host_snapshot`.
        """
        hosts: dict[int, Snapshot] = {}
        with cls.failsafe() if failsafe else contextlib.nullcontext():
            return [
                process.as_snapshot(host_process_snapshot_cache=hosts) for process in gpu_processes
            ]

    @staticmethod
    @contextlib.contextmanager
    def failsafe() -> Iterator[None]:
        """Return placeholders instead of raising, in this thread, within the block.

        ``is_running()`` is false, ``status()`` is ``'terminated'``, names and numbers are
        :data:`~nvitop.NA`, and :meth:`cmdline` gives the reason.
        """
        _failsafe.depth = getattr(_failsafe, 'depth', 0) + 1
        try:
            yield
        finally:
            _failsafe.depth -= 1


def _restore(
    make: Callable[[int, UsedDevice], GpuProcess],
    pid: int,
    device: UsedDevice,
    values: dict[str, Any],
) -> GpuProcess:
    """Return a process that was pickled; values that are known here are newer."""
    process = make(pid, device)
    for name, value in values.items():
        if getattr(process, name) in (NA, (NA, NA, NA, NA)):
            setattr(process, name, value)
    return process


#: The values that the driver has reported.
_VALUES = (
    *('_type', '_gpu_memory', '_gpu_instance_id', '_compute_instance_id'),
    '_gpu_utilization',
)
renew_in_child(GpuProcess, INSTANCE_LOCK=threading.RLock)

_HOST_VALUES = (
    *('is_running', 'status', 'username', 'name', 'cmdline', 'command', 'cpu_percent'),
    *('memory_percent', 'host_memory', 'host_memory_human'),
    *('running_time', 'running_time_human', 'running_time_in_seconds'),
)
_DEVICE_VALUES = (
    *('gpu_instance_id', 'compute_instance_id'),
    *('gpu_memory', 'gpu_memory_human', 'gpu_memory_percent'),
    *('gpu_sm_utilization', 'gpu_memory_utilization'),
    *('gpu_encoder_utilization', 'gpu_decoder_utilization'),
)
