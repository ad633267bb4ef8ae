# SPDX-License-Identifier: GPL-3.0-only
"""What the state asks the world to do. Values: ``gui.effect_runner`` carries them out off the UI thread."""

from __future__ import annotations

from typing import Union

from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import ProcessKey


class Quit(NamedTuple):
    """Leave the monitor."""

    status: int = 0


class SendSignal(NamedTuple):
    """Send a signal to processes that were shown and confirmed; each answers with SignalSent."""

    signal: str
    targets: tuple[ProcessKey, ...]


class ReadEnvironment(NamedTuple):
    """Read the environment of a process; answers with EnvironmentRead. ``start_time`` -1.0: any."""

    pid: int
    start_time: float = -1.0


class Refresh(NamedTuple):
    """Measure everything now."""


class CaptureMouse(NamedTuple):
    """Whether the mouse is ours or the terminal's."""

    captured: bool


class RingBell(NamedTuple):
    """Something cannot be done: there is nothing further that way."""


class Suspend(NamedTuple):
    """Give the terminal back and stop, until the shell continues us."""


class Redraw(NamedTuple):
    """Forget what the terminal shows and write every row."""


Effect = Union[Quit, SendSignal, ReadEnvironment, Refresh, CaptureMouse, RingBell, Suspend, Redraw]
