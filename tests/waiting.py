"""Waiting for threads and other processes, with a time limit."""

from __future__ import annotations

import threading
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


class Threads:
    """Starts threads for a test, and waits for all of them at its end."""

    def __init__(self) -> None:
        self.started: list[threading.Thread] = []

    def start(self, name: str, target: Callable[[], None]) -> None:
        self.started.append(threading.Thread(target=target, name=name, daemon=True))
        self.started[-1].start()

    def join(self) -> None:
        for thread in self.started:
            thread.join(PATIENCE)
            assert not thread.is_alive()
