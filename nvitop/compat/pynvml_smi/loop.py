# SPDX-License-Identifier: Apache-2.0
"""A query that is repeated in the background."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class LoopAsync:
    """Repeats a query with a fixed period, in a daemon thread.

    The thread ends after :meth:`cancel`. An exception of the query or of the callback does not end
    it; :meth:`exception` returns the last one.
    """

    def __init__(
        self,
        period: float,
        query: Callable[[], Any],
        callback: Callable[[LoopAsync, Any], object] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        """Start the thread.

        Args:
            period: Seconds from the start of one query to the start of the next.
            query: The query.
            callback: Called in the thread with this object and each result.
            clock: Returns the time in seconds.
            wait: Waits for a number of seconds and returns whether to end.
        """
        self._period = period
        self._query = query
        self._callback = callback
        self._clock = clock
        self._canceled = threading.Event()
        self._first = threading.Event()
        self._wait = wait or self._canceled.wait
        self._result: Any = None
        self._exception: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name='nvidia_smi.loop', daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Stop the loop: no query and no callback starts after this."""
        self._canceled.set()
        self._first.set()

    def is_aborted(self) -> bool:
        """Whether the loop was canceled."""
        return self._canceled.is_set()

    def result(self, timeout: float | None = None) -> Any:
        """The last result; ``None`` if there is none. Waits for the first one.

        Args:
            timeout: Maximum time to wait in seconds.
        """
        self._first.wait(timeout)
        return self._result

    def exception(self) -> BaseException | None:
        """The last exception of the query or the callback; ``None`` if there was none."""
        return self._exception

    def _run(self) -> None:
        due = self._clock()
        while not self._canceled.is_set():
            self._query_once()
            due = next_due(due, self._period, self._clock())
            if self._wait(max(0.0, due - self._clock())):
                break

    def _query_once(self) -> None:
        try:
            self._result = self._query()
            self._first.set()
            if self._callback is not None and not self._canceled.is_set():
                self._callback(self, self._result)
        except Exception as error:
            self._exception = error
        finally:
            self._first.set()


def next_due(due: float, period: float, now: float) -> float:
    """Return the time of the next query: the first whole number of periods after ``due``.

    The period does not drift, and missed queries are skipped.
    """
    if period <= 0.0:
        return now
    return due + period * max(1, math.ceil((now - due) / period))
