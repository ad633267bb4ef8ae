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
import logging
import math
import os
import statistics
import subprocess
import sys
import threading
import time
from array import array
from typing import TYPE_CHECKING, Callable, NamedTuple, Sequence
from unittest import mock

import psutil

from nvitop import simulation
from nvitop.collector import ResourceMetricCollector, collect_in_background
from nvitop.collector.tags import Tags
from nvitop.gui.app import App
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import INPUT_ENDED, Event, SampleArrived
from nvitop.query import command
from nvitop.sampling.source import LiveSource
from nvitop.sampling.threads import Sampler
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

    def __init__(self, count: int = 6) -> None:
        self._changes = 0
        self._real = [self._start() for _ in range(count)]

    def _start(self) -> subprocess.Popen[bytes]:
        number = self._changes
        self._changes += 1
        name = ('python3 train.py --epoch', '训练.py', 'a\x1b[31m\u202eb')[number % 3]
        # It exits when this process exits, which closes its input.
        return subprocess.Popen(
            [f'{name} {number}'],
            executable='/bin/cat',
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )

    def change(self) -> None:
        self._end(self._real.pop(0))
        self._real.append(self._start())

    def pid(self, task: Task) -> int | None:
        """The PID of a process of the scenario."""
        if task.number < len(self._real):
            return self._real[task.number].pid
        # Above the default maximum of Linux, below the possible one.
        return 4_100_000 + self._changes % 90_000 + task.number

    def close(self) -> None:
        for child in self._real:
            self._end(child)

    @staticmethod
    def _end(child: subprocess.Popen[bytes]) -> None:
        with child:
            child.kill()


class Machine:
    def __init__(self) -> None:
        # Late enough for times in the past, early enough for exact sums.
        self.clock = Clock(1_000.0)
        self._workers = Workers()
        scenario = simulation.parse_scenario(SCENARIO, name='soak')
        self.simulated = simulation.machine(
            scenario, processes='none', clock=self.clock, wall_clock=self.wall, sleep=self.wait
        )

    def wall(self) -> float:
        return 1_700_000_000.0 + self.clock.now

    def wait(self, seconds: float) -> None:
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
        if tick % CHURN == 0:
            self._workers.change()
        if tick == ONE_LOST:
            self.simulated.fail('nvmlDeviceGet*', 'GPU_IS_LOST', gpu=1)
        elif tick == ALL_LOST:
            self.simulated.fail('nvml*Get*', 'GPU_IS_LOST')
        elif tick == RECOVERED:
            self.simulated.heal()
            self._slow_down()


# A long run repeats a cycle of events. The counts are taken at the end of each cycle after a garbage
# collection, so any leak at any event adds at least one block per cycle to the last quarter of the run.

#: Less than the smallest leak. Without one, up to 0.6 were measured: values settle slowly.
MOST_BLOCKS_PER_CYCLE = 0.8
MOST_GROWTH_MIB = 3.0
MOST_TICKS_MISSED = 1.0
#: Below it, the noise of some dozen blocks hides a leak of one block per cycle.
FEWEST_CYCLES = 100


class Counts(NamedTuple):
    """Counts at the end of each cycle, in arrays of one block each so that they do not count themselves."""

    blocks: array[float]
    resident_mib: array[float]
    threads: array[float]
    descriptors: array[float]

    def take(self) -> None:
        """Add the current counts, without what caches of limited size hold."""
        gc.collect()
        for found in gc.get_objects():
            if isinstance(found, functools._lru_cache_wrapper) and found.cache_info().maxsize:
                found.cache_clear()
        self.blocks.append(sys.getallocatedblocks())
        self.resident_mib.append(psutil.Process().memory_info().rss / 2**20)
        self.threads.append(threading.active_count())
        self.descriptors.append(len(os.listdir('/proc/self/fd')))


def per_cycle(values: Sequence[float]) -> float:
    """Return the growth per cycle: from the median of the third quarter to that of the last one."""
    quarter = len(values) // 4
    before, after = values[-2 * quarter : -quarter], values[-quarter:]
    return (statistics.median(after) - statistics.median(before)) / quarter


def faults_of(counts: Counts, *, ticks_missed: float) -> list[str]:
    cycles = len(counts.blocks)
    if cycles < FEWEST_CYCLES:
        return [f'{cycles} cycles are too few: {FEWEST_CYCLES} are needed']
    warm = counts.resident_mib[cycles // 10 :]
    growth = max(warm) - warm[0]
    faults = []
    if per_cycle(counts.blocks) > MOST_BLOCKS_PER_CYCLE:
        faults.append(f'leaks {per_cycle(counts.blocks):.1f} blocks of memory in each cycle')
    if growth >= MOST_GROWTH_MIB:
        faults.append(f'grows by {growth:.1f} MiB, more than {MOST_GROWTH_MIB:g}')
    if ticks_missed > MOST_TICKS_MISSED:
        faults.append(f'is {ticks_missed:.1f} ticks late at the end')
    for what, values in (('threads', counts.threads), ('descriptors', counts.descriptors)):
        # A count may be one higher while a thread of its own reads owners.
        if per_cycle(values) * (cycles // 4) > 1:
            faults.append(f'leaks {per_cycle(values):.2f} {what} in each cycle')
    return faults


# The monitor, the collector and ``nvitop query --loop`` in simulated time

#: Maximum real time of a step.
PATIENCE_SECONDS = 60.0

#: Keys after every second tick of a cycle. The state at the end of a cycle is that of its start.
KEYS = [
    'd', 'd', '+ + + + + + +', '- - - - - - -', 't', 'Down x Right w o r k', 'Esc Esc Esc',
    'o c', 'o n', '!', 'Esc', 'Home Enter', '+ -', 'Esc', 'Down e', 'v Down', 'Esc',
    '\\ w o r k', 'Enter', 'Esc Esc Esc', 'U', 'Esc', 'C', 'Esc', 'Home Space T', 'Esc',
    'Esc Esc Esc', 'z', 'z', 'h', 'Esc', 'L L L L', 'F5', 'Ctrl-Z',
]  # fmt: skip
SIZES = {30: (60, 20), 33: (30, 5), 35: (240, 70), 38: (160, 50)}


class Script:
    def __init__(self, machine: Machine, ticks: int, counts: Counts) -> None:
        self._machine = machine
        self._counts = counts
        self._ticks = ticks
        self._first = self._last = -math.inf
        self._done = 0

    @property
    def tick(self) -> int:
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
        if threading.current_thread().name != 'nvitop-sampler':
            return super().wait(timeout)
        assert timeout is not None
        self._pass_time(timeout)
        return super().wait(0)


def run_monitor(machine: Machine, script: Script) -> None:
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
        if is_tick and script.tick % 2 and script.tick // 2 < len(KEYS):
            for key in KEYS[script.tick // 2].split():
                terminal.settle(functools.partial(terminal.press, key))
        if not goes_on:
            terminal.send(INPUT_ENDED)
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
    logging.disable(logging.CRITICAL)  # GPUs are lost repeatedly
    counts = Counts(*(array('d') for _ in range(4)))
    started, cpu = time.perf_counter(), time.process_time()
    with Machine() as machine:
        script = Script(machine, ticks, counts)
        SUBJECTS[subject](machine, script)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    print(f'{subject}: {ticks} ticks, {seconds:.0f} s, {cpu / ticks * 1e3:.2f} ms of CPU each')
    for name, values in counts._asdict().items():
        print(f'    {name:13} {values[-1]:9.1f}  {per_cycle(values):+.2f} per cycle')
    faults = faults_of(counts, ticks_missed=script.missed)
    for fault in faults:
        print(f'    FAILED: {subject} {fault}')
    return not faults


def main() -> int:
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
    if options.ticks < FEWEST_CYCLES * CYCLE:
        parser.error(f'expected at least {FEWEST_CYCLES * CYCLE} ticks')
    if len(subjects) == 1:
        return int(not run(subjects[0], options.ticks))
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
