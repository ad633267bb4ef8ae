# SPDX-License-Identifier: Apache-2.0
"""GpuProcess: a process on one device, with its share of that device."""

from __future__ import annotations

import contextlib
import threading
import weakref
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Callable, ClassVar, TypeVar

import psutil

from nvitop.api.process import procfs
from nvitop.api.process.command import command_join
from nvitop.api.process.facts import (
    NO_PERMISSIONS,
    NO_SUCH_PROCESS,
    TERMINATED,
    ZOMBIE_PROCESS,
)
from nvitop.api.process.hostprocess import HostProcess
from nvitop.api.utils import (
    NA,
    NaType,
    Snapshot,
    bytes2human,
    duration2human,
    snapshot_of,
    timedelta2human,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nvitop.api.device import Device

_T = TypeVar('_T')
_U = TypeVar('_U')
_failsafe = threading.local()
#: What a question about the host ends with: there may be no file descriptor left to read it.
_FAILURES = (psutil.Error, OSError)


def _is_failsafe() -> bool:
    return getattr(_failsafe, 'depth', 0) > 0


class GpuProcess:
    """A process on one device: what it uses there, and what it is on the host.

    ``Device.processes()`` makes them. There is one object for a process (PID and start time) on a
    device as long as somebody holds it. Names that are not listed here are the host process's:
    ``process.num_threads()``.

    Questions about the host raise :class:`psutil.NoSuchProcess` and :class:`psutil.AccessDenied`,
    except inside :meth:`failsafe`, where texts and :data:`~nvitop.NA` stand for what is not known.
    A PID that does not exist here never raises when the object is made.
    """

    INSTANCES: ClassVar[weakref.WeakValueDictionary[tuple[int, Device], GpuProcess]] = (
        weakref.WeakValueDictionary()
    )
    INSTANCE_LOCK: ClassVar[threading.RLock] = threading.RLock()

    _host: HostProcess
    _device: Device

    def __new__(cls, pid: int | None, device: Device, **values: Any) -> GpuProcess:
        """Return the object of this process on this device, an existing one where there is one."""
        elsewhere: HostProcess | None = values.get('elsewhere')
        host = HostProcess(pid) if elsewhere is None else elsewhere
        key = (host.pid, device)
        hash(key)  # may ask the driver, which may hang: not while others wait for the lock
        with GpuProcess.INSTANCE_LOCK:
            cached = GpuProcess.INSTANCES.get(key)
            if type(cached) is cls and (
                cached._host is host if elsewhere is None else not cached._host.is_here
            ):
                return cached
            process = super().__new__(cls)
            process._host = host
            process._device = device
            process._type = NA
            process._gpu_memory = NA
            process._gpu_instance_id = NA
            process._compute_instance_id = NA
            process._gpu_utilization = (NA, NA, NA, NA)
            GpuProcess.INSTANCES[key] = process
            return process

    def __init__(
        self,
        pid: int | None,
        device: Device,
        *,
        gpu_memory: int | NaType | None = None,
        gpu_instance_id: int | NaType | None = None,
        compute_instance_id: int | NaType | None = None,
        type: str | NaType | None = None,
    ) -> None:
        """Values that are ``None`` stay what they were, at first :data:`~nvitop.NA`.

        ``pid`` is this program's own where it is ``None``.
        """
        self._gpu_memory: int | NaType
        self._gpu_instance_id: int | NaType
        self._compute_instance_id: int | NaType
        self._gpu_utilization: tuple[int | NaType, int | NaType, int | NaType, int | NaType]
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
    def elsewhere(cls, pid: int, device: Device, **values: Any) -> GpuProcess:
        """The process on a device that has this PID in another PID namespace.

        Who has the PID here is another process. ``values`` are those of the class.
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
        return self.host == other.host and self.device == other.device

    def __hash__(self) -> int:
        return hash((self._host, self._device))

    def __reduce__(self) -> tuple[Any, ...]:
        make = type(self) if self._host.is_here else type(self).elsewhere
        return make, (self.pid, self.device)

    def __getattr__(self, name: str) -> Any:
        if name.startswith('_'):
            raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}')
        return getattr(self._host, name)

    @property
    def pid(self) -> int:
        """The process ID, as the driver tells it."""
        return self._host.pid

    @property
    def host(self) -> HostProcess:
        """The process on the host."""
        return self._host

    @property
    def device(self) -> Device:
        """The device that is used."""
        return self._device

    # What it uses of the device

    @property
    def type(self) -> str:
        """``'C'`` for compute, ``'G'`` for graphics, ``'C+G'``, ``'M'`` for a client of MPS.

        :data:`~nvitop.NA` where unknown. Any text or collection with these letters can be assigned.
        """
        return self._type

    @type.setter
    def type(self, value: Iterable[str]) -> None:
        if value != self._type:
            letters = set(value) & {'C', 'G', 'M'}
            self._type = 'M' if 'M' in letters else '+'.join(sorted(letters)) or NA

    def gpu_instance_id(self) -> int | NaType:
        """ID of the GPU instance it runs in, :data:`~nvitop.NA` without MIG."""
        return self._gpu_instance_id

    def compute_instance_id(self) -> int | NaType:
        """ID of the compute instance it runs in, :data:`~nvitop.NA` without MIG."""
        return self._compute_instance_id

    def gpu_memory(self) -> int | NaType:
        """Device memory it uses, in bytes; :data:`~nvitop.NA` where the driver does not tell (WDDM).

        nvidia-smi: ``--query-compute-apps=used_memory``.
        """
        return self._gpu_memory

    def gpu_memory_human(self) -> str:
        """Device memory it uses, as a text: ``'1536MiB'``."""
        return bytes2human(self._gpu_memory)

    def gpu_memory_percent(self) -> float | NaType:
        """Device memory it uses, in percent of the device's; :data:`~nvitop.NA` where unknown."""
        used, total = self._gpu_memory, self._device.memory_total()
        if isinstance(used, NaType) or isinstance(total, NaType) or total <= 0:
            return NA
        return round(100.0 * used / total, 1)

    def gpu_sm_utilization(self) -> int | NaType:
        """Load it puts on the multiprocessors, in percent. ``nvidia-smi pmon``: ``sm``."""
        return self._gpu_utilization[0]

    def gpu_memory_utilization(self) -> int | NaType:
        """Load it puts on the memory bus, in percent. ``nvidia-smi pmon``: ``mem``."""
        return self._gpu_utilization[1]

    def gpu_encoder_utilization(self) -> int | NaType:
        """Load it puts on the video encoder, in percent. ``nvidia-smi pmon``: ``enc``."""
        return self._gpu_utilization[2]

    def gpu_decoder_utilization(self) -> int | NaType:
        """Load it puts on the video decoder, in percent. ``nvidia-smi pmon``: ``dec``."""
        return self._gpu_utilization[3]

    def set_gpu_memory(self, value: int | NaType) -> None:
        """Set what :meth:`gpu_memory` gives, in bytes."""
        self._gpu_memory = value

    def set_gpu_utilization(
        self,
        gpu_sm_utilization: int | NaType | None = None,
        gpu_memory_utilization: int | NaType | None = None,
        gpu_encoder_utilization: int | NaType | None = None,
        gpu_decoder_utilization: int | NaType | None = None,
    ) -> None:
        """Set what the methods of these names give, in percent; ``None`` keeps what was."""
        sm, memory, encoder, decoder = self._gpu_utilization
        self._gpu_utilization = (
            sm if gpu_sm_utilization is None else gpu_sm_utilization,
            memory if gpu_memory_utilization is None else gpu_memory_utilization,
            encoder if gpu_encoder_utilization is None else gpu_encoder_utilization,
            decoder if gpu_decoder_utilization is None else gpu_decoder_utilization,
        )

    def update_gpu_status(self) -> int | NaType:
        """Ask the device anew what this process uses, and return :meth:`gpu_memory`.

        All of it is :data:`~nvitop.NA` where the process has left the device.
        """
        if self._device.processes().get(self.pid) is not self:
            self.set_gpu_memory(NA)
            self.set_gpu_utilization(NA, NA, NA, NA)
        return self.gpu_memory()

    # What it is on the host

    def _ask(self, question: Callable[[], _T], otherwise: _U) -> _T | _U:
        try:
            return question()
        except _FAILURES:
            if _is_failsafe():
                return otherwise
            raise

    def is_running(self) -> bool:
        """Whether the process exists, and is the one it was."""
        # Where that cannot be read, nothing says that it does not.
        return self._ask(self._host.is_running, True) or self._is_hidden()

    def _is_hidden(self) -> bool:
        return self._host.is_here and procfs.is_hidden(self.pid)

    def is_foreign(self) -> bool:
        """Whether the PID belongs to another PID namespace, so that nothing else is known of it.

        So it is in a container that does not share the host's PIDs (``docker run --pid=host``): the
        driver lists a process with memory in use, which does not exist for this program; or which
        does by chance, and has no GPU open: then :attr:`host` is not that one, but one that does not
        exist.
        """
        return bool(self._gpu_memory) and procfs.in_pid_namespace() and not self.is_running()

    def status(self) -> str:
        """One of psutil's ``STATUS_*``; failsafe: ``'terminated'``."""
        return self._ask(self._host.status, TERMINATED)

    def create_time(self) -> float | NaType:
        """When the process started, in seconds since the epoch; failsafe: :data:`~nvitop.NA`."""
        return self._ask(self._host.create_time, NA)

    def running_time(self) -> timedelta | NaType:
        """How long the process has been running; failsafe: :data:`~nvitop.NA`."""
        return self._ask(self._host.running_time, NA)

    def running_time_human(self) -> str:
        """How long the process has been running: ``'1:02:03'``; failsafe: :data:`~nvitop.NA`."""
        return timedelta2human(self.running_time())

    def running_time_in_seconds(self) -> float | NaType:
        """How long the process has been running, in seconds; failsafe: :data:`~nvitop.NA`."""
        return self._ask(self._host.running_time_in_seconds, NA)

    elapsed_time = running_time
    elapsed_time_human = running_time_human
    elapsed_time_in_seconds = running_time_in_seconds

    def username(self) -> str:
        """Name of the user it belongs to; failsafe: :data:`~nvitop.NA`."""
        return self._ask(self._host.username, NA)

    def name(self) -> str:
        """Name of the program; failsafe: :data:`~nvitop.NA`."""
        return self._ask(self._host.name, NA)

    def cpu_percent(self) -> float | NaType:
        """CPU time used since the last call, in percent of one CPU; failsafe: :data:`~nvitop.NA`.

        See :meth:`HostProcess.cpu_percent`.
        """
        return self._ask(self._host.cpu_percent, NA)

    def memory_percent(self) -> float | NaType:
        """Resident host memory, in percent of the host's; failsafe: :data:`~nvitop.NA`."""
        return self._ask(self._host.memory_percent, NA)

    host_memory_percent = memory_percent

    def host_memory(self) -> int | NaType:
        """Resident host memory in bytes; failsafe: :data:`~nvitop.NA`."""
        return self._ask(self._host.rss_memory, NA)

    rss_memory = host_memory

    def host_memory_human(self) -> str:
        """Resident host memory as a text: ``'1536MiB'``; failsafe: :data:`~nvitop.NA`."""
        return bytes2human(self.host_memory())

    def cmdline(self) -> list[str]:
        """The command line; ``['[name]']`` where there is none (kernel threads), as ps shows it.

        Failsafe: ``['No Such Process']``, ``['No Permissions']`` or ``['Zombie Process']``.
        """
        try:
            return self._host.cmdline() or [f'[{self._host.name()}]']
        except _FAILURES as ex:
            if not _is_failsafe():
                raise
            if isinstance(ex, psutil.ZombieProcess):
                return [ZOMBIE_PROCESS]
            if isinstance(ex, (psutil.AccessDenied, OSError)) or self._is_hidden():
                return [NO_PERMISSIONS]
            return [NO_SUCH_PROCESS]

    def command(self) -> str:
        """The command line as one text, quoted for the shell; failsafe as :meth:`cmdline`."""
        return command_join(self.cmdline())

    # Everything at once

    def host_snapshot(self) -> Snapshot:
        """What the process is on the host, at one moment, as a :class:`~nvitop.Snapshot`.

        Raises as the single questions do, unless in :meth:`failsafe`.
        """
        facts = self._host.facts()
        if not _is_failsafe():
            if not facts.is_running:
                raise psutil.NoSuchProcess(self.pid)
            if facts.cmdline is None:
                raise psutil.AccessDenied(self.pid)
        cmdline = facts.display_cmdline
        seconds = facts.running_time_in_seconds
        running_time: timedelta | NaType = NA
        running_time_human: str = NA
        if not isinstance(seconds, NaType):
            running_time = timedelta(seconds=seconds)
            running_time_human = duration2human(running_time.total_seconds())
        return snapshot_of(
            self._host,
            {
                'is_running': facts.is_running,
                'status': facts.status,
                'username': facts.username,
                'name': facts.name,
                'cmdline': cmdline,
                'command': command_join(cmdline),
                'cpu_percent': facts.cpu_percent,
                'memory_percent': facts.memory_percent,
                'host_memory': facts.host_memory,
                'host_memory_human': bytes2human(facts.host_memory),
                'running_time': running_time,
                'running_time_human': running_time_human,
                'running_time_in_seconds': seconds,
            },
        )

    def as_snapshot(
        self, *, host_process_snapshot_cache: dict[int, Snapshot] | None = None
    ) -> Snapshot:
        """Everything about the process at one moment, as a :class:`~nvitop.Snapshot`.

        ``host_process_snapshot_cache`` holds what is known already of the host's side, by PID, and
        is added to: so a process on eight devices is looked at once.
        """
        cache = {} if host_process_snapshot_cache is None else host_process_snapshot_cache
        pid = self.pid
        host = cache.get(pid)
        if host is None:
            host = cache[pid] = self.host_snapshot()
        sm, memory, encoder, decoder = self._gpu_utilization
        return snapshot_of(
            self,
            {
                'pid': pid,
                'host': host,
                **vars(host),  # its timestamp as well: it is one moment
                'device': self._device,
                'type': self._type,
                'gpu_instance_id': self._gpu_instance_id,
                'compute_instance_id': self._compute_instance_id,
                'gpu_memory': self._gpu_memory,
                'gpu_memory_human': self.gpu_memory_human(),
                'gpu_memory_percent': self.gpu_memory_percent(),
                'gpu_sm_utilization': sm,
                'gpu_memory_utilization': memory,
                'gpu_encoder_utilization': encoder,
                'gpu_decoder_utilization': decoder,
            },
        )

    @classmethod
    def take_snapshots(
        cls, gpu_processes: Iterable[GpuProcess], *, failsafe: bool = False
    ) -> list[Snapshot]:
        """Snapshots of many processes, in order. The host is asked once for each PID.

        With ``failsafe``, processes that are gone or hidden have texts and :data:`~nvitop.NA`;
        without, they raise.
        """
        gpu_processes = list(gpu_processes)
        hosts: dict[int, Snapshot] = {}
        with cls.failsafe() if failsafe else contextlib.nullcontext():
            for process in gpu_processes:
                if process.pid not in hosts:
                    hosts[process.pid] = process.host_snapshot()
            return [
                process.as_snapshot(host_process_snapshot_cache=hosts) for process in gpu_processes
            ]

    @staticmethod
    @contextlib.contextmanager
    def failsafe() -> Iterator[None]:
        """Let no question about the host raise, in this thread, as long as the block runs.

        ``is_running()`` is false, ``status()`` ``'terminated'``, names and numbers are
        :data:`~nvitop.NA`, and :meth:`cmdline` says why.
        """
        _failsafe.depth = getattr(_failsafe, 'depth', 0) + 1
        try:
            yield
        finally:
            _failsafe.depth -= 1


# Where users find it is where it says it is, in reprs, pickles and documents.
GpuProcess.__module__ = 'nvitop.api.process'
