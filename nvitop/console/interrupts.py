# SPDX-License-Identifier: Apache-2.0
"""Signals that end a command between two rows of its output, never within one."""

from __future__ import annotations

import abc
import contextlib
import signal
import threading
from typing import Any, Iterator, TypeVar

from nvitop.console.outcome import InterruptedByUser
from nvitop.platforms.kernel import ENDING

Self = TypeVar('Self', bound='SignalHandling')


class SignalHandling(abc.ABC):
    """Handles the signals that end a program inside its ``with`` block, if in the main thread."""

    def __init__(self) -> None:
        self._previous: dict[int, Any] = {}

    def __enter__(self: Self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in ENDING:
                # Signals that the parent ignores (nohup, background jobs) stay ignored.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    @abc.abstractmethod
    def _handle(self, number: int, frame: object) -> None: ...


class Interrupts(SignalHandling):
    """Turns signals into :class:`InterruptedByUser`, but delays them while a row is written."""

    def __init__(self) -> None:
        super().__init__()
        self._is_delayed = False
        self._pending = 0

    def _handle(self, number: int, frame: object) -> None:
        # A second signal is not delayed: the reader of a pipe may never read on.
        if self._is_delayed and not self._pending:
            self._pending = number
            return
        raise InterruptedByUser(number)

    @contextlib.contextmanager
    def delayed(self) -> Iterator[None]:
        """Delay signals until the end of the block."""
        self._is_delayed = True
        try:
            yield
        finally:
            self._is_delayed = False
        pending, self._pending = self._pending, 0
        if pending:
            raise InterruptedByUser(pending)
