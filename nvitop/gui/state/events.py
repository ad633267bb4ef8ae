# SPDX-License-Identifier: GPL-3.0-only
"""Events and effects: what happened, and what the state asks the application to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Mapping, NamedTuple, Union

from nvitop.gui.render.buffer import NO_HIT, Hit
from nvitop.sampling.history import History
from nvitop.sampling.types import LIVE, Origin, ProcessKey, Sample

if TYPE_CHECKING:
    from nvitop.fleet.types import Fleet, FleetHost
    from nvitop.owner.types import Owner
    from nvitop.recording.events import RecordedEvent


class KeyPressed(NamedTuple):
    """A key was pressed: ``'a' 'A' 'Enter' 'Esc' 'Space' 'Up' 'Shift-Tab' 'Alt-k' 'Ctrl-C' 'F5'``."""

    key: str


class Pasted(NamedTuple):
    """Text was pasted. Unlike typed keys, it has an effect only in a text field."""

    text: str


class MousePressed(NamedTuple):
    """A mouse button was pressed: 1 left, 2 middle, 3 right. Cells count from 0."""

    x: int
    y: int
    button: int = 1
    #: What a click there means.
    hit: Hit = NO_HIT


class MouseScrolled(NamedTuple):
    """The wheel was turned by one step: ``dy`` -1 is up, 1 down; ``dx`` -1 is left, 1 right."""

    x: int
    y: int
    dx: int = 0
    dy: int = 0
    shift: bool = False
    ctrl: bool = False
    #: What a click there would mean.
    hit: Hit = NO_HIT


class Resized(NamedTuple):
    """The size of the terminal changed."""

    width: int
    height: int


class TerminalOpened(NamedTuple):
    """The terminal was opened and shows this many colors."""

    colors: int


class BackgroundReported(NamedTuple):
    """The terminal reported the color of its background."""

    is_light: bool


class SampleArrived(NamedTuple):
    """The sampler took a sample."""

    sample: Sample
    origin: Origin = LIVE
    #: Earlier samples, for graphs.
    past: tuple[Sample, ...] = ()
    #: The history before the sample, if it does not follow the previous sample.
    history: History | None = None
    #: A message of the source, for people.
    message: str = ''
    #: User → seconds × GPUs used and held idle so far.
    gpu_times: Mapping[str, tuple[float, float]] = {}
    #: The events of a recording, oldest first.
    events: tuple[RecordedEvent, ...] = ()
    #: Since when ``gpu_times`` are counted, in seconds since the epoch; 0: unknown.
    gpu_times_since: float = 0.0


class PastShown(NamedTuple):
    """A kept sample is to be shown; ``None``: the latest one again."""

    sample: Sample | None
    message: str = ''


class ClockTicked(NamedTuple):
    """The clocks advanced."""

    monotonic: float
    timestamp: float


class FrameDrawn(NamedTuple):
    """The state was drawn."""

    monotonic: float


class InputAwaited(NamedTuple):
    """No input was waiting, so that the next key was not typed ahead."""

    #: Time of the check, on the monotonic clock.
    since: float


class EnvironmentRead(NamedTuple):
    """The environment of a process was read, or failed to be."""

    pid: int
    start_time: float
    variables: tuple[tuple[str, str], ...] = ()
    error: str = ''
    #: Owner of the process; ``None``: unknown.
    owner: Owner | None = None
    #: Why its owner is unknown.
    no_owner: str = ''


class SettingsSaved(NamedTuple):
    """Settings were written to the configuration file, or could not be."""

    #: ``''`` if the file needed no change.
    path: str
    error: str = ''


#: Outcome of a signal → why it had no effect.
_FAILURES = {
    'sent': '',
    'exited': '',  # after it was sent
    'gone': 'already exited',
    'zombie': 'already exited; its parent has not reaped the zombie',
    'not permitted': 'not permitted',
    'reused': 'not sent: the PID belongs to another process now',
    'unseen': 'not sent: it was never seen on this system',  # in another namespace, or no process
    'failed': 'failed',
}


class SignalSent(NamedTuple):
    """A signal was sent to a process, or failed to be."""

    key: ProcessKey
    signal: str
    #: ``'sent'``, ``'gone'``, …: a key of the table above.
    outcome: str
    detail: str = ''

    @property
    def failure(self) -> str:
        return _FAILURES[self.outcome] + (f' ({self.detail})' if self.detail else '')


class FleetArrived(NamedTuple):
    """The hosts of the fleet were read."""

    fleet: Fleet
    #: Time (seconds) from one request to the next.
    period: float


class FleetFailed(NamedTuple):
    """The hosts of the fleet cannot be read."""

    #: The cause and a step to try, in one line.
    text: str
    timestamp: float


class Suspended(NamedTuple):
    """The program is about to be suspended (Ctrl-Z), or was continued."""

    resumed: bool = False


class Terminated(NamedTuple):
    """A signal asked the program to exit: ``'SIGTERM'``, ``'SIGHUP'``."""

    signal: str

    @property
    def exit_status(self) -> int:
        """The exit status as in shells."""
        return {'SIGHUP': HUNG_UP, 'SIGQUIT': 131, 'SIGTERM': 143}.get(self.signal, 1)


#: Exit status after the terminal was closed.
HUNG_UP = 129
#: The terminal was closed, or standard input.
INPUT_ENDED = Terminated('SIGHUP')
#: What happened.
Event = Union[
    KeyPressed,
    Pasted,
    MousePressed,
    MouseScrolled,
    Resized,
    TerminalOpened,
    BackgroundReported,
    SampleArrived,
    PastShown,
    ClockTicked,
    FrameDrawn,
    InputAwaited,
    EnvironmentRead,
    SettingsSaved,
    SignalSent,
    FleetArrived,
    FleetFailed,
    Suspended,
    Terminated,
]


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
    #: How far; the sign is the direction. With ``'pause'``, 1 is to stand still until -1; 0 is another state.
    amount: float


class SaveSettings(NamedTuple):
    """Write settings to the configuration file; SettingsSaved follows."""

    #: Fields of :class:`~nvitop.console.options.Options` and their values; others are not saved.
    values: tuple[tuple[str, object], ...]


class OpenHost(NamedTuple):
    """Show one host of the fleet on the ordinary screens."""

    host: FleetHost


class RingBell(NamedTuple):
    """Ring the bell: a key had no effect."""


class Suspend(NamedTuple):
    """Restore the terminal and stop until the shell continues the program."""


class Redraw(NamedTuple):
    """Draw every row again, whatever the terminal shows."""


#: What the application performs.
Effect = Union[
    Quit,
    SendSignal,
    ReadEnvironment,
    Refresh,
    CaptureMouse,
    Travel,
    SaveSettings,
    OpenHost,
    RingBell,
    Suspend,
    Redraw,
]
