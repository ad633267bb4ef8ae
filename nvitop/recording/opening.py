# SPDX-License-Identifier: Apache-2.0
"""Opening recordings; several are read as one, such as one file for each day."""

from __future__ import annotations

import heapq
import os
from typing import Iterator, Sequence, Union

from nvitop.accounting.usage import GpuTimes, add_times
from nvitop.recording.events import RecordedEvent
from nvitop.recording.lines import LineRecording
from nvitop.recording.reader import DatabaseRecording, Span
from nvitop.recording.store import SQLITE_MAGIC, RecordingError
from nvitop.sampling.types import Sample

#: The frames of the recording at index ``i`` have the numbers from ``i * _STRIDE`` on.
_STRIDE = 1 << 40


class JoinedRecording:
    """Recordings in the order of their first samples."""

    def __init__(self, parts: Sequence[DatabaseRecording]) -> None:
        self._parts = sorted(parts, key=lambda part: part.span().first_time)

    def span(self) -> Span:
        """Return the current ends; the last one moves while a file is being written."""
        first, last = self._parts[0].span(), self._parts[-1].span()
        base = (len(self._parts) - 1) * _STRIDE
        return Span(first.first, base + last.last, first.first_time, last.last_time)

    def at(self, moment: float) -> int:
        """Return the last frame that is not after a time, or the first frame."""
        begun = sum(part.span().first_time <= moment for part in self._parts)
        i = max(0, begun - 1)
        return i * _STRIDE + self._parts[i].at(moment)

    def neighbor(self, frame: int, step: int) -> int | None:
        """Return the next (1) or previous (-1) frame; ``None``: there is none."""
        i, number = divmod(frame, _STRIDE)
        found = self._parts[i].neighbor(number, step)
        if found is None:
            i += step
            if not 0 <= i < len(self._parts):
                return None
            span = self._parts[i].span()
            found = span.first if step > 0 else span.last
        return i * _STRIDE + found

    def time_of(self, frame: int) -> float:
        """Return when a frame was taken."""
        i, number = divmod(frame, _STRIDE)
        return self._parts[i].time_of(number)

    def sample(self, frame: int) -> Sample:
        """Return the sample of a frame; raise FrameError if it is damaged."""
        i, number = divmod(frame, _STRIDE)
        return self._parts[i].sample(number)

    def frames_before(self, frame: int, moment: float, most: int) -> list[int]:
        """Return at most ``most`` frames up to a frame, none before a time, oldest first."""
        i, number = divmod(frame, _STRIDE)
        found = [i * _STRIDE + each for each in self._parts[i].frames_before(number, moment, most)]
        while i > 0 and len(found) < most and self._parts[i].span().first_time > moment:
            i -= 1
            part = self._parts[i]
            before = part.frames_before(part.span().last, moment, most - len(found))
            found = [*(i * _STRIDE + each for each in before), *found]
        return found

    def event(self, moment: float, step: int) -> RecordedEvent | None:
        """Return the next (1) or previous (-1) event after or before a time."""
        events = [part.event(moment, step) for part in self._parts]
        known = [event for event in events if event is not None]
        nearest = min if step > 0 else max
        return nearest(known, key=lambda event: event.time) if known else None

    def events(self, since: float, until: float) -> Iterator[RecordedEvent]:
        """Yield all events from one time to another, oldest first."""
        parts = [part.events(since, until) for part in self._parts]
        return heapq.merge(*parts, key=lambda event: event.time)

    def interval(self, frame: int) -> float:
        """Return the seconds between the frames around a frame."""
        i, number = divmod(frame, _STRIDE)
        return self._parts[i].interval(number)

    def gpu_times(self, since: float, until: float) -> GpuTimes:
        """Return the GPU time of each user, added up over the files."""
        times: GpuTimes = {}
        for part in self._parts:
            add_times(times, part.gpu_times(since, until))
        return times

    def close(self) -> None:
        """Close the files."""
        for part in self._parts:
            part.close()


Recording = Union[DatabaseRecording, JoinedRecording]


def open_recording(path: str) -> DatabaseRecording:
    """Open a recording for reading: SQLite, or lines of JSON; ``'-'`` is standard input.

    Raises:
        RecordingError: It cannot be read, is not a recording, or holds no sample.
    """
    return DatabaseRecording(path) if is_database(path) else LineRecording(path)


def is_database(path: str) -> bool:
    """Whether a file is in SQLite format.

    Raises:
        RecordingError: It cannot be read.
    """
    if path == '-' or not os.path.isfile(path):  # a pipe can be read only once
        return False
    try:
        with open(path, 'rb') as file:
            return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except OSError as error:
        raise RecordingError(f'cannot read {path}: {error.strerror}') from None


def open_recordings(paths: Sequence[str]) -> Recording:
    """Open one recording, or several as one.

    Raises:
        RecordingError: One of them cannot be read, is not a recording, or holds no sample.
    """
    parts = [open_recording(path) for path in paths]
    return parts[0] if len(parts) == 1 else JoinedRecording(parts)
