# SPDX-License-Identifier: Apache-2.0
"""Asking the host about processes: those in view often, the others once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Callable, Container, Iterable

from nvitop.api import host
from nvitop.api.process.facts import GONE, HostFacts
from nvitop.api.process.observed import observed
from nvitop.api.process.procfs import UNREADABLE, ZOMBIE, in_pid_namespace, uses_gpu
from nvitop.api.utils import NA
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import DeviceKey, HostProcessSample, Problem, ProcessKey, ProcessSample
from nvitop.sampling.value import known_value

if TYPE_CHECKING:
    from nvitop.api.process.observed import ObservedProcess
    from nvitop.sampling.gpu import ProcessRecord
    from nvitop.sampling.types import HostSample

#: CPU % is not given over a longer time: what was busy an hour ago need not be now.
LONGEST_CPU_SECONDS = 10.0
#: … nor over a shorter one: CPU time is counted in steps of 10 ms.
SHORTEST_CPU_SECONDS = 0.1
#: At each reading so many of the processes that nobody sees are looked at whether they are still the
#: ones they were, in turn. One that comes into view is looked at then, and before it gets a signal.
CHECKED_UNSEEN = 128
#: For so long a command line and the memory of the host stay as read: then only CPU time is read.
LASTING_SECONDS = 0.5


#: Of a process that was not looked at.
_UNREAD = HostFacts(True, NA, NA, NA, None, NA, NA, NA, NA, NA)


class ProcessReading(NamedTuple):
    """What is known of the processes."""

    processes: tuple[ProcessSample, ...] = ()
    host_processes: tuple[HostProcessSample, ...] = ()
    problems: tuple[Problem, ...] = ()
    #: Processes whose CPU time was read for the first time (or again after long), by PID: there is
    #: a CPU % once they are read again.
    begun: frozenset[int] = frozenset()


#: What is measured of a process again and again.
_MEASURED = (
    'gpu_memory_bytes',
    'gpu_memory_percent',
    'gpu_sm_utilization_percent',
    'gpu_memory_utilization_percent',
    'gpu_encoder_utilization_percent',
    'gpu_decoder_utilization_percent',
    'cpu_percent',
    'memory_percent',
    'host_memory_bytes',
    'running_time_seconds',
)


def without_measurements(reading: ProcessReading) -> ProcessReading:
    """The processes of a reading that is not true any more: who they were, and no number."""
    unknown: dict[str, Any] = dict.fromkeys(_MEASURED)
    host_unknown: dict[str, Any] = {
        field: None for field in _MEASURED if field in HostProcessSample._fields
    }
    return reading._replace(
        processes=tuple(process._replace(**unknown) for process in reading.processes),
        host_processes=tuple(
            process._replace(**host_unknown) for process in reading.host_processes
        ),
        begun=frozenset(),
    )


class _Known:
    """What is known of one process of the host."""

    __slots__ = (
        'cpu_percent',
        'facts',
        'host',
        'is_begun',
        'is_stranger',
        'read_at',
        'start_time',
        'started',
        'words',
    )

    def __init__(self, process: ObservedProcess, *, is_stranger: bool = False) -> None:
        self.host = process
        #: Whether it has the PID of a process on a GPU, but in another PID namespace.
        self.is_stranger = is_stranger
        self.start_time = -1.0
        #: The same on the clock that counts from the start of the machine; ``None``: unknown.
        self.started: float | None = None
        self.facts = _UNREAD
        #: When it was read, on the monotonic clock.
        self.read_at = 0.0
        self.cpu_percent: float | None = None
        self.is_begun = False
        #: What the facts say in words, once somebody has asked: the same on each of its devices.
        self.words: _Words | None = None


class _Words(NamedTuple):
    """What a process is called, and whose it is."""

    username: str | None
    name: str | None
    command: str | None


class ProcessReader:
    """The processes of the last reading, and what is known of each.

    A reader lives in one thread at a time. One that got stuck is replaced by :meth:`renewed`.
    """

    def __init__(
        self,
        *,
        longest: float = LONGEST_CPU_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        uptime: Callable[[], float] = host.uptime,
    ) -> None:
        self._longest = longest
        self._clock = clock
        self._uptime = uptime
        self._known: dict[int, _Known] = {}
        #: Readers that got stuck, by the process they are stuck in.
        self._stuck: dict[int, ProcessReader] = {}
        #: The process that is being read now.
        self._current: int | None = None
        #: PIDs that a driver gave which may mean others than here.
        self._ambiguous: Container[int] = ()
        #: Processes that are known to be the ones they were, in this reading.
        self._checked: set[int] = set()
        #: The row from which on processes that nobody sees are looked at in this reading.
        self._turn = 0
        #: For each row of the last reading the row and what was said of it, if nobody saw it.
        self._unseen: list[tuple[ProcessRecord, ProcessSample] | None] = []

    def renewed(self) -> ProcessReader:
        """A reader that leaves alone, for as long as it lasts, the process this one is stuck in."""
        new = ProcessReader(longest=self._longest, clock=self._clock, uptime=self._uptime)
        new._stuck = dict(self._stuck)
        if self._current is not None:
            new._stuck[self._current] = self
        return new

    def read(
        self,
        rows: Iterable[ProcessRecord],
        visible: Container[ProcessKey] | None,
        own: HostSample,
        *,
        measure: Container[ProcessKey] | None = None,
        tree: bool = False,
        are_real: bool = True,
    ) -> ProcessReading:
        """Read the processes of these rows.

        CPU % and memory are given for those visible (``None``: for all), and read of those of them
        that are to be measured (``None``: of all); name and command are read of those not seen
        before. With ``tree``, also of their ancestors and children. Where the processes ``are_real``,
        in a container, one that has no GPU open is not the one that the driver means.

        What it costs grows with those that are visible: the others are looked at in turn, and only
        when all are measured.
        """
        rows = tuple(rows)
        self._stuck = {pid: r for pid, r in self._stuck.items() if r._current == pid}
        now = self._clock()
        uptime = self._uptime()
        begun: set[int] = set()
        samples = []
        self._checked.clear()
        is_ambiguous = are_real and in_pid_namespace()
        self._ambiguous = {row.pid for row in rows} if is_ambiguous else ()

        def is_visible(key: ProcessKey) -> bool:
            return visible is None or key in visible

        def is_wanted(key: ProcessKey) -> bool:
            return is_visible(key) and (measure is None or key in measure)

        last, self._unseen = self._unseen if measure is not None else [], []
        for number, row in enumerate(rows):
            unseen = last[number] if number < len(last) else None
            if unseen is not None and unseen[0] is row and not is_visible(unseen[1].key):
                samples.append(unseen[1])
                self._unseen.append(unseen)
                continue
            before = self._known.get(row.pid)
            known = self._look(
                row.pid,
                now,
                measure=before is not None
                and is_wanted(ProcessKey(row.pid, before.start_time, row.device)),
                check=measure is None and (number - self._turn) % len(rows) < CHECKED_UNSEEN,
            )
            key = ProcessKey(row.pid, known.start_time, row.device)
            if is_wanted(key) and known.is_begun and known.cpu_percent is None:
                begun.add(key.pid)
            sample = _sample(row, key, known, own, uptime, is_visible=is_visible(key))
            samples.append(sample)
            self._unseen.append(None if is_visible(key) else (row, sample))
        if measure is None:
            self._turn = (self._turn + CHECKED_UNSEEN) % max(1, len(rows))
        samples.sort(key=lambda s: (s.key.device, s.username or '', s.key.pid))
        problems = [
            Problem(f'process {pid}', 'command', 'the system does not answer', 'timed out')
            for pid in self._stuck
        ]
        parents = _parents(problems) if tree else {}
        host_processes = self._read_tree(rows, parents, now, uptime, own, begun) if tree else ()
        self._forget({s.key.pid for s in samples} | {s.pid for s in host_processes})
        return ProcessReading(tuple(samples), host_processes, tuple(problems), frozenset(begun))

    def _look(self, pid: int, now: float, *, measure: bool, check: bool = True) -> _Known:
        """What is known of a process; one that is new is read, an old one only to measure it, or to
        check whether it is still the one it was."""
        known = self._known.get(pid)
        if known is not None and measure:
            self._measure(known, now)
            if known.facts.is_running or known.host.is_same():
                return known
        elif known is not None and (not check or pid in self._checked or known.host.is_same()):
            self._checked.add(pid)
            return known
        is_stranger = pid in self._ambiguous and uses_gpu(pid) is False
        known = self._known[pid] = _Known(observed(pid), is_stranger=is_stranger)
        self._read_facts(known, now)
        return known

    def _read_facts(self, known: _Known, now: float, *, is_again: bool = False) -> None:
        known.read_at = now
        known.words = None
        pid = known.host.pid
        if known.is_stranger:
            known.facts = GONE
        elif pid in self._stuck:
            known.facts = _UNREAD
        else:
            self._current = pid
            host = known.host
            known.facts = host.measured_again(known.facts) if is_again else host.facts()
            self._current = None
        known.is_begun = known_value(known.facts.cpu_percent) is not None
        if known.start_time < 0:  # it could not be read at first
            create_time = known_value(known.facts.create_time)
            known.start_time = -1.0 if create_time is None else create_time
            running = known_value(known.facts.running_time_in_seconds)
            known.started = None if running is None else self._uptime() - running

    def _measure(self, known: _Known, now: float) -> None:
        age = now - known.read_at
        if age < SHORTEST_CPU_SECONDS:  # on another device, a moment ago
            return
        is_usable = known.is_begun and age <= self._longest
        self._read_facts(known, now, is_again=age < LASTING_SECONDS and known.facts is not _UNREAD)
        known.cpu_percent = known_value(known.facts.cpu_percent) if is_usable else None

    def _read_tree(
        self,
        rows: tuple[ProcessRecord, ...],
        parents: dict[int, int],
        now: float,
        uptime: float,
        own: HostSample,
        begun: set[int],
    ) -> tuple[HostProcessSample, ...]:
        """The processes on the devices, their ancestors and their children."""
        devices: dict[int, list[DeviceKey]] = {}
        for row in rows:
            devices.setdefault(row.pid, []).append(row.device)
        wanted = set(devices)
        here = {pid for pid in devices if not self._known[pid].is_stranger}
        wanted.update(pid for pid, parent in parents.items() if parent in here)
        for start in here:
            pid = parents.get(start)
            while pid is not None and pid != 0 and pid not in wanted:
                wanted.add(pid)
                pid = parents.get(pid)
        samples = []
        for pid in sorted(wanted):
            known = self._look(pid, now, measure=True)
            if known.is_begun and known.cpu_percent is None:
                begun.add(pid)
            on = tuple(sorted(devices.get(pid, ())))
            if on or known.facts.is_running:
                parent = None if known.is_stranger else parents.get(pid)
                samples.append(_host_sample(known, parent, on, own, uptime))
        return tuple(samples)

    def _forget(self, pids: set[int]) -> None:
        for pid in [pid for pid in self._known if pid not in pids]:
            del self._known[pid]


def _parents(problems: list[Problem]) -> dict[int, int]:
    """The parent of each process of the host; where they cannot be read, none and a problem more."""
    try:
        return host.ppid_map()
    except (*UNREADABLE, host.PsutilError) as error:
        reason = f'{type(error).__name__}: {error}'
        problems.append(Problem('host', 'processes', reason, 'error'))
        return {}


def _sample(
    row: ProcessRecord,
    key: ProcessKey,
    known: _Known,
    own: HostSample,
    uptime: float,
    *,
    is_visible: bool,
) -> ProcessSample:
    facts = known.facts
    words = known.words
    if words is None:
        words = known.words = _Words(
            known_value(facts.username),
            known_value(facts.name),
            _command(facts),
        )
    return ProcessSample(
        key=key,
        type=row.type,
        status=_status(facts, row),
        username=words.username,
        is_own=_is_own(facts, own),
        name=words.name,
        command=words.command,
        gpu_memory_bytes=row.gpu_memory_bytes,
        gpu_memory_percent=row.gpu_memory_percent,
        gpu_sm_utilization_percent=row.gpu_sm_utilization_percent,
        gpu_memory_utilization_percent=row.gpu_memory_utilization_percent,
        gpu_encoder_utilization_percent=row.gpu_encoder_utilization_percent,
        gpu_decoder_utilization_percent=row.gpu_decoder_utilization_percent,
        gpu_instance_id=row.gpu_instance_id,
        compute_instance_id=row.compute_instance_id,
        cpu_percent=known.cpu_percent if is_visible else None,
        memory_percent=known_value(facts.memory_percent) if is_visible else None,
        host_memory_bytes=known_value(facts.host_memory) if is_visible else None,
        running_time_seconds=_running_time(known, uptime),
    )


def _host_sample(
    known: _Known,
    parent: int | None,
    devices: tuple[DeviceKey, ...],
    own: HostSample,
    uptime: float,
) -> HostProcessSample:
    facts = known.facts
    return HostProcessSample(
        pid=known.host.pid,
        start_time=known.start_time,
        parent_pid=parent,
        username=known_value(facts.username),
        is_own=_is_own(facts, own),
        status=_status(facts, None),
        command=_command(facts),
        devices=devices,
        thread_count=_thread_count(known.host),
        cpu_percent=known.cpu_percent,
        memory_percent=known_value(facts.memory_percent),
        running_time_seconds=_running_time(known, uptime),
    )


def _status(facts: HostFacts, row: ProcessRecord | None) -> str:
    if facts is _UNREAD:
        return 'running'
    if not facts.is_running:
        # One that holds memory exists: if not here, then elsewhere.
        has_memory = row is not None and bool(row.gpu_memory_bytes)
        return 'foreign' if has_memory and in_pid_namespace() else 'gone'
    if facts.status == ZOMBIE:
        return 'zombie'
    return 'no permission' if facts.cmdline is None else 'running'


def _command(facts: HostFacts) -> str | None:
    has_command = facts.is_running and facts.status != ZOMBIE
    return facts.command if has_command and facts.cmdline is not None else None


def _is_own(facts: HostFacts, own: HostSample) -> bool:
    return facts.is_running and (own.is_superuser or facts.username == own.username)


def _running_time(known: _Known, uptime: float) -> float | None:
    return None if known.started is None else max(0.0, uptime - known.started)


def _thread_count(process: ObservedProcess) -> int | None:
    try:
        return process.num_threads()
    except (*UNREADABLE, host.PsutilError):
        return None
