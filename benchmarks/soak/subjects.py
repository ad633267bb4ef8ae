"""Subjects of the long runs: the monitor, the collector and ``nvitop query --loop`` in simulated time."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import threading
from typing import TYPE_CHECKING, Callable
from unittest import mock

from benchmarks.soak.machine import CYCLE, Machine
from benchmarks.soak.steadiness import Counts
from nvitop.collector import ResourceMetricCollector, collect_in_background
from nvitop.collector.tags import Tags
from nvitop.gui.app import App
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import Event, InputEnded
from nvitop.gui.term.headless import HeadlessTerminal
from nvitop.query import command
from nvitop.sampling.sampler import Sampler
from nvitop.sampling.source import LiveSource

if TYPE_CHECKING:
    from nvitop.collector.statistics import TagBuffer
    from nvitop.gui.render.buffer import Buffer
    from nvitop.gui.render.theme import Theme
    from nvitop.sampling.types import Sample

#: Maximum real time of a step.
PATIENCE_SECONDS = 60.0

#: Tick of a cycle → keys. The state at the end of a cycle is that of its start.
KEYS: dict[int, str] = {
    2: 'd',
    5: 'd',
    7: '+ + + + + + +',
    9: '- - - - - - -',
    11: 't',
    13: 'Down x Right w o r k',
    15: 'Esc Esc Esc',
    17: 'o c',
    19: 'o n',
    25: '!',
    28: 'Esc',
    52: 'Home Enter',
    55: '+ -',
    57: 'Esc',
    59: 'Down e',
    61: 'v Down',
    63: 'Esc',
    65: '\\ w o r k',
    67: 'Enter',
    69: 'Esc Esc Esc',
    71: 'U',
    73: 'Esc',
    75: 'C',
    77: 'Esc',
    79: 'Home Space T',
    81: 'Esc',
    83: 'Esc Esc Esc',
    85: 'z',
    88: 'z',
    90: 'h',
    92: 'Esc',
    94: 'L L L L',
    95: 'F5',
    97: 'Ctrl-Z',
}
SIZES = {30: (60, 20), 33: (30, 5), 35: (240, 70), 38: (160, 50)}


class Script:
    """Counts ticks and triggers the events of the machine."""

    def __init__(self, machine: Machine, ticks: int, counts: Counts) -> None:
        self._machine = machine
        self._counts = counts
        self._ticks = ticks
        self._first = self._last = -math.inf
        self._done = 0

    @property
    def tick(self) -> int:
        """The current tick of the cycle."""
        return self._done % CYCLE

    @property
    def missed(self) -> float:
        """Number of ticks that were skipped."""
        return self._last - self._first + 1 - self._done

    def happen(self) -> bool:
        """Count a tick if the second has changed. Returns whether to continue."""
        second = round(self._machine.clock())
        if second > self._last:
            self._first = max(self._first, 0) or second
            self._last = second
            self._done += 1
            if self.tick == 0:
                self._counts.take()
            self._machine.turn(self.tick)
        return self._done < self._ticks


class LockedTerminal(HeadlessTerminal):
    """A terminal that waits until all events are drawn."""

    def __init__(self, width: int, height: int) -> None:
        super().__init__(width, height)
        self._is_settled = threading.Event()

    def wait(self, timeout: float | None) -> list[Event]:
        """Return the next batch of events."""
        with self._condition:
            if not (self._batches or self._is_woken):
                self._is_settled.set()
        return super().wait(timeout)

    def settle(self, act: Callable[[], None]) -> None:
        """Call ``act`` and wait until its result is drawn."""
        self._is_settled.clear()
        act()
        assert self._is_settled.wait(PATIENCE_SECONDS), 'the monitor does not draw'

    def draw(self, buffer: Buffer, theme: Theme) -> None:
        """Create the rows like a terminal, and keep only this frame."""
        for y in range(buffer.height):
            buffer.row(y)
        self.frames[:] = [buffer]


class VirtualWait(threading.Condition):
    """A condition that waits in simulated time by calling ``pass_time``."""

    def __init__(self, pass_time: Callable[[float], None]) -> None:
        super().__init__()
        self._pass_time = pass_time

    def wait(self, timeout: float | None = None) -> bool:
        """Wait in simulated time in the sampler thread, and in real time in others."""
        if threading.current_thread().name != 'nvitop-sampler':
            return super().wait(timeout)
        assert timeout is not None
        self._pass_time(timeout)
        return super().wait(0)


def run_monitor(machine: Machine, script: Script) -> None:
    """Run the monitor with its sampler thread on a terminal in memory."""
    terminal = LockedTerminal(*SIZES[38])
    clock = machine.clock
    app = App(terminal, AppState(), monotonic=clock, wall_clock=clock.wall)
    source = LiveSource(clock=clock, wall_clock=clock.wall, sleep=clock.wait, on_the_second=True)

    def on_sample(sample: Sample) -> None:
        if not terminal.is_open:
            return
        # The host is sampled at each tick, GPUs only while they respond.
        is_tick = sample.host is not app.state.sample.host
        terminal.settle(lambda: app.post_sample(sample))
        goes_on = script.happen() if is_tick else True
        if is_tick and script.tick in SIZES:
            terminal.settle(lambda: terminal.resize(*SIZES[script.tick]))
        if is_tick:
            for key in KEYS.get(script.tick, '').split():
                terminal.settle(functools.partial(terminal.press, key))
        if not goes_on:
            terminal.send(InputEnded())
            sampler.stop(0.0)

    sampler = Sampler(source, on_sample, clock=clock, condition=VirtualWait(clock.wait))
    app.run(sampler)
    assert sampler.stop(PATIENCE_SECONDS), 'the sampler thread does not exit'


def run_collector(machine: Machine, script: Script) -> None:
    """Run a collector in the background, with tags that start and end."""
    collector = ResourceMetricCollector(root_pids=os.getpid(), interval=1.0, clock=machine.clock)
    ends_within = Tags.ends_within

    def end_in_simulated_time(tags: Tags, buffer: TagBuffer, seconds: float) -> bool:
        machine.clock.wait(seconds)
        return ends_within(tags, buffer, 0.0)

    def on_collect(metrics: dict[str, float]) -> bool:
        assert metrics
        if script.tick % 10 == 0:
            with collector(tag='epoch'):
                collector.collect()
        if script.tick == 0:
            collector.clear('run')
        return script.happen()

    with mock.patch.object(Tags, 'ends_within', end_in_simulated_time), collector(tag='run'):
        thread = collect_in_background(on_collect, collector, 1.0)
        thread.join()


class _Enough(Exception):
    """The requested number of results was written."""


def run_query(machine: Machine, script: Script) -> None:
    """Run the command with both tables, and discard the output."""

    def sleep(seconds: float) -> None:
        machine.clock.wait(seconds)
        # It also sleeps briefly to measure the CPU usage of new processes.
        if seconds > 0.2 and not script.happen():
            raise _Enough

    arguments = ['--all', '--mig', '--format=jsonl', '--loop=1', f'--filename={os.devnull}']
    with contextlib.ExitStack() as stack:
        # Lost GPUs are reported on stderr, which writes each line at once.
        nowhere = stack.enter_context(open(os.devnull, 'w', buffering=1, encoding='utf-8'))
        stack.enter_context(contextlib.redirect_stderr(nowhere))
        with contextlib.suppress(_Enough):
            command.main(arguments, clock=machine.clock, sleep=sleep)


SUBJECTS: dict[str, Callable[[Machine, Script], None]] = {
    'monitor': run_monitor,
    'collector': run_collector,
    'query': run_query,
}
