# SPDX-License-Identifier: Apache-2.0
"""A recording as a source of samples: it plays, pauses, and jumps to other times."""

from __future__ import annotations

import collections
import contextlib
import time
from datetime import date
from typing import TYPE_CHECKING, Callable, Mapping, NamedTuple

from nvitop.accounting.usage import MAX_INTERVALS, GpuTimes
from nvitop.basics.units import LATEST_TIME, format_time, start_of_day
from nvitop.recording.events import RecordedEvent
from nvitop.recording.frames import FrameError
from nvitop.recording.store import RecordingError
from nvitop.sampling.history import History
from nvitop.sampling.types import EMPTY_SAMPLE, Demand, Origin, Sample

if TYPE_CHECKING:
    from nvitop.recording.reader import Recording

#: Speeds, slowest first.
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
#: Time (seconds) before a frame that its graphs show.
HISTORY_SECONDS = 3600.0
#: Maximum number of frames considered for graphs. Of them, the newest are all read, and of the older
#: ones as many as this, evenly spread.
MOST_FRAMES = 20_000
NEWEST_FRAMES = 120
OLDER_FRAMES = 100
#: Maximum time (seconds) that a gap takes to replay.
LONGEST_GAP = 2.0
#: Time (seconds) between two checks for new frames at the end of the recording.
LOOK_SECONDS = 1.0
#: Maximum number of events that are listed, and time (seconds) after which new ones are read.
MOST_EVENTS = 1000
EVENTS_SECONDS = 60.0
#: Maximum number of damaged frames that are skipped in a row.
MOST_SKIPPED = 50
#: Maximum difference (seconds) of the two clocks between two frames of the same boot.
_CLOCK_ERROR = 5.0

NO_SIGNALS = 'Not available: the processes are in a recording'


class Delivery(NamedTuple):
    """What comes with a sample."""

    origin: Origin
    #: The history before the sample, if it is not the one of the previous samples.
    history: History | None = None
    #: A message about what happened, for people.
    message: str = ''
    #: GPU time of each user since midnight.
    gpu_times: Mapping[str, tuple[float, float]] = {}
    #: The last events of the recording, oldest first.
    events: tuple[RecordedEvent, ...] = ()


class ReplaySource:
    """Replays a recording, at the pace at which it was taken or at another one.

    :meth:`travel` may be called by any thread; wake the sampler afterwards. Everything else is used by
    the thread of the sampler.
    """

    #: There is no driver whose calls could hang.
    threads_inside = 0

    def __init__(
        self,
        recording: Recording,
        *,
        at: float | None = None,
        stands_still: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin at a time; ``None``: at the first frame. ``stands_still``: until it is to go on."""
        self._recording = recording
        self._clock = clock
        self._requests: collections.deque[tuple[str, float]] = collections.deque()
        span = recording.span()
        self._frame = span.first if at is None else recording.at(at)
        self._speed = 1.0
        self._is_paused = False
        #: Whether it stands still while the user reads a list of times.
        self._stands_still = stands_still
        self._sample = EMPTY_SAMPLE
        self._timeline = Timeline()
        #: Time of the event that was jumped to: its frame may be older.
        self._event_time: float | None = None
        self._is_end_reported = False
        self._sequence = 0
        self._due = 0.0
        self._next: tuple[int, float] | None = None
        self._history: History | None = None
        self._times_minute = -1
        self._times: GpuTimes = {}
        self._messages: list[str] = []
        #: The last frame when events were read, and when they may be read again.
        self._events_until = (-1, 0.0)
        self._events: tuple[RecordedEvent, ...] = ()

    @property
    def origin(self) -> Origin:
        return Origin(
            is_live=False,
            no_signals=NO_SIGNALS,
            can_travel=True,
            speed=self._speed,
            is_paused=self._is_paused or self._stands_still,
        )

    def interval(self) -> float:
        """Return the seconds between the frames now."""
        return self._recording.interval(self._frame)

    def travel(self, unit: str, amount: float) -> None:
        """Request a step. Any thread may call this.

        ``unit`` is ``'frame'``, ``'seconds'``, ``'time'`` (seconds since the epoch), ``'end'``,
        ``'event'``, ``'speed'`` or ``'pause'``; the sign of ``amount`` is the direction. With
        ``'pause'``, 1 is to stand still until -1, and 0 is to pause or to go on.
        """
        self._requests.append((unit, amount))

    def take_delivery(self) -> Delivery:
        """Return the values that accompany the last sample, once."""
        history, self._history = self._history, None
        messages, self._messages = self._messages, []
        return Delivery(
            self.origin, history, '; '.join(messages), self._gpu_times(), self._read_events()
        )

    def _read_events(self) -> tuple[RecordedEvent, ...]:
        """Return the last events; those of a recording that grows are read once a minute."""
        frame, due = self._events_until
        if frame != self._recording.span().last and self._clock() >= due:
            self._events_until = self._recording.span().last, self._clock() + EVENTS_SECONDS
            events = self._recording.events(0.0, LATEST_TIME)
            self._events = tuple(collections.deque(events, MOST_EVENTS))
        return self._events

    def _gpu_times(self) -> GpuTimes:
        """Return the GPU time of each user on the day of the sample, up to its minute."""
        now = self._sample.timestamp
        if int(now // 60) != self._times_minute:
            self._times_minute = int(now // 60)
            midnight = start_of_day(date.fromtimestamp(now))
            self._times = self._recording.gpu_times(midnight, now)
        return self._times

    def refresh(self) -> None:
        """Do nothing: the past does not change."""

    def next_due(self) -> float:
        """Return when the next frame is due, on the monotonic clock."""
        return self._due

    def sample(self, demand: Demand) -> Sample:
        """Return the sample at the current position; the demand is ignored."""
        now = self._clock()
        is_asked = not self._sequence or bool(self._requests)
        if not self._sequence:
            self._jump(self._frame, 1)
            self._next = None
        elif self._requests:
            self._is_end_reported = False
            while self._requests:
                self._carry_out(*self._requests.popleft())
            self._next = None
        elif not self.origin.is_paused and now >= self._due:
            self._play(now)
        self._plan(now, is_asked=is_asked)
        return self._sample

    def _carry_out(self, unit: str, amount: float) -> None:
        position, self._event_time = self._event_time, None
        if unit == 'event':
            self._travel_to_event(amount, position)
        elif unit == 'frame':
            self._travel_frames(amount)
        elif unit == 'seconds':
            self._travel_to(self._recording.time_of(self._frame) + amount)
        elif unit == 'time':
            self._travel_to(amount)
        elif unit == 'end':
            span = self._recording.span()
            self._jump(span.first if amount < 0 else span.last, 1 if amount < 0 else -1)
        elif unit == 'speed':
            self._change_speed(amount)
        elif amount:
            self._stands_still = amount > 0
        else:
            self._is_paused, self._stands_still = not self.origin.is_paused, False

    # Playing

    def _play(self, now: float) -> None:
        """Show the frame that is due; skip those that a high speed leaves no time for."""
        late = (now - self._due) * self._speed
        target = self._next or self._following()
        if target is None:
            return
        frame = target[0]
        for _ in range(MOST_FRAMES):
            following = self._recording.neighbor(frame, 1)
            if following is None:
                break
            wait = self._wait_between(frame, following)
            if wait > late:
                break
            late -= wait
            frame = following
        self._step_to(frame)

    def _plan(self, now: float, *, is_asked: bool) -> None:
        """Decide when the next frame is due. The answer to a request is not followed by the end."""
        if self.origin.is_paused:
            self._due = float('inf')
            return
        following = self._following()
        if following is None:
            if not self._is_end_reported:
                self._is_end_reported = True
                if not (is_asked and self._messages):
                    self._messages.append(f'end of the recording: {self._recording.span()}')
            self._due = now + LOOK_SECONDS
            self._next = None
            return
        if following == self._next and self._due < float('inf'):
            return
        self._next = following
        self._due = now + following[1] / self._speed

    def _following(self) -> tuple[int, float] | None:
        frame = self._recording.neighbor(self._frame, 1)
        return None if frame is None else (frame, self._wait_between(self._frame, frame))

    def _wait_between(self, frame: int, following: int) -> float:
        """Return the seconds between two frames; gaps are shortened."""
        times, interval = self._recording.time_of, self.interval()
        seconds = times(following) - times(frame)
        if seconds < 0:
            return interval  # the clock was set back
        return seconds if seconds <= max(LONGEST_GAP, MAX_INTERVALS * interval) else LONGEST_GAP

    # Showing a frame

    def _step_to(self, frame: int) -> None:
        """Show one of the next frames, which continues the history."""
        self._frame, recorded = self._readable(frame, 1)
        if recorded is not None:
            self._show(self._frame, recorded)

    def _show(self, frame: int, recorded: Sample) -> None:
        self._sequence += 1
        self._sample = self._timeline.place(recorded)._replace(sequence=self._sequence)
        self._frame = frame

    def _jump(self, frame: int, direction: int) -> None:
        """Show any frame, with the history before it."""
        frame, recorded = self._readable(frame, direction)
        if recorded is None:
            return
        since = self._recording.time_of(frame) - HISTORY_SECONDS
        frames = self._recording.frames_before(frame, since, MOST_FRAMES)[:-1]
        older, newest = frames[:-NEWEST_FRAMES], frames[-NEWEST_FRAMES:]
        stride = max(1, -(-len(older) // OLDER_FRAMES))
        slot = self._recording.interval(frame)
        self._history, self._timeline = History(slot, slot), Timeline()
        for earlier in (*older[::stride], *newest):
            with contextlib.suppress(FrameError):
                self._history.record(self._timeline.place(self._recording.sample(earlier)))
        self._show(frame, recorded)

    def _readable(self, frame: int, direction: int) -> tuple[int, Sample | None]:
        """Return the first frame in a direction that is not damaged, and its sample.

        If there is none, return the last one that is damaged, and no sample.
        """
        for _ in range(MOST_SKIPPED):
            try:
                return frame, self._recording.sample(frame)
            except FrameError as error:
                self._messages.append(str(error))
            following = self._recording.neighbor(frame, direction)
            if following is None:
                break
            frame = following
        if not self._sequence:
            raise RecordingError(f'no sample can be read: {self._messages[-1]}')
        return frame, None

    # Requests

    def _travel_frames(self, amount: float) -> None:
        self._is_paused = True
        step = 1 if amount > 0 else -1
        frame = self._recording.neighbor(self._frame, step)
        if frame is None:
            self._messages.append('no earlier sample' if step < 0 else 'no later sample')
        elif step > 0:
            self._step_to(frame)
        else:
            self._jump(frame, -1)

    def _travel_to(self, moment: float) -> None:
        frame = self._recording.at(moment)
        span = self._recording.span()
        if not span.first_time <= moment <= span.last_time:
            self._messages.append(f'the recording is from {span}')
        if frame != self._frame:
            self._jump(frame, -1)

    def _travel_to_event(self, amount: float, position: float | None) -> None:
        """Show the sample at the next or previous event after the one at ``position``."""
        shown = self._recording.time_of(self._frame) if position is None else position
        event = self._recording.event(shown, 1 if amount > 0 else -1)
        if event is None:
            self._messages.append('no later event' if amount > 0 else 'no earlier event')
            self._event_time = position
            return
        self._is_paused = True
        self._jump(self._recording.at(event.time), -1)
        self._event_time = event.time
        self._messages.append(f'{format_time(event.time)} {event.text}')

    def _change_speed(self, amount: float) -> None:
        at = SPEEDS.index(self._speed) + (1 if amount > 0 else -1)
        if 0 <= at < len(SPEEDS):
            self._speed = SPEEDS[at]
        self._is_paused = self._stands_still = False


class Timeline:
    """Puts the samples of several boots on one monotonic clock."""

    def __init__(self) -> None:
        self._last: Sample | None = None
        self._offset = 0.0

    def place(self, sample: Sample) -> Sample:
        """Return a sample that follows the previous one, on the common clock."""
        last, self._last = self._last, sample
        if last is not None:
            monotonic, wall = sample.monotonic - last.monotonic, sample.timestamp - last.timestamp
            is_same_start = monotonic > 0 and (wall <= 0 or monotonic <= wall + _CLOCK_ERROR)
            if not is_same_start:
                self._offset += max(0.001, wall) - monotonic
        if not self._offset:
            return sample
        return sample._replace(
            monotonic=sample.monotonic + self._offset,
            processes_monotonic=sample.processes_monotonic + self._offset,
        )
