# SPDX-License-Identifier: Apache-2.0
"""HostProcess: psutil's Process, one object per process, with what a process viewer needs."""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

import psutil

from nvitop.api.process import procfs
from nvitop.api.process.command import command_join
from nvitop.api.process.facts import GONE, HIDDEN, CpuShare, HostFacts
from nvitop.api.process.linux import LinuxProcess
from nvitop.api.utils import NA, Snapshot, timedelta2human
from nvitop.platforms import LINUX
from nvitop.platforms.users import name_of_user, without_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: No system gives this PID to a process, and every one can be asked for it.
_NO_PID = 2**31 - 1


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
            if type(cached) is cls and cached.is_identified and cached.is_same():
                return cached
            process = super().__new__(cls)
            process._open(pid)
            HostProcess.INSTANCES[pid] = process
            return process

    def __init__(self, pid: int | None = None) -> None:
        """``pid`` is this program's own where it is ``None``; ValueError for a negative one."""

    @classmethod
    def elsewhere(cls, pid: int) -> HostProcess:
        """The process that has this PID in another PID namespace: here it does not exist."""
        process = super().__new__(cls)
        process._open(pid, is_here=False)
        return process

    def _open(self, pid: int, *, is_here: bool = True) -> None:
        #: Whether it is the process that has its PID here, if there is one.
        self.is_here = is_here
        #: Whether it could be read which one that is.
        self.is_identified = True
        #: The same process as lists show it, on Linux.
        self._linux = LinuxProcess(pid) if LINUX and is_here else None
        if self._linux is not None:
            self._linux.is_same()  # which it is from now on
        try:
            self._init(pid if is_here else _NO_PID, _ignore_nsp=True)
        except (psutil.NoSuchProcess, OverflowError):  # out of range: a broken answer of a driver
            self._init(_NO_PID, _ignore_nsp=True)
        except OSError:  # no file descriptor is left: who asks next gets another object
            self.is_identified = False
            self._ident = (pid, None)  # old releases of psutil set it last
        if self._pid != pid:
            self._pid = pid
            self._ident = (pid, None)
        self.username_known: str | None = None
        self._cpu = CpuShare() if self._linux is None else self._linux.cpu

    def is_same(self) -> bool:
        """Whether this PID is still the process it was, or still is none."""
        if self._linux is not None:
            return self._linux.is_same()
        return self.is_running() if not self._gone else not psutil.pid_exists(self.pid)

    def _raise_if_pid_reused(self) -> None:
        # psutil's own lets a process that it has once seen gone have its PID back, whoever has it.
        if not self.is_running():
            raise psutil.NoSuchProcess(self.pid, self._name)

    def __repr__(self) -> str:
        text = super().__repr__()
        module = type(self).__module__ + '.'
        return text[len(module) :] if text.startswith(module) else text

    def __reduce__(self) -> tuple[Callable[[int], HostProcess], tuple[int]]:
        return type(self) if self.is_here else type(self).elsewhere, (self.pid,)

    def username(self) -> str:
        """Name of the user the process belongs to, without a domain; asked once.

        A user unknown to the system has the number as a text.
        """
        cache = self if self._linux is None else self._linux
        if cache.username_known is None:
            cache.username_known = _username(self)
        return cache.username_known

    def cmdline(self) -> list[str]:
        """Arguments the process was started with, or the title it gave itself as one text.

        Empty for a kernel thread.
        """
        if self._linux is None:
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
        return self._cpu.percent(times.user + times.system, self.running_time_in_seconds())

    def rss_memory(self) -> int:
        """Resident memory in bytes."""
        return self.memory_info().rss

    def running_time(self) -> timedelta:
        """How long the process has been running."""
        return timedelta(seconds=self.running_time_in_seconds())

    def running_time_in_seconds(self) -> float:
        """How long the process has been running, in seconds."""
        created = self.create_time()
        if self._linux is not None:
            return self._linux.running_seconds()  # right also when the clock is set
        return max(0.0, time.time() - created)

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
        if self._linux is not None:
            return self._linux.facts()
        try:
            return self._facts_of_psutil()
        except psutil.AccessDenied:
            return HIDDEN
        except psutil.NoSuchProcess:
            return GONE

    def measured_again(self, facts: HostFacts) -> HostFacts:
        """The facts of a moment ago with the CPU time measured since; raises nothing."""
        return self.facts() if self._linux is None else self._linux.measured_again(facts)

    def _facts_of_psutil(self) -> HostFacts:
        if not self.is_running():
            return GONE
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
    if sys.platform == 'win32':
        return without_domain(psutil.Process.username(process))
    return name_of_user(process.uids().real)


# Where users find it is where it says it is, in reprs, pickles and documents.
HostProcess.__module__ = 'nvitop.api.process'
