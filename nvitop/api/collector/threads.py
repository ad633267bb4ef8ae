# SPDX-License-Identifier: Apache-2.0
"""The threads of a collector: one that takes samples, and those that hand metrics on."""

from __future__ import annotations

import queue
import threading
import weakref
from typing import TYPE_CHECKING

from nvitop.api.collector.reading import LOGGER

if TYPE_CHECKING:
    from collections.abc import Callable

    from nvitop.api.collector.resource import ResourceMetricCollector

#: No wait is longer than this: systems differ in how long a wait can be.
_LONGEST_WAIT_SECONDS = 3600.0


class SamplingThread:
    """A thread that takes samples for a collector, and ends with it.

    It holds the collector only while it takes a sample, so a collector that nobody holds any more
    goes away as usual.
    """

    def __init__(self, collector: ResourceMetricCollector) -> None:
        """RuntimeError: the system has no thread."""
        self._collector = weakref.ref(collector)
        # Its put() may be called from anywhere, also while garbage is collected.
        self._messages: queue.SimpleQueue[bool | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._run, name='nvitop-collector', daemon=True)
        self.thread.start()
        ending = weakref.finalize(collector, self._messages.put, None)
        ending.atexit = False  # a daemon thread ends with the process

    def wake(self, *, sample: bool) -> None:
        """Have it look at the time again, or take a sample at once."""
        self._messages.put(sample)

    def _run(self) -> None:
        wait: float | None = None
        while True:
            try:
                is_wanted = self._messages.get(timeout=wait)
            except queue.Empty:
                is_wanted = False
            collector = None if is_wanted is None else self._collector()
            if collector is None:
                return
            wait = collector._tick(is_wanted=bool(is_wanted))
            if wait is not None:
                wait = min(wait, _LONGEST_WAIT_SECONDS)
            del collector


class CollectThread(threading.Thread):
    """A thread that hands the metrics of a collector to a function, again and again.

    It is a daemon thread. It ends when the function returns false, when its tag is deactivated
    (``thread.collector.deactivate(thread.name)``), and with the process.
    """

    def __init__(
        self,
        collector: ResourceMetricCollector,
        on_collect: Callable[[dict[str, float]], bool],
        interval: float,
        on_start: Callable[[ResourceMetricCollector], None] | None,
        on_stop: Callable[[ResourceMetricCollector], None] | None,
        tag: str,
    ) -> None:
        super().__init__(name=tag, daemon=True)
        #: The collector whose metrics are handed on.
        self.collector = collector
        self._on_collect = on_collect
        self._interval = interval
        self._on_start = on_start
        self._on_stop = on_stop
        self._tag = tag
        self._failures: set[type[Exception]] = set()

    def start(self) -> None:
        """Activate the tag, and begin.

        Raises:
            RuntimeError: The thread was started before, or its tag is active already.
        """
        is_new = self.ident is None
        if is_new:
            self._buffer = self.collector._activate(self._tag, is_background=True)
        try:
            super().start()
        except RuntimeError:  # the system has no more threads
            if is_new:
                self.collector._end(self._buffer)
            raise

    def run(self) -> None:
        """Hand on metrics until it is time to stop."""
        collector, buffer = self.collector, self._buffer
        clock = collector._clock
        due = clock()
        try:
            if self._on_start is not None:
                self._guarded(self._on_start, collector)
            while self._hand_on():
                # By the clock, so that the function's own time does not add up.
                now = clock()
                due += self._interval * (1 + max(0.0, now - due) // self._interval)
                if collector._ends_within(buffer, due - now):
                    break
        finally:
            collector._end(buffer)
            if self._on_stop is not None:
                self._guarded(self._on_stop, collector)

    def _hand_on(self) -> bool:
        metrics = self.collector._collect(self._buffer)
        return bool(self._guarded(self._on_collect, metrics))

    def _guarded(self, function: Callable[..., object], argument: object) -> object:
        """Call a function of the user; one that raises is reported once and goes on."""
        try:
            return function(argument)
        except Exception as error:
            if type(error) not in self._failures:
                self._failures.add(type(error))
                name = getattr(function, '__name__', repr(function))
                LOGGER.exception('%s of %r failed; collecting goes on.', name, self._tag)
            return True
