# SPDX-License-Identifier: Apache-2.0
"""Reads the use of GPUs from the tables of recordings."""

from __future__ import annotations

import contextlib
import functools
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Dict, Iterator, NamedTuple, Sequence, Set

from nvitop.accounting.shares import UsageKey
from nvitop.basics.times import LATEST_TIME, format_time
from nvitop.recording.lines import LineRecording
from nvitop.recording.opening import is_database
from nvitop.recording.reader import open_database
from nvitop.recording.store import RecordingError
from nvitop.usage.report import UNOBSERVED, Place, Report, Sums, Table

#: Default length of a report in seconds.
DEFAULT_SECONDS = 7 * 86400.0
#: Maximum time (seconds) for the tables of one recording.
QUERY_SECONDS = 120.0
#: Damaged parts of a database are skipped in steps of this many minutes.
MINUTES_SKIPPED = 60
#: Maximum length of names that are read, and limit of sums: a year of a GPU is less.
MAX_NAME = 256
MAX_SUM = 1e18

_MINUTE = 60
_MINUTE_MS = 60_000.0
_MS = 1000.0


class RecordedDevice(NamedTuple):
    """A GPU or MIG device of a recording."""

    #: Name in the tables, and name of the GPU that it is or belongs to.
    name: str
    gpu: str
    #: ``'0'`` or ``'0:1'``.
    label: str


#: GPU → minutes that were counted, to count those in several recordings once.
Minutes = Dict[str, Set[int]]

#: The highest mean of a minute stands for the peak of the memory. If a row was busy without any
#: utilization, its utilization is unknown.
_VALUES = (
    'share_ms, idle_held_ms, sm_percent_ms, '
    'CASE WHEN sm_percent_ms > 0 OR busy_ms = 0 THEN held_ms ELSE 0 END, '
    'CASE WHEN held_ms > 0 THEN memory_byte_ms / held_ms ELSE 0 END, energy_mj'
)
_KEYS = 'gpu, user, owner_kind, owner_id, command'
#: The same columns; those that differ most come first, so that comparisons end early.
_FAST_KEYS = 'owner_id, command, gpu, user, owner_kind'
_SUM = (
    'sum(share_ms), sum(idle_held_ms), sum(sm_percent_ms), '
    'sum(CASE WHEN sm_percent_ms > 0 OR busy_ms = 0 THEN held_ms ELSE 0 END), '
    'max(CASE WHEN held_ms > 0 THEN memory_byte_ms / held_ms ELSE 0 END), sum(energy_mj)'
)
_NEW_SUMS = 'CREATE TEMP TABLE sums (gpu, user, owner_kind, owner_id, command, a, b, c, d, e, f, '
#: Few rows that are searched for each row of a large table: faster than sorting that for GROUP BY.
_ADD_UP = (
    'ON CONFLICT DO UPDATE SET a = a + excluded.a, b = b + excluded.b, c = c + excluded.c, '
    'd = d + excluded.d, e = max(e, excluded.e), f = f + excluded.f'
)


class DatabaseUsage:
    """The usage tables of a recording, from the minute ``first`` to before ``last`` since the epoch."""

    def __init__(self, path: str) -> None:
        """Open a recording; lines of JSON are added up in a temporary database.

        Raises:
            RecordingError: It cannot be read, is not a recording, or has no usage.
        """
        self.path = path
        self._deadline = time.monotonic() + QUERY_SECONDS
        self._skipped = 0
        if is_database(path):
            self._db = open_database(
                path,
                ('usage', 'gpu_minute', 'device', 'run', 'meta', 'event'),
                lambda: time.monotonic() > self._deadline,
            )
            self._close = self._db.close
        else:
            lines = LineRecording(path)
            self._db, self._close = lines.count_use(), lines.close
        try:
            self._db.execute('PRAGMA temp_store = MEMORY').fetchall()
            self.host = self._host()
            where = f'WHERE minute BETWEEN 0 AND {int(LATEST_TIME // _MINUTE)}'
            first = self._db.execute(f'SELECT min(minute) FROM gpu_minute {where}').fetchone()[0]
            last = self._db.execute(f'SELECT max(minute) FROM gpu_minute {where}').fetchone()[0]
            if not isinstance(first, int) or not isinstance(last, int):
                raise RecordingError(f'{path} holds no usage')
            self.first, self.last = first, last + 1
            #: When the first and the last sample were taken, in seconds since the epoch.
            self.begin, self.end = self._ends()
        except sqlite3.Error as error:
            self._close()
            raise RecordingError(f'cannot read {path}: {error}') from None
        except RecordingError:
            self._close()
            raise

    def _ends(self) -> tuple[float, float]:
        """Return when the first and the last sample of the outer minutes were taken.

        The time observed in these minutes counts too: it is longer than the runs if the recorder was
        killed, or reopened the file.
        """
        begin, end = self.first * _MINUTE, self.last * _MINUTE
        started = self._number('SELECT min(started) FROM run WHERE ended >= ?', begin * _MS)
        ended = self._number('SELECT max(ended) FROM run WHERE started < ?', end * _MS)
        observed = 'SELECT max(observed_ms) FROM gpu_minute WHERE minute = ?'
        until = end - _MINUTE + (self._number(observed, self.last - 1) or 0.0)
        until = until if ended is None else max(until, ended)
        until = until if end - _MINUTE < until <= end else end
        most = min(begin + _MINUTE, until)
        since = most - (self._number(observed, self.first) or 0.0)
        since = since if started is None else min(since, started)
        return since if begin <= since < most else begin, until

    def _number(self, statement: str, *values: float) -> float | None:
        """Return the milliseconds that a query finds in seconds; ``None``: no number."""
        value = self._db.execute(statement, values).fetchone()[0]
        return value / _MS if isinstance(value, (int, float)) else None

    def _host(self) -> str:
        row = self._db.execute("SELECT value FROM meta WHERE key = 'host'").fetchone()
        return str(row[0])[:MAX_NAME] if row and row[0] else '(unknown)'

    def devices(self, since: int, until: int) -> list[RecordedDevice]:
        """Return the devices that existed in some minutes."""
        found = []
        with self._reading():
            for gpu, index, mig, parent in self._db.execute(
                'SELECT gpu, physical_index, mig_index, parent FROM device '
                'WHERE last_seen >= ? AND first_seen < ?',
                (since * _MINUTE_MS, until * _MINUTE_MS),
            ):
                is_mig = isinstance(mig, int) and mig >= 0
                label = f'{index}:{mig}' if is_mig else str(index)
                found.append(
                    RecordedDevice(gpu, parent or f'GPU {index}' if is_mig else gpu, label)
                )
        return found

    def read(self, since: int, until: int, seen: Minutes) -> Iterator[tuple[UsageKey, Sums]]:
        """Yield the use of devices in some minutes, without those seen."""
        where = ''
        if seen:

            def is_new(gpu: str, minute: int) -> bool:
                return minute not in seen.get(gpu, ())

            self._db.create_function('is_new', 2, is_new)
            where = ' AND is_new(gpu, minute)'
        yield from self._sums(max(since, self.first), min(until, self.last), where)
        with self._reading():
            if self._has_clock_steps():
                yield from self._excess(f'minute >= {since} AND minute < {until}{where}')

    def add_minutes(self, seen: Minutes, since: int, until: int) -> None:
        """Add the minutes in which devices were observed."""
        with self._reading():
            for gpu, minute in self._db.execute(
                'SELECT gpu, minute FROM gpu_minute WHERE observed_ms > 0 '
                f'AND minute >= {since} AND minute < {until}'
            ):
                seen.setdefault(gpu, set()).add(minute)

    def _sums(self, since: int, until: int, where: str) -> list[tuple[UsageKey, Sums]]:
        """Return the sums of some minutes; those of damaged parts are skipped."""
        limits = f'minute >= {since} AND minute < {until}{where}'
        try:
            if sqlite3.sqlite_version_info < (3, 24):
                return self._used(
                    f'SELECT {_KEYS}, {_SUM} FROM usage WHERE {limits} GROUP BY {_KEYS}'
                )
            self._db.execute('DROP TABLE IF EXISTS sums')
            self._db.execute(f'{_NEW_SUMS} PRIMARY KEY ({_FAST_KEYS})) WITHOUT ROWID')
            self._db.execute(
                f'INSERT INTO sums SELECT {_KEYS}, {_VALUES} FROM usage WHERE {limits} {_ADD_UP}'
            )
            return self._used('SELECT * FROM sums')
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise RecordingError(f'cannot read {self.path}: {error}') from None
            if until - since <= MINUTES_SKIPPED:
                self._skipped += until - since
                return []
            middle = (since + until) // 2
            return [*self._sums(since, middle, where), *self._sums(middle, until, where)]

    def _used(self, statement: str) -> list[tuple[UsageKey, Sums]]:
        return [_use_of(row) for row in self._db.execute(statement)]

    def _has_clock_steps(self) -> bool:
        """Whether a minute may have been recorded twice, because the clock was set back."""
        event = self._db.execute("SELECT count(*) FROM event WHERE kind = 'clock'").fetchone()[0]
        run = self._db.execute(
            'SELECT count(*) FROM run JOIN run AS before ON before.id = run.id - 1 '
            'WHERE run.started < before.ended'
        ).fetchone()[0]
        return bool(event or run)

    def _excess(self, limits: str) -> Iterator[tuple[UsageKey, Sums]]:
        """Yield what minutes have too much that hold more than 60 seconds, as negative sums."""
        for gpu, minute, observed in self._db.execute(
            f'SELECT gpu, minute, observed_ms FROM gpu_minute '
            f'WHERE observed_ms > {_MINUTE_MS} AND {limits}'
        ).fetchall():
            statement = f'SELECT {_KEYS}, {_VALUES} FROM usage WHERE minute = ? AND gpu = ?'
            for row in self._db.execute(statement, (minute, gpu)):
                yield _use_of(row, _MINUTE_MS / float(observed) - 1)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OverflowError) as error:
            raise RecordingError(f'cannot read {self.path}: {error}') from None

    def problems(self) -> list[str]:
        """Return what could not be read."""
        if not self._skipped:
            return []
        return [f'{self.path} is damaged: about {self._skipped} minutes cannot be read']

    def close(self) -> None:
        """Close the file."""
        self._close()


def _use_of(row: Sequence[object], factor: float = 1.0) -> tuple[UsageKey, Sums]:
    """Return a row of tables that may hold anything, with its sums in seconds and joules × factor."""
    key = UsageKey(*('' if value is None else str(value)[:MAX_NAME] for value in row[:5]))
    share_ms, idle_held_ms, percent_ms, measured_ms, peak_bytes, energy_mj = (
        float(value) if isinstance(value, (int, float)) and abs(value) < MAX_SUM else 0.0
        for value in row[5:]
    )
    part = factor / 1000
    if not key.user:
        return key, Sums(idle=part * share_ms, joules=part * energy_mj)
    return key, Sums(
        part * (share_ms - idle_held_ms),
        part * idle_held_ms,
        kernels=part * percent_ms / 100,
        measured=part * measured_ms,
        peak_bytes=max(0.0, factor * peak_bytes),
        joules=part * energy_mj,
    )


def open_sources(paths: Sequence[str]) -> tuple[list[DatabaseUsage], list[str]]:
    """Open recordings; return also why some could not be opened."""
    sources: list[DatabaseUsage] = []
    problems = []
    for path in paths:
        try:
            sources.append(DatabaseUsage(path))
        except RecordingError as error:
            problems.append(str(error))
    return sources, problems


def read_report(
    sources: Sequence[DatabaseUsage], since: float | None, until: float | None, by: tuple[str, ...]
) -> Report:
    """Return the use of GPUs in a period, by default the last week recorded.

    Times that are given are rounded down to the minute. By default, the period is that from the first
    to the last sample: what was before and after is not unobserved.

    Raises:
        RecordingError: Nothing was recorded in the period.
    """
    begin, end = min(each.first for each in sources), max(each.last for each in sources)
    last = end if until is None else int(until // _MINUTE)
    first = max(begin, last - round(DEFAULT_SECONDS / _MINUTE))
    first = first if since is None else int(since // _MINUTE)
    start, stop = float(first * _MINUTE), float(last * _MINUTE)
    if since is None:
        start = max(start, min(each.begin for each in sources))
    if until is None:
        stop = max(each.end for each in sources)
    hosts: dict[str, list[DatabaseUsage]] = {}
    for source in sources:
        if source.first < last and source.last > first:
            hosts.setdefault(source.host, []).append(source)
    if not hosts or first >= last:
        raise RecordingError(
            'nothing was recorded in this period; '
            f'the recordings are from {_shown(begin)} to {_shown(end)}'
        )
    table, gpus, problems = Table(by), 0, []
    read = functools.partial(
        _read_host, since=first, until=last, seconds=stop - start, by=by, is_one=len(hosts) == 1
    )
    with ThreadPoolExecutor(2) as pool:  # SQLite computes without the lock of the interpreter
        for part, count, found in pool.map(read, hosts.values()):
            table.merge(part)
            gpus += count
            problems += found
    return Report(start, stop, by, table.rows(), tuple(hosts), gpus, tuple(problems))


def _shown(minute: int) -> str:
    return format_time(minute * _MINUTE)[:-3]


def _read_host(
    sources: Sequence[DatabaseUsage],
    *,
    since: int,
    until: int,
    seconds: float,
    by: tuple[str, ...],
    is_one: bool,
) -> tuple[Table, int, list[str]]:
    """Add up the recordings of one host; return its table, number of GPUs, and problems.

    The table has the time that no recording observed, too, of the ``seconds`` of the period.
    """
    table, problems, host = Table(by), [], sources[0].host
    seen: Minutes = {}
    prefix = '' if is_one or 'host' in by else f'{host}/'
    observed: dict[str, float] = {}
    devices: dict[str, RecordedDevice] = {}
    for source in sorted(sources, key=lambda each: each.first):
        try:
            devices.update({each.name: each for each in source.devices(since, until)})
            for key, sums in source.read(since, until, seen):
                device = devices.setdefault(key.gpu, RecordedDevice(key.gpu, key.gpu, key.gpu))
                observed[device.gpu] = observed.get(device.gpu, 0.0) + sums.seconds
                job = f'{key.owner_kind} {key.owner_id}'.strip()
                table.add(Place(key.user, job, key.command, prefix + device.label, host), sums)
            if len(sources) > 1:
                source.add_minutes(seen, since, until)
        except RecordingError as error:
            problems.append(str(error))
        problems += source.problems()
    gpus = {device.gpu: device.label for device in devices.values() if ':' not in device.label}
    for device in devices.values():
        gpus.setdefault(device.gpu, device.label)
    for gpu, label in gpus.items():
        rest = round(seconds - observed.get(gpu, 0.0), 3)  # recordings have milliseconds
        unobserved = Sums(unobserved=max(0.0, rest))
        table.add(Place(UNOBSERVED, gpu=prefix + label, host=host), unobserved)
    return table, len(gpus), problems
