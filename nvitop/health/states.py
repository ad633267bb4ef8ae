# SPDX-License-Identifier: Apache-2.0
"""What each device is doing: idle, busy, or held by processes that do not use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from nvitop.sampling.types import (
    ClaimSample,
    DeviceKey,
    DeviceSample,
    ProcessSample,
    Sample,
)

if TYPE_CHECKING:
    from typing import Sequence

    #: A device that sleeps or does not respond has the name of its status.
    DeviceWord = Literal['idle', 'busy', 'held', 'unknown', 'asleep', 'lost', 'timed out', 'error']

#: Utilization (percent) from which a device or a process is busy.
BUSY_PERCENT = 5.0
#: Utilization (percent) from which a device is not held, whatever its processes do. Higher than
#: :data:`BUSY_PERCENT`, so that a small process next to a large idle one does not change the word.
_USED_PERCENT = 10.0
#: Time (seconds) without a kernel after which a process only holds its memory.
HELD_SECONDS = 600.0
#: Memory in use (bytes) above which an unused device is held, if its processes are unknown.
HELD_BYTES = 1 << 30


class DeviceState(NamedTuple):
    """What a device is doing."""

    word: DeviceWord
    #: How long it has been held at least; ``None`` if it is not held, or for an unknown time.
    held_seconds: float | None = None


def device_states(sample: Sample) -> dict[DeviceKey, DeviceState]:
    """Return what each device of a sample is doing.

    - ``'idle'``: no process computes on it, and its utilization is below :data:`BUSY_PERCENT`.
    - ``'held'``: its utilization is below 10 %, and processes without a kernel for
      :data:`HELD_SECONDS` have at least half of the memory of all its processes. A process that has
      not used the device since it was first seen, or in a single sample, counts too, unless it is
      too young.
    - ``'unknown'``: neither its processes nor its utilization are known.
    - ``'busy'``: everything else.

    Without a list of processes, memory in use above :data:`HELD_BYTES` counts as held.

    A GPU that is divided into MIG devices is busy or held if any of them is.
    """
    silent = {problem.device for problem in sample.problems if problem.hides_processes}
    running: dict[DeviceKey, list[ProcessSample]] = {}
    for process in sample.processes:
        if process.type != 'G':
            running.setdefault(process.key.device, []).append(process)
    states = {
        device.key: _state(device, running.get(device.key, ()), has_list=device.key not in silent)
        for device in sample.devices
    }
    parts: dict[int, list[DeviceState]] = {}
    for key, state in states.items():
        if key.is_mig:
            parts.setdefault(key.physical_index, []).append(state)
    for key, state in states.items():
        if key.physical_index in parts and not key.is_mig and state.word in _ORDER:
            found = parts[key.physical_index]
            states[key] = min(found, key=lambda part: _ORDER.get(part.word, 0))
    return states


def holders(sample: Sample, device: DeviceKey) -> list[ProcessSample]:
    """Return the processes that hold memory of a device without using it, the largest first."""
    found = [p for p in sample.processes if p.key.device == device and p.type != 'G' and _holds(p)]
    return sorted(found, key=lambda process: process.gpu_memory_bytes or 0, reverse=True)


def claim_of_unused(sample: Sample, device: DeviceSample, state: DeviceState) -> ClaimSample | None:
    """Return the claim of a device that no process uses: it is not free for others."""
    return sample.claim_of(device) if state.word in ('idle', 'asleep') else None


def state_of_values(utilization: float | None, memory_used_bytes: float | None) -> DeviceState:
    """Return what a device is doing if nothing is known about its processes."""
    if utilization is None:
        return DeviceState('unknown')
    if utilization >= BUSY_PERCENT:
        return DeviceState('busy')
    return DeviceState('held' if (memory_used_bytes or 0) > HELD_BYTES else 'idle')


#: The state of a GPU is the first of those of its MIG devices.
_ORDER = {'busy': 0, 'held': 1, 'idle': 2}


def _state(
    device: DeviceSample, processes: Sequence[ProcessSample], *, has_list: bool
) -> DeviceState:
    if device.status != 'ok':
        return DeviceState(device.status)
    if not processes and not has_list:
        return state_of_values(device.gpu_utilization_percent, device.memory_used_bytes)
    utilization = device.gpu_utilization_percent or 0
    if not processes:
        return DeviceState('idle' if utilization < BUSY_PERCENT else 'busy')
    if utilization >= _USED_PERCENT:
        return DeviceState('busy')
    holders = [process for process in processes if _holds(process)]
    held = sum(process.gpu_memory_bytes or 0 for process in holders)
    if not holders or 2 * held < sum(process.gpu_memory_bytes or 0 for process in processes):
        return DeviceState('busy')
    seconds = max(holders, key=lambda each: each.gpu_memory_bytes or 0).gpu_idle_seconds
    return DeviceState('held', seconds if seconds and seconds >= HELD_SECONDS else None)


def _holds(process: ProcessSample) -> bool:
    """Return whether a process holds memory without using the device, as far as known."""
    age = process.running_time_seconds
    if process.is_outdated or (age is not None and age < HELD_SECONDS):
        return False
    if process.gpu_idle_seconds is None:
        return process.gpu_sm_utilization_percent == 0
    return process.is_idle_longer or process.gpu_idle_seconds >= HELD_SECONDS
