"""Time limit for tests that wait for threads and other processes."""

from __future__ import annotations

import time
from typing import Callable

#: Time limit in seconds, long enough for a busy machine. Only failing tests reach it.
PATIENCE = 100.0


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Wait until ``condition`` is true; fail with ``what`` after the time limit."""
    deadline = time.monotonic() + PATIENCE
    # Check again after the deadline, because this process may have been suspended.
    while not condition():
        assert time.monotonic() < deadline or condition(), what
        time.sleep(0.005)
