"""Long runs in simulated time: ``python -m tests.soak [--ticks N] [SUBJECT …]`` in the repository.

Runs the monitor, the collector and ``nvitop query --loop`` in parallel, each in a new process, for 20,000
simulated ticks of one second. The processes of the simulated machine start and exit, and its GPUs are lost
and return. The exit status is 1 if memory, threads or descriptors leak, or if ticks are late.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import itertools
import logging
import math
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from array import array
from typing import TYPE_CHECKING, Callable, NamedTuple, Sequence
from unittest import mock

from nvitop import simulation
from nvitop.collector import ResourceMetricCollector, collect_in_background
from nvitop.collector.tags import Tags
from nvitop.gui.app import App
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import Event, InputEnded, SampleArrived
from nvitop.query import command
from nvitop.sampling.sampler import Sampler
from nvitop.sampling.source import LiveSource
from nvitop.simulation.world import Pids, Task
from tests.clock import Clock
from tests.gui.headless import HeadlessTerminal

if TYPE_CHECKING:
    from nvitop.collector.tags import TagBuffer
    from nvitop.gui.render.buffer import Buffer
    from nvitop.gui.render.theme import Theme
    from nvitop.sampling.types import Sample

# The machine: simulated time, changing processes, and GPUs that are lost

#: Number of ticks after which the events repeat.
CYCLE = 100
#: Ticks of a cycle at which a GPU is lost, all GPUs are lost, and all return.
ONE_LOST, ALL_LOST, RECOVERED = 20, 45, 50
#: A process exits and another one starts every N ticks.
CHURN = 2
#: PIDs of processes that do not exist: above the default maximum of Linux, below the possible one.
FIRST_UNUSED, LAST_UNUSED = 4_100_000, 4_190_000
#: Duration (simulated seconds) of a call of the driver.
CALL_SECONDS = 0.002

SCENARIO = """
description = "Three GPUs, one of them split into two"
seed = 7

[[gpu]]
count = 2
model = "H100"

[[gpu]]
model = "A100"
[[gpu.mig]]
profile = "3g.40gb"
gpu_instance_id = 1
[[gpu.mig]]
profile = "3g.40gb"
gpu_instance_id = 2

[[process]]
gpus = [0, 0, 0, 0, 0, 1, 1, 1, 1]
command = ["python3", "worker.py"]
memory = "3 GiB"
sm = { mean = 9, amplitude = 9, period = 33 }

[[process]]
gpus = [2]
mig = 0
command = ["python3", "serve.py"]
memory = "1 GiB"
"""


class Workers(Pids):
    """Real processes that start and exit, and PIDs of processes that do not exist."""

    def __init__(self, real: int) -> None:
        #: The children read from it and exit when this process exits.
        self._input, self._pipe = os.pipe()
        self._numbers = itertools.count()
        self._real = [self._start() for _ in range(real)]
        self._unused = FIRST_UNUSED

    def _start(self) -> subprocess.Popen[bytes]:
        number = next(self._numbers)
        name = ('python3 train.py --epoch', '训练.py', 'a\x1b[31m\u202eb')[number % 3]
        return subprocess.Popen(
            [f'{name} {number}'],
            executable='/bin/cat',
            stdin=self._input,
            stdout=subprocess.DEVNULL,
        )

    def change(self) -> None:
        """Kill the oldest process and start another one."""
        self._unused = max(FIRST_UNUSED, (self._unused + 1) % LAST_UNUSED)
        if not self._real:
            return
        oldest = self._real.pop(0)
        oldest.kill()
        oldest.wait()
        self._real.append(self._start())

    def pid(self, task: Task) -> int | None:
        """The PID of a process of the scenario."""
        real = self._real
        return real[task.number].pid if task.number < len(real) else self._unused + task.number

    def number(self, pid: int) -> int | None:
        """:data:`None`: they are real processes, or none."""
        return None

    def close(self) -> None:
        """Kill all processes."""
        for child in self._real:
            child.kill()
            child.wait()
        os.close(self._input)
        os.close(self._pipe)


class Machine:
    """The simulated machine and its events."""

    def __init__(self, *, workers: int = 6) -> None:
        # Late enough for times in the past, early enough for exact sums.
        self.clock = Clock(1_000.0)
        self._workers = Workers(workers)
        scenario = simulation.parse_scenario(SCENARIO, name='soak')
        self.simulated = simulation.machine(
            scenario,
            processes='none',
            clock=self.clock,
            wall_clock=self.wall,
            sleep=self.wait,
        )

    def wall(self) -> float:
        """The current time in seconds since the epoch."""
        return 1_700_000_000.0 + self.clock.now

    def wait(self, seconds: float) -> None:
        """Advance the clock."""
        self.clock.turn(max(0.0, seconds))

    def __enter__(self) -> Machine:
        self.simulated.start()
        self.simulated.world.pids = self._workers
        self._slow_down()
        return self

    def __exit__(self, *_: object) -> None:
        self.simulated.stop()
        self._workers.close()

    def _slow_down(self) -> None:
        self.simulated.delay('nvmlDeviceGetMemoryInfo*', CALL_SECONDS)

    def turn(self, tick: int) -> None:
        """Carry out the events of a tick."""
        if tick % CHURN == 0:
            self._workers.change()
        if tick == ONE_LOST:
            self.simulated.fail('nvmlDeviceGet*', 'GPU_IS_LOST', gpu=1)
        elif tick == ALL_LOST:
            self.simulated.fail('nvml*Get*', 'GPU_IS_LOST')
        elif tick == RECOVERED:
            self.simulated.heal()
            self._slow_down()


# Counts

# A long run repeats a cycle of events. The counts are taken at the end of each cycle after a garbage
# collection, so any leak at any event leaves at least one block per cycle.

#: Fraction of the cycles that fill caches; growth is measured after them.
WARM_UP = 0.1
#: Half of the smallest leak, which is one block per cycle.
MOST_BLOCKS_PER_CYCLE = 0.5
MOST_GROWTH_MIB = 3.0
MOST_TICKS_MISSED = 1.0
#: Minimum number of cycles in the second half to estimate a slope.
FEWEST_CYCLES = 12


class Counts:
    """Counts at the end of each cycle, in arrays of one block each so that they do not count themselves."""

    def __init__(self) -> None:
        self.blocks = array('d')
        self.resident_mib = array('d')
        self.threads = array('d')
        self.descriptors = array('d')

    def take(self) -> None:
        """Add the current counts, without what caches of limited size hold."""
        gc.collect()
        for found in gc.get_objects():
            if isinstance(found, functools._lru_cache_wrapper) and found.cache_info().maxsize:
                found.cache_clear()
        self.blocks.append(sys.getallocatedblocks())
        self.resident_mib.append(resident_mib())
        self.threads.append(threading.active_count())
        self.descriptors.append(len(os.listdir('/proc/self/fd')))


def resident_mib() -> float:
    """Resident memory of this process in MiB."""
    # open() would let CPython keep up to some hundred blocks.
    descriptor = os.open('/proc/self/statm', os.O_RDONLY)
    try:
        pages = int(os.read(descriptor, 256).split()[1])
    finally:
        os.close(descriptor)
    return pages * os.sysconf('SC_PAGE_SIZE') / 2**20


class Slope(NamedTuple):
    """Slope by Theil and Sen: the median slope of all pairs of values. It tolerates 29 % outliers."""

    per_step: float
    #: Lower bound with a confidence of 99 %.
    at_least: float


def slope_of(values: Sequence[float]) -> Slope:
    """Return the slope of at least three values."""
    n = len(values)
    slopes = sorted((values[j] - values[i]) / (j - i) for i in range(n) for j in range(i + 1, n))
    # Standard deviation of (rising pairs - falling pairs) without a trend, by Sen.
    deviation = (n * (n - 1) * (2 * n + 5) / 18) ** 0.5
    lowest = round((len(slopes) - 2.326 * deviation) / 2)
    return Slope(statistics.median(slopes), slopes[max(0, lowest)])


class Verdict(NamedTuple):
    """Result of a long run."""

    #: Text for people, one line each.
    lines: tuple[str, ...]
    #: Failed checks.
    faults: tuple[str, ...]


def judge(counts: Counts, *, ticks_missed: float) -> Verdict:
    """Check the counts."""
    n = len(counts.blocks)
    warm = max(1, round(n * WARM_UP))
    half = counts.blocks[n // 2 :]
    if n < 2 * FEWEST_CYCLES:
        return Verdict((), (f'{n} cycles are too few: {2 * FEWEST_CYCLES} are needed',))
    slope = slope_of(half)
    growth = max(counts.resident_mib[warm:]) - counts.resident_mib[warm]
    lines = [
        f'allocated blocks   {half[-1]:9.0f}  {slope.per_step:+.2f} per cycle, at least {slope.at_least:+.2f}',
        f'resident memory    {counts.resident_mib[-1]:9.1f}  MiB, {growth:+.2f} since the warm-up',
        f'ticks missed       {ticks_missed:9.1f}',
    ]
    faults = []
    if slope.at_least > MOST_BLOCKS_PER_CYCLE:  # the slope is significant
        faults.append(f'leaks {slope.per_step:.1f} blocks of memory in each cycle')
    if growth >= MOST_GROWTH_MIB:
        faults.append(f'grows by {growth:.1f} MiB, more than {MOST_GROWTH_MIB:g}')
    if ticks_missed > MOST_TICKS_MISSED:
        faults.append(f'is {ticks_missed:.1f} ticks late at the end')
    # A count may be one higher while a thread of its own reads owners, and a thread may start late.
    for what, values in (('threads', counts.threads), ('descriptors', counts.descriptors)):
        slope = slope_of(values[warm:])
        lines.append(f'{what:18} {values[-1]:9.0f}  {slope.per_step:+.2f} per cycle')
        if slope.at_least > 0:
            faults.append(f'leaks {slope.per_step:.2f} {what} in each cycle')
    return Verdict(tuple(lines), tuple(faults))


# The monitor, the collector and ``nvitop query --loop`` in simulated time

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
    app = App(terminal, AppState(MONITOR), monotonic=clock, wall_clock=machine.wall)
    source = LiveSource(
        clock=clock, wall_clock=machine.wall, sleep=machine.wait, on_the_second=True
    )

    def on_sample(sample: Sample) -> None:
        if not terminal.is_open:
            return
        # The host is sampled at each tick, GPUs only while they respond.
        is_tick = sample.host is not app.state.sample.host
        terminal.settle(lambda: app.post(SampleArrived(sample)))
        goes_on = script.happen() if is_tick else True
        if is_tick and script.tick in SIZES:
            terminal.settle(lambda: terminal.resize(*SIZES[script.tick]))
        if is_tick:
            for key in KEYS.get(script.tick, '').split():
                terminal.settle(functools.partial(terminal.press, key))
        if not goes_on:
            terminal.send(InputEnded())
            sampler.stop(0.0)

    sampler = Sampler(source, on_sample, clock=clock, condition=VirtualWait(machine.wait))
    app.run(sampler)
    assert sampler.stop(PATIENCE_SECONDS), 'the sampler thread does not exit'


def run_collector(machine: Machine, script: Script) -> None:
    """Run a collector in the background, with tags that start and end."""
    collector = ResourceMetricCollector(root_pids=os.getpid(), interval=1.0, clock=machine.clock)
    ends_within = Tags.ends_within

    def end_in_simulated_time(tags: Tags, buffer: TagBuffer, seconds: float) -> bool:
        machine.wait(seconds)
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
        machine.wait(seconds)
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


def run(subject: str, ticks: int) -> bool:
    """Run one subject in this process; return whether it passed."""
    logging.disable(logging.CRITICAL)  # GPUs are lost repeatedly
    counts = Counts()
    started, cpu = time.perf_counter(), time.process_time()
    with Machine() as machine:
        script = Script(machine, ticks, counts)
        SUBJECTS[subject](machine, script)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    verdict = judge(counts, ticks_missed=script.missed)
    print(f'{subject}: {ticks} ticks, {seconds:.0f} s, {cpu / ticks * 1e3:.2f} ms of CPU each')
    for line in verdict.lines:
        print(f'    {line}')
    for fault in verdict.faults:
        print(f'    FAILED: {subject} {fault}')
    return not verdict.faults


def main() -> int:
    """Run all subjects. Returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        '--ticks', type=int, default=20_000, help='number of ticks (default: 20000)'
    )
    parser.add_argument('subjects', nargs='*', metavar='SUBJECT', help=', '.join(SUBJECTS))
    options = parser.parse_args()
    subjects = options.subjects or list(SUBJECTS)
    if unknown := set(subjects) - set(SUBJECTS):
        parser.error(f'unknown subject: {", ".join(sorted(unknown))}')
    if options.ticks < 2 * FEWEST_CYCLES * CYCLE:
        parser.error(f'expected at least {2 * FEWEST_CYCLES * CYCLE} ticks')
    if len(subjects) == 1:
        return int(not run(subjects[0], options.ticks))
    print(f'Python {platform.python_version()}', flush=True)
    command = [sys.executable, '-m', 'tests.soak', '--ticks', str(options.ticks)]
    runs = [
        subprocess.Popen([*command, subject], stdout=subprocess.PIPE, text=True)
        for subject in subjects
    ]
    for each in runs:
        print(each.communicate()[0], end='', flush=True)
    return int(any(each.returncode for each in runs))


if __name__ == '__main__':
    sys.exit(main())
