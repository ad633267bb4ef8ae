# SPDX-License-Identifier: Apache-2.0
"""What each device is doing: free, busy, in use, or held. Pure.

All parts of nvitop use these words, rules and limits: the monitor, ``query``, ``usage``, the exporter
and ``fleet``. The alerts and the dashboard read the words that the exporter writes as
``nvitop_gpu_state{state="…"}``.

- A process *holds* its device if it computes or is ready to: it isn't a graphics process, and has at
  least :data:`HOLDER_BYTES` of memory; or its utilization is at least :data:`BUSY_PERCENT`.
- *free*: no process holds the device, its utilization is below :data:`BUSY_PERCENT`, and less than
  :data:`UNSEEN_BYTES` of its memory belong to no listed process.
- *held*: :data:`HELD_RULE`, as far as observed. Nothing is held before it was observed for that long.
- *busy*: its utilization is at least :data:`BUSY_PERCENT`, and it isn't held. If that isn't known, it
  is the sum of its processes'.
- *in use*: everything else: its utilization is lower now, or isn't known.
- *unknown*: neither its processes nor its utilization are known, or it was free in a late sample.
- A device that doesn't respond, or sleeps, has the name of its status.
- *claimed*: it is free or asleep, and a user has claimed it: it is not free for others.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Sequence

from nvitop.sampling.types import ClaimSample, DeviceKey, DeviceSample, ProcessSample, Sample

DeviceWord = Literal[
    'free',
    'busy',
    'in use',
    'held',
    'unknown',
    'claimed',
    'asleep',
    'not permitted',
    'lost',
    'timed out',
    'error',
]

#: Utilization (percent) from which a device or a process is busy.
BUSY_PERCENT = 5.0
#: Utilization (percent) from which a device is not held, whatever its processes do. Higher than
#: :data:`BUSY_PERCENT`, so that a small process next to a large idle one does not change the word.
USED_PERCENT = 10.0
#: Time (seconds) without kernels and videos after which a process only holds its memory.
HELD_SECONDS = 600.0
#: Minimum memory (bytes) of idle processes that is marked as wasted. Less is usual for a context or an
#: MPS server.
WASTED_BYTES = 512 << 20
#: When a process, and when a device is held, for help texts and pages.
IDLE_RULE = f'no kernel and no video for {HELD_SECONDS / 60:.0f} minutes'
HELD_RULE = (
    'at least half of its memory in use belongs to processes that have run '
    f'{IDLE_RULE}, and its utilization is below {USED_PERCENT:.0f} %'
)
#: Minimum memory (bytes) of a process that holds its device. A context alone may need less.
HOLDER_BYTES = 16 << 20
#: Memory in use (bytes) from which a device without listed processes is not free. The driver itself
#: may use several hundred MiB.
UNSEEN_BYTES = 1 << 30


class DeviceState(NamedTuple):
    word: DeviceWord
    #: How long it has been held at least; ``None`` if it is not held.
    held_seconds: float | None = None


def device_states(sample: Sample) -> dict[DeviceKey, DeviceState]:
    """Return what each device of a sample is doing.

    A GPU that is divided into MIG devices is busy if any of them is, otherwise in use, held or free.
    """
    on_gpu = processes_by_gpu(sample)
    states = {
        device.key: _state(sample, device, on_gpu.get(device.key.physical_index, []))
        for device in sample.devices
    }
    parts: dict[int, list[DeviceState]] = {}
    for key, state in states.items():
        if key.is_mig:
            parts.setdefault(key.physical_index, []).append(state)
    for key, state in states.items():
        if key.physical_index in parts and not key.is_mig and state.word in _ORDER:
            of_gpu = parts[key.physical_index]
            states[key] = min(of_gpu, key=lambda part: _ORDER.get(part.word, 0))
        if sample.is_late and states[key].word in ('free', 'asleep'):
            states[key] = DeviceState('unknown')
    return states


def holders(sample: Sample, device: DeviceKey) -> list[ProcessSample]:
    """Return the processes that hold memory of a device without using it, the largest first."""
    idle = [p for p in sample.processes if p.key.device == device and is_idle_holder(p)]
    return sorted(idle, key=lambda process: process.gpu_memory_bytes or 0, reverse=True)


def claim_of_unused(sample: Sample, device: DeviceSample, state: DeviceState) -> ClaimSample | None:
    """Return the claim of a device that no process uses: it is not free for others."""
    return sample.claim_of(device) if state.word in ('free', 'asleep') else None


def word_of(sample: Sample, device: DeviceSample, state: DeviceState) -> DeviceWord:
    """Return the word that other users need: ``'claimed'`` if the device is not free for them."""
    return 'claimed' if claim_of_unused(sample, device, state) else state.word


def state_of_values(
    utilization: float | None, memory_used_bytes: float | None, idle_seconds: float = 0.0
) -> DeviceState:
    """Return what a device is doing if nothing is known about its processes.

    ``idle_seconds``: how long it has been observed not to be busy.
    """
    if utilization is None:
        return DeviceState('unknown')
    if utilization >= BUSY_PERCENT:
        return DeviceState('busy')
    if (memory_used_bytes or 0) < UNSEEN_BYTES:
        return DeviceState('free')
    return DeviceState('held' if idle_seconds >= HELD_SECONDS else 'in use')


def is_holder(process: ProcessSample) -> bool:
    """Whether a process keeps others from using its device: it computes, or is ready to."""
    if process.is_outdated:
        return False
    if (percent_of(process) or 0) >= BUSY_PERCENT:
        return True
    memory = process.gpu_memory_bytes
    return process.type != 'G' and (memory is None or memory >= HOLDER_BYTES)


def is_idle_holder(process: ProcessSample) -> bool:
    """Whether a process has kept its device for :data:`HELD_SECONDS` without using any part of it."""
    return is_holder(process) and (process.gpu_idle_seconds or 0) >= HELD_SECONDS


def held_seconds(
    sample: Sample, device: DeviceSample, on_gpu: Sequence[ProcessSample]
) -> float | None:
    """Return how long a device has been held at least, see :data:`HELD_RULE`; ``None`` if it isn't."""
    processes = _listed_holders(device, on_gpu)
    utilization: float | None = device.gpu_utilization_percent
    if utilization is None:
        utilization = sum(percent_of(process) or 0 for process in processes)
    idle = [process for process in processes if is_idle_holder(process)]
    others = [process.gpu_memory_bytes for process in processes if process not in idle]
    if not idle or utilization >= USED_PERCENT or None in others:
        return None
    total = sum(process.gpu_memory_bytes or 0 for process in processes)
    if all(process.gpu_memory_bytes is not None for process in on_gpu):
        total += unseen_bytes(sample, device, on_gpu)
    if 2 * sum(process.gpu_memory_bytes or 0 for process in idle) < total:
        return None
    return max(idle, key=lambda process: process.gpu_memory_bytes or 0).gpu_idle_seconds


def percent_of(process: ProcessSample) -> int | None:
    """Return the utilization (%) of a device by a process: of its SMs, its encoder or its decoder."""
    parts = (
        process.gpu_sm_utilization_percent,
        process.gpu_encoder_utilization_percent,
        process.gpu_decoder_utilization_percent,
    )
    return None if parts[0] is None else max(part or 0 for part in parts)


def processes_by_gpu(sample: Sample) -> dict[int, list[ProcessSample]]:
    """Return the processes on each GPU and on its MIG devices, by the index of the GPU."""
    by_gpu: dict[int, list[ProcessSample]] = {}
    for process in sample.processes:
        by_gpu.setdefault(process.key.device.physical_index, []).append(process)
    return by_gpu


def unseen_bytes(sample: Sample, device: DeviceSample, on_gpu: Sequence[ProcessSample]) -> int:
    """Return how much memory belongs to no listed process; 0 if it is less than a process needs."""
    # Compute instances of a GPU instance share its memory.
    sharing = {
        other.key
        for other in sample.devices
        if other.key.physical_index == device.key.physical_index
        and other.info.gpu_instance_id == device.info.gpu_instance_id
    }
    sizes = [p.gpu_memory_bytes or 0 for p in on_gpu if p.key.device in sharing]
    unseen = (device.memory_used_bytes or 0) - sum(sizes)
    return unseen if unseen >= UNSEEN_BYTES and not device.info.is_unified_memory else 0


#: The state of a GPU is the first of those of its MIG devices.
_ORDER = {'busy': 0, 'in use': 1, 'held': 2, 'free': 3}


def _state(sample: Sample, device: DeviceSample, on_gpu: Sequence[ProcessSample]) -> DeviceState:
    if device.status != 'ok':
        return DeviceState(device.status)
    processes = _listed_holders(device, on_gpu)
    utilization: float | None = device.gpu_utilization_percent
    if not processes:
        has_list = not any(p.device == device.key and p.hides_processes for p in sample.problems)
        return state_of_values(
            0.0 if utilization is None and has_list else utilization,
            unseen_bytes(sample, device, on_gpu),
            device.idle_seconds,
        )
    seconds = held_seconds(sample, device, on_gpu)
    if seconds is not None:
        return DeviceState('held', seconds)
    if utilization is None:
        utilization = sum(percent_of(process) or 0 for process in processes)
    return DeviceState('busy' if utilization >= BUSY_PERCENT else 'in use')


def _listed_holders(device: DeviceSample, on_gpu: Sequence[ProcessSample]) -> list[ProcessSample]:
    """Return the processes that hold a device, and those of which only the memory is known."""
    return [
        process
        for process in on_gpu
        if process.key.device == device.key and (process.is_outdated or is_holder(process))
    ]
