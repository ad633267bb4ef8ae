# SPDX-License-Identifier: Apache-2.0
"""Reads owners of processes and remembers them by PID and start time.

The cgroup of a process is read when the process is first seen, and then at most every 10 s while it is
in view, because a process can be moved. Everything else about its owner is read once for each cgroup,
in a thread that no sample waits for.
"""

from __future__ import annotations

import functools
import time
from typing import Callable, Container, Iterable, Mapping, Tuple

from nvitop.api.process import procfs
from nvitop.api.process.observed import start_time_of
from nvitop.api.process.procfs import UNREADABLE
from nvitop.owner.names import NameLookup
from nvitop.owner.reading import (
    ELSEWHERE,
    EXITED,
    HIDDEN,
    NOT_LINUX,
    SharedFiles,
    read_cgroup,
    read_owner,
)
from nvitop.owner.types import OwnerReading
from nvitop.sampling.threads import SHORTEST_LIMIT_SECONDS, Watchdog
from nvitop.sampling.types import OWNER, Problem, ProblemKind, ProcessKey, ProcessSample

#: Time (seconds) for which a cgroup counts as current.
CGROUP_SECONDS = 10.0
#: Maximum time (seconds) for which a sample reads cgroups; the next sample reads the others.
CGROUPS_SECONDS = 1.0
#: Time (seconds) after which a thread returns the owners that it has found so far.
LOOKUP_SECONDS = 1.0
#: Maximum time (seconds) that a report waits for owners.
WAIT_SECONDS = 2.0
#: Maximum number of threads that hang in the files of a process; then no owners are read.
MAX_STUCK = 3

SILENT = 'the system does not respond'
_KINDS: dict[str, ProblemKind] = {HIDDEN: 'denied', NOT_LINUX: 'na', SILENT: 'timed out'}

#: PID and start time.
Identity = Tuple[int, float]


class _KnownOwner:
    """The owner of a process, as last read."""

    __slots__ = ('is_complete', 'read_at', 'reading')

    def __init__(self, reading: OwnerReading, read_at: float) -> None:
        self.reading = reading
        #: When its cgroup was read, on the monotonic clock.
        self.read_at = read_at
        #: Whether everything about it was read.
        self.is_complete = reading.owner is None


class _OwnerBatch:
    """Owners to read, in a thread that may hang."""

    def __init__(
        self,
        wanted: Iterable[Identity],
        read: Callable[[Identity], OwnerReading],
        seconds: float,
    ) -> None:
        self._wanted = list(wanted)
        self._seconds = seconds
        self._read = read
        self.readings: dict[Identity, OwnerReading] = {}
        #: The process that is being read.
        self.current: Identity | None = None
        self.is_over = False

    def run(self) -> bool:
        """Read the owners until the time is over; return true. The watchdog may call it again."""
        if self.is_over:
            return True
        deadline = time.monotonic() + self._seconds
        try:
            for identity in self._wanted:
                self.current = identity
                self.readings[identity] = self._read(identity)
                if time.monotonic() > deadline:
                    break
        finally:
            self.is_over = True
        return True


class OwnerReader:
    """Reads owners of processes. Used by one thread at a time.

    Args:
        watchdog: Runs what may hang.
        names: How to look up names of containers: ``'files'``, ``'sockets'`` or ``'none'``.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        watchdog: Watchdog,
        *,
        names: str = 'files',
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._watchdog = watchdog
        self._names = NameLookup(names)
        self._clock = clock
        self._known: dict[Identity, _KnownOwner] = {}
        self._lookup: _OwnerBatch | None = None
        #: Batches whose thread hangs.
        self._stuck: list[_OwnerBatch] = []
        #: Why owners are not known.
        self.problems: tuple[Problem, ...] = ()

    def read(
        self,
        processes: tuple[ProcessSample, ...],
        visible: Container[ProcessKey] | None = None,
        *,
        wait: bool = False,
        is_brief: bool = False,
    ) -> tuple[ProcessSample, ...]:
        """Return the processes with their owners.

        Args:
            visible: The processes in view, whose cgroups are read again; ``None``: all.
            wait: Whether to wait for everything about the owners, within limits.
            is_brief: Whether to read only what kind, ID and name of the owners depend on. That stays
                until a process is moved.
        """
        present = {process.identity for process in processes}
        self._known = {
            identity: known for identity, known in self._known.items() if identity in present
        }
        self._stuck = [batch for batch in self._stuck if not batch.is_over]
        self._read_cgroups(processes, visible)
        self._look_up(wait=wait, is_brief=is_brief)
        reasons = {known.reading.reason for known in self._known.values()}
        self.problems = tuple(
            Problem('host', OWNER, reason, _KINDS.get(reason, 'error'))
            for reason in sorted(reasons - {'', EXITED, ELSEWHERE})
        )
        return tuple(map(self._with_owner, processes))

    def _with_owner(self, process: ProcessSample) -> ProcessSample:
        known = self._known.get(process.identity)
        owner = None if known is None else known.reading.owner
        return process if owner is None else process._replace(owner=owner)

    def _read_cgroups(
        self, processes: Iterable[ProcessSample], visible: Container[ProcessKey] | None
    ) -> None:
        now = self._clock()
        due: dict[Identity, None] = {}
        for process in processes:
            identity, known = process.identity, self._known.get(process.identity)
            if process.status == 'foreign':  # its PID may be that of another process here
                self._known[identity] = _KnownOwner(OwnerReading(None, ELSEWHERE), now)
            elif known is None or (
                now - known.read_at >= CGROUP_SECONDS
                and (visible is None or process.key in visible)
            ):
                due[identity] = None
        if due and len(self._stuck) < MAX_STUCK:
            batch = _OwnerBatch(due, lambda identity: read_cgroup(identity[0]), CGROUPS_SECONDS)
            self._run(batch, wait=True)
            for identity, reading in batch.readings.items():
                self._keep_cgroup(identity, reading, now)

    def _keep_cgroup(self, identity: Identity, reading: OwnerReading, now: float) -> None:
        known = self._known.get(identity)
        if known is None or (reading.owner and reading.cgroup != known.reading.cgroup):
            self._known[identity] = _KnownOwner(reading, now)
        else:  # as before, or it has exited: the last owner stays
            known.read_at = now

    def _look_up(self, *, wait: bool, is_brief: bool) -> None:
        """Read the rest about the owners: one batch, or with ``wait`` all that time allows."""
        deadline = self._clock() + WAIT_SECONDS
        while len(self._stuck) < MAX_STUCK:
            if self._lookup is None:
                wanted = {
                    identity: known.reading
                    for identity, known in self._known.items()
                    if not known.is_complete
                }
                if not wanted:
                    return
                read = functools.partial(self._read_all, wanted, SharedFiles(), is_brief)
                self._lookup = _OwnerBatch(wanted, read, LOOKUP_SECONDS)
            if not self._run(self._lookup, wait=wait):
                return
            for identity, reading in list(self._lookup.readings.items()):
                self._keep_all(identity, reading)
            self._lookup = None
            if not wait or self._clock() >= deadline:
                return

    def _read_all(
        self,
        cgroups: Mapping[Identity, OwnerReading],
        shared: SharedFiles,
        is_brief: bool,
        identity: Identity,
    ) -> OwnerReading:
        pid, start_time = identity
        cgroup = cgroups[identity]
        with procfs.stat_cache():  # the parent and the start time are in the same file
            reading = read_owner(pid, self._names, cgroup, shared=shared, is_brief=is_brief)
            try:
                is_same = start_time < 0 or start_time_of(pid) == start_time
            except UNREADABLE:
                is_same = False
        return reading if is_same else OwnerReading(None, EXITED)

    def _keep_all(self, identity: Identity, reading: OwnerReading) -> None:
        known = self._known.get(identity)
        if known is None:  # it has left the GPU
            return
        if reading.owner is not None and reading.cgroup != known.reading.cgroup:
            return  # it was moved meanwhile, and is looked up again
        known.is_complete = True
        if reading.owner is not None and reading != known.reading:
            known.reading = reading

    def _run(self, batch: _OwnerBatch, *, wait: bool) -> bool:
        """Run a batch, or find out whether it is over; return whether it is, successful or not."""
        subject = 'owners' if batch is self._lookup else 'cgroups'
        outcome = self._watchdog.run(
            {subject: batch.run},
            limit=LOOKUP_SECONDS + SHORTEST_LIMIT_SECONDS,
            detached=() if wait else (subject,),
        )[subject]
        if outcome.timed_out:
            self._watchdog.forget(subject)
            self._stuck.append(batch)
        is_over = batch.is_over or outcome.timed_out
        if is_over and batch.current not in batch.readings:  # it hangs, or raised
            self._give_up(batch.current)
        return is_over

    def _give_up(self, identity: Identity | None) -> None:
        """Leave a process whose files cannot be read with what is known of it."""
        if identity is not None:
            reading = OwnerReading(None, SILENT)
            known = self._known.setdefault(identity, _KnownOwner(reading, self._clock()))
            known.is_complete = True
