# SPDX-License-Identifier: Apache-2.0
"""Recordings in SQLite: their tables, and writing them. One writer, any number of readers.

Writing is safe against crashes. ``docs/recording.md`` describes the tables for other programs.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
from typing import Iterable, Iterator, NamedTuple, Sequence

from nvitop.accounting.shares import gpu_of
from nvitop.accounting.usage import DeviceMinute, MinuteRows, Usage
from nvitop.platforms import files
from nvitop.recording.events import RecordedEvent
from nvitop.sampling.types import DeviceSample, JobSample
from nvitop.version import __version__

#: Oldest version of SQLite with ``ON CONFLICT DO UPDATE``, from 2018.
OLDEST_SQLITE = (3, 24, 0)
#: The first bytes of every SQLite file.
SQLITE_MAGIC = b'SQLite format 3\0'
#: Identifies recordings among SQLite files: "nvto".
APPLICATION_ID = 0x6E76746F
#: Version of the format. It changes when a reader of the old format would misread the new one.
FORMAT = 2

#: Columns of the usage tables that hold sums, and those that hold other values.
USAGE_SUMS: tuple[str, ...] = tuple(sorted(vars(Usage())))
DEVICE_SUMS: tuple[str, ...] = tuple(
    name for name in sorted(vars(DeviceMinute())) if name.endswith(('_ms', '_mj'))
)
DEVICE_VALUES: tuple[str, ...] = tuple(sorted(vars(DeviceMinute()).keys() - {*DEVICE_SUMS}))

_SUMS = ' INTEGER NOT NULL DEFAULT 0,\n    '

#: Statements that make the tables. Times ``t``, ``started`` and ``ended`` are milliseconds since the
#: epoch; a minute is one since the epoch. Frames are in the order in which they were taken: the clock
#: may have been set back meanwhile.
TABLES = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE run (
    id INTEGER PRIMARY KEY, started INTEGER NOT NULL, ended INTEGER NOT NULL,
    interval_ms INTEGER NOT NULL, boot TEXT, version TEXT, driver TEXT, reason TEXT
);
CREATE TABLE keyframe (id INTEGER PRIMARY KEY, z BLOB NOT NULL);
CREATE TABLE frame (
    id INTEGER PRIMARY KEY, t INTEGER NOT NULL, run INTEGER NOT NULL, keyframe INTEGER NOT NULL,
    z BLOB NOT NULL
);
CREATE INDEX frame_t ON frame (t);
CREATE TABLE device (
    gpu TEXT PRIMARY KEY, physical_index INTEGER, mig_index INTEGER, parent TEXT, name TEXT,
    memory_total_bytes INTEGER, mig_profile TEXT, first_seen INTEGER, last_seen INTEGER
) WITHOUT ROWID;
CREATE TABLE usage (
    minute INTEGER, gpu TEXT, user TEXT, owner_kind TEXT, owner_id TEXT, command TEXT,
    {_SUMS.join(USAGE_SUMS)}{_SUMS}
    PRIMARY KEY (minute, gpu, user, owner_kind, owner_id, command)
) WITHOUT ROWID;
CREATE TABLE gpu_minute (
    minute INTEGER, gpu TEXT,
    {_SUMS.join(DEVICE_SUMS)}{_SUMS}
    max_utilization_percent INTEGER, max_temperature_celsius INTEGER, status TEXT,
    is_leaf INTEGER, PRIMARY KEY (minute, gpu)
) WITHOUT ROWID;
CREATE TABLE job (
    kind TEXT, id TEXT, account TEXT NOT NULL, partition TEXT NOT NULL, PRIMARY KEY (kind, id)
) WITHOUT ROWID;
CREATE TABLE event (
    id INTEGER PRIMARY KEY, t INTEGER NOT NULL, run INTEGER NOT NULL, kind TEXT NOT NULL,
    gpu TEXT, code TEXT, text TEXT
);
CREATE INDEX event_t ON event (t)
"""
#: Maximum time (milliseconds) that the writer waits for readers, which never need longer.
BUSY_MS = 200
#: Rows deleted and pages freed per cleanup step.
ROWS_PER_STEP = 1000
ROWS_PER_STEP_IN_MEMORY = 100
MINUTES_PER_STEP = 60
PAGES_PER_STEP = 2000
#: Disk space (bytes) that frames leave free for the usage tables; at most 1/20 of the disk.
RESERVED_BYTES = 16 << 20
#: Maximum number of rows in the device table.
MAX_DEVICES = 10_000

_MS = 1000.0
#: Bytes of names and commands that are not text.
_SURROGATE = re.compile('[\ud800-\udfff]')


class RecordingError(Exception):
    """A recording cannot be written or read; the text is for people."""


def check_format(db: sqlite3.Connection, path: str) -> None:
    """Raise RecordingError unless an SQLite file is a recording of a known format."""
    if db.execute('PRAGMA application_id').fetchone()[0] != APPLICATION_ID:
        raise RecordingError(f'{path} is not a recording of nvitop')
    version = db.execute('PRAGMA user_version').fetchone()[0]
    if version > FORMAT:
        raise RecordingError(f'{path} was written by a newer version of nvitop')
    if version < FORMAT:
        raise RecordingError(
            f'{path} was written by a version of nvitop before 2.0; move it away to start a new one'
        )


def check_sqlite() -> None:
    """Raise RecordingError if the SQLite of this Python is too old."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        oldest = '.'.join(map(str, OLDEST_SQLITE))
        raise RecordingError(
            f'recordings need SQLite {oldest} or newer; this Python has {sqlite3.sqlite_version}'
        )


class Retention(NamedTuple):
    """How long and how much is kept."""

    #: Seconds for which frames are kept.
    frame_seconds: float = 14 * 86400.0
    #: Seconds for which usage, minutes and events are kept.
    usage_seconds: float = 400 * 86400.0
    #: Maximum size of the file in bytes; the oldest frames are deleted first.
    max_bytes: int = 2 << 30


class Store:
    """A recording that is open for writing.

    All methods raise :class:`sqlite3.Error` if the file cannot be written, such as on a full disk;
    then nothing of the call is stored.
    """

    def __init__(self, path: str | None, *, mode: int | None, retention: Retention) -> None:
        """Open or create a recording.

        Args:
            path: The file; ``None``: keep everything in memory.
            mode: Permissions of the file; ``None``: 0600 for a new one.
            retention: How long and how much is kept.

        Raises:
            RecordingError: The file cannot be opened, is not a recording, or has another writer.
        """
        check_sqlite()
        self.path = path or ''
        self._retention = retention
        self._run = 0
        self._keyframe = 0
        self._seen: dict[str, DeviceSample] = {}
        self._lock = -1
        self._file: tuple[int, int] | None = None
        self._rows_per_step = ROWS_PER_STEP if path else ROWS_PER_STEP_IN_MEMORY
        if path is None:
            # The garbage collection of any thread may close it.
            self.db = sqlite3.connect(':memory:', isolation_level=None, check_same_thread=False)
            self._prepare(None)
            return
        lock_path = f'{path}.lock'
        has_lock = os.path.exists(lock_path)
        with contextlib.ExitStack() as stack:
            self._lock = _lock(path, lock_path)
            if not has_lock:
                stack.callback(_remove, lock_path)
            stack.callback(os.close, self._lock)
            try:
                if files.is_shared_folder(path):
                    for suffix in ('-wal', '-shm', '-journal'):
                        files.refuse_trap(path + suffix)
                os.close(files.open_private(path))
                if os.path.getsize(path) == 1:  # SQLite takes it for empty
                    raise RecordingError(f'{path} is not a recording of nvitop')
                self.db = sqlite3.connect(
                    path, timeout=BUSY_MS / _MS, isolation_level=None, check_same_thread=False
                )
                stack.callback(self.db.close)
                self._prepare(mode)
                self._file = identity(path)
            except OSError as error:
                raise RecordingError(f'cannot open {path}: {error.strerror}') from None
            except sqlite3.Error as error:
                if 'not a database' in str(error):
                    raise RecordingError(f'{path} is not a recording of nvitop') from None
                raise RecordingError(f'cannot open {path}: {error}') from None
            stack.pop_all()

    def _prepare(self, mode: int | None) -> None:
        """Make the tables of a new file; check those of an existing one."""
        db = self.db
        tables = db.execute('SELECT count(*) FROM sqlite_master').fetchone()[0]
        if tables:
            check_format(db, self.path)
        else:
            db.execute('PRAGMA auto_vacuum = INCREMENTAL')  # only before the first table
        if mode is not None:
            # SQLite copies it to the files that it makes next to this one.
            os.chmod(self.path, mode)
        # SQLite may choose another mode: WAL needs shared memory, which NFS lacks.
        db.execute('PRAGMA journal_mode = WAL')
        db.execute('PRAGMA synchronous = NORMAL')
        db.execute('PRAGMA cache_size = -2000')
        if not tables:
            with self.transaction():
                for statement in TABLES.split(';'):
                    db.execute(statement)
                db.execute(f'PRAGMA application_id = {APPLICATION_ID}')
                db.execute(f'PRAGMA user_version = {FORMAT}')

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Store everything inside the block, or nothing if anything fails."""
        self.db.execute('BEGIN IMMEDIATE')
        try:
            yield
            self.db.execute('COMMIT')
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self.db.execute('ROLLBACK')
            raise

    def begin_run(self, time: float, interval: float, *, boot: str, meta: dict[str, str]) -> None:
        """Begin a run: frames that were taken at one interval by one process."""
        with self.transaction():
            for key, value in {**meta, 'version': __version__}.items():
                self.db.execute('INSERT OR REPLACE INTO meta VALUES (?, ?)', (key, value))
            row = (int(time * _MS), int(time * _MS), int(interval * _MS), boot, __version__)
            inserted = self.db.execute(
                'INSERT INTO run (started, ended, interval_ms, boot, version, reason) '
                "VALUES (?, ?, ?, ?, ?, 'running')",
                row,
            )
            self._run = int(inserted.lastrowid or 0)

    def add_frame(
        self, time: float, frame: bytes, key: bytes | None, number: int | None = None
    ) -> None:
        """Store a frame; ``key`` is the compressed key frame if it is a new one."""
        with self.transaction():
            keyframe = self._keyframe
            if key is not None:
                inserted = self.db.execute('INSERT INTO keyframe (z) VALUES (?)', (key,))
                keyframe = int(inserted.lastrowid or 0)
            self.db.execute(
                'INSERT INTO frame (id, t, run, keyframe, z) VALUES (?, ?, ?, ?, ?)',
                (number, int(time * _MS), self._run, keyframe, frame),
            )
        self._keyframe = keyframe

    def add_rows(self, minutes: Iterable[MinuteRows], events: Iterable[RecordedEvent]) -> None:
        """Store minutes and events. A minute that is stored already is added up."""
        with self.transaction():
            for rows in minutes:
                self._add_minute(rows)
            self.db.executemany(
                'INSERT INTO event (t, run, kind, gpu, code, text) VALUES (?, ?, ?, ?, ?, ?)',
                [
                    _storable((int(e.time * _MS), self._run, e.kind, e.gpu, e.code, e.text))
                    for e in events
                ],
            )

    def _add_minute(self, rows: MinuteRows) -> None:
        # Rounded so that the rounded shares of a minute add up to the observed time.
        remainder = 0.0
        for key, usage in rows.usage.items():
            share = usage.share_ms + remainder
            remainder = share - round(share)
            idle = min(usage.idle_held_ms, round(share))
            allocated = min(usage.allocated_ms, round(share))
            rounded = {**vars(usage), 'share_ms': share}
            rounded.update(idle_held_ms=idle, allocated_ms=allocated)
            sums = (round(rounded[name]) for name in USAGE_SUMS)
            self.db.execute(_ADD_USAGE, (rows.minute, *_storable(key), *sums))
        for gpu, minute in rows.devices.items():
            sums = (round(getattr(minute, name)) for name in DEVICE_SUMS)
            values = (getattr(minute, name) for name in DEVICE_VALUES)
            self.db.execute(_ADD_MINUTE, (rows.minute, gpu, *sums, *values))

    def note_devices(self, time: float, devices: Iterable[DeviceSample]) -> None:
        """Store the properties of the devices, and when they were last seen."""
        now = int(time * _MS)
        with self.transaction():
            for device in devices:
                gpu, info = gpu_of(device.key), device.info
                if gpu not in self._seen and len(self._seen) >= MAX_DEVICES:
                    continue
                place = (device.key.physical_index, -1)
                parents = (name for name, other in self._seen.items() if other.key[:2] == place)
                values = (
                    device.key.physical_index,
                    device.key.mig_index,
                    next(parents, None) if device.key.is_mig else None,
                    info.name,
                    info.memory_total_bytes,
                    info.mig_profile,
                    now,
                )
                self._seen[gpu] = device
                self.db.execute(
                    'INSERT INTO device (gpu, physical_index, mig_index, parent, name, '
                    'memory_total_bytes, mig_profile, first_seen, last_seen) '
                    'VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8) ON CONFLICT DO UPDATE SET '
                    'physical_index = ?2, mig_index = ?3, parent = ?4, name = ?5, '
                    'memory_total_bytes = ?6, mig_profile = ?7, last_seen = ?8',
                    _storable((gpu, *values)),
                )

    def note_jobs(self, jobs: Iterable[JobSample]) -> None:
        """Store the accounts and partitions of jobs."""
        with self.transaction():
            self.db.executemany(
                'INSERT OR REPLACE INTO job (kind, id, account, partition) VALUES (?, ?, ?, ?)',
                [_storable((job.kind, job.id, job.account, job.partition)) for job in jobs],
            )

    def tidy(self, time: float, driver: str | None) -> None:
        """Update the end of the run, and delete some of the rows that are too old or too many."""
        now = int(time * _MS)
        with self.transaction():
            self.db.execute(
                'UPDATE run SET ended = ?, driver = coalesce(?, driver) WHERE id = ?',
                (now, driver, self._run),
            )
            self._delete_old(time)
        self.db.execute(f'PRAGMA incremental_vacuum({PAGES_PER_STEP})').fetchall()
        # Other users can read the file without the log only if the log is empty.
        self.db.execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchall()

    def _delete_old(self, time: float) -> None:
        db, keep = self.db, self._retention
        is_too_large = self.size_bytes() > keep.max_bytes
        oldest = int((time - keep.frame_seconds) * _MS)
        which = 'ORDER BY id' if is_too_large else f'WHERE t < {oldest} ORDER BY t'
        deleted = db.execute(
            f'DELETE FROM frame WHERE id IN (SELECT id FROM frame {which} LIMIT {self._rows_per_step})'
        ).rowcount
        if deleted:
            db.execute(
                'DELETE FROM keyframe WHERE id < '
                '(SELECT coalesce((SELECT keyframe FROM frame ORDER BY id LIMIT 1), ?))',
                (self._keyframe,),
            )
        before = int((time - keep.usage_seconds) // 60)
        for table in ('usage', 'gpu_minute'):
            first = db.execute(f'SELECT min(minute) FROM {table}').fetchone()[0]
            if first is not None and (first < before or (is_too_large and not deleted)):
                until = first + MINUTES_PER_STEP
                until = until if is_too_large and not deleted else min(until, before)
                db.execute(f'DELETE FROM {table} WHERE minute < ?', (until,))
        db.execute(
            f'DELETE FROM event WHERE id IN (SELECT id FROM event WHERE t < ? LIMIT {self._rows_per_step})',
            (int((time - keep.usage_seconds) * _MS),),
        )

    def is_replaced(self) -> bool:
        """Whether the file was removed, or moved away."""
        return self._file is not None and identity(self.path) != self._file

    def simulated(self) -> str | None:
        """Return the scenario of a simulated machine, ``''`` for a real one; ``None``: a new file."""
        if self.db.execute('SELECT count(*) FROM run').fetchone()[0] == 0:
            return None
        row = self.db.execute("SELECT value FROM meta WHERE key = 'simulated'").fetchone()
        return str(row[0] or '') if row else ''

    def size_bytes(self) -> int:
        """Return the size of the file without its free pages."""
        pages, free, size = (
            int(self.db.execute(f'PRAGMA {name}').fetchone()[0])
            for name in ('page_count', 'freelist_count', 'page_size')
        )
        return (pages - free) * size

    def has_room(self) -> bool:
        """Whether the disk has room for frames."""
        try:
            usage = shutil.disk_usage(os.path.dirname(os.path.abspath(self.path)))
        except OSError:
            return True
        return usage.free >= min(RESERVED_BYTES, usage.total // 20)

    def close(self, time: float, reason: str) -> None:
        """End the run and close the file. A file that cannot be written is closed all the same."""
        if self._lock < 0:
            return  # in memory, or reopening it failed
        with contextlib.suppress(sqlite3.Error), self.transaction():
            self.db.execute(
                'UPDATE run SET ended = ?, reason = ? WHERE id = ?',
                (int(time * _MS), reason, self._run),
            )
        with contextlib.suppress(sqlite3.Error):
            self.db.execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchall()
            # A file in WAL mode cannot be opened by readers that may not write next to it. This
            # fails while others read, and then they keep the log alive.
            self.db.execute('PRAGMA journal_mode = DELETE').fetchall()
        self.db.close()
        with contextlib.suppress(OSError):
            os.ftruncate(self._lock, 0)
        os.close(self._lock)
        self._lock = -1


_USAGE_KEYS = ('minute', 'gpu', 'user', 'owner_kind', 'owner_id', 'command')


def _upsert(table: str, keys: Sequence[str], sums: Sequence[str], values: Sequence[str]) -> str:
    """Return the statement that adds a row to a table, or its sums to a row that is there."""
    columns = (*keys, *sums, *values)
    changes = (
        *(f'{name} = {name} + excluded.{name}' for name in sums),
        *(f'{name} = excluded.{name}' for name in values),
    )
    return (
        f'INSERT INTO {table} ({", ".join(columns)}) VALUES ({", ".join("?" * len(columns))}) '
        f'ON CONFLICT DO UPDATE SET {", ".join(changes)}'
    )


_ADD_USAGE = _upsert('usage', _USAGE_KEYS, USAGE_SUMS, ())
_ADD_MINUTE = _upsert('gpu_minute', ('minute', 'gpu'), DEVICE_SUMS, DEVICE_VALUES)


def _storable(values: Iterable[object]) -> tuple[object, ...]:
    """Return values with texts that SQLite takes: names and commands may have bytes of any kind."""
    return tuple(
        _SURROGATE.sub('\ufffd', value) if isinstance(value, str) else value for value in values
    )


def identity(path: str) -> tuple[int, int] | None:
    """Return the identity of the file at a path, which a new file does not share; ``None``: no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.remove(path)


def _lock(path: str, lock_path: str) -> int:
    """Return a descriptor that locks a recording; RecordingError if another process writes it."""
    try:
        descriptor = files.open_private(lock_path)
    except OSError as error:
        raise RecordingError(f'cannot write to {path}: {error.strerror}') from None
    if not files.try_lock(descriptor):
        pid = os.read(descriptor, 20).decode('ascii', 'replace').strip()
        os.close(descriptor)
        who = f'process {pid}' if pid.isdecimal() else 'another process'
        raise RecordingError(f'{who} is already recording to {path}')
    with contextlib.suppress(OSError):  # a full disk
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f'{os.getpid()}\n'.encode('ascii'))
    return descriptor
