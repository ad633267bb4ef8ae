"""A machine whose values are known at every time, and a check of samples of it."""

from __future__ import annotations

import contextlib
import time
from typing import Iterator, Set, Tuple, Union
from unittest import mock

from nvitop import simulation
from nvitop.api.timing import Window
from nvitop.basics.metrics import METRICS, METRICS_BY_NAME
from nvitop.sampling.source import LiveSource
from nvitop.sampling.threads import Watchdog
from nvitop.sampling.types import Demand, DeviceKey, DeviceSample, ProcessSample, Sample
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
        lane = Watchdog(clock=self.clock, start_thread=lambda name, target: target())
        self.source = LiveSource(
            clock=self.clock, wall_clock=self.wall, sleep=self._sleep, watchdog=lane
        )

    def sample(self) -> Sample:
        self.turn()
        return self.source.sample(DEMAND)

    def turn(self) -> None:
        self.clock.now = self.ticks * TICK_SECONDS
        self.ticks += 1


#: Device and metric of each problem with a reason.
Reasons = Set[Tuple[Union[DeviceKey, None], str]]

#: Field of a sample → name of the metric in a problem.
_METRIC = {metric.field: metric.name for metric in METRICS}
_IDENTITY = ('key', 'info', 'status', 'reason', 'sleep', 'idle_seconds')
#: Fields of processes that depend on what was observed before.
_OBSERVED = ('key', 'is_outdated', 'gpu_idle_seconds', 'is_idle_longer')
_LISTS = ('processes', 'graphics_processes', 'mps_processes')


def true_samples(count: int) -> list[Sample]:
    bench = KnownMachine()
    with bench.opened():
        samples = [bench.sample() for _ in range(count)]
    assert all(device.status == 'ok' for sample in samples for device in sample.devices)
    return samples


class SampleChecker:
    """Compares samples with those of a machine without faults."""

    def __init__(self, truth: list[Sample]) -> None:
        self.truth = truth

    def check(self, sample: Sample, tick: int) -> Iterator[str]:
        reasons = {(p.device, p.what) for p in sample.problems if p.reason}
        is_driver_lost = any(p.subject == 'driver' and p.reason for p in sample.problems)
        truth = {d.key[:2]: d for d in self.truth[tick].devices}
        for device in sample.devices:
            yield from self._check_device(device, truth.pop(device.key[:2]), reasons)
        for place in truth:
            if not is_driver_lost and not any(
                k and k.physical_index == place[0] for k, _ in reasons
            ):
                yield f'{place}: a device is missing without a reason'
        yield from self._check_processes(sample, tick, reasons)
        for name in ('driver_version', 'cuda_driver_version'):
            found = getattr(sample, name)
            if found != getattr(self.truth[tick], name) and (found or not is_driver_lost):
                yield f'{name}: {found}'

    def _check_device(
        self, device: DeviceSample, true: DeviceSample, reasons: Reasons
    ) -> Iterator[str]:
        label = device.key.label
        if device.key.uuid not in ('', true.key.uuid):
            yield f'{label}: uuid {device.key.uuid}'
        every = [d for s in self.truth for d in s.devices if d.key.label == label]
        for field, found in device.info._asdict().items():
            known = {getattr(each.info, field) for each in every}
            if field != 'key' and found is not None and found not in known:
                yield f'{label}: info: {field}: {found!r}, not {known!r}'
        if device.status != 'ok':
            if not device.reason:
                yield f'{label}: {device.status} without a reason'
            measured = device._asdict().items()
            if any(v not in (None, ()) for field, v in measured if field not in _IDENTITY):
                yield f'{label}: {device.status}, but has values'
            return
        for field, found in device._asdict().items():
            if field in (*_IDENTITY, 'extended'):
                continue
            expected = getattr(true, field)
            if found is None:
                is_explained = field in VARYING or (device.key, _METRIC[field]) in reasons
                if expected is not None and not is_explained:
                    yield f'{label}: {field}: missing without a reason'
            elif found != expected:
                values = [getattr(each, field) or 0.0 for each in every]
                if (
                    field not in VARYING
                    or not 0.98 * min(values) - 1 <= found <= 1.02 * max(values) + 1
                ):
                    yield f'{label}: {field}: {found!r}, not {expected!r}'

    def _check_processes(self, sample: Sample, tick: int, reasons: Reasons) -> Iterator[str]:
        truth = {(p.key.pid, p.key.device[:2]): p for p in self.truth[tick].processes}
        incomplete = {key[:2] for key, what in reasons if key and what in (*_LISTS, 'status')}
        silent = {d.key[:2] for d in sample.devices if d.status != 'ok'}
        for process in sample.processes:
            place = (process.key.pid, process.key.device[:2])
            if process.is_outdated and place[1] not in incomplete | silent:
                yield f'{place}: outdated without a reason'
            true = truth.pop(place, None)
            if true is None:
                # It may have exited since, or run on a MIG device.
                if not process.is_outdated and (process.key.device, 'mig_mode') not in reasons:
                    yield f'{place}: no such process'
                continue
            for field, found in process._asdict().items():
                expected = getattr(true, field)
                if field in _OBSERVED or found == expected:
                    continue
                if found is not None:
                    if field != 'type' or place[1] not in incomplete:
                        yield f'{place}: {field}: {found!r}, not {expected!r}'
                elif not process.is_outdated and not _is_explained(process, field, reasons):
                    yield f'{place}: {field}: missing without a reason'
        listed = {d.key[:2] for d in sample.devices}
        for place in truth:
            if place[1] in listed - incomplete - silent:
                yield f'{place}: a process is missing without a reason'

    def check_recovery(self, sample: Sample, tick: int, *, constants: bool = True) -> list[str]:
        """Return the differences to a sample of a machine without faults.

        Without ``constants``, values that never change may be missing.
        """
        true = self.truth[tick]
        errors = [*self.check(sample, tick)]
        devices = {device.key: device for device in sample.devices}
        for that in true.devices:
            this = devices.get(that.key)
            if this is None or this.status != 'ok' or (constants and this.info != that.info):
                errors.append(f'{that.key.label}: still missing')
                continue
            errors += [
                f'{that.key.label}: {field}: still missing'
                for field in that._fields
                if getattr(this, field) is None and getattr(that, field) is not None
                # Whether a GPU has these counters, or NVLinks, is constant.
                if constants or not field.startswith(('gpm_', 'nvlink_'))
            ]
        if sample.processes != true.processes:
            errors.append('processes still missing')
        if constants and set(sample.problems) != set(true.problems):
            errors.append(f'problems that are solved: {set(sample.problems) - set(true.problems)}')
        return errors


def _is_explained(process: ProcessSample, field: str, reasons: Reasons) -> bool:
    whats = {what for key, what in reasons if key == process.key.device}
    is_utilization = field.endswith('utilization_percent')
    return not whats.isdisjoint(
        {'process_utilization' if is_utilization else 'memory_total', *_LISTS}
    )
