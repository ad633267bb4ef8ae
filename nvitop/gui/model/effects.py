# SPDX-License-Identifier: GPL-3.0-only
"""Effects: what the state asks the application to do. ``gui.effect_runner`` carries them out."""

from __future__ import annotations

from typing import NamedTuple, Union

from nvitop.sampling.types import ProcessKey


class Quit(NamedTuple):
    """Leave the monitor."""

    status: int = 0


class SendSignal(NamedTuple):
    """Send a signal to confirmed processes. A SignalSent event follows for each of them."""

    signal: str
    targets: tuple[ProcessKey, ...]


class ReadEnvironment(NamedTuple):
    """Read the environment of a process; EnvironmentRead follows. A ``start_time`` of -1.0 is unknown."""

    pid: int
    start_time: float = -1.0


class Refresh(NamedTuple):
    """Take a sample now."""


class CaptureMouse(NamedTuple):
    """Take the mouse, or release it to the terminal."""

    captured: bool


class Travel(NamedTuple):
    """Show another time; a SampleArrived or PastShown event follows."""

    #: ``'frame'``, ``'seconds'``, ``'time'`` (seconds since the epoch), ``'end'``, ``'event'``,
    #: ``'speed'`` or ``'pause'``.
    unit: str
    #: How far; the sign is the direction.
    amount: float


class SaveSettings(NamedTuple):
    """Write settings to the configuration file; SettingsSaved follows."""

    #: Names and values, as in :data:`nvitop.console.config.SETTINGS`.
    values: tuple[tuple[str, object], ...]


class RingBell(NamedTuple):
    """Ring the bell: a key had no effect."""


class Suspend(NamedTuple):
    """Restore the terminal and stop until the shell continues the program."""


class Redraw(NamedTuple):
    """Draw every row again, whatever the terminal shows."""


Effect = Union[
    Quit,
    SendSignal,
    ReadEnvironment,
    SaveSettings,
    Refresh,
    CaptureMouse,
    Travel,
    RingBell,
    Suspend,
    Redraw,
]
