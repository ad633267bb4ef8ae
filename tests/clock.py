"""A clock that tests turn by hand."""

from __future__ import annotations

import threading


class Clock:
    """A manual clock; turning it wakes threads that wait on its condition."""

    def __init__(self, now: float = 100.0) -> None:
        self.now = now
        self.condition = threading.Condition()

    def __call__(self) -> float:
        return self.now

    def turn(self, seconds: float) -> None:
        with self.condition:
            self.now += seconds
            self.condition.notify_all()
