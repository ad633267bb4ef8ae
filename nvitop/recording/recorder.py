# SPDX-License-Identifier: Apache-2.0
"""The sink that records samples to a database, at its own interval."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from typing import Callable

from nvitop.accounting.usage import MinuteRows, UsageAccount
from nvitop.basics.metrics import METRICS
from nvitop.platforms import boot_id, machine_id
from nvitop.recording.events import EventDetector, RecordedEvent
from nvitop.recording.frames import FrameEncoder, FrameError
from nvitop.recording.store import RecordingError, Retention, Store
from nvitop.sampling.serialization import CommandFilter
from nvitop.sampling.types import Demand, JobSample, Sample

#: Default time (seconds) between frames.
DEFAULT_INTERVAL = 10.0
#: Share of the interval by which a frame may be early.
EARLY = 0.1
#: Earlier times (before 2020) mean that the system clock is not set.
EARLIEST_TIME = 1577836800.0
#: Maximum number of minutes and events that are kept in memory while the disk is full.
MAX_PENDING = 1500

#: Metrics that are measured for recordings only: those that do not disturb other programs, and not
#: traffic, whose measurement takes 42 ms for each GPU.
RECORDED_METRICS = tuple(
    metric.name
    for metric in METRICS
    if metric.tier == 'shown' and metric.detail and not metric.begin and metric.unit != 'KiB/s'
)
RECORDED = Demand(
    shown_metrics=RECORDED_METRICS, process_codec=True, host_processes=True, owners=True, jobs=True
)

#: Prints a message: kind (``'error'``, ``'warning'``, ``'hint'``) and text.
Report = Callable[[str, str], None]


def _machine_hash() -> str:
    """Hash of the machine ID, ``''`` if there is none: systemd asks not to publish the ID itself."""
    text = machine_id()
    return hashlib.sha256(f'nvitop {text}'.encode()).hexdigest()[:16] if text else ''


class Recorder:
    """A sink that records to SQLite: frames, usage by minute, events.

    It never fails because of the disk: without room it stops writing frames, then usage, reports
    that once, and continues as soon as there is room.
    """

    def __init__(
        self,
        path: str,
        *,
        interval_seconds: float = DEFAULT_INTERVAL,
        retention: Retention | None = None,
        commands: str = 'name',
        mode: int | None = None,
        on_message: Report = lambda _kind, _text: None,
    ) -> None:
        """Open or create a recording.

        Args:
            path: The file.
            interval_seconds: Time between samples.
            retention: When frames and usage are deleted.
            commands: How much of command lines is kept: ``'full'``, ``'name'`` or ``'none'``.
            mode: Permissions of the file; ``None``: 0600 for a new file.
            on_message: Prints messages about the disk.

        Raises:
            RecordingError: The file cannot be opened, is not a recording, or has another writer.
        """
        self.path = path
        self.interval_seconds = interval_seconds
        self._retention = retention or Retention()
        self._mode = mode
        self._report = on_message
        self._commands = CommandFilter(commands)
        self._usage = UsageAccount(interval_seconds)
        self._detector = EventDetector(interval_seconds)
        self._encoder = FrameEncoder()
        self._minutes: list[MinuteRows] = []
        self._events: list[RecordedEvent] = []
        self._jobs: set[JobSample] = set()
        self._last: Sample | None = None
        self._last_frame = float('-inf')
        self._minute = -1
        #: Whether frames and rows are not being written.
        self._frames_stopped = False
        #: Whether no frame was written since a message said so.
        self._is_stop_reported = False
        self._rows_stopped = False
        self._is_clock_reported = False
        self._run_is_begun = False
        self._store = self._open()

    def _open(self) -> Store:
        return Store(self.path, mode=self._mode, retention=self._retention)

    def write(self, sample: Sample) -> None:
        """Take a sample. Problems of the disk are reported, not raised.

        Raises:
            RecordingError: The file was removed and cannot be made again, or it has samples of a
                real machine and this one is simulated, or the other way around.
        """
        if sample.timestamp < EARLIEST_TIME:
            if not self._is_clock_reported:
                self._report('warning', 'nothing is recorded until the system clock is set')
            self._is_clock_reported = True
            return
        if self._store.is_replaced():
            self._report('warning', f'{self.path} was removed or moved; recording to a new file')
            self.reopen()
        sample = self._commands.apply(sample)
        self._begin_run(sample)
        self._usage.add(sample)
        self._jobs.update(sample.jobs)
        self._events += self._detector.compare(sample)
        self._last = sample
        minute = int(sample.timestamp // 60)
        is_new_minute, self._minute = minute != self._minute, minute
        if is_new_minute:
            self._minutes += self._usage.take(sample.timestamp)
        if self._events or (is_new_minute and self._minutes):
            self._write_rows()
        if is_new_minute:
            self._tidy(sample)
        elapsed = sample.monotonic - self._last_frame
        if not 0 <= elapsed < (1 - EARLY) * self.interval_seconds:
            self._write_frame(sample)

    def _begin_run(self, sample: Sample) -> None:
        if self._run_is_begun:
            return
        try:
            scenario = self._store.simulated()
            if scenario is not None and bool(scenario) != bool(sample.simulated):
                kind = 'simulated' if scenario else 'real'
                raise RecordingError(
                    f'{self.path} has samples of a {kind} machine; record to another file'
                )
            self._store.begin_run(
                sample.timestamp,
                self.interval_seconds,
                boot=boot_id(),
                meta={
                    'host': sample.host.hostname,
                    'machine': _machine_hash(),
                    'simulated': sample.simulated,
                },
            )
        except sqlite3.Error as error:
            self._stop_rows(error)
            return
        self._run_is_begun = True
        text = f'recording begins, every {self.interval_seconds:g}s'
        self._events.insert(0, RecordedEvent(sample.timestamp, 'start', text))

    def _write_frame(self, sample: Sample) -> None:
        if self._frames_stopped or not self._run_is_begun:
            return
        try:
            frame, key = self._encoder.encode(sample)
            self._store.add_frame(sample.timestamp, frame, key)
        except (FrameError, sqlite3.Error) as error:
            self._encoder.restart()
            self._stop_frames(str(error))
            return
        self._last_frame = sample.monotonic
        if self._is_stop_reported:
            self._is_stop_reported = False
            self._report('warning', f'{self.path}: frames are recorded again')
            self._note('frames are recorded again')

    def _write_rows(self) -> None:
        """Write minutes and events; keep them for later if that fails."""
        try:
            self._store.add_rows(self._minutes, self._events)
            self._store.note_jobs(self._jobs)
        except sqlite3.Error as error:
            self._stop_rows(error)
            del self._minutes[:-MAX_PENDING], self._events[:-MAX_PENDING]
            return
        self._minutes, self._events = [], []
        self._jobs.clear()
        if self._rows_stopped:
            self._rows_stopped = False
            self._report('warning', f'{self.path}: usage is recorded again')

    def _stop_frames(self, why: str) -> None:
        """Stop writing frames until the next minute in which there is room."""
        self._frames_stopped = True
        if not self._is_stop_reported:
            self._is_stop_reported = True
            self._report(
                'warning', f'{self.path}: no frames are recorded until there is room: {why}'
            )
            self._note(f'no frames are recorded: {why}')

    def _stop_rows(self, error: sqlite3.Error) -> None:
        if not self._rows_stopped:
            self._report('warning', f'{self.path}: not even usage can be recorded: {error}')
        self._rows_stopped = True

    def _tidy(self, sample: Sample) -> None:
        try:
            self._store.note_devices(sample.timestamp, sample.devices)
            self._store.tidy(sample.timestamp, sample.driver_version)
        except sqlite3.Error as error:
            if not self._frames_stopped:
                self._stop_frames(str(error))
            return
        if self._store.has_room():
            self._frames_stopped = False
        elif not self._frames_stopped:
            self._stop_frames('the disk is almost full')

    def _note(self, text: str) -> None:
        self._events.append(RecordedEvent(self._time(), 'note', text))

    def _time(self) -> float:
        return time.time() if self._last is None else self._last.timestamp

    def reopen(self) -> None:
        """Open the path again, as after the file was moved away; RecordingError if that fails."""
        self._close('reopened')
        self._run_is_begun = False
        self._encoder.restart()
        self._store = self._open()

    def close(self) -> None:
        """Write everything and close the file."""
        self._close('stopped')

    def _close(self, reason: str) -> None:
        if self._run_is_begun:
            self._events.append(RecordedEvent(self._time(), 'stop', f'recording {reason}'))
            self._minutes += self._usage.take()  # also those that have just begun
            self._write_rows()
        self._store.close(self._time(), reason)
