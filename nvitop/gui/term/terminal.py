# SPDX-License-Identifier: GPL-3.0-only
"""What the monitor needs of a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, ContextManager, Protocol

if TYPE_CHECKING:
    from nvitop.gui.render.buffer import Buffer
    from nvitop.gui.render.theme import Theme
    from nvitop.gui.state.events import Event


class Terminal(Protocol):
    """A screen to draw on and a source of events. Only :meth:`wake` may be called by any thread."""

    def opened(self) -> ContextManager[None]:
        """Take the terminal over; however the block is left, the terminal is as it was before."""

    def size(self) -> tuple[int, int]:
        """Columns and rows now."""

    def colors(self) -> int:
        """How many colours it has: 0, 8, 16 or 256."""

    def wait(self, timeout: float | None) -> list[Event]:
        """Block until something happens, :meth:`wake` is called or the seconds are over."""

    def wake(self) -> None:
        """Make :meth:`wait` return."""

    def draw(self, buffer: Buffer, theme: Theme) -> None:
        """Show a frame; only what differs from the frame before is written."""

    def forget(self) -> None:
        """Write every cell at the next :meth:`draw`: something else may have drawn over them."""

    def capture_mouse(self, captured: bool) -> None:
        """Whether mouse actions are events, or the terminal's own (to select text)."""

    def ring(self) -> None:
        """Sound the bell."""

    def suspend(self) -> None:
        """Give the terminal back and stop the program; returns when it has been continued."""
