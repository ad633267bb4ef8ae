# SPDX-License-Identifier: Apache-2.0
"""The rule by which GPUs are divided among those who hold them. Pure.

Recordings, the exporter and the monitor all use :func:`divide`. The parts of a GPU that responds add
up to exactly 1:

- A MIG device is the part of its GPU that its compute slices are. The rest of the GPU is free.
- A device that is *held* by the rule of the monitor is divided among all its holders by their memory,
  or equally among their users if that is unknown. The parts of idle holders are held, others are used.
- Another device with a busy holder is *used*. It is divided among its busy holders by the time of their
  kernels. If that is unknown for one of them, it is divided equally among their users.
- A device whose holders pause is *used*, too. It is divided equally among the users of those that
  have run a kernel in the last ten minutes, as far as observed.
- A device without holders that Slurm has allocated to a job is *allocated* to it (not if the GPU is
  divided into MIG devices).
- Another device without holders is *free*. If its memory or utilization shows that there must be a process,
  its holder is :data:`UNKNOWN_USER`. So is that of a device with idle holders that is busy or not held
  because memory belongs to none of them.

:mod:`nvitop.health.states` defines who holds a device, when a holder is busy or idle, and when a device
is held.

For example, GPU 0 has two MIG devices. ``4g.40gb`` is used by ann (60 %) and bob (20 %), ``2g.20gb``
is held by carol. Ann uses 4/7 · 3/4 of the GPU and bob 4/7 · 1/4; carol holds 2/7, and 1/7 is free.
"""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple, Sequence

from nvitop.basics.masking import short_command
from nvitop.health.states import (
    BUSY_PERCENT,
    held_seconds,
    is_holder,
    is_idle_holder,
    percent_of,
    processes_by_gpu,
    unseen_bytes,
)
from nvitop.sampling.types import DeviceInfo, DeviceKey, DeviceSample, ProcessSample, Sample

#: User of the time in which no process holds a device, and user of processes whose user is unknown.
NO_USER = ''
UNKNOWN_USER = '?'

#: Number of compute slices of a GPU that supports MIG, and GPUs with another number.
SLICES = 7
_FEWER_SLICES = {'A30': 4, 'RTX PRO 6000': 4, 'RTX PRO 5000': 2}
#: Name of a MIG profile: compute slices of the compute instance, if it has fewer, and the GPU instance.
_PROFILE = re.compile(r'(?:(\d)c\.)?(\d)g\b')


class UsageKey(NamedTuple):
    """Who uses a device: a row of the usage table within its minute."""

    gpu: str
    user: str = NO_USER
    owner_kind: str = ''
    owner_id: str = ''
    command: str = ''


class Share(NamedTuple):
    """The part of a device that one holder has at the moment of a sample."""

    key: UsageKey
    #: Part of the GPU from 0 to 1; 0 of an idle holder while the device is used by others.
    part: float = 0.0
    #: Whether the part is used, as far as known; else it is held, or free if the key has no user.
    is_used: bool = False
    #: Whether no process is there, but a batch system has given the GPU to a job.
    is_allocated: bool = False
    #: Memory of its processes, and the sums of their utilization of any part of the device and of its
    #: SMs, ``None`` if it is unknown.
    memory_bytes: int = 0
    percent: int | None = None
    sm_percent: int | None = None


class DeviceShares(NamedTuple):
    """How a device is divided; without shares if it does not respond."""

    device: DeviceSample
    shares: tuple[Share, ...]
    #: Whether it runs processes: MIG devices do instead of their GPU.
    is_leaf: bool

    @property
    def is_held(self) -> bool:
        return any(share.key.user != NO_USER and not share.is_allocated for share in self.shares)


def divide(sample: Sample) -> Iterator[DeviceShares]:
    processes = processes_by_gpu(sample)
    for device in sample.devices:
        is_mig, index = device.key.is_mig, device.key.physical_index
        inside = [
            other.info
            for other in sample.devices
            if other.key.is_mig and other.key.physical_index == index
        ]
        is_leaf = is_mig or not inside
        total = _slices_of_gpu(device.info, inside)
        # The part of a GPU lacks that of all its MIG devices, also of those that do not respond.
        part = _slices(device.info) / total if is_mig else 1 - sum(map(_slices, inside)) / total
        if device.is_silent:
            yield DeviceShares(device, (), is_leaf)
        elif is_leaf:
            shares = _divide_device(sample, device, processes.get(index, []), part)
            yield DeviceShares(device, shares, True)
        else:
            yield DeviceShares(device, (Share(UsageKey(gpu_of(device.key)), part),), False)


def _slices(info: DeviceInfo) -> int:
    """Return the number of compute slices of a MIG device; 1 if its profile is unknown."""
    profile = _PROFILE.match(info.mig_profile or '')
    return int(profile.group(1) or profile.group(2)) if profile else 1


def _slices_of_gpu(info: DeviceInfo, inside: Sequence[DeviceInfo]) -> int:
    """Return the number of compute slices of the GPU that a device is or belongs to."""
    name = info.name or ''
    known = next((count for model, count in _FEWER_SLICES.items() if model in name), SLICES)
    return max(known, sum(map(_slices, inside)))


def _divide_device(
    sample: Sample, device: DeviceSample, on_gpu: Sequence[ProcessSample], part: float
) -> tuple[Share, ...]:
    """Return the shares of a device that runs processes; their parts add up to ``part``."""
    is_device_held = held_seconds(sample, device, on_gpu) is not None
    shares = _holders(sample, device, on_gpu, is_device_held)
    if not shares:
        return (_unused(sample, device, part),)
    if is_device_held:
        total = sum(share.memory_bytes for share in shares)
        is_known = all(p.gpu_memory_bytes is not None for p in on_gpu if is_holder(p))
        users = [share.key.user for share in shares]
        return tuple(
            share._replace(
                part=part * share.memory_bytes / total
                if total and is_known
                else part / users.count(share.key.user) / len(set(users))
            )
            for share in shares
        )
    utilization = device.gpu_utilization_percent
    busy = [share for share in shares if _is_busy(share, utilization)]
    if busy and all(share.percent is not None for share in busy):
        total = sum(share.percent or 0 for share in busy)
        parts = {share.key: part * (share.percent or 0) / total for share in busy}
    else:
        if not busy and (utilization or 0) < BUSY_PERCENT:
            busy = [share for share in shares if share.is_used]
        users = [share.key.user for share in busy or shares]
        parts = {
            share.key: part / users.count(share.key.user) / len(set(users))
            for share in busy or shares
        }
    is_used = bool(busy) or (utilization or 0) >= BUSY_PERCENT
    return tuple(
        share._replace(part=parts.get(share.key, 0.0), is_used=is_used and share.key in parts)
        for share in shares
    )


def _unused(sample: Sample, device: DeviceSample, part: float) -> Share:
    """Return the share of a device without processes: allocated to a job, or free."""
    gpu = gpu_of(device.key)
    for job in sample.jobs:
        if device.key.physical_index in job.gpus and not device.key.is_mig:
            key = UsageKey(gpu, job.username or UNKNOWN_USER, job.kind, job.id)
            return Share(key, part, is_allocated=True)
    return Share(UsageKey(gpu), part)


def _is_busy(share: Share, utilization: int | None) -> bool:
    """Whether a holder is busy; if its utilization is unknown, whether its device may be."""
    percent = utilization if share.percent is None else share.percent
    return percent is None or percent >= BUSY_PERCENT


def _holders(
    sample: Sample, device: DeviceSample, on_gpu: Sequence[ProcessSample], is_device_held: bool
) -> list[Share]:
    """Return those who hold a device, still without their parts.

    On a device that is held, one who is idle with most of their memory is idle.
    """
    rows: dict[UsageKey, list[ProcessSample]] = {}
    processes = [process for process in on_gpu if process.key.device == device.key]
    for process in processes:
        if is_holder(process):
            rows.setdefault(usage_key(process), []).append(process)
    shares = [
        Share(
            key,
            is_used=_is_used(of_key, is_device_held),
            memory_bytes=sum(process.gpu_memory_bytes or 0 for process in of_key),
            percent=_sum_known([percent_of(process) for process in of_key]),
            sm_percent=_sum_known([process.gpu_sm_utilization_percent for process in of_key]),
        )
        for key, of_key in rows.items()
    ]
    unseen = unseen_bytes(sample, device, on_gpu)
    utilization = device.gpu_utilization_percent
    is_busy_now = (utilization or 0) >= BUSY_PERCENT
    if shares:
        is_idle = not any(_is_busy(share, utilization) for share in shares)
        is_complete = all(process.gpu_memory_bytes is not None for process in on_gpu)
        if is_busy_now:
            has_other = is_idle and unseen > 0 and is_complete
        else:
            has_other = is_idle and not is_device_held and not any(s.is_used for s in shares)
    else:
        has_other = (
            unseen > 0
            or is_busy_now
            or any(process.is_outdated for process in processes)
            or any(p.device == device.key and p.hides_processes for p in sample.problems)
        )
    if has_other:
        key = UsageKey(gpu_of(device.key), UNKNOWN_USER)
        shares.append(Share(key, is_used=True, memory_bytes=unseen))
    return shares


def usage_key(process: ProcessSample) -> UsageKey:
    """Return the holder that a process counts for."""
    owner = process.owner
    return UsageKey(
        gpu_of(process.key.device),
        process.username if process.username and process.status != 'gone' else UNKNOWN_USER,
        '' if owner is None else owner.kind,
        '' if owner is None else owner.id,
        short_command(process.command, process.name),
    )


def gpu_of(key: DeviceKey) -> str:
    """Return the name of a device in the tables: its UUID, or its label if that is not known."""
    return key.uuid or key.label


def _is_used(processes: Sequence[ProcessSample], is_device_held: bool) -> bool:
    sizes = [process.gpu_memory_bytes or 0 for process in processes]
    idle = [size for size, process in zip(sizes, processes) if is_idle_holder(process)]
    if is_device_held and idle:
        return 2 * sum(idle) < sum(sizes)
    return len(idle) < len(processes)


def _sum_known(percents: Sequence[int | None]) -> int | None:
    known = [percent for percent in percents if percent is not None]
    return min(100, sum(known)) if len(known) == len(percents) else None
