# SPDX-License-Identifier: GPL-3.0-only
"""The event loop of the monitor: wait, update, carry out effects, draw what has changed."""

from __future__ import annotations

import collections
import time
from typing import TYPE_CHECKING, Callable, Protocol

from nvitop.gui.crash import describe_event, without_typed_text
from nvitop.gui.effect_runner import EffectRunner
from nvitop.gui.model.effects import (
    CaptureMouse,
    Effect,
    Quit,
    ReadEnvironment,
    Redraw,
    Refresh,
    RingBell,
    SendSignal,
    Suspend,
)
from nvitop.gui.render.theme import THEMES, theme_named
from nvitop.gui.state.demand import demand_of
from nvitop.gui.state.dialog import dialog_ready_at
from nvitop.gui.state.events import (
    ClockTicked,
    Event,
    FrameDrawn,
    InputAwaited,
    Resized,
    SampleArrived,
)
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History

if TYPE_CHECKING:
    from nvitop.gui.state.app_state import AppState
    from nvitop.gui.term.terminal import Terminal
    from nvitop.sampling.types import Demand, Sample

#: How many events a crash report tells of.
REMEMBERED_EVENTS = 50


#: So many seconds the clock in the header may be late, because a sample is about to arrive: the
#: sampler measures on the second, and one frame shows both.
CLOCK_DELAY = 0.1


class NoThreadError(Exception):
    """The system has no thread that could measure."""


class Measuring(Protocol):
    """What the application needs of the sampler."""

    def start(self) -> None:
        """Begin to measure. RuntimeError: the system has no thread."""

    def demand(self, demand: Demand) -> None:
        """Say what is shown."""

    def refresh(self) -> None:
        """Measure everything now."""


class App:
    """One run of the monitor.

    ``measuring`` is made with :attr:`post_sample` as its ``on_sample``. Everything that happens
    goes through one queue into ``update``; nothing here blocks but the terminal's wait.
    """

    def __init__(
        self,
        terminal: Terminal,
        state: AppState,
        *,
        history: History | None = None,
        runner: EffectRunner | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.terminal = terminal
        self.state = state._replace(themes=tuple(theme.name for theme in THEMES))
        self.history = history or History()
        #: The last events, in words: what a crash report tells.
        self.events: collections.deque[str] = collections.deque(maxlen=REMEMBERED_EVENTS)
        self._posted: collections.deque[Event] = collections.deque()
        self._runner = runner or EffectRunner(self.post)
        self._monotonic = monotonic
        self._wall_clock = wall_clock
        self._measuring: Measuring | None = None
        self._drawn: AppState | None = None
        self._status: int | None = None

    def post(self, event: Event) -> None:
        """Let something happen. Any thread may call it."""
        self._posted.append(event)
        self.terminal.wake()

    def post_sample(self, sample: Sample) -> None:
        """The same for a sample."""
        self.post(SampleArrived(sample))

    def run(self, measuring: Measuring) -> int:
        """Run until something asks to leave; the exit status. Raises NoThreadError."""
        self._measuring = measuring
        with self.terminal.opened():
            self._happen(Resized(*self.terminal.size()))
            try:
                measuring.start()
            except RuntimeError as error:
                raise NoThreadError(str(error)) from error
            self._tick()
            while self._status is None:
                self._draw()
                since = self._monotonic()
                events = self.terminal.wait(self._seconds_to_wait(since))
                self._tick()
                if not events:
                    self.state, _ = update(self.state, InputAwaited(since))
                for event in events:
                    self._happen(event)
                while self._posted:
                    self._happen(self._posted.popleft())
        return self._status

    def _tick(self) -> None:
        """Let the clocks be in the state; they are no news of their own."""
        event = ClockTicked(self._monotonic(), float(int(self._wall_clock())))
        self.state, _ = update(self.state, event)

    def _seconds_to_wait(self, now: float) -> float:
        """Until the clock in the header, a notice or the dialog has to change."""
        seconds = 1.0 - self._wall_clock() % 1.0 + CLOCK_DELAY
        for notice in self.state.notices:
            seconds = min(seconds, max(0.0, notice.until - self.state.monotonic))
        ready_at = dialog_ready_at(self.state)
        return seconds if ready_at is None else min(seconds, max(0.0, ready_at - now))

    def _happen(self, event: Event) -> None:
        self.events.append(describe_event(without_typed_text(event, self.state)))
        if isinstance(event, SampleArrived):
            watched = () if self.state.metrics is None else (self.state.metrics,)
            self.history.record(event.sample, watched=watched)
        self.state, effects = update(self.state, event)
        for effect in effects:
            self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, Quit):
            self._status = effect.status
        elif isinstance(effect, (SendSignal, ReadEnvironment)):
            self._runner.run(effect)
        elif isinstance(effect, Refresh):
            if self._measuring is not None:
                self._measuring.refresh()
        elif isinstance(effect, CaptureMouse):
            self.terminal.capture_mouse(effect.captured)
        elif isinstance(effect, RingBell):
            self.terminal.ring()
        elif isinstance(effect, Redraw):
            self._drawn = None
            self.terminal.forget()
        elif isinstance(effect, Suspend):
            self.terminal.suspend()
            self._happen(Resized(*self.terminal.size()))

    def _draw(self) -> None:
        """Draw the state where it is another than the one that is on the screen."""
        # The monotonic clock moves with every event; nothing shows it.
        shown = self.state._replace(monotonic=0.0)
        if self._drawn is not None and shown == self._drawn:
            return
        if self._measuring is not None:
            self._measuring.demand(demand_of(self.state))
        theme = theme_named(self.state.theme)
        self.terminal.draw(draw_frame(self.state, self.history), theme)
        self.state, _ = update(self.state, FrameDrawn(self._monotonic()))
        self._drawn = self.state._replace(monotonic=0.0)
