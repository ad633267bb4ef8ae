# SPDX-License-Identifier: Apache-2.0
"""The tables of a recording in SQLite. ``docs/recording.md`` describes them for other programs."""

from __future__ import annotations

import sqlite3

from nvitop.recording.usage import DeviceMinute, Usage

#: The first bytes of every SQLite file.
SQLITE_MAGIC = b'SQLite format 3\0'
#: Identifies recordings among SQLite files: "nvto".
APPLICATION_ID = 0x6E76746F
#: Version of the format. It changes when a reader of the old format would misread the new one.
FORMAT = 1

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
CREATE TABLE event (
    id INTEGER PRIMARY KEY, t INTEGER NOT NULL, run INTEGER NOT NULL, kind TEXT NOT NULL,
    gpu TEXT, code TEXT, text TEXT
);
CREATE INDEX event_t ON event (t)
"""


class RecordingError(Exception):
    """A recording cannot be written or read; the text is for people."""


def check_format(db: sqlite3.Connection, path: str) -> None:
    """Raise RecordingError unless an SQLite file is a recording of a known format."""
    if db.execute('PRAGMA application_id').fetchone()[0] != APPLICATION_ID:
        raise RecordingError(f'{path} is not a recording of nvitop')
    version = db.execute('PRAGMA user_version').fetchone()[0]
    if version > FORMAT:
        raise RecordingError(f'{path} was written by a newer version of nvitop')
    if version < 1:
        raise RecordingError(f'{path} is not a recording of nvitop')
