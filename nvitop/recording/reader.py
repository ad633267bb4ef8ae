# SPDX-License-Identifier: Apache-2.0
"""Reading recordings, which may be damaged or still being written."""

from __future__ import annotations

import os
import sqlite3
from collections import OrderedDict
from typing import Any, Callable, NamedTuple
from urllib.parse import quote

from nvitop.accounting.usage import GpuTimes
from nvitop.basics.units import format_time
from nvitop.recording.events import RecordedEvent
from nvitop.recording.frames import FrameError, decompress, parse_text
from nvitop.recording.store import SQLITE_MAGIC, RecordingError, check_format, check_sqlite
from nvitop.sampling.types import Sample

#: Maximum size (bytes) of a compressed frame or key frame that is read.
MAX_FRAME_BYTES = 4 << 20
#: Number of key frames that are kept.
KEYS_KEPT = 3
_MS = 1000.0
#: Events that replays lead to.
_SHOWN = "kind NOT IN ('start', 'stop', 'note')"


class Span(NamedTuple):
    """The numbers and times of the first and the last frame."""

    first: int
    last: int
    first_time: float
    last_time: float

    def __str__(self) -> str:
        """Return both times for people."""
        return f'{format_time(self.first_time)} to {format_time(self.last_time)}'


class Recording:
    """Frames in SQLite, in the order in which they were taken. Their numbers increase, with gaps.

    One thread uses it at a time. Methods raise :class:`RecordingError` if the file cannot be read.
    """

    def __init__(self, path: str, db: sqlite3.Connection | None = None) -> None:
        """Open a recording for reading.

        Args:
            path: The file.
            db: Its database, if that is open already.

        Raises:
            RecordingError: It cannot be read, is not a recording, or holds no frame.
        """
        self.path = path
        self._keys: OrderedDict[int, bytes] = OrderedDict()
        if db is not None:
            self._db = db
            return
        self._db = open_database(path)
        try:
            self.span()
        except BaseException:
            self._db.close()
            raise

    def row(self, statement: str, *values: object) -> tuple[Any, ...]:
        """Return the first row of a query, ``()`` if there is none."""
        rows = self.rows(f'{statement} LIMIT 1', *values)
        return rows[0] if rows else ()

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        try:
            return self._db.execute(statement, values).fetchall()
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            raise RecordingError(f'cannot read {self.path}: {error}') from None

    def add_function(self, name: str, function: Callable[[Any, Any], Any]) -> None:
        """Make a function of two values available to queries."""
        self._db.create_function(name, 2, function)

    def meta(self, key: str) -> str:
        """Return a value of the table ``meta``, ``''`` if there is none."""
        row = self.row('SELECT value FROM meta WHERE key = ?', key)
        return str(row[0] or '') if row else ''

    @property
    def simulated(self) -> str:
        """Name of the scenario if the machine was simulated, otherwise ``''``."""
        return self.meta('simulated')

    def span(self) -> Span:
        """Return the current ends; the last one moves while the file is being written."""
        first = self.row('SELECT id, t FROM frame ORDER BY id')
        last = self.row('SELECT id, t FROM frame ORDER BY id DESC')
        if not first or not last:
            raise RecordingError(f'{self.path} holds no samples')
        return Span(first[0], last[0], first[1] / _MS, last[1] / _MS)

    def at(self, moment: float) -> int:
        """Return the last frame that is not after a time, or the first frame."""
        row = self.row(
            'SELECT id FROM frame WHERE t <= ? ORDER BY t DESC, id DESC', _milliseconds(moment)
        )
        return int(row[0]) if row else self.span().first

    def neighbor(self, frame: int, step: int) -> int | None:
        """Return the next (1) or previous (-1) frame; ``None``: there is none."""
        where = 'id > ? ORDER BY id' if step > 0 else 'id < ? ORDER BY id DESC'
        row = self.row(f'SELECT id FROM frame WHERE {where}', frame)
        return int(row[0]) if row else None

    def time_of(self, frame: int) -> float:
        row = self.row('SELECT t FROM frame WHERE id = ?', frame)
        if not row:
            raise RecordingError(f'{self.path}: the frame has been deleted')
        return float(row[0] / _MS)

    def sample(self, frame: int) -> Sample:
        """Return the sample of a frame; raise FrameError if it is damaged."""
        row = self.row(
            'SELECT keyframe, CASE WHEN length(z) <= ? THEN z END FROM frame WHERE id = ?',
            MAX_FRAME_BYTES,
            frame,
        )
        if not row:
            raise FrameError('the frame has been deleted')
        if row[1] is None:
            raise FrameError('damaged frame')
        key = self._key(row[0])
        return parse_text(decompress(row[1], key) if row[1] else key)

    def _key(self, number: int) -> bytes:
        key = self._keys.get(number)
        if key is None:
            row = self.row(
                'SELECT CASE WHEN length(z) <= ? THEN z END FROM keyframe WHERE id = ?',
                MAX_FRAME_BYTES,
                number,
            )
            key = self._keys[number] = decompress((row and row[0]) or b'')
            if len(self._keys) > KEYS_KEPT:
                self._keys.popitem(last=False)
        return key

    def frames_before(self, frame: int, moment: float, most: int) -> list[int]:
        """Return at most ``most`` frames up to a frame, none before a time, oldest first."""
        # "+t" keeps SQLite from an index: the frame that is searched is near.
        rows = self.rows(
            'SELECT id FROM frame WHERE id <= ? AND id > coalesce((SELECT id FROM frame '
            f'WHERE id <= ? AND +t < ? ORDER BY id DESC LIMIT 1), 0) ORDER BY id DESC LIMIT {most:d}',
            frame,
            frame,
            _milliseconds(moment),
        )
        return [row[0] for row in reversed(rows)]

    def event(self, moment: float, step: int) -> RecordedEvent | None:
        """Return the next (1) or previous (-1) event after or before a time."""
        where = '> ? ORDER BY t, id' if step > 0 else '< ? ORDER BY t DESC, id'
        row = self.row(
            f'SELECT t, kind, text FROM event WHERE {_SHOWN} AND t {where}', _milliseconds(moment)
        )
        if not row:
            return None
        (count,) = self.row(f'SELECT count(*) FROM event WHERE {_SHOWN} AND t = ?', row[0])
        text = f'{row[2]}, and {count - 1} more' if count > 1 else row[2]
        return RecordedEvent(row[0] / _MS, row[1], text)

    def events(self, since: float, until: float) -> list[RecordedEvent]:
        """Return all events from one time to another, oldest first."""
        rows = self.rows(
            'SELECT t, kind, gpu, code, text FROM event WHERE t BETWEEN ? AND ? ORDER BY t, id',
            _milliseconds(since),
            _milliseconds(until),
        )
        return [
            RecordedEvent(t / _MS, kind, text or '', gpu or '', code or '')
            for t, kind, gpu, code, text in rows
        ]

    def gpu_times(self, since: float, until: float) -> GpuTimes:
        """Return the GPU time of each user in whole minutes."""
        rows = self.rows(
            'SELECT user, total(share_ms - allocated_ms), total(idle_held_ms) FROM usage '
            'WHERE minute >= ? AND minute < ? GROUP BY user',
            int(since // 60),
            int(until // 60),
        )
        return {user: ((share - idle) / _MS, idle / _MS) for user, share, idle in rows}

    def interval(self, frame: int) -> float:
        """Return the seconds between the frames around a frame."""
        row = self.row(
            'SELECT interval_ms FROM run WHERE id = (SELECT run FROM frame WHERE id = ?)', frame
        )
        return max(0.001, row[0] / _MS) if row else 1.0

    def close(self) -> None:
        self._db.close()


def open_database(path: str) -> sqlite3.Connection:
    """Open a recording for reading; RecordingError if it cannot be read, or is not a recording."""
    check_sqlite()
    try:
        with open(path, 'rb') as file:
            start = file.read(len(SQLITE_MAGIC))
    except FileNotFoundError:
        raise RecordingError(
            f'{path} does not exist; run nvitop record first, or name a FILE'
        ) from None
    except OSError as error:
        raise RecordingError(f'cannot read {path}: {error.strerror}') from None
    if path.endswith('.jsonl') or start.startswith(b'{"nvitop_sample"'):
        raise RecordingError(
            f'{path} has lines of JSON, which other programs read; "nvitop record FILE.db" makes '
            'recordings'
        )
    if start != SQLITE_MAGIC:
        raise RecordingError(f'{path} is not a recording of nvitop')
    try:
        db = _connect(path)
        try:
            check_format(db, path)
        except BaseException:
            db.close()
            raise
    except (sqlite3.Error, UnicodeDecodeError) as error:  # names in the file can be damaged
        raise RecordingError(f'cannot read {path}: {error}') from None
    return db


def _connect(path: str) -> sqlite3.Connection:
    """Open a database that this user may not be able to write."""
    address = f'file:{quote(os.fsencode(os.path.abspath(path)))}?mode=ro'
    try:
        return _checked(address)
    except sqlite3.OperationalError:
        # Reading a file in WAL mode needs files next to it. Without a log, all is in the file.
        if not os.path.exists(f'{path}-wal'):
            return _checked(f'{address}&immutable=1')
        raise RecordingError(
            f'cannot read {path}: its recorder was killed and left a log next to it; copy both files '
            'to a directory that you can write, or start the recorder again'
        ) from None


def _checked(address: str) -> sqlite3.Connection:
    db = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    try:
        db.execute('PRAGMA trusted_schema = OFF').fetchall()
        db.execute('SELECT count(*) FROM sqlite_master').fetchall()
    except BaseException:
        db.close()
        raise
    return db


def _milliseconds(moment: float) -> int:
    """Return a time as stored; those beyond the range of SQLite are moved into it."""
    return round(max(-1e15, min(1e15, moment * _MS)))
