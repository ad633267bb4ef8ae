# SPDX-License-Identifier: Apache-2.0
"""Reads processes of the host: those in view often, the others once; and how long they have been idle."""

from __future__ import annotations

import time
from typing import Any, Callable, Container, Iterable, NamedTuple, Sequence, TypeVar

from nvitop.api import host
from nvitop.api.device.processes import ProcessUsage, is_stranger
from nvitop.api.process.facts import GONE, HostFacts
from nvitop.api.process.observed import (
    ObservedProcess,
    ancestry,
    name_and_parent,
    observed,
    own_ancestry,
)
from nvitop.api.process.procfs import UNREADABLE, ZOMBIE, in_pid_namespace
from nvitop.api.system import system
from nvitop.api.timing import SHORTEST_CPU_SECONDS
from nvitop.sampling.device_reader import ListedProcess
from nvitop.sampling.types import (
    DeviceKey,
    HostProcessSample,
    HostSample,
    ParentProcess,
    Problem,
    ProcessKey,
    ProcessSample,
    ProcessStatus,
)

#: Time (seconds) without observation after which a process may have been active unnoticed.
LONGEST_GAP_SECONDS = 60.0


class IdleTimes:
    """Measures idle times from one reading of the processes to the next."""

    def __init__(self, longest_gap: float = LONGEST_GAP_SECONDS) -> None:
        self._longest_gap = max(LONGEST_GAP_SECONDS, longest_gap)
        #: When it was last active, or first seen if it never was; and whether it was active then.
        self._observed: dict[ProcessKey, tuple[float, bool]] = {}
        #: When processes were last observed; ``None`` before the first time.
        self.now: float | None = None

    def observe(self, processes: Sequence[ProcessSample], now: float) -> None:
        """Take notice of processes that were measured at this time, and forget all others."""
        before = self._observed
        if self.now is not None and now - self.now > self._longest_gap + 0.001:  # rounding
            before = {}
        self._observed = {}
        for process in processes:
            is_active = _is_active(process)
            if is_active:
                self._observed[process.key] = now, True
            elif is_active is not None:
                self._observed[process.key] = before.get(process.key, (now, False))
        self.now = now

    def add_to(self, processes: Sequence[ProcessSample]) -> tuple[ProcessSample, ...]:
        """Return the processes with their idle times at the last observation."""
        return tuple(map(self._with_idle_time, processes))

    def _with_idle_time(self, process: ProcessSample) -> ProcessSample:
        observed = self._observed.get(process.key)
        if observed is None or self.now is None:
            return process
        since, was_active = observed
        seconds = self.now - since
        if seconds <= 0 and not was_active:  # seen for the first time
            return process
        return process._replace(gpu_idle_seconds=seconds, is_idle_longer=not was_active)


def _is_active(process: ProcessSample) -> bool | None:
    """Return whether a process uses any part of its device; ``None`` if this is unknown."""
    parts = (
        process.gpu_sm_utilization_percent,
        process.gpu_memory_utilization_percent,
        process.gpu_encoder_utilization_percent,
        process.gpu_decoder_utilization_percent,
    )
    return None if parts[0] is None else any(parts)


P = TypeVar('P', ProcessSample, HostProcessSample)

#: Longest interval (seconds) over which CPU % is given: the average of an hour says little about now.
LONGEST_CPU_SECONDS = 10.0
#: Number of off-screen processes checked for PID reuse per reading (round robin). A process that
#: comes into view, or gets a signal, is checked then.
CHECKED_UNSEEN = 128
#: Time (seconds) for which command line and host memory count as current: until then, only CPU time
#: is read again.
LASTING_SECONDS = 0.5

#: Properties of a process that was not read.
_UNREAD = HostFacts(True)


class ProcessReading(NamedTuple):
    processes: tuple[ProcessSample, ...] = ()
    host_processes: tuple[HostProcessSample, ...] = ()
    problems: tuple[Problem, ...] = ()
    #: PIDs whose CPU time was read for the first time, or again after a long time: their CPU % needs
    #: a second reading.
    begun: frozenset[int] = frozenset()


def without_measurements(reading: ProcessReading) -> ProcessReading:
    """Return the processes of an outdated reading: their identity, without numbers."""
    return reading._replace(
        processes=tuple(map(_without_numbers, reading.processes)),
        host_processes=tuple(map(_without_numbers, reading.host_processes)),
        begun=frozenset(),
    )


def _without_numbers(process: P) -> P:
    ends = ('_bytes', '_percent', '_seconds', '_kib_per_s')
    unknown: dict[str, Any] = {name: None for name in process._fields if name.endswith(ends)}
    return process._replace(**unknown)


class _KnownProcess:
    """A process of the host, as last read."""

    def __init__(self, process: ObservedProcess, *, is_stranger: bool = False) -> None:
        self.host = process
        #: Whether the PID belongs to another process here than in the PID namespace of the driver.
        self.is_stranger = is_stranger
        self.start_time = -1.0
        #: Start time on the clock that counts from the boot of the machine, ``None`` if unknown.
        self.started: float | None = None
        self.values = _UNREAD
        #: When it was read, on the monotonic clock.
        self.read_at = 0.0
        self.cpu_percent: float | None = None
        self.is_begun = False


class _Turn(NamedTuple):
    """What one reading reads, and when; see :meth:`ProcessReader.read`."""

    #: On the monotonic clock.
    now: float
    uptime: float
    own: HostSample
    visible: Container[ProcessKey] | None
    measure: Container[ProcessKey] | None
    #: See :attr:`ProcessReading.begun`.
    begun: set[int]

    def is_visible(self, key: ProcessKey) -> bool:
        """Return whether a process gets CPU % and host memory."""
        return self.visible is None or key in self.visible

    def is_wanted(self, key: ProcessKey) -> bool:
        """Return whether a process is measured again."""
        return self.is_visible(key) and (self.measure is None or key in self.measure)


class ProcessReader:
    """Reads processes and remembers them between readings.

    A reader is used by one thread at a time. One that got stuck is replaced by :meth:`renewed`.
    """

    def __init__(
        self,
        *,
        longest: float = LONGEST_CPU_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        uptime: Callable[[], float] | None = None,
    ) -> None:
        self._longest = longest
        self._clock = clock
        self._uptime = uptime or system().uptime
        self._known: dict[int, _KnownProcess] = {}
        #: Readers that got stuck, by the PID at which they are stuck.
        self._stuck: dict[int, ProcessReader] = {}
        #: PID that is being read now.
        self._current: int | None = None
        #: PIDs that the driver lists, which may be those of another PID namespace.
        self._listed: Container[int] = ()
        #: PIDs known to belong to the same process as before, in this reading.
        self._checked: set[int] = set()
        #: The record from which on off-screen processes are checked in this reading.
        self._turn = 0
        #: For each record of the last reading, the record and its sample if it was off-screen.
        self._unseen: list[tuple[ListedProcess, ProcessSample] | None] = []
        #: Start times of processes that their device no longer lists; ``None`` once one has exited.
        self._outdated: dict[tuple[DeviceKey, int], float | None] = {}

    def renewed(self) -> ProcessReader:
        """Return a reader that skips the process at which this one is stuck, while it is stuck."""
        new = ProcessReader(longest=self._longest, clock=self._clock, uptime=self._uptime)
        new._stuck = dict(self._stuck)
        new._outdated = dict(self._outdated)
        if self._current is not None:
            new._stuck[self._current] = self
        return new

    def read(
        self,
        records: Iterable[ListedProcess],
        visible: Container[ProcessKey] | None,
        own: HostSample,
        *,
        measure: Container[ProcessKey] | None = None,
        tree: bool = False,
    ) -> ProcessReading:
        """Read the processes of these records.

        The cost grows with the number of visible processes. Off-screen ones are checked in turn, and
        only if all visible ones are measured.

        Args:
            records: The processes as devices report them.
            visible: Processes that get CPU % and host memory; ``None``: all.
            own: The host, to determine which processes this user may signal.
            measure: Visible processes to measure again; ``None``: all. The others keep their values.
            tree: Whether to read their ancestors and children, too.
        """
        records = self._without_exited(records)
        self._stuck = {pid: r for pid, r in self._stuck.items() if r._current == pid}
        turn = _Turn(self._clock(), self._uptime(), own, visible, measure, set())
        self._checked.clear()
        self._listed = {record.usage.pid for record in records}
        last, self._unseen = self._unseen if measure is not None else [], []
        samples = []
        for number, record in enumerate(records):
            unseen = last[number] if number < len(last) else None
            if unseen is not None and unseen[0] is record and not turn.is_visible(unseen[1].key):
                samples.append(unseen[1])
                self._unseen.append(unseen)
                continue
            is_checked = measure is None and (number - self._turn) % len(records) < CHECKED_UNSEEN
            sample = self._read_record(record, turn, check=is_checked)
            if sample is None or turn.is_visible(sample.key):
                self._unseen.append(None)
            else:
                self._unseen.append((record, sample))
            if sample is not None:
                samples.append(sample)
        if measure is None:
            self._turn = (self._turn + CHECKED_UNSEEN) % max(1, len(records))
        samples.sort(key=lambda s: (s.key.device, s.username or '', s.key.pid))
        reason = 'the system does not respond'
        problems = [Problem(pid, 'command', reason, 'timed out') for pid in self._stuck]
        parents = _parents(problems) if tree else {}
        host_processes = self._read_tree(records, parents, turn) if tree else ()
        present = {s.key.pid for s in samples} | {s.pid for s in host_processes}
        self._known = {pid: known for pid, known in self._known.items() if pid in present}
        return ProcessReading(
            tuple(samples), host_processes, tuple(problems), frozenset(turn.begun)
        )

    def _read_record(
        self, record: ListedProcess, turn: _Turn, *, check: bool
    ) -> ProcessSample | None:
        """Read a process on a device; ``None`` if it exited after the device stopped listing it."""
        pid = record.usage.pid
        before = self._known.get(pid)
        is_measured = before is not None and turn.is_wanted(
            ProcessKey(pid, before.start_time, record.device)
        )
        known = self._look(pid, turn.now, measure=is_measured, check=check)
        if record.is_outdated and self._has_exited(record, known):
            return None
        key = ProcessKey(pid, known.start_time, record.device)
        if turn.is_wanted(key) and known.is_begun and known.cpu_percent is None:
            turn.begun.add(pid)
        return self._with_parent(_sample(record, key, known, turn), turn)

    def _without_exited(self, records: Iterable[ListedProcess]) -> tuple[ListedProcess, ...]:
        start_times: dict[tuple[DeviceKey, int], float | None] = {}
        kept = []
        for record in records:
            if record.is_outdated:
                place = record.device, record.usage.pid
                known = self._known.get(record.usage.pid)
                start_time = -1.0 if known is None else known.start_time
                start_times[place] = self._outdated.get(place, start_time)
                if start_times[place] is None:
                    continue
            kept.append(record)
        self._outdated = start_times
        return tuple(kept)

    def _has_exited(self, record: ListedProcess, known: _KnownProcess) -> bool:
        """Whether a process that its device no longer lists has exited, and note it.

        This cannot be known of one that was never seen on this system.
        """
        place = record.device, record.usage.pid
        before = self._outdated.get(place)
        if before is None or before < 0 or known.values is _UNREAD:
            return False
        if known.values.is_running and known.start_time == before:
            return False
        self._outdated[place] = None
        return True

    def _look(self, pid: int, now: float, *, measure: bool, check: bool = True) -> _KnownProcess:
        """Return a process. A new one is read, a known one only to measure it or to check whether
        its PID was reused.
        """
        known = self._known.get(pid)
        if known is not None and measure:
            self._measure(known, now)
            if known.values.is_running or known.host.is_same():
                return known
        elif known is not None and (not check or pid in self._checked or known.host.is_same()):
            self._checked.add(pid)
            return known
        known = self._known[pid] = _KnownProcess(
            observed(pid), is_stranger=pid in self._listed and is_stranger(pid)
        )
        self._read_values(known, now)
        return known

    def _with_parent(self, sample: ProcessSample, turn: _Turn) -> ProcessSample:
        if sample.status != 'zombie':
            return sample
        _, pid = name_and_parent(sample.key.pid)
        if pid <= 0:
            return sample
        known = self._look(pid, turn.now, measure=False)
        values = known.values
        # A signal would end this program.
        is_own = _is_own(values, turn.own) and pid not in own_ancestry()
        return sample._replace(
            parent=ParentProcess(pid, known.start_time, values.name, values.username, is_own)
        )

    def _read_values(self, known: _KnownProcess, now: float, *, is_again: bool = False) -> None:
        known.read_at = now
        pid = known.host.pid
        if known.is_stranger:
            known.values = GONE
        elif pid in self._stuck:
            known.values = _UNREAD
        else:
            self._current = pid
            host = known.host
            known.values = host.facts(known.values if is_again else None)
            self._current = None
        known.is_begun = known.values.cpu_percent is not None
        if known.start_time < 0:  # it could not be read before
            create_time, running = known.values.create_time, known.values.running_time_in_seconds
            known.start_time = -1.0 if create_time is None else create_time
            known.started = None if running is None else self._uptime() - running

    def _measure(self, known: _KnownProcess, now: float) -> None:
        age = now - known.read_at
        if age < SHORTEST_CPU_SECONDS:  # measured a moment ago, on another device
            return
        is_usable = known.is_begun and age <= self._longest
        self._read_values(
            known, now, is_again=age < LASTING_SECONDS and known.values is not _UNREAD
        )
        known.cpu_percent = known.values.cpu_percent if is_usable else None

    def _read_tree(
        self,
        records: tuple[ListedProcess, ...],
        parents: dict[int, int],
        turn: _Turn,
    ) -> tuple[HostProcessSample, ...]:
        devices: dict[int, list[DeviceKey]] = {}
        for record in self._without_exited(records):
            devices.setdefault(record.usage.pid, []).append(record.device)
        wanted = set(devices)
        here = {pid for pid in devices if not self._known[pid].is_stranger}
        wanted.update(pid for pid, parent in parents.items() if parent in here)
        for start in here:
            wanted.update(ancestry(start, parents.get))
        samples = []
        for pid in sorted(wanted):
            known = self._look(pid, turn.now, measure=True)
            if known.is_begun and known.cpu_percent is None:
                turn.begun.add(pid)
            on = tuple(sorted(devices.get(pid, ())))
            if on or known.values.is_running:
                parent = None if known.is_stranger else parents.get(pid)
                samples.append(_host_sample(known, parent, on, turn))
        return tuple(samples)


def _parents(problems: list[Problem]) -> dict[int, int]:
    """Return the parent of each process of the host, or none and add a problem."""
    try:
        return host.ppid_map()
    except (*UNREADABLE, host.PsutilError) as error:
        reason = f'{type(error).__name__}: {error}'
        problems.append(Problem('host', 'processes', reason, 'error'))
        return {}


def _sample(
    record: ListedProcess, key: ProcessKey, known: _KnownProcess, turn: _Turn
) -> ProcessSample:
    values, usage = known.values, record.usage
    is_visible = turn.is_visible(key)
    status = _status(values, has_memory=bool(usage.gpu_memory))
    if record.is_outdated:  # its device does not list it now
        usage = ProcessUsage(usage.pid, usage.type, None, *usage[3:5])
    memory, total = usage.gpu_memory, record.memory_total_bytes
    return ProcessSample(
        key=key,
        type=usage.type,
        status=status,
        username=values.username,
        is_own=_is_own(values, turn.own),
        name=values.name,
        command=_command(values),
        gpu_memory_bytes=memory,
        gpu_memory_percent=round(100.0 * memory / total, 1)
        if memory is not None and total
        else None,
        gpu_sm_utilization_percent=usage.gpu_sm_utilization,
        gpu_memory_utilization_percent=usage.gpu_memory_utilization,
        gpu_encoder_utilization_percent=usage.gpu_encoder_utilization,
        gpu_decoder_utilization_percent=usage.gpu_decoder_utilization,
        gpu_instance_id=usage.gpu_instance_id,
        compute_instance_id=usage.compute_instance_id,
        cpu_percent=known.cpu_percent if is_visible else None,
        memory_percent=values.memory_percent if is_visible else None,
        host_memory_bytes=values.host_memory if is_visible else None,
        running_time_seconds=_running_time(known, turn.uptime),
        is_outdated=record.is_outdated,
    )


def _host_sample(
    known: _KnownProcess, parent: int | None, devices: tuple[DeviceKey, ...], turn: _Turn
) -> HostProcessSample:
    values = known.values
    return HostProcessSample(
        pid=known.host.pid,
        start_time=known.start_time,
        parent_pid=parent,
        username=values.username,
        is_own=_is_own(values, turn.own),
        status=_status(values),
        command=_command(values),
        devices=devices,
        thread_count=values.thread_count,
        cpu_percent=known.cpu_percent,
        memory_percent=values.memory_percent,
        running_time_seconds=_running_time(known, turn.uptime),
        name=values.name,
    )


def _status(values: HostFacts, *, has_memory: bool = False) -> ProcessStatus:
    if values is _UNREAD:
        return 'running'
    if not values.is_running:
        # A process that holds memory exists: if not here, then in another namespace.
        return 'foreign' if has_memory and in_pid_namespace() else 'gone'
    if values.status == ZOMBIE:
        return 'zombie'
    return 'no permission' if values.cmdline is None else 'running'


def _command(values: HostFacts) -> str | None:
    has_command = values.is_running and values.status != ZOMBIE
    return values.command if has_command and values.cmdline is not None else None


def _is_own(values: HostFacts, own: HostSample) -> bool:
    return values.is_running and (own.is_superuser or values.username == own.username)


def _running_time(known: _KnownProcess, uptime: float) -> float | None:
    return None if known.started is None else max(0.0, uptime - known.started)
