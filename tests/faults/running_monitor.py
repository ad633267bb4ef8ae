"""The running monitor, with its threads and all screens, on a machine with a fault."""

from __future__ import annotations

import re
import threading
import traceback
from typing import Callable, Iterator
from unittest import mock

from benchmarks.soak import PATIENCE_SECONDS, LockedTerminal, VirtualWait
from nvitop.gui.app import App
from nvitop.gui.effect_runner import EffectRunner, Job, carry_out
from nvitop.gui.model.choices import Screen
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.render.width import safe
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import Event, InputEnded, KeyPressed, SampleArrived
from nvitop.gui.state.problems import plain_reason
from nvitop.sampling.plan import intervals
from nvitop.sampling.sampler import Sampler
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import HostSample, Sample
from nvitop.sampling.watchdog import Watchdog
from tests.faults.known_machine import TICK_SECONDS, KnownMachine
from tests.faults.matrix import FAULTY_TICKS, TICKS, Case

#: Columns and rows, so that everything fits.
SIZE = (200, 120)
#: Places, and the keys that open them from the main screen.
PLACES: dict[str, tuple[str, ...]] = {
    'main': ('Esc',),
    'details': ('Esc', 'd'),
    'tree': ('t',),
    'metrics': ('Home', 'Enter'),
    'environ': ('Home', 'e'),
    'users': ('U',),
    'problems': ('!',),
    'help': ('h',),
}
#: Tick → place that is open afterwards, which determines what is measured.
STAYS = ('details', 'metrics', 'tree', 'details', 'users', 'main')
#: Ticks at which all places are visited: during the fault, and after the recovery.
VISITED = frozenset({1, FAULTY_TICKS - 1, TICKS - 1})
_MAXIMUM = re.compile(r'max \d\S*')
#: Maximum number of samples of a run.
_MOST_SAMPLES = 300
#: Screens with text, counts and times instead of measured numbers.
_WORDS = frozenset({Screen.PROBLEMS, Screen.HELP, Screen.ENVIRON})


_NUMBER = re.compile(r'(?<![A-Za-z0-9.])\d+(?:\.\d+)?(?![A-Za-z0-9]*-)')
#: Part of titles about GPUs whose processes are unknown, and the time that a sparkline shows.
_UNKNOWN = re.compile(r'(?:unknown|readable) on GPU [\d:,-]+|UTIL \d+ MIN')


def numbers(text: str) -> set[str]:
    """All numbers in a text, except the indices of GPUs whose processes are unknown."""
    return set(_NUMBER.findall(_UNKNOWN.sub('', text)))


def is_border(line: str) -> bool:
    """Whether this is a border: with totals of the devices that respond, or the times of a graph."""
    return line[:1] in ('╭', '├') or '╴' in line


def means(sample: Sample) -> set[str]:
    """Means over devices as the graphs show them, and memory shares of processes."""
    leaves = [d for d in sample.devices if not (d.mig_mode == 'Enabled' and not d.key.is_mig)]
    gpus = [d for d in sample.devices if not d.key.is_mig]
    found = {str(process.gpu_memory_percent) for process in sample.processes}
    # A column for which there may be room only if other values are missing.
    found |= {str(device.memory_utilization_percent) for device in sample.devices}
    for field in ('memory_percent', 'gpu_utilization_percent'):
        for devices in (leaves, gpus, sample.devices):
            known = [getattr(d, field) for d in devices if getattr(d, field) is not None]
            found |= {str(len(known)), str(len(devices))}  # as in AVG of 2/3 GPUs
            if known:
                found.add(f'{sum(known) / len(known):.1f}')
    return found


def is_near(number: str, known: set[str]) -> bool:
    """Whether a rate, measured over another interval, is near a known one."""
    return any(abs(float(number) - float(each)) <= 0.02 * float(each) for each in known)


class _AtOnce(EffectRunner):
    def __init__(self, post: Callable[[Event], None]) -> None:
        super().__init__(post)
        self._send = post

    def run(self, effect: Job) -> None:
        for event in carry_out(effect):
            self._send(event)


class _Terminal(LockedTerminal):
    """Terminal that wakes up for events only, never by time."""

    def wait(self, timeout: float | None) -> list[Event]:
        return super().wait(None)

    def end(self) -> None:
        self._is_settled.set()


class Frame:
    """Content of the terminal at one time."""

    def __init__(self, tick: int, place: str, app: App, text: str) -> None:
        self.tick = tick
        self.place = place
        self.screen = app.state.screen
        self.sample = app.state.sample
        lines = text.splitlines()
        #: Without the first line, which has the time.
        self.lines = lines[1:]


class Run:
    """One run of the monitor, during the fault and after it."""

    def __init__(self, case: Case | None, driver: str = 'newest') -> None:
        self.frames: list[Frame] = []
        self.errors: list[str] = []
        self.status: int | None = None
        self._tick = -1
        self._samples = 0
        self._place = 'main'
        self._bench = KnownMachine(case.driver if case is not None else driver)
        dead_threads = mock.patch('threading.excepthook', self._note_dead_thread)
        with self._bench.opened(), dead_threads:
            if case is not None:
                case.begin(self._bench)
            self._run()
        self.calls = frozenset(self._bench.machine.calls)

    def _note_dead_thread(self, args: threading.ExceptHookArgs) -> None:
        self.errors.append(f'a thread died: {args.exc_value!r}')

    def _run(self) -> None:
        bench = self._bench
        self._terminal = _Terminal(*SIZE)
        app = self._app = App(
            self._terminal,
            AppState(MONITOR),
            runner=None,
            monotonic=bench.clock,
            wall_clock=bench.wall,
        )
        app._runner = _AtOnce(app.post)
        source = LiveSource(
            intervals(TICK_SECONDS),
            clock=bench.clock,
            wall_clock=bench.wall,
            sleep=bench.clock.turn,
            watchdog=Watchdog('nvitop-driver', clock=bench.clock, spare_seconds=0.5),
        )
        self._sampler = Sampler(
            source, self._on_sample, clock=bench.clock, condition=VirtualWait(self._pass_time)
        )
        try:
            self.status = app.run(self._sampler)
        except Exception:
            self.errors.append(traceback.format_exc())
        finally:
            self._terminal.end()
        if not self._sampler.stop(PATIENCE_SECONDS):
            self.errors.append('the sampler thread does not end')

    def _pass_time(self, seconds: float) -> None:
        self._bench.clock.turn(seconds)
        if self._bench.clock.now >= (FAULTY_TICKS - 0.5) * TICK_SECONDS:
            self._bench.machine.heal()

    def _on_sample(self, sample: Sample) -> None:
        if self.status is not None or self.errors:
            return
        try:
            self._samples += 1
            # Without values of the host, which the tests do not control.
            self._show(sample._replace(host=HostSample(), timestamp=0.0))
        except Exception:
            self.errors.append(traceback.format_exc())
        if self._samples >= _MOST_SAMPLES:
            self.errors.append('it does not stop measuring')
        if self.errors:
            self._terminal.send(InputEnded())
        elif self._tick == TICKS - 1:
            self._terminal.press('q')

    def _show(self, sample: Sample) -> None:
        app, terminal = self._app, self._terminal
        tick = round(self._bench.clock.now / TICK_SECONDS)
        terminal.settle(lambda: app.post(SampleArrived(sample)))
        self._keep(tick, self._place)
        if tick == self._tick:
            return
        self._tick = tick
        for place in PLACES if tick in VISITED else ():
            self._go(place)
            self._keep(tick, place)
        self._go(STAYS[tick])
        self._keep(tick, self._place)

    def _go(self, place: str) -> None:
        state = self._app.state
        back = ('q',) if state.screen is not Screen.MAIN else ()
        keys = (*back, *(('d',) if state.view.shows_details else ()), *PLACES[place])
        self._place = place
        if keys:
            self._terminal.settle(lambda: self._terminal.send(*map(KeyPressed, keys)))

    def _keep(self, tick: int, place: str) -> None:
        text = '\n'.join(self._terminal.screen.lines())
        self.frames.append(Frame(tick, place, self._app, text))


class MonitorChecker:
    """Compares all screens with those of a machine without faults."""

    def __init__(self, driver: str = 'newest') -> None:
        run = Run(None, driver)
        assert not run.errors, run.errors
        assert run.status == 0
        #: The functions that the monitor calls.
        self.calls = run.calls
        self.frames = run.frames
        self._numbers: dict[tuple[int, Screen], set[str]] = {}
        self._gaps: dict[str, int] = {}
        for frame in run.frames:
            known = self._numbers.setdefault((frame.tick, frame.screen), set())
            known.update(numbers('\n'.join(frame.lines)), means(frame.sample))
            if frame.tick == TICKS - 1:
                self._gaps[frame.place] = _gaps(frame)

    def check(self, case: Case) -> list[str]:
        run = Run(case)
        wrong = [*run.errors]
        if run.status != 0:
            wrong.append(f'status {run.status}')
        seen: dict[object, list[str]] = {}
        for frame in run.frames:
            key = (frame.tick, frame.screen, frame.sample, *frame.lines)
            if key not in seen:
                seen[key] = [f'tick {frame.tick}: {text}' for text in self._check(frame)]
                wrong += seen[key]
        if case.is_recoverable:
            for frame in run.frames:
                if frame.tick == TICKS - 1:
                    wrong += self._check_recovery(frame)
        return wrong

    def _check(self, frame: Frame) -> Iterator[str]:
        sample = frame.sample
        for problem in sample.problems:
            if problem.subject == 'monitor':
                yield f'{problem.what}: {problem.reason}'
        text = '\n'.join(frame.lines)
        if frame.screen is Screen.PROBLEMS:
            for problem in sample.problems:
                reason = plain_reason(safe(problem.reason))
                if reason[:24] not in text:
                    yield f'problems: missing reason {reason}'
        if frame.screen is Screen.MAIN:
            for device in sample.devices:
                if device.status != 'ok' and safe(device.reason)[:16] not in text:
                    yield f'main: {device.key.label}: missing reason {device.reason}'
        if frame.screen in _WORDS:
            return
        known = self._numbers.get((frame.tick, frame.screen), set()) | means(sample)
        if frame.screen is Screen.METRICS:  # another process may be the first one
            known |= self._numbers[frame.tick, Screen.MAIN]
            yield from self._check_maxima(frame)
        elif frame.screen is Screen.USERS:
            known |= _sums(sample)
        for line in frame.lines:
            wrong = numbers(_MAXIMUM.sub('', line)) - known
            # In graphs of a process, the scales depend on the values in view.
            is_scale = frame.screen is Screen.METRICS and line[:1] == '│'
            if is_border(line) or is_scale or not wrong:
                continue
            if not ('MiB/s' in line and all(is_near(n, known) for n in wrong)):
                yield f'{frame.place}: {", ".join(sorted(wrong))} in {line.strip()}'

    def _check_maxima(self, frame: Frame) -> Iterator[str]:
        """Check that maxima were correct values at an earlier time."""
        known = set().union(*(ns for (tick, _), ns in self._numbers.items() if tick <= frame.tick))
        for found in _MAXIMUM.findall('\n'.join(frame.lines)):
            if numbers(found) - known:
                yield f'metrics: {found}'

    def _check_recovery(self, frame: Frame) -> Iterator[str]:
        gaps, usual = _gaps(frame), self._gaps.get(frame.place)
        if usual is None:
            return
        if gaps != usual:
            yield f'{frame.place}: {gaps} gaps after the recovery, expected {usual}'


def _sums(sample: Sample) -> set[str]:
    """Sums over the processes, which all have an unknown user."""
    memory = [process.gpu_memory_bytes for process in sample.processes]
    total = [d.info.memory_total_bytes for d in sample.devices if not d.key.is_mig]
    loads = [p.gpu_sm_utilization_percent for p in sample.processes]
    known = [load for load in loads if load is not None]
    found = {f'{sum(known) / len(known):.1f}'} if known else set()
    if None not in memory:
        size = sum(filter(None, memory))
        found.add(f'{size / (1 << 30):.1f}')
        if total and None not in total:
            found.add(f'{100 * size / sum(filter(None, total)):.1f}')
    return found


def _gaps(frame: Frame) -> int:
    return sum(line.count('N/A') for line in frame.lines)
