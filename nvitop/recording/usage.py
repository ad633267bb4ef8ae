# SPDX-License-Identifier: Apache-2.0
"""Use of devices by users and programs, as sums per minute that outlive the frames of a recording.

A sample covers the time since the previous one. If that is longer than 2.5 intervals (the machine was
suspended, the recorder was stopped or hung), the time counts as not observed: neither used nor idle.
"""

from __future__ import annotations

from typing import Iterable, Iterator, NamedTuple

from nvitop.recording.privacy import short_command
from nvitop.sampling.types import PROCESSES, DeviceKey, DeviceSample, ProcessSample, Sample

#: A gap of more intervals than this is not observed.
MAX_INTERVALS = 2.5
#: Minimum utilization (%) of a busy device or process.
BUSY_PERCENT = 5
#: Minimum memory (bytes) of a process that holds its device. A context alone may need less.
HELD_BYTES = 16 << 20

#: User of the time in which no process holds a device, and user of processes whose user is unknown.
NO_USER = ''
UNKNOWN_USER = '?'


class UsageKey(NamedTuple):
    """A row of the usage table within its minute."""

    gpu: str
    user: str = NO_USER
    owner_kind: str = ''
    owner_id: str = ''
    command: str = ''


class Usage:
    """Use of one device by the processes of one row, in one minute."""

    def __init__(self) -> None:
        #: Time in which a process of the row held the device, and the busy and idle parts of it.
        self.held_ms = 0.0
        self.busy_ms = 0.0
        self.idle_held_ms = 0.0
        #: Time divided among the rows that held the device: the shares of all rows of a device add
        #: up to the time in which it was observed.
        self.share_ms = 0.0
        self.sm_percent_ms = 0.0
        self.memory_byte_ms = 0.0
        #: Energy divided among the processes by utilization, else by memory.
        self.energy_mj = 0.0


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


class UsageAccount:
    """Adds samples up to minutes.

    ``interval`` is the expected time between samples in seconds.
    """

    def __init__(self, interval: float) -> None:
        self.interval = interval
        self._minutes: dict[int, MinuteRows] = {}
        self._last: Sample | None = None
        #: Device → its energy counter (J) and power (mW) when last read.
        self._counters: dict[str, float] = {}
        self._powers: dict[str, int] = {}

    def add(self, sample: Sample) -> float:
        """Count a sample; return the seconds that it covers, 0 after a gap."""
        last, self._last = self._last, sample
        seconds = 0.0 if last is None else sample.monotonic - last.monotonic
        if not 0 < seconds <= MAX_INTERVALS * self.interval:
            seconds = 0.0
        energies = {
            gpu_of(device.key): self._energy(device, seconds)
            for device in sample.devices
            if device.status == 'ok'
        }
        if seconds:
            ticks = _ticks(sample, energies)
            for minute, part in split(sample.timestamp, seconds):
                rows = self._minutes.setdefault(minute, MinuteRows(minute, {}, {}))
                for tick in ticks:
                    tick.add_to(rows, 1000.0 * seconds * part, part)
        return seconds

    def take(self, before: float | None = None) -> list[MinuteRows]:
        """Remove and return the minutes that are over at this time; ``None``: all."""
        over = sorted(
            minute for minute in self._minutes if before is None or 60 * (minute + 1) <= before
        )
        return [self._minutes.pop(minute) for minute in over]

    def _energy(self, device: DeviceSample, seconds: float) -> tuple[float, bool]:
        """Return the energy (mJ) of the last ``seconds``, and whether it is estimated."""
        gpu, power = gpu_of(device.key), device.power_usage_mw
        counter, before = device.total_energy_joules, self._counters.get(gpu)
        last_power = self._powers.get(gpu)
        if counter is not None:
            self._counters[gpu] = counter
        if power is not None:
            self._powers[gpu] = power
        if not seconds:
            return 0.0, False
        if counter is not None and before is not None and counter >= before:
            return 1000.0 * (counter - before), False
        if power is None:
            return 0.0, False
        # No counter, or a new driver has restarted it.
        return seconds * (power if last_power is None else (power + last_power) / 2), True


class _Tick(NamedTuple):
    """Use of one device in one tick."""

    device: DeviceSample
    users: dict[UsageKey, list[ProcessSample]]
    energies: dict[UsageKey, float]
    estimated_mj: float
    is_leaf: bool

    def add_to(self, rows: MinuteRows, ms: float, part: float) -> None:
        """Add the part of the tick that lies in a minute."""
        gpu = gpu_of(self.device.key)
        minute = rows.devices.setdefault(gpu, DeviceMinute())
        self._count_device(minute, ms, part)
        for key, energy in self.energies.items():
            _usage(rows, key).energy_mj += part * energy
        if self.device.status != 'ok' or not self.is_leaf:
            return
        keys = list(self.users) or [UsageKey(gpu)]
        for key in keys:
            usage = _usage(rows, key)
            usage.share_ms += ms / len(keys)
            processes = self.users.get(key)
            if not processes:
                continue
            usage.held_ms += ms
            if any(is_busy(process, self.device) for process in processes):
                usage.busy_ms += ms
            else:
                usage.idle_held_ms += ms
            usage.sm_percent_ms += ms * min(100, sum(map(_sm, processes)))
            usage.memory_byte_ms += ms * sum(p.gpu_memory_bytes or 0 for p in processes)

    def _count_device(self, minute: DeviceMinute, ms: float, part: float) -> None:
        device = self.device
        minute.is_leaf = int(self.is_leaf)
        if device.status != 'ok':
            minute.status = device.status
            return
        minute.observed_ms += ms
        utilization = device.gpu_utilization_percent
        is_busy_now = (utilization or 0) >= BUSY_PERCENT
        if is_busy_now:
            minute.busy_ms += ms
        if self.users:
            minute.held_ms += ms
            minute.idle_held_ms += 0 if is_busy_now else ms
        minute.utilization_percent_ms += ms * (utilization or 0)
        minute.max_utilization_percent = _highest(minute.max_utilization_percent, utilization)
        minute.memory_byte_ms += ms * (device.memory_used_bytes or 0)
        minute.energy_mj += part * sum(self.energies.values())
        minute.estimated_mj += part * self.estimated_mj
        minute.max_temperature_celsius = _highest(
            minute.max_temperature_celsius, device.temperature_celsius
        )
        if _THROTTLED.intersection(device.clock_event_reasons or ()):
            minute.throttled_ms += ms


def _ticks(sample: Sample, energies: dict[str, tuple[float, bool]]) -> list[_Tick]:
    with_mig = {device.key.physical_index for device in sample.devices if device.key.is_mig}
    ticks = []
    for device in sample.devices:
        is_leaf = device.key.is_mig or device.key.physical_index not in with_mig
        users = _holders(sample, device) if is_leaf else {}
        energy, is_estimated = energies.get(gpu_of(device.key), (0.0, False))
        by_key = _divide_energy(sample, device, energy) if energy else {}
        ticks.append(_Tick(device, users, by_key, energy if is_estimated else 0.0, is_leaf))
    return ticks


def _holders(sample: Sample, device: DeviceSample) -> dict[UsageKey, list[ProcessSample]]:
    """Return the processes that hold a device, by the row that they count for."""
    users: dict[UsageKey, list[ProcessSample]] = {}
    for process in sample.processes:
        if process.key.device == device.key and is_holder(process):
            users.setdefault(usage_key(process), []).append(process)
    if not users and _has_unknown_processes(sample, device.key):
        users[UsageKey(gpu_of(device.key), UNKNOWN_USER)] = []
    return users


def _has_unknown_processes(sample: Sample, key: DeviceKey) -> bool:
    return any(
        problem.device == key and problem.what == PROCESSES and problem.kind != 'impossible'
        for problem in sample.problems
    )


def _divide_energy(sample: Sample, device: DeviceSample, energy: float) -> dict[UsageKey, float]:
    """Divide the energy of a GPU among the processes on it and on its MIG devices."""
    processes = [
        process
        for process in sample.processes
        if process.key.device.physical_index == device.key.physical_index
        and (process.key.device == device.key or not device.key.is_mig)
        and is_holder(process)
    ]
    weights: list[float] = [_sm(process) for process in processes]
    if not any(weights):
        weights = [process.gpu_memory_bytes or 0 for process in processes]
    if not any(weights):
        weights = [1.0] * len(processes)
    if not processes:
        user = UNKNOWN_USER if _has_unknown_processes(sample, device.key) else NO_USER
        return {UsageKey(gpu_of(device.key), user): energy}
    shares: dict[UsageKey, float] = {}
    for process, weight in zip(processes, weights):
        key = usage_key(process)
        shares[key] = shares.get(key, 0.0) + energy * weight / sum(weights)
    return shares


def is_holder(process: ProcessSample) -> bool:
    """Whether a process keeps others from using the device: it computes, or is ready to."""
    if process.status in ('gone', 'zombie'):
        return False
    if _sm(process) >= BUSY_PERCENT:
        return True
    memory = process.gpu_memory_bytes
    return process.type != 'G' and (memory is None or memory >= HELD_BYTES)


def is_busy(process: ProcessSample, device: DeviceSample) -> bool:
    """Whether a process is busy; if its utilization is unknown, whether its device is."""
    if process.gpu_sm_utilization_percent is not None:
        return process.gpu_sm_utilization_percent >= BUSY_PERCENT
    return (device.gpu_utilization_percent or 0) >= BUSY_PERCENT


def usage_key(process: ProcessSample) -> UsageKey:
    """Return the row that a process counts for."""
    return UsageKey(
        gpu_of(process.key.device),
        process.username or UNKNOWN_USER,
        '' if process.owner is None else process.owner.kind,
        '' if process.owner is None else process.owner.id,
        command=short_command(process.command, process.name),
    )


def gpu_of(key: DeviceKey) -> str:
    """Return the name of a device in the tables: its UUID, or its label if that is not known."""
    return key.uuid or key.label


def split(end: float, seconds: float) -> Iterator[tuple[int, float]]:
    """Yield the minutes in which a time lies that ends at ``end``, and the part in each."""
    start = end - seconds
    at = start
    while at < end:
        minute = int(at // 60)
        until = min(end, 60.0 * (minute + 1))
        yield minute, (until - at) / seconds
        at = until


def _usage(rows: MinuteRows, key: UsageKey) -> Usage:
    return rows.usage.setdefault(key, Usage())


def _sm(process: ProcessSample) -> int:
    return process.gpu_sm_utilization_percent or 0


def _highest(*values: int | None) -> int | None:
    known: Iterable[int] = (value for value in values if value is not None)
    return max(known, default=None)
