# SPDX-License-Identifier: Apache-2.0
"""HostProcess: psutil.Process with one object per process and what a process monitor needs."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import weakref
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Iterable, TypeVar, cast

import psutil

from nvitop.api.process import procfs
from nvitop.api.process.facts import HostFacts, command_join
from nvitop.api.process.observed import (
    LinuxProcess,
    ObservedProcess,
    PsutilProcess,
    read_cmdline,
    read_username,
)
from nvitop.api.timing import timed
from nvitop.api.utils import Snapshot
from nvitop.basics.units import NA, NaType, timedelta2human
from nvitop.owner.types import Owner, OwnerReading
from nvitop.platforms import LINUX
from nvitop.platforms.kernel import at_fork, renew_in_child

F = TypeVar('F', bound='Callable[..., Any]')

#: A PID that no system assigns, but that psutil accepts on every system.
_NO_PID = 2**31 - 1


class _NoProcess:
    """What psutil reads a process with, if there is no such process in this PID namespace."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def oneshot_enter(self) -> None:
        pass

    oneshot_exit = oneshot_enter

    def wait(self, timeout: float | None = None) -> None:
        pass

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def read(*args: Any, **kwargs: Any) -> Any:
            raise psutil.NoSuchProcess(self.pid)

        return read


def _as_listed(method: F) -> F:
    """Let a simulated machine replace what a method of :class:`HostProcess` returns.

    It replaces the same values as in process lists. Those of other processes are read by the method.
    """
    name = method.__name__
    field = _FIELDS.get(name, name)

    @functools.wraps(method)
    def read(self: HostProcess, *args: Any, **kwargs: Any) -> Any:
        facts = self._simulated_facts()
        if facts is None:
            return method(self, *args, **kwargs)
        if not facts.is_running and name != 'is_running':
            raise psutil.NoSuchProcess(self.pid)
        value = getattr(facts, field)
        if value is None:
            raise psutil.AccessDenied(self.pid)
        return value

    return cast('F', read)


#: Methods of :class:`HostProcess` whose values have another name in :class:`HostFacts`.
_FIELDS = {'rss_memory': 'host_memory', 'num_threads': 'thread_count'}


class HostProcess(psutil.Process):
    """A process on the host: a :class:`psutil.Process` with a few more methods.

    There is one object per process as long as a reference to it exists. A PID that is reused gets
    another object. Creating an object for a PID that does not exist raises nothing:
    :meth:`is_running` returns false, and the other methods raise :class:`psutil.NoSuchProcess`.
    Copies and pickles are the same process.

    >>> HostProcess() is HostProcess(os.getpid())
    True
    """

    INSTANCES: ClassVar[weakref.WeakValueDictionary[int, HostProcess]] = (
        weakref.WeakValueDictionary()
    )
    INSTANCE_LOCK: ClassVar[threading.RLock] = threading.RLock()

    _is_open = False

    if TYPE_CHECKING:  # attributes of psutil.Process, unchanged since psutil 3
        _gone: bool
        _pid: int
        _name: str | None
        _lock: Any
        _proc: Any

        def _init(self, pid: int, _ignore_nsp: bool = False) -> None: ...

    def __new__(cls, pid: int | None = None) -> HostProcess:
        """Return the object of this process; an existing object if it is still the same process."""
        if pid is None:
            pid = os.getpid()
        with HostProcess.INSTANCE_LOCK:
            cached = HostProcess.INSTANCES.get(pid)
            if type(cached) is cls and cached.is_identified and cached.is_same():
                return cached
            process = super().__new__(cls)
            process._open(pid)
            HostProcess.INSTANCES[pid] = process
            return process

    def __init__(self, pid: int | None = None) -> None:
        """Initialize with a PID; ``None`` is this program.

        Raises:
            ValueError: The PID is negative.
        """

    @classmethod
    def elsewhere(cls, pid: int) -> HostProcess:
        """Return the process with this PID in another PID namespace; it does not exist in this one."""
        process = super().__new__(cls)
        process._open(pid, is_here=False)
        return process

    def _open(self, pid: int, *, is_here: bool = True) -> None:
        #: Whether the PID is one of this PID namespace.
        self.is_here = is_here
        #: Whether the start time could be read.
        self.is_identified = True
        #: What reads this process for lists.
        self._observed: ObservedProcess
        if LINUX and is_here:
            self._observed = LinuxProcess(pid)
        else:
            self._observed = PsutilProcess(pid if is_here else _NO_PID)
        self._observed.is_same()  # reads the start time
        try:
            self._init(pid if is_here else _NO_PID)
        except (psutil.NoSuchProcess, OverflowError):  # out of range: an implausible driver result
            self._init(_NO_PID, _ignore_nsp=True)
        except OSError:  # no free file descriptor: the next caller gets another object
            self.is_identified = False
            self._ident = (pid, None)  # old releases of psutil set it last
        if self._pid != pid:
            self._pid = pid
            self._ident = (pid, None)
            self._proc = _NoProcess(pid)
        self._is_open = True

    def is_same(self) -> bool:
        """Return whether the PID still belongs to the same process, or still to none."""
        return self._observed.is_same()

    def _simulated_facts(self) -> HostFacts | None:
        """Return the values of a process of a simulated machine; ``None``: it is not one."""
        if not self._is_open:  # psutil reads the actual start time
            return None
        return self._observed.simulated_facts()

    @_as_listed
    def is_running(self) -> bool:
        """Return whether the process still exists and its PID has not been reused."""
        return super().is_running()

    def _raise_if_pid_reused(self) -> None:
        # psutil's own method accepts any process that reuses the PID of one that it has seen exit.
        if not super().is_running():
            raise psutil.NoSuchProcess(self.pid, self._name)

    def __str__(self) -> str:
        with contextlib.suppress(psutil.Error, OSError):
            self._create_time: float | None = self.create_time()  # shown as ``started=``
        text = super().__str__()
        module = type(self).__module__ + '.'
        return text[len(module) :] if text.startswith(module) else text

    __repr__ = __str__

    def __reduce__(self) -> tuple[Callable[[int], HostProcess], tuple[int]]:
        return type(self) if self.is_here else type(self).elsewhere, (self.pid,)

    @_as_listed
    def status(self) -> Any:  # a Literal of the type hints of psutil
        """Return one of psutil's ``STATUS_*``."""
        return super().status()

    @_as_listed
    def name(self) -> str:
        """Return the program name."""
        return super().name()

    @_as_listed
    def username(self) -> str:
        """Return the name of the user, without a domain; read once.

        A user without a name is returned as the number in text form.
        """
        observed = self._observed
        if observed.username_known is None:
            observed.username_known = read_username(self)
        return observed.username_known

    @_as_listed
    def create_time(self) -> float:
        """Return the start time in seconds since the epoch."""
        return super().create_time()

    @_as_listed
    def num_threads(self) -> int:
        """Return the number of threads."""
        return super().num_threads()

    @_as_listed
    def cmdline(self) -> list[str]:
        """Return the command line, or the title that the process gave itself as a single text.

        Empty for a kernel thread.
        """
        if isinstance(self._observed, PsutilProcess):
            return read_cmdline(self)
        try:
            cmdline = procfs.read_cmdline(self.pid)
        except PermissionError as ex:
            raise psutil.AccessDenied(self.pid, self._name) from ex
        if not cmdline and self.status() == psutil.STATUS_ZOMBIE:
            raise psutil.ZombieProcess(self.pid, self._name)
        return cmdline

    def command(self) -> str:
        """Return the command line as text, quoted for the shell; see :func:`command_join`."""
        return command_join(self.cmdline())

    @_as_listed
    def cpu_percent(self, interval: float | None = None) -> float:
        """Return the CPU usage since the last call, in percent of one CPU; it may exceed 100.

        The first call returns the mean since the process started, like ``ps``. A call less than
        0.1 s after the last returns the same value. With an ``interval`` above 0, wait that many
        seconds and return the usage over them.
        """
        if interval:
            return super().cpu_percent(interval)
        times, taken = timed(self.cpu_times)
        running = self.running_time_in_seconds()
        return self._observed.cpu.percent(times.user + times.system, taken, running)

    @_as_listed
    def memory_percent(self, memtype: str = 'rss') -> float:
        """Return the resident memory in percent of the host's memory."""
        return super().memory_percent(memtype)

    @_as_listed
    def rss_memory(self) -> int:
        """Return the resident memory in bytes."""
        return self.memory_info().rss

    def running_time(self) -> timedelta:
        """Return the time since the process started."""
        return timedelta(seconds=self.running_time_in_seconds())

    @_as_listed
    def running_time_in_seconds(self) -> float:
        """Return the time since the process started, in seconds."""
        return self._observed.running_seconds(self.create_time())

    def running_time_human(self) -> str:
        """Return the time since the process started as text, such as ``1:02:03``."""
        return timedelta2human(self.running_time())

    elapsed_time = running_time
    elapsed_time_in_seconds = running_time_in_seconds
    elapsed_time_human = running_time_human

    def parent(self) -> HostProcess | None:
        """Return the parent process, ``None`` for the first process."""
        # psutil compares start times, which a simulated machine replaces.
        is_actual = self._simulated_facts() is None
        parent = super().parent() if is_actual else psutil.Process(self.pid).parent()
        return None if parent is None else HostProcess(parent.pid)

    def children(  # type: ignore[override]  # - list[HostProcess] is not a list[Process] to mypy
        self, recursive: bool = False
    ) -> list[HostProcess]:
        """Return the child processes; with ``recursive`` all descendants."""
        return [HostProcess(child.pid) for child in super().children(recursive)]

    def owner(self, names: str = 'files') -> Owner | NaType:
        """Return the batch job, pod, container, unit or session that the process belongs to.

        :data:`~nvitop.NA` if the process has exited, is hidden from this user, or belongs to another
        PID namespace, and on other systems than Linux; see :meth:`owner_reading` for the reason.

        Args:
            names: Where to find names of containers: ``'files'`` that every user may read,
                ``'sockets'`` of Docker and Podman too, or ``'none'``.

        Raises:
            ValueError: ``names`` is something else.
        """
        owner = self.owner_reading(names).owner
        return NA if owner is None else owner

    def owner_reading(self, names: str = 'files') -> OwnerReading:
        """Return the result of :meth:`owner` with the reason if there is none."""
        from nvitop.owner.reading import ELSEWHERE, EXITED, read_owner

        if not self.is_here:
            return OwnerReading(None, ELSEWHERE)
        reading = read_owner(self.pid, names)
        # Another process may have got the PID while it was read.
        if reading.owner is not None and not self.is_running():
            return OwnerReading(None, EXITED)
        return reading

    def as_snapshot(self, attrs: Iterable[str] | None = None, ad_value: Any = None) -> Snapshot:
        """Return all values, or those of ``attrs``, at one moment as a :class:`~nvitop.Snapshot`.

        Names are those of :meth:`psutil.Process.as_dict` and ``command``, ``running_time``,
        ``running_time_human``, ``running_time_in_seconds``, and ``owner`` if it is in ``attrs``.
        ``ad_value`` replaces what this user may not read.

        Raises:
            ValueError: One of ``attrs`` is unknown.
        """
        wanted = None if attrs is None else set(attrs)
        extra = _EXTRA if wanted is None else {*_EXTRA, 'owner'} & wanted
        known = None if wanted is None else wanted - extra
        with self.oneshot():
            # as_dict() takes an empty set for everything.
            items = {} if known == set() else self.as_dict(known, ad_value)
            for name in extra:
                try:
                    items[name] = getattr(self, name)()
                except (psutil.AccessDenied, psutil.ZombieProcess):
                    items[name] = ad_value
        return Snapshot(self, **dict(sorted(items.items())))

    def facts(self) -> HostFacts:
        """Return what a process list shows, from a few short reads. Never raises.

        Unavailable values are ``None``.
        """
        return self._observed.facts()


def _after_fork() -> None:
    for process in tuple(HostProcess.INSTANCES.values()):
        process._lock = threading.RLock()  # psutil holds it in oneshot()


renew_in_child(HostProcess, INSTANCE_LOCK=threading.RLock)
at_fork(after_in_child=_after_fork)

_EXTRA = {'command', 'running_time', 'running_time_human', 'running_time_in_seconds'}
