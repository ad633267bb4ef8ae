"""The machine of the long runs: simulated time, changing processes, and GPUs that are lost."""

from __future__ import annotations

import itertools
import os
import subprocess
import threading

from nvitop import simulation
from nvitop.simulation.world import Task

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
gpu_instance = 1
[[gpu.mig]]
profile = "3g.40gb"
gpu_instance = 2

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


class Clock:
    """A clock that advances when a thread waits."""

    def __init__(self) -> None:
        # Late enough for times in the past, early enough for exact sums.
        self._now = 1_000.0
        self._lock = threading.Lock()

    def __call__(self) -> float:
        return self._now

    def wall(self) -> float:
        """The current time in seconds since the epoch."""
        return 1_700_000_000.0 + self._now

    def wait(self, seconds: float) -> None:
        """Advance the clock."""
        with self._lock:
            self._now += max(0.0, seconds)


class Workers:
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
        self.clock = Clock()
        self._workers = Workers(workers)
        scenario = simulation.parse_scenario(SCENARIO, name='soak')
        self.simulated = simulation.machine(
            scenario,
            processes='none',
            clock=self.clock,
            wall_clock=self.clock.wall,
            sleep=self.clock.wait,
        )

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
