# SPDX-License-Identifier: Apache-2.0
"""The last samples in memory, for looking back in the live monitor: a recording without a file."""

from __future__ import annotations

import weakref
from typing import NamedTuple

from nvitop.accounting.usage import GpuTimes, RecentUse
from nvitop.basics.units import format_time
from nvitop.recording.frames import FrameEncoder, FrameError
from nvitop.recording.reader import Recording
from nvitop.recording.store import Retention, Store
from nvitop.sampling.types import Sample

#: Default time (seconds) that is kept, and the maximum memory for it in bytes.
KEPT_SECONDS = 3600.0
MOST_BYTES = 16 << 20
#: Longest usual interval (seconds) between samples; later ones follow a gap.
LONGEST_INTERVAL = 4.0
_NOT_KEPT = 'no samples are kept from before'


class FoundSample(NamedTuple):
    """A kept sample, or a reason why it is another one than requested."""

    #: ``None``: the present.
    sample: Sample | None
    message: str = ''


class RecentSamples:
    """Keeps the samples of the last hour, or fewer if they need too much memory."""

    def __init__(
        self,
        seconds: float = KEPT_SECONDS,
        most_bytes: int = MOST_BYTES,
        *,
        interval: float = LONGEST_INTERVAL,
    ) -> None:
        self.seconds = seconds
        retention = Retention(frame_seconds=seconds, max_bytes=most_bytes)
        self._store = Store(None, mode=None, retention=retention)
        weakref.finalize(self, self._store.db.close)
        self._recording = Recording('', self._store.db)
        self._encoder = FrameEncoder()
        self._use = RecentUse(seconds, max(interval, LONGEST_INTERVAL))
        #: GPU time of each user in the time that is kept.
        self.gpu_times: GpuTimes = {}
        #: The last sample, until it is compressed.
        self._added: Sample | None = None
        self._last_frame = self._minute = -1

    @property
    def size_bytes(self) -> int:
        return self._store.size_bytes()

    def add(self, sample: Sample) -> None:
        """Keep a sample; a later one than the samples before."""
        self.compress_added()
        if _number(sample) > self._last_frame:
            self._last_frame = _number(sample)
            self.gpu_times = self._use.add(sample)
            self._added = sample

    def compress_added(self) -> None:
        """Compress the last sample, which takes longer than adding it."""
        sample, self._added = self._added, None
        if sample is None:
            return
        try:
            frame, key = self._encoder.encode(sample)
        except FrameError:  # too large
            return
        self._store.add_frame(sample.timestamp, frame, key, number=_number(sample))
        minute = int(sample.monotonic // 60)
        if minute != self._minute:
            self._minute = minute
            self._store.tidy(sample.timestamp, None)

    def find(self, shown: Sample, unit: str, amount: float) -> FoundSample:
        """Return the sample that is a step away from the one on the screen.

        ``unit`` and ``amount`` are those of a recording, see
        :meth:`nvitop.recording.replay.ReplaySource.travel`.
        """
        self.compress_added()
        recording = self._recording
        if self._last_frame < 0:
            return FoundSample(None)
        span = recording.span()
        before = f'{_NOT_KEPT} {format_time(span.first_time)}'
        if unit == 'end':
            return FoundSample(None if amount > 0 else recording.sample(span.first))
        if unit == 'frame':
            frame = recording.neighbor(_number(shown), 1 if amount > 0 else -1)
            if amount < 0 and frame is None:
                return FoundSample(shown, before)
            is_present = frame is None or (amount > 0 and frame == span.last)
            return FoundSample(None if frame is None or is_present else recording.sample(frame))
        moment = amount if unit == 'time' else shown.timestamp + amount
        if moment < span.first_time:
            return FoundSample(recording.sample(span.first), before)
        if moment >= span.last_time:
            return FoundSample(None)
        return FoundSample(recording.sample(recording.at(moment)))


def _number(sample: Sample) -> int:
    return int(sample.monotonic * 1000)
