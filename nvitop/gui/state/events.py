# SPDX-License-Identifier: GPL-3.0-only
"""What can happen to the monitor: keys, mouse, samples, finished effects, time. All are values."""

from __future__ import annotations

from typing import Union

from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import ProcessKey, Sample


class KeyPressed(NamedTuple):
    """A key, by name: ``'a' 'A' 'Enter' 'Esc' 'Space' 'Up' 'Shift-Tab' 'Alt-k' 'Ctrl-C' 'F5'``."""

    key: str


class Pasted(NamedTuple):
    """Text that was pasted, not typed: no key of it does anything but in a text field."""

    text: str


class MousePressed(NamedTuple):
    """A button went down: 1 left, 2 middle, 3 right. Cells count from 0."""

    x: int
    y: int
    button: int = 1


class MouseScrolled(NamedTuple):
    """The wheel was turned by one step; ``dy`` is -1 up, 1 down, ``dx`` -1 left, 1 right."""

    x: int
    y: int
    dx: int = 0
    dy: int = 0
    shift: bool = False
    ctrl: bool = False


class Resized(NamedTuple):
    """The terminal has this size now."""

    width: int
    height: int


class SampleArrived(NamedTuple):
    """The sampler has measured."""

    sample: Sample


class ClockTicked(NamedTuple):
    """The minute or second that is drawn has changed, or a message has been shown long enough."""

    monotonic: float
    timestamp: float


class FrameDrawn(NamedTuple):
    """What the state shows is on the screen."""

    monotonic: float


class InputAwaited(NamedTuple):
    """The terminal was asked for input, and there was none: what comes now was not typed ahead."""

    #: When it was asked, on the monotonic clock.
    since: float


class EnvironmentRead(NamedTuple):
    """The environment of a process, or why it cannot be read."""

    pid: int
    start_time: float
    variables: tuple[tuple[str, str], ...] = ()
    error: str = ''


class SignalSent(NamedTuple):
    """What became of a signal to one process."""

    key: ProcessKey
    signal: str
    #: ``'sent'``, ``'gone'``, ``'zombie'`` (sent to one that had ended), ``'not permitted'``,
    #: ``'reused'`` (the PID is another process now), ``'unseen'`` (the PID is of another namespace,
    #: or of nobody) or ``'failed'``.
    outcome: str
    detail: str = ''


class InputEnded(NamedTuple):
    """The terminal hung up or standard input was closed."""


class Suspended(NamedTuple):
    """The program is about to stop (Ctrl-Z) or has just been continued."""

    resumed: bool = False


class Terminated(NamedTuple):
    """A signal asks the program to leave: ``'SIGTERM'``, ``'SIGHUP'``."""

    signal: str


Event = Union[
    KeyPressed,
    Pasted,
    MousePressed,
    MouseScrolled,
    Resized,
    SampleArrived,
    ClockTicked,
    FrameDrawn,
    InputAwaited,
    EnvironmentRead,
    SignalSent,
    InputEnded,
    Suspended,
    Terminated,
]
