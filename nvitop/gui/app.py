# SPDX-License-Identifier: GPL-3.0-only
"""The event loop of the monitor: wait, update, carry out effects, draw changes."""

from __future__ import annotations

import collections
import time
from typing import TYPE_CHECKING, Any, Callable, Protocol

from nvitop.gui.effect_runner import EffectRunner
from nvitop.gui.render.theme import THEMES, theme_named
from nvitop.gui.state import events
from nvitop.gui.state.dialog import dialog_ready_at
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History

if TYPE_CHECKING:
    from nvitop.gui.render.buffer import Buffer
    from nvitop.gui.state.app_state import AppState
    from nvitop.gui.term import Terminal
    from nvitop.recording.recent import RecentSamples

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

    def demand(self, demand: Any) -> None:
        """Set what is shown and has to be measured: the demand of the screen."""

    def refresh(self) -> None:
        """Measure everything now."""


class App:
    """One run of the monitor.

    The sampler passed to :meth:`run` posts a SampleArrived for each sample. All events go through
    one queue to ``update``. Only the wait of the terminal blocks.
    """

    update = staticmethod(update)

    def __init__(
        self,
        terminal: Terminal,
        state: AppState,
        *,
        history: History | None = None,
        runner: EffectRunner | None = None,
        owner_names: str = 'files',
        config_path: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        travel: Callable[[str, float], None] | None = None,
        recent: RecentSamples | None = None,
    ) -> None:
        self._travel = travel
        #: The samples that are kept, if the source cannot show other times.
        self.recent = recent
        self.terminal = terminal
        self.state = state._replace(themes=tuple(theme.name for theme in THEMES))
        self.history = history or History()
        #: Descriptions of the last events, for a crash report.
        self.events: collections.deque[str] = collections.deque(maxlen=REMEMBERED_EVENTS)
        self._posted: collections.deque[events.Event] = collections.deque()
        self.runner = runner or EffectRunner(
            self.post, owner_names=owner_names, config_path=config_path
        )
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
                self.state, _ = self.update(self.state, events.InputAwaited(since))
            for event in arrived:
                self._handle(event)
            while self._posted:
                self._handle(self._posted.popleft())
        return self._status

    def _tick(self) -> None:
        """Update the clocks in the state. Clocks are not recorded among the events."""
        event = events.ClockTicked(self._monotonic(), float(int(self._wall_clock())))
        self.state, _ = self.update(self.state, event)

    def _seconds_to_wait(self, now: float) -> float:
        """Return the time until the clock in the header, a notice or the dialog changes."""
        seconds = 1.0 - self._wall_clock() % 1.0 + CLOCK_DELAY
        for notice in self.state.notices:
            seconds = min(seconds, max(0.0, notice.until - self.state.monotonic))
        ready_at = dialog_ready_at(self.state)
        return seconds if ready_at is None else min(seconds, max(0.0, ready_at - now))

    def _handle(self, event: events.Event) -> None:
        if (
            isinstance(event, (events.MousePressed, events.MouseScrolled))
            and self._frame is not None
        ):
            event = event._replace(hit=self._frame.hit_at(event.x, event.y))
        self.events.append(describe_event(event, self.state))
        if isinstance(event, events.SampleArrived):
            watched = () if self.state.metrics is None else (self.state.metrics,)
            self.history = event.history or self.history
            if event.sample is not self.state.sample:
                for sample in (*event.past, event.sample):
                    self.history.record(sample, watched=watched)
                    if self.recent is not None:
                        self.recent.add(sample)
                        self._recent_since = self._recent_since or sample.timestamp
                        since = max(self._recent_since, sample.timestamp - self.recent.seconds)
                        event = event._replace(
                            gpu_times=self.recent.gpu_times, gpu_times_since=since
                        )
        self.state, effects = self.update(self.state, event)
        for effect in effects:
            effect.perform(self)

    # What effects do.

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
            found = self.recent.find(self.state.shown, wanted.unit, wanted.amount)
            self._handle(events.PastShown(found.sample, found.message))

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
        self.state, _ = self.update(self.state, events.FrameDrawn(self._monotonic()))
        self._drawn = self.state._replace(monotonic=0.0)


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
