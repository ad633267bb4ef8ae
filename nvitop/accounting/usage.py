# SPDX-License-Identifier: Apache-2.0
"""Use of devices by users and programs, as sums per minute that outlive the frames of a recording.

A sample covers the time since the previous one. If that is longer than 2.5 intervals (the machine was
suspended, the recorder was stopped or hung), the time counts as not observed: neither used nor idle.
"""

from __future__ import annotations

import collections
from typing import Dict, Iterable, Iterator, NamedTuple, Sequence, Tuple

from nvitop.accounting.shares import DeviceShares, UsageKey, divide, gpu_of, usage_key
from nvitop.health.states import BUSY_PERCENT, is_holder, percent_of, processes_by_gpu
from nvitop.sampling.types import DeviceSample, ProcessSample, Sample

#: A gap of more intervals than this is not observed.
MAX_INTERVALS = 2.5
#: Longest expected time (seconds) between samples, whatever a file says.
MAX_SECONDS = 86400.0

#: User → seconds × GPUs that were used, and that were held idle.
GpuTimes = Dict[str, Tuple[float, float]]


class Usage:
    """Use of one device by one holder, in one minute."""

    def __init__(self) -> None:
        #: Time in which a process of the holder was on the device.
        self.held_ms = 0.0
        #: Time of the GPU divided among its holders, see :mod:`nvitop.accounting.shares`, and the part
        #: that was held idle. The shares of all rows of a GPU add up to the time in which it was
        #: observed.
        self.share_ms = 0.0
        self.idle_held_ms = 0.0
        #: The part that a batch system allocated to a job without a process on the GPU.
        self.allocated_ms = 0.0
        #: Utilization of the SMs while a part of the device was theirs, and the time in which it is known.
        self.sm_percent_ms = 0.0
        self.measured_ms = 0.0
        self.memory_byte_ms = 0.0
        #: Energy divided among the processes by utilization, else by memory.
        self.energy_mj = 0.0

    def add(self, other: Usage) -> None:
        for name, amount in vars(other).items():
            setattr(self, name, getattr(self, name) + amount)


class DeviceMinute:
    """One device in one minute."""

    def __init__(self) -> None:
        self.observed_ms = 0.0
        self.held_ms = 0.0
        self.busy_ms = 0.0
        self.idle_held_ms = 0.0
        self.utilization_percent_ms = 0.0
        self.max_utilization_percent: int | None = None
        self.memory_byte_ms = 0.0
        #: Energy, and the part of it that was estimated from the power.
        self.energy_mj = 0.0
        self.estimated_mj = 0.0
        self.max_temperature_celsius: int | None = None
        #: Time in which the hardware slowed the clocks down.
        self.throttled_ms = 0.0
        #: The last status other than ``'ok'``, if there was one.
        self.status = 'ok'
        #: Whether it runs processes: MIG devices do instead of their GPU.
        self.is_leaf = 1


class MinuteRows(NamedTuple):
    """All rows of one minute (minutes since the epoch)."""

    minute: int
    usage: dict[UsageKey, Usage]
    devices: dict[str, DeviceMinute]


#: Clock event reasons by which the hardware slows itself down.
_THROTTLED = frozenset(
    {'hw_slowdown', 'hw_thermal_slowdown', 'hw_power_brake_slowdown', 'sw_thermal_slowdown'}
)


class Tick(NamedTuple):
    """Use of one device in the time that a sample covers."""

    shares: DeviceShares
    energies: dict[UsageKey, float]
    #: The part of the energy (mJ) that is estimated from the power.
    estimated_mj: float


class Meter:
    """Measures what happened from one sample to the next.

    ``longest`` is the maximum time (seconds) between two samples that is observed.
    """

    def __init__(self, longest: float) -> None:
        self.longest = longest
        self._last: Sample | None = None
        #: Device → its energy counter (J) in the last sample, and its power (mW) when last read.
        self._counters: dict[str, float] = {}
        self._powers: dict[str, int] = {}

    def read(self, sample: Sample) -> tuple[float, list[Tick]]:
        """Return the seconds that a sample covers, 0 after a gap, and the use of its devices."""
        last, self._last = self._last, sample
        seconds = 0.0 if last is None else sample.monotonic - last.monotonic
        if not 0 < seconds <= self.longest:
            seconds = 0.0
        energies = {
            gpu_of(device.key): self._energy(device, seconds)
            for device in sample.devices
            if device.status == 'ok'
        }
        ticks = []
        processes = processes_by_gpu(sample)
        for shares in divide(sample) if seconds else ():
            key = shares.device.key
            energy, is_estimated = energies.get(gpu_of(key), (0.0, False))
            on_gpu = processes.get(key.physical_index, [])
            by_key = _divide_energy(on_gpu, shares, energy) if energy else {}
            ticks.append(Tick(shares, by_key, energy if is_estimated else 0.0))
        return seconds, ticks

    def _energy(self, device: DeviceSample, seconds: float) -> tuple[float, bool]:
        """Return the energy (mJ) of the last ``seconds``, and whether it is estimated."""
        gpu, power = gpu_of(device.key), device.power_usage_mw
        counter, before = device.total_energy_joules, self._counters.pop(gpu, None)
        last_power = self._powers.get(gpu)
        if counter is not None:
            self._counters[gpu] = counter
        if power is not None:
            self._powers[gpu] = power
        if not seconds:
            return 0.0, False
        joules = -1.0 if counter is None or before is None else counter - before
        if 0 <= joules <= device.most_joules(seconds):
            return 1000.0 * joules, False
        if power is None:
            return 0.0, False
        # No counter, a wrong one, or a new driver has restarted it.
        return seconds * (power if last_power is None else (power + last_power) / 2), True


class UsageAccount:
    """Adds samples up to minutes; ``interval`` is the expected time between samples in seconds."""

    def __init__(self, interval: float) -> None:
        self._meter = Meter(0.0)
        self._minutes: dict[int, MinuteRows] = {}
        self.expect(interval)

    def expect(self, interval: float) -> None:
        self._meter.longest = MAX_INTERVALS * min(interval, MAX_SECONDS)

    def add(self, sample: Sample) -> float:
        """Count a sample; return the seconds that it covers, 0 after a gap."""
        seconds, ticks = self._meter.read(sample)
        if seconds:
            for minute, part in split(sample.timestamp, seconds):
                rows = self._minutes.setdefault(minute, MinuteRows(minute, {}, {}))
                for tick in ticks:
                    add_tick(rows, tick, 1000.0 * seconds * part, part)
        return seconds

    def open(self) -> list[MinuteRows]:
        """Return the minutes that were not taken."""
        return list(self._minutes.values())

    def take(self, before: float | None = None) -> list[MinuteRows]:
        """Remove and return the minutes that are over at this time; ``None``: all."""
        over = sorted(
            minute for minute in self._minutes if before is None or 60 * (minute + 1) <= before
        )
        return [self._minutes.pop(minute) for minute in over]


class RecentUse:
    """GPU time by user in the last minutes.

    Args:
        seconds: Time that is covered.
        interval: Expected time between samples in seconds.
    """

    def __init__(self, seconds: float, interval: float) -> None:
        self._seconds = seconds
        self._account = UsageAccount(interval)
        #: Complete minutes with the time of each user, oldest first.
        self._minutes: collections.deque[tuple[int, GpuTimes]] = collections.deque()

    def add(self, sample: Sample) -> GpuTimes:
        """Count a sample; return the seconds × GPUs that each user has used and held idle."""
        self._account.add(sample)
        for rows in self._account.take(sample.timestamp - 60):
            self._minutes.append((rows.minute, _times_of(rows)))
        oldest = (sample.timestamp - self._seconds) / 60 - 1
        while self._minutes and self._minutes[0][0] <= oldest:
            self._minutes.popleft()
        times: GpuTimes = {}
        for _, minute in (*self._minutes, *((0, _times_of(r)) for r in self._account.open())):
            add_times(times, minute)
        return times


def _times_of(rows: MinuteRows) -> GpuTimes:
    times: GpuTimes = {}
    for key, usage in rows.usage.items():
        idle = usage.idle_held_ms / 1000
        used = (usage.share_ms - usage.allocated_ms) / 1000 - idle
        add_times(times, {key.user: (used, idle)})
    return times


def add_times(times: GpuTimes, added: GpuTimes) -> None:
    for user, (used, held) in added.items():
        before = times.get(user, (0.0, 0.0))
        times[user] = (before[0] + used, before[1] + held)


def add_tick(rows: MinuteRows, tick: Tick, ms: float, part: float) -> None:
    """Add the part of a tick that lies in a minute."""
    _count_device(rows, tick, ms, part)
    for key, energy in tick.energies.items():
        rows.usage.setdefault(key, Usage()).energy_mj += part * energy
    for share in tick.shares.shares:
        usage = rows.usage.setdefault(share.key, Usage())
        usage.share_ms += ms * share.part
        if share.is_allocated:
            usage.allocated_ms += ms * share.part
        if not share.key.user or share.is_allocated:
            continue
        usage.held_ms += ms
        if not share.is_used:
            usage.idle_held_ms += ms * share.part
        if share.sm_percent is not None and share.part:
            usage.sm_percent_ms += ms * share.sm_percent
            usage.measured_ms += ms
        usage.memory_byte_ms += ms * share.memory_bytes


def _count_device(rows: MinuteRows, tick: Tick, ms: float, part: float) -> None:
    device = tick.shares.device
    minute = rows.devices.setdefault(gpu_of(device.key), DeviceMinute())
    minute.is_leaf = int(tick.shares.is_leaf)
    if device.status != 'ok':
        minute.status = device.status
        return
    minute.observed_ms += ms
    utilization = device.gpu_utilization_percent
    if (utilization or 0) >= BUSY_PERCENT:
        minute.busy_ms += ms
    if tick.shares.is_held:
        minute.held_ms += ms
        is_idle = any(share.part and not share.is_used for share in tick.shares.shares)
        minute.idle_held_ms += ms if is_idle else 0
    minute.utilization_percent_ms += ms * (utilization or 0)
    minute.max_utilization_percent = _highest(minute.max_utilization_percent, utilization)
    minute.memory_byte_ms += ms * (device.memory_used_bytes or 0)
    minute.energy_mj += part * sum(tick.energies.values())
    minute.estimated_mj += part * tick.estimated_mj
    minute.max_temperature_celsius = _highest(
        minute.max_temperature_celsius, device.temperature_celsius
    )
    if _THROTTLED.intersection(device.clock_event_reasons or ()):
        minute.throttled_ms += ms


def _divide_energy(
    on_gpu: Sequence[ProcessSample], shares: DeviceShares, energy: float
) -> dict[UsageKey, float]:
    """Divide the energy of a GPU among the processes on it and on its MIG devices."""
    device = shares.device
    processes = [
        process
        for process in on_gpu
        if (process.key.device == device.key or not device.key.is_mig) and is_holder(process)
    ]
    weights: list[float] = [percent_of(process) or 0 for process in processes]
    if not any(weights):
        weights = [process.gpu_memory_bytes or 0 for process in processes]
    if not any(weights):
        weights = [1.0] * len(processes)
    if not processes:
        keys = [share.key for share in shares.shares] or [UsageKey(gpu_of(device.key))]
        return {keys[0]: energy}
    total = sum(weights)
    divided: dict[UsageKey, float] = {}
    for process, weight in zip(processes, weights):
        key = usage_key(process)
        divided[key] = divided.get(key, 0.0) + energy * weight / total
    return divided


def split(end: float, seconds: float) -> Iterator[tuple[int, float]]:
    """Yield the minutes in which a time lies that ends at ``end``, and the part in each.

    The parts add up to 1.
    """
    at, rest = end - seconds, 1.0
    while at < end:
        minute = int(at // 60)
        until = 60.0 * (minute + 1)
        part = rest if until >= end else min(rest, (until - at) / seconds)
        yield minute, part
        at, rest = until, rest - part


def _highest(*values: int | None) -> int | None:
    known: Iterable[int] = (value for value in values if value is not None)
    return max(known, default=None)
