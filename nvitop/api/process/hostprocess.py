# SPDX-License-Identifier: Apache-2.0
"""HostProcess: psutil's Process, one object per process, with what a process viewer needs."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
import weakref
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

import psutil

from nvitop.api import host
from nvitop.api.process import procfs
from nvitop.api.process.command import command_join
from nvitop.api.utils import NA, NaType, Snapshot, timedelta2human
from nvitop.namedtuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

#: No system gives this PID to a process, and every one can be asked for it.
_NO_PID = 2**31 - 1
#: CPU time is counted in ticks of 10 ms: over less than this many seconds it says nothing.
_CPU_PERCENT_INTERVAL = 0.1


class HostFacts(NamedTuple):
    """What is known of a process at one moment, as :meth:`HostProcess.facts` reads it."""

    is_running: bool
    #: One of psutil's ``STATUS_*``, ``'terminated'``, or :data:`~nvitop.NA` for a hidden process.
    status: str
    username: str
    name: str
    #: Empty for kernel threads and zombies, ``None`` where this user may not read it.
    cmdline: list[str] | None
    #: Of one CPU, so that it may exceed 100.
    cpu_percent: float | NaType
    memory_percent: float | NaType
    #: Resident memory in bytes.
    host_memory: int | NaType
    #: In seconds since the epoch.
    create_time: float | NaType
    running_time_in_seconds: float | NaType

    @property
    def command(self) -> str:
        """The command line as one text, or, where there is none, the reason in words."""
        return command_join(self.display_cmdline)

    @property
    def display_cmdline(self) -> list[str]:
        """The command line, or, where there is none, a text in its place, as ps shows it."""
        if self.cmdline is None:
            return [NO_PERMISSIONS]
        if not self.is_running:
            return [NO_SUCH_PROCESS]
        if self.status == psutil.STATUS_ZOMBIE:
            return [ZOMBIE_PROCESS]
        return self.cmdline or [f'[{self.name}]']


NO_SUCH_PROCESS = 'No Such Process'
NO_PERMISSIONS = 'No Permissions'
ZOMBIE_PROCESS = 'Zombie Process'
TERMINATED = 'terminated'

_GONE = HostFacts(False, TERMINATED, NA, NA, [], NA, NA, NA, NA, NA)
_HIDDEN = HostFacts(True, NA, NA, NA, None, NA, NA, NA, NA, NA)


class HostProcess(psutil.Process):
    """A process on the host.

    Everything that :class:`psutil.Process` can, and a few things more. There is one object for a
    process as long as somebody holds it; a PID that is used again gives another one. A PID that
    does not exist (any more) raises nothing here: :meth:`is_running` is false, and questions raise
    :class:`psutil.NoSuchProcess` as usual. Copies and pickles are the same process.

    >>> HostProcess() is HostProcess(os.getpid())
    True
    """

    INSTANCES: ClassVar[weakref.WeakValueDictionary[int, HostProcess]] = (
        weakref.WeakValueDictionary()
    )
    INSTANCE_LOCK: ClassVar[threading.RLock] = threading.RLock()

    if TYPE_CHECKING:  # psutil's own, under these names since its release 3
        _gone: bool
        _pid: int
        _name: str | None

        def _init(self, pid: int, _ignore_nsp: bool = False) -> None: ...

    def __new__(cls, pid: int | None = None) -> HostProcess:
        """Return the object of this process: an existing one where it is still the same."""
        if pid is None:
            pid = os.getpid()
        with HostProcess.INSTANCE_LOCK:
            cached = HostProcess.INSTANCES.get(pid)
            if type(cached) is cls and cached.is_same():
                return cached
            process = super().__new__(cls)
            process._open(pid)
            HostProcess.INSTANCES[pid] = process
            return process

    def __init__(self, pid: int | None = None) -> None:
        """``pid`` is this program's own where it is ``None``; ValueError for a negative one."""

    def _open(self, pid: int) -> None:
        self._start_ticks = procfs.read_start_ticks(pid) if psutil.LINUX else None
        try:
            self._init(pid, _ignore_nsp=True)
        except (psutil.NoSuchProcess, OverflowError):  # out of range: a broken answer of a driver
            self._init(_NO_PID, _ignore_nsp=True)
            self._pid = pid
            self._ident = (pid, None)
        self._username: str | None = None
        self._owner = -1
        #: Time, CPU seconds and CPU percent of the last reading.
        self._cpu: tuple[float, float, float] | None = None

    def is_same(self) -> bool:
        """Whether this PID is still the process it was, or still is none."""
        if psutil.LINUX:
            return procfs.read_start_ticks(self._pid) == self._start_ticks
        return self.is_running() if not self._gone else not psutil.pid_exists(self.pid)

    def __repr__(self) -> str:
        text = super().__repr__()
        module = type(self).__module__ + '.'
        return text[len(module) :] if text.startswith(module) else text

    def __reduce__(self) -> tuple[type[HostProcess], tuple[int]]:
        return type(self), (self.pid,)

    def username(self) -> str:
        """Name of the user the process belongs to, without a domain; asked once.

        A user unknown to the system has the number as a text.
        """
        if self._username is None:
            self._username = _username(self)
        return self._username

    def cmdline(self) -> list[str]:
        """Arguments the process was started with, or the title it gave itself as one text.

        Empty for a kernel thread.
        """
        if not psutil.LINUX:
            return '\0'.join(super().cmdline()).rstrip('\0').split('\0')
        try:
            cmdline = procfs.read_cmdline(self.pid)
        except PermissionError as ex:
            raise psutil.AccessDenied(self.pid, self._name) from ex
        if not cmdline and self.status() == psutil.STATUS_ZOMBIE:
            raise psutil.ZombieProcess(self.pid, self._name)
        return cmdline

    def command(self) -> str:
        """The command line as one text, quoted for the shell. See :func:`command_join`."""
        return command_join(self.cmdline())

    def cpu_percent(self, interval: float | None = None) -> float:
        """CPU time used since the last call, in percent of one CPU: it may exceed 100.

        The first call gives the average since the process started, as ps does, and a call less than
        0.1 s after another the same again. With an ``interval`` above 0, waits that many seconds
        and measures them.
        """
        if interval:
            return super().cpu_percent(interval)
        times = self.cpu_times()
        return self._cpu_percent(times.user + times.system)

    def _cpu_percent(self, seconds: float) -> float:
        now = time.monotonic()
        last = self._cpu
        if last is None:
            since = max(_CPU_PERCENT_INTERVAL, time.time() - self.create_time())
            used = seconds
        else:
            since = now - last[0]
            used = seconds - last[1]
            if since < _CPU_PERCENT_INTERVAL:
                return last[2]
        percent = round(max(0.0, used) / since * 100.0, 1)
        self._cpu = (now, seconds, percent)
        return percent

    def rss_memory(self) -> int:
        """Resident memory in bytes."""
        return self.memory_info().rss

    def running_time(self) -> timedelta:
        """How long the process has been running."""
        return timedelta(seconds=self.running_time_in_seconds())

    def running_time_in_seconds(self) -> float:
        """How long the process has been running, in seconds."""
        return max(0.0, time.time() - self.create_time())

    def running_time_human(self) -> str:
        """How long the process has been running: ``1:02:03``."""
        return timedelta2human(self.running_time())

    elapsed_time = running_time
    elapsed_time_in_seconds = running_time_in_seconds
    elapsed_time_human = running_time_human

    def parent(self) -> HostProcess | None:
        """The process that started this one, ``None`` for the first."""
        parent = super().parent()
        return None if parent is None else HostProcess(parent.pid)

    def children(  # type: ignore[override]  # - a list of HostProcess is no list[Process] to mypy
        self, recursive: bool = False
    ) -> list[HostProcess]:
        """The processes this one started, with ``recursive`` also those they started."""
        return [HostProcess(child.pid) for child in super().children(recursive)]

    def as_snapshot(self, attrs: Iterable[str] | None = None, ad_value: Any = None) -> Snapshot:
        """Everything at one moment, or ``attrs`` only, as a :class:`~nvitop.Snapshot`.

        Names are those of :meth:`psutil.Process.as_dict`, and ``command``, ``running_time``,
        ``running_time_human`` and ``running_time_in_seconds``. What this user may not read is
        ``ad_value``. ValueError for other names.
        """
        wanted = None if attrs is None else set(attrs)
        extra = _EXTRA if wanted is None else _EXTRA & wanted
        known = None if wanted is None else wanted - _EXTRA
        with self.oneshot():
            # An empty set would mean everything.
            items = {} if known == set() else self.as_dict(known, ad_value)
            for name in extra:
                try:
                    items[name] = getattr(self, name)()
                except (psutil.AccessDenied, psutil.ZombieProcess):
                    items[name] = ad_value
        return Snapshot(self, **dict(sorted(items.items())))

    def facts(self) -> HostFacts:
        """Everything a list of processes shows, in three short reads; raises nothing.

        What cannot be known is :data:`~nvitop.NA`.
        """
        try:
            return self._facts_of_linux() if psutil.LINUX else self._facts_of_psutil()
        except (psutil.AccessDenied, PermissionError):
            return _HIDDEN
        except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
            return _GONE

    def _facts_of_linux(self) -> HostFacts:
        stat = procfs.read_stat(self.pid)
        cmdline = None
        with contextlib.suppress(PermissionError):
            cmdline = procfs.read_cmdline(self.pid)
            if not cmdline:  # a kernel thread, or it is just ending
                stat = procfs.read_stat(self.pid)
        if stat is None or stat.start_ticks != self._start_ticks:
            return _HIDDEN if stat is None and procfs.is_hidden(self.pid) else _GONE
        if self._username is None or stat.owner != self._owner:
            self._username = _username(self)
            self._owner = stat.owner
        rss = procfs.read_rss(self.pid)
        name = stat.name
        if cmdline and stat.is_name_cut:
            full_name = os.path.basename(cmdline[0])
            name = full_name if full_name.startswith(name) else name
        return HostFacts(
            is_running=True,
            status=stat.status,
            username=self._username,
            name=name,
            cmdline=cmdline,
            cpu_percent=self._cpu_percent(stat.cpu_seconds),
            memory_percent=rss / _memory_total() * 100.0,
            host_memory=rss,
            create_time=self.create_time(),
            running_time_in_seconds=self.running_time_in_seconds(),
        )

    def _facts_of_psutil(self) -> HostFacts:
        if not self.is_running():
            return _GONE
        with self.oneshot():
            return HostFacts(
                is_running=True,
                status=self.status(),
                username=_allowed(self.username, NA),
                name=_allowed(self.name, NA),
                cmdline=_allowed(self.cmdline, None),
                cpu_percent=_allowed(self.cpu_percent, NA),
                memory_percent=_allowed(self.memory_percent, NA),
                host_memory=_allowed(self.rss_memory, NA),
                create_time=_allowed(self.create_time, NA),
                running_time_in_seconds=_allowed(self.running_time_in_seconds, NA),
            )


_EXTRA = {'command', 'running_time', 'running_time_human', 'running_time_in_seconds'}


def _allowed(ask: Any, otherwise: Any) -> Any:
    """What ``ask`` says, or ``otherwise`` where this user may not know it."""
    try:
        return ask()
    except psutil.ZombieProcess:
        return [] if otherwise is None else otherwise
    except psutil.AccessDenied:
        return otherwise


def _username(process: HostProcess) -> str:
    if not psutil.POSIX:
        return psutil.Process.username(process).rpartition('\\')[2]
    return _name_of_user(process.uids().real)


def _name_of_user(uid: int) -> str:
    # Asking may mean asking a server; only answers are remembered.
    try:
        return _known_name_of_user(uid)
    except KeyError:
        return str(uid)


@functools.lru_cache(maxsize=1024)
def _known_name_of_user(uid: int) -> str:
    import pwd

    return pwd.getpwuid(uid).pw_name


@functools.lru_cache(maxsize=None)
def _memory_total() -> int:
    return host.virtual_memory().total
