# SPDX-License-Identifier: GPL-3.0-only
"""Processes folded by job: a line for each job, and the processes below it."""

from __future__ import annotations

from typing import Any, Collection, NamedTuple, Sequence, Tuple

from nvitop.gui.model.choices import Sort
from nvitop.gui.model.format import join_labels
from nvitop.gui.state.process_rows import is_descending, mean_over_devices, order_key
from nvitop.sampling.types import DeviceKey, ProcessKey, ProcessSample

#: The user and the job, ``''`` for processes that belong to none.
JobKey = Tuple[str, str]
#: Maximum width of the GPUs of a job.
_MOST_LABELS = 11
#: Maximum number of programs that the line of a job names.
_MOST_PROGRAMS = 2


class JobGroup(NamedTuple):
    """Several processes of one job, or of one user without a job."""

    key: JobKey
    processes: tuple[ProcessSample, ...]
    #: Sums over the processes, with the key and the command of the first one.
    total: ProcessSample
    #: Whether all of them have the same owner, such as a session.
    has_one_owner: bool

    @property
    def devices(self) -> tuple[DeviceKey, ...]:
        return tuple(sorted({process.key.device for process in self.processes}))


class Line(NamedTuple):
    """A line of the list of processes."""

    #: A process, or the sums of a job.
    process: ProcessSample
    #: The job that the line is about, or that the process is listed below.
    job: JobGroup | None = None
    is_job: bool = False
    #: Whether the processes of the job are hidden.
    is_folded: bool = False

    @property
    def key(self) -> ProcessKey | JobKey:
        return self.job.key if self.is_job and self.job is not None else self.process.key

    @property
    def processes(self) -> tuple[ProcessSample, ...]:
        return self.job.processes if self.is_job and self.job is not None else (self.process,)


def group_by_job(processes: Sequence[ProcessSample], sort: Sort) -> tuple[tuple[Line, ...], ...]:
    """Return the lines of each job, unfolded, in the order of the list; a single process is one line."""
    groups: dict[JobKey, list[ProcessSample]] = {}
    for process in processes:
        groups.setdefault(job_key(process), []).append(process)
    blocks: list[tuple[Line, ...]] = []
    for key, group in groups.items():
        if len(group) == 1:
            blocks.append((Line(group[0]),))
            continue
        has_one_owner = all(process.owner == group[0].owner for process in group)
        job = JobGroup(key, tuple(group), total_of(group), has_one_owner)
        blocks.append((Line(job.total, job, is_job=True), *(Line(each, job) for each in group)))
    key_of = order_key(sort)
    blocks.sort(key=lambda lines: key_of(lines[0].process), reverse=is_descending(sort))
    return tuple(blocks)


def job_key(process: ProcessSample) -> JobKey:
    owner = process.owner
    job = '' if owner is None or owner.is_plain else owner.group
    return process.username or '', job


def fold(
    blocks: Sequence[Sequence[Line]], room: int, turned: Collection[JobKey] = ()
) -> tuple[Line, ...]:
    """Return the lines of jobs: unfolded if all fit into ``room``, else folded.

    ``turned`` are the jobs that the user folded or unfolded against that.
    """
    is_folded = sum(map(len, blocks)) > room
    lines: list[Line] = []
    for block in blocks:
        first = block[0]
        if first.is_job and (is_folded != (first.key in turned)):
            lines.append(first._replace(is_folded=True))
        else:
            lines.extend(block)
    return tuple(lines)


#: Values of a job: means over devices of the sum over its processes, and sums over its processes.
_MEANS = tuple(f'gpu_{what}_utilization_percent' for what in ('sm', 'memory', 'encoder', 'decoder'))
_SUMS = ('cpu_percent', 'memory_percent', 'host_memory_bytes')


def total_of(processes: Sequence[ProcessSample]) -> ProcessSample:
    first = processes[0]
    # A process has the same values of the host on all its devices.
    hosts = list({process.key[:2]: process for process in processes}.values())
    idle = [p.gpu_idle_seconds for p in processes if p.gpu_idle_seconds is not None]
    times = [p.running_time_seconds for p in hosts if p.running_time_seconds is not None]
    means = {field: mean_over_devices(processes, field) for field in _MEANS}
    values: dict[str, Any] = {
        field: None if mean is None else round(mean) for field, mean in means.items()
    }
    values.update((field, _sum([getattr(p, field) for p in hosts])) for field in _SUMS)
    return first._replace(
        status=first.status if len({process.status for process in processes}) == 1 else 'running',
        is_own=all(process.is_own for process in processes),
        is_outdated=all(process.is_outdated for process in processes),
        gpu_memory_bytes=_sum([process.gpu_memory_bytes for process in processes]),
        gpu_memory_percent=None,
        running_time_seconds=max(times, default=None),
        # A job is as idle as the process that used its device last.
        gpu_idle_seconds=None if len(idle) < len(processes) else min(idle),
        is_idle_longer=all(process.is_idle_longer for process in processes),
        **values,
    )


def _sum(values: Sequence[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def common_words(commands: Sequence[str]) -> tuple[str, list[str]]:
    """Return the words that all commands share, and what differs of each.

    Commands of different programs share nothing: the words are the names of the programs.
    """
    parts = [command.split(' ') for command in commands]
    programs = list(dict.fromkeys(words[0].rpartition('/')[2] for words in parts))
    if len(programs) > 1:
        more = f', +{len(programs) - _MOST_PROGRAMS}' if len(programs) > _MOST_PROGRAMS else ''
        return ', '.join(programs[:_MOST_PROGRAMS]) + more, list(commands)
    if len({len(words) for words in parts}) != 1:
        return (commands[0] if commands else ''), list(commands)
    shared = [words[0] if len(set(words)) == 1 else None for words in zip(*parts)]
    rest = [' '.join(w for w, same in zip(words, shared) if same is None) for words in parts]
    text = ' '.join(word for word in shared if word is not None)
    return text or commands[0], rest if text else list(commands)


def labels_width(blocks: Sequence[Sequence[Line]]) -> int:
    """Return the width of the GPUs of the job with most of them, and of the mark before them."""
    jobs = [block[0].job for block in blocks if block[0].job is not None]
    widths = [len(join_labels(key.label for key in job.devices)) for job in jobs]
    return 2 + min(_MOST_LABELS, max(widths, default=0))
