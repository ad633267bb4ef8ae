# SPDX-License-Identifier: GPL-3.0-only
"""The interface between the monitor and a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, ContextManager, Protocol

if TYPE_CHECKING:
    from nvitop.gui.render.buffer import Buffer
    from nvitop.gui.render.theme import Theme
    from nvitop.gui.state.events import Event


class Terminal(Protocol):
    """A screen and a source of events. Only :meth:`wake` may be called from any thread."""

    @property
    def colors(self) -> int:
        """Number of colors it shows, once it is open: 0, 8, 16, 256, or all of 24 bits."""

    def opened(self) -> ContextManager[None]:
        """Take over the terminal for the block, and restore it afterwards in any case."""

    def size(self) -> tuple[int, int]:
        """Return the current number of columns and rows."""

    def wait(self, timeout: float | None) -> list[Event]:
        """Block until an event, a call of :meth:`wake`, or a timeout in seconds; return events."""

    def wake(self) -> None:
        """Make :meth:`wait` return."""

    def draw(self, buffer: Buffer, theme: Theme) -> None:
        """Show a frame; only the differences from the previous frame are written."""

    def forget(self) -> None:
        """Write every cell at the next :meth:`draw`, in case another program drew on the screen."""

    def capture_mouse(self, captured: bool) -> None:
        """Set whether mouse actions are events; otherwise the terminal uses them to select text."""

    def ring(self) -> None:
        """Ring the bell."""

    def suspend(self) -> None:
        """Restore the terminal and stop the program; return when it is continued."""
