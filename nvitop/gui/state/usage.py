# SPDX-License-Identifier: GPL-3.0-only
"""What runs on which devices: sums per user or owner, devices without a list, short texts."""

from __future__ import annotations

from typing import Iterable, NamedTuple, Sequence

from nvitop.sampling.types import PROCESSES, DeviceKey, DeviceSample, ProcessSample, Sample

#: Time (seconds) without using its device after which the memory of a process counts as idle.
IDLE_SECONDS = 60.0


class UserSummary(NamedTuple):
    """The processes of one user, or of one owner, on all devices."""

    #: ``None`` for processes whose user or owner is unknown.
    name: str | None
    processes: int
    devices: tuple[DeviceKey, ...]
    #: ``None`` if the memory of any process is unknown.
    gpu_memory_bytes: int | None
    #: Mean over devices of the sum over processes with a known utilization.
    mean_sm_percent: float | None
    #: Memory of idle processes; ``None`` if it is unknown which are idle.
    idle_memory_bytes: int | None = None
    #: Sum of the known CPU usage, in percent of one core.
    cpu_percent: float | None = None
    #: The longest running time.
    running_seconds: float | None = None
    #: Seconds × GPUs used and held idle; ``None``: unknown.
    gpu_times: tuple[float, float] | None = None


def is_on(device: DeviceKey, selected: DeviceKey) -> bool:
    """Whether a device is the selected one, or a MIG device on it."""
    return device == selected or (
        not selected.is_mig and device.physical_index == selected.physical_index
    )


def whole_devices(devices: Iterable[DeviceSample]) -> tuple[DeviceSample, ...]:
    """Return the devices that are not part of another one: MIG devices only if their GPU is missing."""
    devices = tuple(devices)
    gpus = {device.key.physical_index for device in devices if not device.key.is_mig}
    return tuple(
        device
        for device in devices
        if not device.key.is_mig or device.key.physical_index not in gpus
    )


def devices_without_list(sample: Sample) -> list[DeviceKey]:
    """Return the devices that respond but do not report their processes."""
    silent = {
        problem.device
        for problem in sample.problems
        if problem.what == PROCESSES and problem.kind != 'impossible'
    }
    devices = sample.devices if silent else ()
    return [device.key for device in devices if device.status == 'ok' and device.key in silent]


def unknown_devices(sample: Sample) -> list[DeviceKey]:
    """Return the GPUs and MIG devices that do not report their processes, or do not respond."""
    silent = whole_devices(device for device in sample.devices if device.is_silent)
    return [*(device.key for device in silent), *devices_without_list(sample)]


def unknown_among(devices: Iterable[DeviceKey], sample: Sample) -> list[DeviceKey]:
    """Return the unknown devices that are among these devices or contain one of them."""
    devices = tuple(devices)
    return [key for key in unknown_devices(sample) if any(is_on(each, key) for each in devices)]


def total_memory(devices: Iterable[DeviceSample]) -> int | None:
    """Return the memory of all devices in bytes, shared memory counted once. ``None`` if any is unknown."""
    sizes: dict[tuple[int, int | None], int | None] = {}
    for device in whole_devices(devices):
        # Compute instances of a GPU instance share its memory.
        place = device.key.physical_index, device.info.gpu_instance_id
        sizes[place] = device.info.memory_total_bytes
    known = [size for size in sizes.values() if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def summarize_users(
    processes: Iterable[ProcessSample], *, by_owner: bool = False
) -> tuple[UserSummary, ...]:
    """Return the users or owners, most GPU memory first. A process on two devices counts once.

    The steps of a job are one owner.
    """
    groups: dict[str | None, list[ProcessSample]] = {}
    for process in processes:
        name = process.username
        if by_owner:
            name = None if process.owner is None else process.owner.group
        groups.setdefault(name, []).append(process)
    summaries = [summarize(name, rows) for name, rows in groups.items()]
    summaries.sort(key=lambda row: (row.name is None, -(row.gpu_memory_bytes or 0), row.name or ''))
    return tuple(summaries)


def summarize(name: str | None, rows: Sequence[ProcessSample]) -> UserSummary:
    """Return the sums of these processes under a name."""
    memory = [row.gpu_memory_bytes for row in rows]
    known = [size for size in memory if size is not None]
    utilization: dict[DeviceKey, float] = {}
    for row in rows:
        if row.gpu_sm_utilization_percent is not None:
            before = utilization.get(row.key.device, 0.0)
            utilization[row.key.device] = min(100.0, before + row.gpu_sm_utilization_percent)
    # A process has the same values of the host on all its devices.
    hosts = {(row.key.pid, row.key.start_time): row for row in rows}.values()
    cpu = [row.cpu_percent for row in hosts if row.cpu_percent is not None]
    times = [row.running_time_seconds for row in hosts if row.running_time_seconds is not None]
    idle = [row for row in rows if row.gpu_idle_seconds is not None]
    return UserSummary(
        name,
        len(hosts),
        tuple(sorted({row.key.device for row in rows})),
        sum(known) if len(known) == len(memory) else None,
        sum(utilization.values()) / len(utilization) if utilization else None,
        sum(
            row.gpu_memory_bytes or 0 for row in idle if (row.gpu_idle_seconds or 0) >= IDLE_SECONDS
        )
        if idle
        else None,
        sum(cpu) if cpu else None,
        max(times, default=None),
    )
