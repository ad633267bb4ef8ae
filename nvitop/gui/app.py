# SPDX-License-Identifier: GPL-3.0-only
"""The event loop of the monitor: wait, update, carry out effects, draw changes."""

from __future__ import annotations

import collections
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, Protocol

from nvitop.console.options import Options
from nvitop.gui.effects import find_owner, read_environment, send_signal
from nvitop.gui.render.theme import theme_named
from nvitop.gui.state import events
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.threads import start_daemon

if TYPE_CHECKING:
    from nvitop.gui.render.buffer import Buffer
    from nvitop.gui.state.app_state import AppState
    from nvitop.gui.term import Terminal
    from nvitop.recording.recent import RecentSamples
    from nvitop.sampling.types import Demand


#: Maximum number of events in a crash report.
REMEMBERED_EVENTS = 50
#: Maximum time (seconds) a redraw of the clock may be late. The sampler measures on the second, so
#: that waiting for its sample draws one frame instead of two.
CLOCK_DELAY = 0.1


class NoThreadError(Exception):
    """The system cannot start the thread of the sampler."""


class Measuring(Protocol):
    """The interface of the sampler to the application."""

    def start(self) -> None:
        """Start to measure; raise RuntimeError if the system cannot start a thread."""

    def demand(self, demand: Demand) -> None:
        """Set what is shown and has to be measured: the demand of the screen."""

    def refresh(self) -> None:
        """Measure everything now."""


class Step(NamedTuple):
    """A part of an effect that may block. An event follows from it, or from the reason it failed for."""

    take: Callable[[], events.Event]
    failed: Callable[[str], events.Event]


class App:
    """One run of the monitor.

    The sampler passed to :meth:`run` posts a SampleArrived for each sample. All events go through
    one queue to ``update``. Only the wait of the terminal blocks.
    """

    def __init__(
        self,
        terminal: Terminal,
        state: AppState,
        *,
        history: History | None = None,
        effects: Mapping[type, Callable[[Any, Any], None]] | None = None,
        options: Options | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        travel: Callable[[str, float], None] | None = None,
        recent: RecentSamples | None = None,
    ) -> None:
        self._travel = travel
        #: The samples that are kept, if the source cannot show other times.
        self.recent = recent
        self.terminal = terminal
        self.state = state
        self.history = history or History()
        #: Descriptions of the last events, for a crash report.
        self.events: collections.deque[str] = collections.deque(maxlen=REMEMBERED_EVENTS)
        self._posted: collections.deque[events.Event] = collections.deque()
        self._effects = effects or EFFECTS
        self.options = options or Options()
        self._monotonic = monotonic
        self._wall_clock = wall_clock
        self._measuring: Measuring | None = None
        self._drawn: AppState | None = None
        self._frame: Buffer | None = None
        #: Time of the first sample that was kept.
        self._recent_since = 0.0
        self._status: int | None = None

    def post(self, event: events.Event) -> None:
        """Queue an event. Any thread may call this."""
        self._posted.append(event)
        self.terminal.wake()

    def run(self, measuring: Measuring) -> int:
        """Run until the user quits; return the exit status. Raises NoThreadError."""
        with self.terminal.opened():
            return self.run_opened(measuring)

    def run_opened(self, measuring: Measuring) -> int:
        """Do the same as :meth:`run` on a terminal that is open."""
        self._measuring = measuring
        self._handle(events.TerminalOpened(self.terminal.colors))
        self._handle(events.Resized(*self.terminal.size()))
        self.terminal.capture_mouse(self.state.captures_mouse)
        try:
            measuring.start()
        except RuntimeError as error:
            raise NoThreadError(str(error)) from error
        self._tick()
        while self._status is None:
            self._draw()
            if self.recent is not None:
                self.recent.compress_added()  # after the frame, which a user waits for
            since = self._monotonic()
            arrived = self.terminal.wait(self._seconds_to_wait(since))
            self._tick()
            if not arrived:
                self.state, _ = self.state.program.update(self.state, events.InputAwaited(since))
            for event in arrived:
                self._handle(event)
            while self._posted:
                self._handle(self._posted.popleft())
        return self._status

    def _tick(self) -> None:
        """Update the clocks in the state. Clocks are not recorded among the events."""
        event = events.ClockTicked(self._monotonic(), float(int(self._wall_clock())))
        self.state, _ = self.state.program.update(self.state, event)

    def _seconds_to_wait(self, now: float) -> float:
        """Return the time until the clock in the header, a notice or the dialog changes."""
        seconds = 1.0 - self._wall_clock() % 1.0 + CLOCK_DELAY
        for notice in self.state.notices:
            seconds = min(seconds, max(0.0, notice.until - self.state.monotonic))
        ready_at = None if self.state.dialog is None else self.state.dialog.ready_at
        return seconds if ready_at is None else min(seconds, max(0.0, ready_at - now))

    def _handle(self, event: events.Event) -> None:
        if (
            isinstance(event, (events.MousePressed, events.MouseScrolled))
            and self._frame is not None
        ):
            event = event._replace(hit=self._frame.hit_at(event.x, event.y))
        self.events.append(describe_event(event, self.state))
        if isinstance(event, events.SampleArrived):
            event = self._record(event)
        self.state, effects = self.state.program.update(self.state, event)
        for effect in effects:
            self._effects[type(effect)](self, effect)

    def _record(self, event: events.SampleArrived) -> events.SampleArrived:
        """Add a sample to the history and to the recent samples; return it with the times from these."""
        self.history = event.history or self.history
        if event.sample is self.state.sample:
            return event
        watched = () if self.state.shown_process is None else (self.state.shown_process,)
        for sample in (*event.past, event.sample):
            self.history.record(sample, watched=watched)
            if self.recent is not None:
                self.recent.add(sample)
                self._recent_since = self._recent_since or sample.timestamp
        if self.recent is None:
            return event
        oldest = (event.sample.timestamp - self.recent.seconds) // 60 * 60  # whole minutes are kept
        since = max(self._recent_since, oldest)
        return event._replace(gpu_times=self.recent.gpu_times, gpu_times_since=since)

    # What effects do.

    def take_in_background(self, *steps: Step) -> None:
        """Take steps that may block, one after the other, and post their events.

        Each call has a thread of its own: reading from a process that hangs in the kernel can take
        forever, and must not prevent killing it.
        """

        def work() -> None:
            for step in steps:
                try:
                    event = step.take()
                except Exception as error:  # report any error
                    event = step.failed(str(error) or type(error).__name__)
                self.post(event)

        try:
            start_daemon('nvitop-effects', work)
        except RuntimeError as error:  # the system cannot start a thread
            for step in steps:
                self.post(step.failed(str(error)))

    def quit(self, status: int) -> None:
        self._status = status

    def refresh(self) -> None:
        if self._measuring is not None:
            self._measuring.refresh()

    def redraw(self) -> None:
        """Write every cell of the next frame."""
        self._drawn = None
        self.terminal.forget()

    def suspend(self) -> None:
        """Stop until the shell continues the program."""
        self.terminal.suspend()
        self._handle(events.Resized(*self.terminal.size()))

    def show_time(self, wanted: events.Travel) -> None:
        """Let the source show another time, or show a kept sample."""
        if self._travel is not None:
            self._travel(wanted.unit, wanted.amount)
            self.refresh()
        elif self.recent is not None:
            past = self.recent.find(self.state.shown_sample, wanted.unit, wanted.amount)
            self._handle(events.PastShown(past.sample, past.message))

    def _draw(self) -> None:
        # The monotonic clock changes with every event but is not shown.
        shown = self.state._replace(monotonic=0.0)
        if self._drawn is not None and shown == self._drawn:
            return
        theme = theme_named(self.state.theme, is_paused=self.state.is_paused)
        self._frame = draw_frame(self.state, self.history)
        self.terminal.draw(self._frame, theme)
        # After the frame, because the sampler begins at once and would compete with it.
        if self._measuring is not None:
            self._measuring.demand(self.state.spec.demand(self.state))
        self.state, _ = self.state.program.update(self.state, events.FrameDrawn(self._monotonic()))
        self._drawn = self.state._replace(monotonic=0.0)


def send_signals(app: App, effect: events.SendSignal) -> None:
    app.take_in_background(
        *(
            Step(
                partial(send_signal, key, effect.signal),
                partial(events.SignalSent, key, effect.signal, 'failed'),
            )
            for key in effect.targets
        )
    )


def read_process(app: App, effect: events.ReadEnvironment) -> None:
    """Read the environment of a process, and what it belongs to."""
    pid, start_time = effect

    def read() -> events.Event:
        event = read_environment(pid, start_time)
        try:
            reading = find_owner(pid, start_time, app.options.owner_names)
        except Exception as error:  # the environment is shown anyway
            return event._replace(no_owner=f'cannot be read: {error}')
        return event._replace(owner=reading.owner, no_owner=reading.reason)

    def failed(reason: str) -> events.Event:
        return events.EnvironmentRead(pid, start_time, error=f'cannot be read: {reason}')

    app.take_in_background(Step(read, failed))


def save_settings(app: App, effect: events.SaveSettings) -> None:
    from nvitop.gui.settings import save

    app.take_in_background(
        Step(partial(save, effect, app.options.config_path), partial(events.SettingsSaved, ''))
    )


#: Effect → what performs it on an application.
EFFECTS: dict[type, Callable[[Any, Any], None]] = {
    events.Quit: lambda app, effect: app.quit(effect.status),
    events.SendSignal: send_signals,
    events.ReadEnvironment: read_process,
    events.SaveSettings: save_settings,
    events.Refresh: lambda app, _: app.refresh(),
    events.CaptureMouse: lambda app, effect: app.terminal.capture_mouse(effect.captured),
    events.Travel: lambda app, effect: app.show_time(effect),
    events.RingBell: lambda app, _: app.terminal.ring(),
    events.Suspend: lambda app, _: app.suspend(),
    events.Redraw: lambda app, _: app.redraw(),
}
#: Events that contain no text from processes or other programs, nor what was pasted.
_HARMLESS = (
    events.KeyPressed,
    events.MousePressed,
    events.MouseScrolled,
    events.Resized,
    events.Suspended,
    events.TerminalOpened,
    events.Terminated,
)


def describe_event(event: events.Event, state: AppState) -> str:
    """Describe an event in one line, without text from the user or from processes."""
    if state.field is not None and isinstance(event, events.KeyPressed) and len(event.key) == 1:
        event = events.KeyPressed('•')
    return repr(event) if isinstance(event, _HARMLESS) else type(event).__name__
