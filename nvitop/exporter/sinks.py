# SPDX-License-Identifier: Apache-2.0
"""Sinks that write to disks, in a thread of their own: a slow disk must not delay samples."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Sequence

if TYPE_CHECKING:
    from nvitop.recording.recorder import Sink
    from nvitop.sampling.types import Sample

#: Maximum number of samples that wait for a slow disk; further ones are left out.
MAX_WAITING = 10
#: Maximum time (seconds) that :meth:`BackgroundSinks.close` waits for the disk.
CLOSE_SECONDS = 2.0


class BackgroundSinks:
    """Passes samples on to other sinks in a background thread."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = sinks
        self._queue: queue.SimpleQueue[Sample | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name='nvitop-sinks', daemon=True)
        self._thread.start()

    def write(self, sample: Sample) -> None:
        """Take a sample."""
        if self._queue.qsize() < MAX_WAITING:
            self._queue.put(sample)

    def close(self) -> None:
        """Finish, unless the disk does not respond."""
        self._queue.put(None)
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        while True:
            sample = self._queue.get()
            for sink in self._sinks:
                if sample is None:
                    sink.close()
                else:
                    sink.write(sample)
            if sample is None:
                return
