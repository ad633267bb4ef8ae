# SPDX-License-Identifier: Apache-2.0
"""The threads of a collector: one takes samples, others deliver metrics."""

from __future__ import annotations

import logging
import queue
import threading
import weakref
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from nvitop.collector.tags import TagBuffer, Tags

C = TypeVar('C')

LOGGER = logging.getLogger('nvitop.api.collector')
#: Maximum length (seconds) of one wait: platforms differ in how long a wait can be.
_LONGEST_WAIT_SECONDS = 3600.0


class SamplingThread:
    """A thread that takes samples, is started on use, and ends with its collector.

    ``tick`` is the method of the collector that takes a sample if one is due, and returns the seconds
    until the next one, or ``None`` if none is needed. The thread holds the collector only during a
    tick, so that an unused collector is freed as usual.
    """

    def __init__(self, collector: object, tick: Callable[[bool], float | None]) -> None:
        self._tick = weakref.WeakMethod(tick)
        self._is_reported = False
        self.forget()
        ending = weakref.finalize(collector, self.end)
        ending.atexit = False  # a daemon thread ends with the process

    def forget(self) -> None:
        """Forget the thread, at first and in a forked child."""
        self._thread: threading.Thread | None = None
        # Its put() may be called from anywhere, even during garbage collection.
        self._messages: queue.SimpleQueue[bool | None] = queue.SimpleQueue()

    def end(self) -> None:
        """End the thread."""
        self._messages.put(None)

    def wake(self, is_needed: bool) -> None:
        """Take a sample at once if one is needed, or check the time; start the thread if necessary."""
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(target=self._run, name='nvitop-collector', daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # no more threads
                if not self._is_reported:
                    self._is_reported = True
                    LOGGER.warning('%s: samples are taken only by collect()', error)
                return
            self._thread = thread
        self._messages.put(is_needed)

    def _run(self) -> None:
        messages, wait = self._messages, None
        while True:
            try:
                is_needed = messages.get(timeout=wait)
            except queue.Empty:
                is_needed = False
            tick = None if is_needed is None else self._tick()
            if tick is None:
                return
            wait = tick(bool(is_needed))
            if wait is not None:
                wait = min(wait, _LONGEST_WAIT_SECONDS)
            del tick


class CollectThread(threading.Thread, Generic[C]):
    """A daemon thread that passes the metrics of a collector to a function at intervals.

    It ends when the function returns false or cannot write to a closed pipe, when its tag is
    deactivated (``thread.collector.deactivate(thread.name)``), and with the process.
    """

    def __init__(
        self,
        collector: C,
        tags: Tags,
        collect: Callable[[TagBuffer], dict[str, float]],
        on_collect: Callable[[dict[str, float]], bool],
        interval: float,
        on_start: Callable[[C], None] | None,
        on_stop: Callable[[C], None] | None,
        tag: str,
    ) -> None:
        super().__init__(name=tag, daemon=True)
        #: The collector.
        self.collector = collector
        self._tags = tags
        self._collect = collect
        self._on_collect = on_collect
        self._interval = interval
        self._on_start = on_start
        self._on_stop = on_stop
        self._tag = tag
        self._failures: set[type[Exception]] = set()

    def start(self) -> None:
        """Activate the tag and start.

        Raises:
            RuntimeError: The thread was started before, or its tag is already active.
        """
        is_new = self.ident is None
        if is_new:
            self._buffer = self._tags.activate(self._tag, is_background=True)
        try:
            super().start()
        except RuntimeError:  # no more threads
            if is_new:
                self._tags.end(self._buffer)
            raise

    def run(self) -> None:
        """Deliver metrics until it is time to stop."""
        due = self._tags.clock()
        try:
            if self._on_start is not None:
                self._guarded(self._on_start, self.collector)
            while self._guarded(self._on_collect, self._collect(self._buffer)):
                # Based on the start, so that the time of the function does not add up.
                now = self._tags.clock()
                due += self._interval * (1 + max(0.0, now - due) // self._interval)
                if self._tags.ends_within(self._buffer, due - now):
                    break
        finally:
            self._tags.end(self._buffer)
            if self._on_stop is not None:
                self._guarded(self._on_stop, self.collector)

    def _guarded(self, function: Callable[..., object], argument: object) -> bool:
        """Call a function of the user. An exception is logged once per type, and counts as true."""
        try:
            return bool(function(argument))
        except BrokenPipeError:  # who read the output is gone, as in `| head`
            LOGGER.warning('%r ends: its output is closed', self._tag)
            return False
        except Exception as error:
            if type(error) not in self._failures:
                self._failures.add(type(error))
                name = getattr(function, '__name__', repr(function))
                LOGGER.exception('%s of %r failed; collecting continues', name, self._tag)
            return True
