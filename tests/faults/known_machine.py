"""A machine whose values are known at every time, and a source that samples it."""

from __future__ import annotations

import contextlib
import time
from typing import Iterator
from unittest import mock

from nvitop import simulation
from nvitop.api.timing import Window
from nvitop.basics.metrics import METRICS, METRICS_BY_NAME
from nvitop.sampling.source import LiveSource
from nvitop.sampling.threads import Watchdog
from nvitop.sampling.types import Demand, Sample
from tests.clock import Clock

#: Time between two samples, so that everything is due each time.
TICK_SECONDS = 10.0
#: Number of different values of each key, more than a test takes samples.
STEPS = 12

_PLAIN = """
description = "every value is known, differs between GPUs and changes with every sample"
seed = 5

[driver]
version = "580.65.06"
cuda = "13.0"

[[gpu]]
model = "H100"
gpm = true
accounting = true
{0}
nvlink_link_count = 4
nvlink_tx = "10 MiB"
nvlink_rx = "20 MiB"
pcie_tx_throughput = "30 MiB"
pcie_rx_throughput = "40 MiB"

[[gpu]]
model = "A100"
nvlink_link_count = 2
nvlink_tx = "11 MiB"
nvlink_rx = "21 MiB"
pcie_tx_throughput = "31 MiB"
pcie_rx_throughput = "41 MiB"
{1}
[[gpu.mig]]
profile = "3g.20gb"
gpu_instance_id = 2
[[gpu.mig]]
index = 2
profile = "1g.5gb"
gpu_instance_id = 9

[[gpu]]
model = "RTX 4090"
fan_count = 1
retired_pages_single_bit_ecc = 2
retired_pages_double_bit_ecc = 1
retired_pages_pending = false
pcie_tx_throughput = "32 MiB"
pcie_rx_throughput = "42 MiB"
{2}

[[process]]
gpus = [0]
command = ["train"]
memory = {{ steps = {3} }}
sm = {{ steps = {4} }}
memory_utilization = {{ steps = {5} }}

[[process]]
gpus = [1]
mig = 2
command = ["slice"]
memory = "3 GiB"
sm = 33

[[process]]
gpus = [2]
type = "C+G"
command = ["view"]
memory = {{ steps = {6} }}
sm = {{ steps = {7} }}
"""

_ENGINES = ('gpu', 'memory', 'encoder', 'decoder', 'jpeg', 'ofa')
#: Key of a scenario → its first value, and the difference between two values.
_NUMBERS = {
    'temperature': (31, 1),
    'memory_temperature': (41, 1),
    'power_usage': (101.5, 1.25),
    'power_limit': (301.5, 1.25),
    'graphics_clock': (501, 3),
    'sm_clock': (601, 3),
    'video_clock': (701, 3),
    'memory_clock': (801, 3),
    'total_volatile_uncorrected_ecc_errors': (11, 1),
    'total_volatile_corrected_ecc_errors': (1011, 1),
    'total_aggregate_uncorrected_ecc_errors': (2011, 1),
    'total_aggregate_corrected_ecc_errors': (3011, 1),
    'remapped_rows_correctable': (4011, 1),
    'remapped_rows_uncorrectable': (5011, 1),
    'bar1_memory_used': (1 << 30, 1 << 20),
    'memory_used': (9 << 30, 1 << 20),
}


def _steps(first: float, step: float) -> list[list[float]]:
    return [[max(0.0, TICK_SECONDS * (i - 0.5)), first + step * i] for i in range(STEPS)]


def _gpu(index: int) -> str:
    """The numbers of a GPU, which differ from those of the other GPUs at all times."""
    lines = []
    for place, engine in enumerate(_ENGINES):
        lines.append(
            f'{engine}_utilization = {{ steps = {_steps(3 * place + 30 * index + 1, 1)} }}'
        )
    if index == 2:
        lines.append(f'fan_speed = {{ steps = {_steps(21, 1)} }}')
    for key, (first, step) in _NUMBERS.items():
        if index == 2 and (key.startswith(('total_', 'remapped')) or key == 'memory_temperature'):
            continue
        lines.append(f'{key} = {{ steps = {_steps(first + index * STEPS * step, step)} }}')
    return '\n'.join(lines)


_PROCESSES = ((2 << 30, 1 << 20), (20, 1), (50, 1), (1 << 30, 1 << 20), (70, 1))
SCENARIO = simulation.parse_scenario(
    _PLAIN.format(*map(_gpu, range(3)), *(_steps(*numbers) for numbers in _PROCESSES)),
    name='faults',
)

#: Demand for everything that can be shown.
DEMAND = Demand(
    shown_metrics=tuple(metric.name for metric in METRICS if metric.tier == 'shown'),
    process_codec=True,
)
#: Fields that depend on when they are read: rates between two readings, and energy.
VARYING = frozenset(
    METRICS_BY_NAME[name].field
    for name in METRICS_BY_NAME
    if name.startswith(('pcie_tx', 'pcie_rx', 'nvlink_total', 'gpm_', 'total_energy'))
)


class KnownMachine:
    """The machine, and a source that samples it on request."""

    def __init__(self) -> None:
        self.clock = Clock(0.0)
        # The driver dates process utilization by the wall clock; all of it is recent from here on.
        self._started = time.time() + 3600.0
        self.machine = simulation.machine(
            SCENARIO,
            processes='fixed',
            clock=self.clock,
            wall_clock=lambda: self.wall(),
            sleep=self._sleep,
        )
        self.ticks = 0

    def wall(self) -> float:
        return self._started + self.clock.now

    def _sleep(self, seconds: float) -> None:
        self.clock.turn(seconds)

    @contextlib.contextmanager
    def opened(self) -> Iterator[KnownMachine]:
        """Start the machine and a source for a ``with`` block."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.machine)
            stack.enter_context(mock.patch.object(Window, 'clock', self.clock))
            stack.enter_context(mock.patch.object(Window, 'sleep', self._sleep))
            self.open()
            yield self

    def open(self) -> None:
        # Without a thread, since no call hangs here.
        lane = Watchdog(
            clock=self.clock, start_thread=lambda name, target: target(), spare_seconds=0.0
        )
        self.source = LiveSource(
            clock=self.clock, wall_clock=self.wall, sleep=self._sleep, watchdog=lane
        )

    def sample(self) -> Sample:
        self.turn()
        return self.source.sample(DEMAND)

    def turn(self) -> None:
        self.clock.now = self.ticks * TICK_SECONDS
        self.ticks += 1
