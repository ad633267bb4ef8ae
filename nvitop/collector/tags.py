# SPDX-License-Identifier: Apache-2.0
"""The active tags of a collector."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

from nvitop.collector.statistics import TagBuffer, Values

if TYPE_CHECKING:
    from collections.abc import Callable


class Tags:
    """Active tags and their buffers.

    The condition :attr:`changed` guards all state. Methods take it themselves; it is reentrant, so
    callers may hold it, too. It is never held while the driver is queried.

    ``wake`` is called when a tag is activated, with whether it needs a sample.
    """

    def __init__(
        self, clock: Callable[[], float], interval: float, wake: Callable[[bool], None]
    ) -> None:
        self.interval = interval
        self.clock = clock
        self._wake = wake
        self._last: Values | None = None
        #: Nested tags, the innermost last.
        self._stack: list[TagBuffer] = []
        self.forget_threads()

    def forget_threads(self) -> None:
        """Drop the tags of threads, at first and in a forked child."""
        self.changed = threading.Condition()
        #: Tags of threads, which do not nest.
        self._background: list[TagBuffer] = []

    @property
    def is_empty(self) -> bool:
        """Whether no tag is active."""
        return not (self._stack or self._background)

    @property
    def age(self) -> float:
        """Seconds since the last values."""
        return math.inf if self._last is None else self.clock() - self._last.time

    @property
    def is_stale(self) -> bool:
        """Whether the last values are too old to count as current."""
        return self.age > self.interval / 2

    def activate(self, tag: str, *, is_background: bool = False) -> TagBuffer:
        """Activate a tag; without ``is_background``, inside the innermost one.

        Raises:
            RuntimeError: The tag is already active.
        """
        if not isinstance(tag, str):
            raise TypeError(f'a tag is a str, not {tag!r}')
        with self.changed:
            if any(buffer.tag == tag for buffer in (*self._stack, *self._background)):
                raise RuntimeError(f'the tag {tag!r} is already active')
            others = self._background if is_background else self._stack
            parent = self._stack[-1] if self._stack and not is_background else None
            buffer = TagBuffer(tag, parent, self.clock())
            others.append(buffer)
            self._seed(buffer)
            self._wake(buffer.is_empty)
            return buffer

    def end(self, buffer: TagBuffer) -> None:
        """Deactivate a tag and all tags inside it, if it is active."""
        with self.changed:
            for ended in self._with_inner(buffer):
                (self._stack if ended in self._stack else self._background).remove(ended)
            self.changed.notify_all()

    def clear(self, buffer: TagBuffer) -> None:
        """Forget what was collected under a tag and all tags inside it."""
        with self.changed:
            now = self.clock()
            for cleared in self._with_inner(buffer):
                cleared.clear(now)
                self._seed(cleared)

    def find(self, tag: str | None) -> TagBuffer:
        """Return an active tag; ``None``: the innermost one.

        Raises:
            RuntimeError: The tag is not active.
        """
        with self.changed:
            for buffer in (*reversed(self._stack), *reversed(self._background)):
                if tag is None or buffer.tag == tag:
                    return buffer
        if tag is None:
            raise RuntimeError('no tag is active: activate one first')
        raise RuntimeError(f'the tag {tag!r} is not active')

    def add(self, values: Values) -> None:
        """Add the numbers of one moment to all active tags."""
        with self.changed:
            self._last = values
            for buffer in (*self._stack, *self._background):
                buffer.add(values)

    def ends_within(self, buffer: TagBuffer, seconds: float) -> bool:
        """Wait at most ``seconds`` for the tag of a thread to end; return whether it ended."""
        with self.changed:
            return self.changed.wait_for(lambda: buffer not in self._background, max(0.0, seconds))

    def _with_inner(self, buffer: TagBuffer) -> list[TagBuffer]:
        if buffer in self._stack:
            return self._stack[self._stack.index(buffer) :]
        return [buffer] if buffer in self._background else []

    def _seed(self, buffer: TagBuffer) -> None:
        """Begin with the last values if they still count as current."""
        if self._last is not None and not self.is_stale:
            buffer.add(self._last)
