# SPDX-License-Identifier: GPL-3.0-only
"""What is counted over samples: per-user sums, and problems with time and count."""

from __future__ import annotations

from typing import Iterable, Sequence

from nvitop.gui.state.ranges import subject_order, subjects_text
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import (
    NO_FAILURES,
    Cost,
    DeviceKey,
    DeviceSample,
    Problem,
    ProcessSample,
    Sample,
)

#: What is asked for the processes of a device, by which problems with it are known.
_LIST = 'nvmlDeviceGetComputeRunningProcesses'
#: How many problems are remembered; the ones not seen for longest are forgotten first.
MAX_PROBLEMS = 500
#: Kinds of problems whose reason can be another in each sample.
_VARYING = frozenset({'timed out', 'slow', 'impossible'})
#: How long a failure is pointed at.
FAILURE_SECONDS = 60.0
#: Over how many samples own cost is measured.
MAX_COSTS = 60


class ProblemCount(NamedTuple):
    """A problem, when it was seen first and last, and in how many samples."""

    #: ``'device 3'``; ``'devices 0-7'`` in a line that several share.
    subject: str
    what: str
    reason: str
    kind: str
    first: float
    last: float
    times: int = 1
    #: Whether the latest sample has it still.
    is_current: bool = True

    @property
    def is_failure(self) -> bool:
        """Whether something fails, or failed: see :attr:`~nvitop.sampling.types.Problem.is_failure`."""
        return self.kind not in NO_FAILURES


class Tally(NamedTuple):
    """What is counted over samples."""

    problems: tuple[ProblemCount, ...] = ()
    #: What the last samples cost, oldest first, each with its time on the monotonic clock.
    costs: tuple[tuple[float, Cost], ...] = ()


class UserSummary(NamedTuple):
    """What one user does on all devices."""

    #: ``None``: processes whose user is not known.
    username: str | None
    processes: int
    devices: tuple[DeviceKey, ...]
    #: ``None`` where a process does not tell: the others' sum would not be what the user has.
    gpu_memory_bytes: int | None
    #: Of the user's processes that tell: together on each device, and the mean of these devices.
    mean_sm_percent: float | None


def whole_devices(devices: Iterable[DeviceSample]) -> tuple[DeviceSample, ...]:
    """The devices that are no part of another one here: a MIG device only without its GPU."""
    devices = tuple(devices)
    gpus = {device.key.physical_index for device in devices if not device.key.is_mig}
    return tuple(
        device
        for device in devices
        if not device.key.is_mig or device.key.physical_index not in gpus
    )


def devices_without_list(sample: Sample) -> list[DeviceKey]:
    """Devices that answer, but not what runs on them."""
    silent = {
        problem.device
        for problem in sample.problems
        if problem.what == _LIST and problem.kind != 'impossible'
    }
    devices = sample.devices if silent else ()
    return [device.key for device in devices if device.status == 'ok' and device.key in silent]


def unknown_devices(sample: Sample) -> list[DeviceKey]:
    """GPUs and MIG devices that do not tell what runs on them, or nothing at all."""
    silent = whole_devices(device for device in sample.devices if device.status != 'ok')
    return [*(device.key for device in silent), *devices_without_list(sample)]


def unknown_among(devices: Iterable[DeviceKey], sample: Sample) -> list[DeviceKey]:
    """Those of the unknown ones that these devices are, or are a part of."""
    devices = set(devices)
    gpus = {device.physical_index for device in devices}
    return [
        key
        for key in unknown_devices(sample)
        if key in devices or (key.physical_index in gpus and not key.is_mig)
    ]


def total_memory(devices: Iterable[DeviceSample]) -> int | None:
    """The memory of all of them in bytes, none counted twice. ``None`` where one does not tell."""
    sizes: dict[tuple[int, int | None], int | None] = {}
    for device in whole_devices(devices):
        # Compute instances of one GPU instance have the same memory.
        place = device.key.physical_index, device.info.gpu_instance_id
        sizes[place] = device.info.memory_total_bytes
    known = [size for size in sizes.values() if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def summarise_users(processes: Iterable[ProcessSample]) -> tuple[UserSummary, ...]:
    """The users, most GPU memory first; a process on two devices counts once."""
    by_user: dict[str | None, list[ProcessSample]] = {}
    for process in processes:
        by_user.setdefault(process.username, []).append(process)
    summaries = [_summarise(name, rows) for name, rows in by_user.items()]
    summaries.sort(
        key=lambda row: (row.username is None, -(row.gpu_memory_bytes or 0), row.username or '')
    )
    return tuple(summaries)


def _summarise(username: str | None, rows: list[ProcessSample]) -> UserSummary:
    memory = [row.gpu_memory_bytes for row in rows]
    known = [size for size in memory if size is not None]
    load: dict[DeviceKey, float] = {}
    for row in rows:
        if row.gpu_sm_utilization_percent is not None:
            before = load.get(row.key.device, 0.0)
            load[row.key.device] = min(100.0, before + row.gpu_sm_utilization_percent)
    return UserSummary(
        username,
        len({(row.key.pid, row.key.start_time) for row in rows}),
        tuple(sorted({row.key.device for row in rows})),
        sum(known) if len(known) == len(memory) else None,
        sum(load.values()) / len(load) if load else None,
    )


def problem_lines(counts: Iterable[ProblemCount]) -> tuple[ProblemCount, ...]:
    """The problems as they are listed: failures before what is merely missing, present before past.

    What several devices or processes have in common is one line, with the most times of any. What
    a device does not have it has no more of while it is lost.
    """
    groups: dict[tuple[str, str, str, bool], list[ProblemCount]] = {}
    for row in counts:
        is_past = row.is_failure and not row.is_current
        groups.setdefault((row.what, row.reason, row.kind, is_past), []).append(row)
    lines = [
        ProblemCount(
            subjects_text([row.subject for row in rows]),
            what,
            reason,
            kind,
            min(row.first for row in rows),
            max(row.last for row in rows),
            max(row.times for row in rows),
            any(row.is_current for row in rows),
        )
        for (what, reason, kind, _), rows in groups.items()
    ]
    lines.sort(key=_gravity)
    return tuple(lines)


def _gravity(line: ProblemCount) -> tuple[object, ...]:
    """What is listed first. A whole device that is gone comes before single values, and what one
    device has stands together."""
    is_past = not line.is_current
    is_part = is_past or line.what != 'status'
    place = (-line.last, subject_order(line.subject), line.what)
    return (not line.is_failure, line.kind == 'na', is_past, is_part, *place)


class OwnCost(NamedTuple):
    """What nvitop itself costs, over the last samples."""

    #: Of one core.
    cpu_percent: float
    nvml_calls_per_second: float
    seconds_per_sample: float
    #: The time over which this was measured.
    seconds: float


def own_cost(costs: Sequence[tuple[float, Cost]]) -> OwnCost | None:
    """From the costs of samples, oldest first, with their monotonic time; ``None``: too few."""
    if len(costs) < 2:
        return None
    (begin, first), (end, last) = costs[0], costs[-1]
    seconds = end - begin
    if seconds <= 0:
        return None
    later = [cost for _, cost in costs[1:]]
    return OwnCost(
        100.0 * max(0.0, last.cpu_seconds - first.cpu_seconds) / seconds,
        sum(cost.nvml_calls for cost in later) / seconds,
        sum(cost.seconds for cost in later) / len(later),
        seconds,
    )


def count_problems(
    counts: Sequence[ProblemCount], problems: Iterable[Problem], now: float
) -> tuple[ProblemCount, ...]:
    """The counts after one more sample: current ones first, then the most recent."""
    table = {_identity(row): row._replace(is_current=False) for row in counts}
    for problem in problems:
        subject, what, reason, kind, _ = problem
        row = table.get(_identity(problem))
        table[_identity(problem)] = (
            ProblemCount(subject, what, reason, kind, now, now)
            if row is None
            else row._replace(reason=reason, last=now, times=row.times + 1, is_current=True)
        )
    rows = sorted(table.values(), key=lambda row: (-row.last, row.subject, row.what))
    return tuple(rows[:MAX_PROBLEMS])


def _identity(problem: Problem | ProblemCount) -> tuple[str, str, str]:
    """What makes two problems the same. How long there has been no answer does not, nor which
    answer cannot be true."""
    reason = problem.kind if problem.kind in _VARYING else problem.reason
    return problem.subject, problem.what, reason


def has_failures(counts: Iterable[ProblemCount], now: float) -> bool:
    """Whether something failed within the last minute. What comes and goes is said all the time;
    what a device does not have is no failure."""
    return any(row.is_failure and now - row.last < FAILURE_SECONDS for row in counts)


def note_problem(
    counts: Sequence[ProblemCount], subject: str, what: str, reason: str, now: float
) -> tuple[ProblemCount, ...]:
    """The counts after something failed that is no matter of samples: a signal."""
    table = {(row.subject, row.what, row.reason): row for row in counts}
    row = table.pop((subject, what, reason), None)
    times = row.times + 1 if row is not None else 1
    first = row.first if row is not None else now
    new = ProblemCount(subject, what, reason, 'error', first, now, times, is_current=False)
    return (new, *table.values())[:MAX_PROBLEMS]
