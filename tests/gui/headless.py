"""A terminal in memory, and a sampler that measures nothing, for runs of the application."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Iterator

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.state.events import INPUT_ENDED, Event, KeyPressed, Resized
from nvitop.sampling.types import Demand

if TYPE_CHECKING:
    from nvitop.gui.render.theme import Theme


class HeadlessTerminal:
    """A :class:`~nvitop.gui.term.Terminal` without a screen.

    Each call of :meth:`wait` returns one batch of events given to :meth:`send`. With ``ends=True``
    the input ends after the last batch, so that a run of the application returns.
    """

    def __init__(self, width: int = 80, height: int = 24, *, ends: bool = False) -> None:
        self._size = (width, height)
        self._ends = ends
        self._batches: list[list[Event]] = []
        self._condition = threading.Condition()
        self._is_woken = False
        #: All frames, oldest first; a test with many frames may clear the list.
        self.frames: list[Buffer] = []
        self.is_open = False
        self.mouse_captured = True
        self.bells = 0
        self.colors = 0
        self.suspensions = 0

    @property
    def screen(self) -> Buffer:
        """The last frame, or an empty one before the first."""
        return self.frames[-1] if self.frames else Buffer(*self._size)

    def send(self, *events: Event) -> None:
        with self._condition:
            self._batches.append(list(events))
            self._condition.notify_all()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.send(KeyPressed(key))

    def resize(self, width: int, height: int) -> None:
        self._size = (width, height)
        self.send(Resized(width, height))

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        self.is_open = True
        try:
            yield
        finally:
            self.is_open = False

    def size(self) -> tuple[int, int]:
        return self._size

    def wait(self, timeout: float | None) -> list[Event]:
        with self._condition:
            if not self._batches and self._ends:
                return [INPUT_ENDED]
            self._condition.wait_for(lambda: self._batches or self._is_woken, timeout)
            self._is_woken = False
            return self._batches.pop(0) if self._batches else []

    def wake(self) -> None:
        with self._condition:
            self._is_woken = True
            self._condition.notify_all()

    def draw(self, buffer: Buffer, theme: Theme) -> None:
        self.frames.append(buffer)

    def forget(self) -> None:
        """Do nothing: no other program can draw here."""

    def capture_mouse(self, captured: bool) -> None:
        self.mouse_captured = captured

    def ring(self) -> None:
        self.bells += 1

    def suspend(self) -> None:
        self.suspensions += 1


class FakeMeasuring:
    """A sampler that measures nothing and records the calls."""

    def __init__(self) -> None:
        self.demands: list[Demand] = []
        self.refreshes = 0
        self.starts = 0

    def start(self) -> None:
        self.starts += 1

    def demand(self, demand: Demand) -> None:
        if not self.demands or demand != self.demands[-1]:
            self.demands.append(demand)

    def refresh(self) -> None:
        self.refreshes += 1
