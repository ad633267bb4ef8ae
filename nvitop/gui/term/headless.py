# SPDX-License-Identifier: GPL-3.0-only
"""A terminal in memory: tests press its keys and look at what was drawn."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Iterator

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.state.events import Event, InputEnded, KeyPressed, Resized

if TYPE_CHECKING:
    from nvitop.gui.render.theme import Theme


class HeadlessTerminal:
    """A :class:`~nvitop.gui.term.terminal.Terminal` without a screen.

    Events given to :meth:`send` are handed out one batch a call of :meth:`wait`. With
    ``ends=True`` the input ends when there are no more, so a run of the application returns.
    """

    def __init__(
        self, width: int = 80, height: int = 24, *, colors: int = 256, ends: bool = False
    ) -> None:
        self._size = (width, height)
        self._colors = colors
        self._ends = ends
        self._batches: list[list[Event]] = []
        self._condition = threading.Condition()
        self._is_woken = False
        #: What was drawn, oldest first; a test that draws much may clear it.
        self.frames: list[Buffer] = []
        self.is_open = False
        self.mouse_captured = True
        self.bells = 0
        self.suspensions = 0

    @property
    def screen(self) -> Buffer:
        """The last frame; an empty one before the first."""
        return self.frames[-1] if self.frames else Buffer(*self._size)

    def send(self, *events: Event) -> None:
        """Let these events happen together. Any thread may call it."""
        with self._condition:
            self._batches.append(list(events))
            self._condition.notify_all()

    def press(self, *keys: str) -> None:
        """Press keys, one batch each."""
        for key in keys:
            self.send(KeyPressed(key))

    def resize(self, width: int, height: int) -> None:
        """Change the size, and let that happen."""
        self._size = (width, height)
        self.send(Resized(width, height))

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Only notes whether it is open."""
        self.is_open = True
        try:
            yield
        finally:
            self.is_open = False

    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self._size

    def colors(self) -> int:
        """As given."""
        return self._colors

    def wait(self, timeout: float | None) -> list[Event]:
        """The next batch of events."""
        with self._condition:
            if not self._batches and self._ends:
                return [InputEnded()]
            self._condition.wait_for(lambda: self._batches or self._is_woken, timeout)
            self._is_woken = False
            return self._batches.pop(0) if self._batches else []

    def wake(self) -> None:
        """Make :meth:`wait` return."""
        with self._condition:
            self._is_woken = True
            self._condition.notify_all()

    def draw(self, buffer: Buffer, theme: Theme) -> None:
        """Keep the frame."""
        self.frames.append(buffer)

    def forget(self) -> None:
        """Nothing is drawn over here."""

    def capture_mouse(self, captured: bool) -> None:
        """Note it."""
        self.mouse_captured = captured

    def ring(self) -> None:
        """Count it."""
        self.bells += 1

    def suspend(self) -> None:
        """Count it, and continue at once."""
        self.suspensions += 1
