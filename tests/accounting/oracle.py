"""A brute-force accountant: who had which GPU, second by second. Slow, and without any of nvitop's code."""

from __future__ import annotations

import collections
from typing import Any, Dict, Iterator

from nvitop.sampling.types import DeviceSample, ProcessSample, Sample

GIB = 1 << 30
#: User → seconds × GPUs by kind: ``'used'``, ``'held'``, ``'allocated'`` or ``'free'``.
Account = Dict[str, Dict[str, float]]
SLICES = {'1g.10gb': 1, '1c.3g.40gb': 1, '3g.40gb': 3}


def account(samples: list[Sample], longest: float) -> Account:
    """Return the use of GPUs; a sample covers the time since the previous one, if that isn't too long."""
    sums: Account = collections.defaultdict(lambda: collections.defaultdict(float))
    for before, sample in zip(samples, samples[1:]):
        seconds = sample.monotonic - before.monotonic
        for user, kind, part in parts(sample) if 0 < seconds <= longest else ():
            sums[user][kind] += seconds * part
    return {user: dict(kinds) for user, kinds in sums.items()}


def parts(sample: Sample) -> Iterator[tuple[str, str, float]]:
    """Yield user, kind and part of each GPU that responds."""
    for gpu in sample.devices:
        inside = [d for d in sample.devices if d.key.is_mig and d.key[0] == gpu.key[0]]
        sizes = [SLICES.get(mig.info.mig_profile or '', 1) for mig in inside]
        total = max(7, sum(sizes))
        if gpu.key.is_mig or gpu.status == 'asleep':
            continue
        for mig, size in zip(inside, sizes):
            for user, kind, part in parts_of_device(sample, mig) if mig.status == 'ok' else ():
                yield user, kind, part * size / total
        if inside and gpu.status == 'ok':
            yield '', 'free', 1 - sum(sizes) / total
        elif gpu.status == 'ok':
            yield from parts_of_device(sample, gpu)


def parts_of_device(sample: Sample, device: DeviceSample) -> list[tuple[str, str, float]]:
    there = [process for process in sample.processes if process.key.device == device.key]
    on_gpu = [p for p in sample.processes if p.key.device[0] == device.key[0]]
    instance = device.info.gpu_instance_id
    neighbors = {d.key for d in sample.devices if d.key[0] == device.key[0] and d.info.gpu_instance_id == instance}  # fmt: skip
    seen = sum(p.gpu_memory_bytes or 0 for p in on_gpu if p.key.device in neighbors)
    is_unseen = (device.memory_used_bytes or 0) - seen >= GIB
    is_busy = (device.gpu_utilization_percent or 0) >= 5
    holders: dict[Any, list[ProcessSample]] = {}
    for process in there:
        if process.is_outdated:
            continue
        memory, percent = process.gpu_memory_bytes, process.gpu_sm_utilization_percent
        if (percent or 0) >= 5 or (process.type != 'G' and (memory is None or memory >= 16 << 20)):
            user = process.username if process.username and process.status != 'gone' else '?'
            holders.setdefault((user, process.command), []).append(process)
    if not holders:
        if is_unseen or is_busy or any(process.is_outdated for process in there):
            return [('?', 'used', 1.0)]
        for job in sample.jobs:
            if device.key[0] in job.gpus and not device.key.is_mig:
                return [(job.username, 'allocated', 1.0)]
        return [('', 'free', 1.0)]
    percents: dict[Any, int | None] = {}
    for holder, processes in holders.items():
        values = [process.gpu_sm_utilization_percent for process in processes]
        known = [value for value in values if value is not None]
        percents[holder] = min(100, sum(known)) if len(known) == len(values) else None

    def runs(percent: int | None) -> bool:
        value = device.gpu_utilization_percent if percent is None else percent
        return value is None or value >= 5

    def idle_bytes(processes: list[ProcessSample]) -> int:
        return sum(p.gpu_memory_bytes or 0 for p in processes if is_idle(p))

    def is_mostly_idle(processes: list[ProcessSample], more: int = 0) -> bool:
        everything = sum(p.gpu_memory_bytes or 0 for p in processes) + more
        return any(map(is_idle, processes)) and 2 * idle_bytes(processes) >= everything

    outdated = [process for process in there if process.is_outdated]
    listed = [*outdated, *(process for several in holders.values() for process in several)]
    unknown = (device.memory_used_bytes or 0) - seen if is_unseen else 0
    if any(process.gpu_memory_bytes is None for process in on_gpu):
        unknown = 0
    utilization = device.gpu_utilization_percent
    if utilization is None:
        utilization = sum(process.gpu_sm_utilization_percent or 0 for process in listed)
    is_held = (
        utilization < 10
        and is_mostly_idle(listed, unknown)
        and all(is_idle(p) or p.gpu_memory_bytes is not None for p in listed)
    )
    running = {holder: percent for holder, percent in percents.items() if runs(percent)}
    if is_held:
        # User, kind and memory of all holders.
        rows = [
            (user, 'held' if is_mostly_idle(several) else 'used', several)
            for (user, _), several in holders.items()
        ]
        sizes = [[process.gpu_memory_bytes for process in several] for _, _, several in rows]
        hidden = unknown if is_busy and not running else 0
        total = sum(size or 0 for several in sizes for size in several) + hidden
        if total and not any(None in several for several in sizes):
            other = [('?', 'used', hidden / total)] if hidden else []
            by_size = [sum(size or 0 for size in several) / total for several in sizes]
            return [*other, *((user, kind, part) for (user, kind, _), part in zip(rows, by_size))]
        names = [user for user, _, _ in rows]
        equal = [1 / len({*names}) / names.count(user) for user in names]
        return [(user, kind, part) for (user, kind, _), part in zip(rows, equal)]
    if (
        not running
        and is_busy
        and is_unseen
        and all(p.gpu_memory_bytes is not None for p in on_gpu)
    ):
        return [('?', 'used', 1.0)]
    if running and None not in running.values():
        total = sum(percent or 0 for percent in running.values())
        return [(user, 'used', (percent or 0) / total) for (user, _), percent in running.items()]
    pausing = [holder for holder, processes in holders.items() if not all(map(is_idle, processes))]
    if not running and not is_busy and not pausing:
        return [('?', 'used', 1.0)]
    users = {user for user, _ in running or (holders if is_busy else pausing)}
    return [(user, 'used', 1 / len(users)) for user in users]


def is_idle(process: ProcessSample) -> bool:
    return not process.is_outdated and (process.gpu_idle_seconds or 0) >= 600
