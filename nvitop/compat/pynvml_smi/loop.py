# SPDX-License-Identifier: Apache-2.0
"""A query that is asked again and again, in the background."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class LoopAsync:
    """Asks a query with a fixed period, in a thread that does not keep the program alive.

    The thread ends with :meth:`cancel`, and with the program. An exception of the query or of the
    callback does not end it: :meth:`exception` has the last one.
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
        """Start asking.

        Args:
            period: Seconds from one query to the next; what the query takes is part of it.
            query: The query.
            callback: Called in the thread with this object and each result.
            clock: Tells the time in seconds.
            wait: Waits for so many seconds and tells whether to end.
        """
        self._period = period
        self._query = query
        self._callback = callback
        self._clock = clock
        self._cancelled = threading.Event()
        self._first = threading.Event()
        self._wait = wait or self._cancelled.wait
        self._result: Any = None
        self._exception: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name='nvidia_smi.loop', daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """End: no query and no callback begins after this."""
        self._cancelled.set()
        self._first.set()

    def is_aborted(self) -> bool:
        """Whether the loop was cancelled."""
        return self._cancelled.is_set()

    def result(self, timeout: float | None = None) -> Any:
        """The last result. The first is waited for; ``None`` where there is none.

        Args:
            timeout: Seconds to wait at most.
        """
        self._first.wait(timeout)
        return self._result

    def exception(self) -> BaseException | None:
        """The last exception of the query or the callback, ``None`` if there was none."""
        return self._exception

    def _run(self) -> None:
        due = self._clock()
        while not self._cancelled.is_set():
            self._ask()
            due = next_due(due, self._period, self._clock())
            if self._wait(max(0.0, due - self._clock())):
                break

    def _ask(self) -> None:
        try:
            self._result = self._query()
            self._first.set()
            if self._callback is not None and not self._cancelled.is_set():
                self._callback(self, self._result)
        except Exception as error:
            self._exception = error
        finally:
            self._first.set()


def next_due(due: float, period: float, now: float) -> float:
    """When to ask next: a whole number of periods after ``due``, the first one not gone by.

    So the period does not drift, and what was missed is not made up for.
    """
    if period <= 0.0:
        return now
    return due + period * max(1, math.ceil((now - due) / period))
